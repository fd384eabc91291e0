//! Which of the files that decide what a check runs were written by turns, and not accepted by the owner since. Kept on
//! disk, and noted before a turn changes anything, so that neither a crash nor a canceled turn makes a model's words
//! the owner's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ostler_runner::FileSums;
use ostler_types::SessionId;
use ostler_workspace_fs::{ReplaceOptions, replace_file};
use serde::{Deserialize, Serialize};

/// How many workspaces are remembered, and how many versions of one file.
const MAX_WORKSPACES: usize = 1000;
const MAX_VERSIONS: usize = 64;

/// What turns have written into files that decide what checks run.
#[derive(Default)]
pub struct Baselines {
    path: Option<PathBuf>,
    workspaces: Mutex<BTreeMap<String, WorkspaceBaseline>>,
}

/// What is known of one workspace.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct WorkspaceBaseline {
    /// The files as they were when each turn began that is not known to be over.
    #[serde(default)]
    open: BTreeMap<String, FileSums>,
    /// What turns have made of files, by file.
    #[serde(default)]
    written: BTreeMap<String, BTreeSet<String>>,
}

impl Baselines {
    /// Those of a daemon, kept in this file. One that cannot be read is begun anew.
    pub fn load(path: PathBuf) -> Baselines {
        let known = match std::fs::read(&path) {
            Ok(content) => serde_json::from_slice(&content).unwrap_or_else(|error| {
                tracing::warn!(%error, path = %path.display(), "what turns wrote into checks is forgotten");
                BTreeMap::new()
            }),
            Err(_) => BTreeMap::new(),
        };
        Baselines { path: Some(path), workspaces: Mutex::new(known) }
    }

    /// The owner accepts the files of a workspace as they are.
    pub fn accept(&self, workspace: &Path) {
        let mut known = self.lock();
        if let Some(found) = known.get_mut(&*workspace.to_string_lossy()) {
            found.written.clear();
            found.open.clear();
            self.save(&known);
        }
    }

    /// A turn begins with these files. Whatever turns that are not over have changed counts as written by them.
    pub(crate) fn begin_turn(&self, workspace: &Path, session: SessionId, now: &FileSums) {
        let mut known = self.lock();
        let name = workspace.to_string_lossy().into_owned();
        if known.len() >= MAX_WORKSPACES && !known.contains_key(&name) {
            known.clear();
        }
        let found = known.entry(name).or_default();
        for before in found.open.values().cloned().collect::<Vec<_>>() {
            found.note_written(&before, now);
        }
        found.open.insert(session.to_string(), now.clone());
        self.save(&known);
    }

    /// A turn that found the one and leaves the other is over. It may go on after all, and end again.
    pub(crate) fn end_turn(&self, workspace: &Path, session: SessionId, before: &FileSums, now: &FileSums) {
        let mut known = self.lock();
        let found = known.entry(workspace.to_string_lossy().into_owned()).or_default();
        found.open.remove(&session.to_string());
        found.note_written(before, now);
        self.save(&known);
    }

    /// The files as they were when the turn of this session began, if that is known.
    pub(crate) fn files_at_turn_start(&self, workspace: &Path, session: SessionId) -> Option<FileSums> {
        self.lock().get(&*workspace.to_string_lossy())?.open.get(&session.to_string()).cloned()
    }

    /// A turn that was cut short has left these files, which it may have written.
    pub(crate) fn note_interrupted_turn(&self, workspace: &Path, session: SessionId, left: &FileSums) {
        let mut known = self.lock();
        let found = known.entry(workspace.to_string_lossy().into_owned()).or_default();
        let before = found.open.remove(&session.to_string()).unwrap_or_default();
        found.note_written(&before, left);
        self.save(&known);
    }

    /// Returns true where no turn is known to have written or to be writing anything.
    pub(crate) fn is_empty(&self, workspace: &Path) -> bool {
        let known = self.lock();
        let found = known.get(&*workspace.to_string_lossy());
        found.is_none_or(|found| found.written.is_empty() && found.open.is_empty())
    }

    /// The files that turns have written.
    pub(crate) fn written_names(&self, workspace: &Path) -> Vec<String> {
        let known = self.lock();
        let found = known.get(&*workspace.to_string_lossy());
        found.map(|found| found.written.keys().cloned().collect()).unwrap_or_default()
    }

    /// Those of these files that a turn wrote just as they are, or that are not as a turn found them that is not known to
    /// be over.
    pub(crate) fn written_by_turns<'a>(&self, workspace: &Path, sums: &'a FileSums) -> Vec<&'a str> {
        let known = self.lock();
        let Some(found) = known.get(&*workspace.to_string_lossy()) else { return Vec::new() };
        let is_written = |name: &String, sum: &String| {
            let by_open = |before: &FileSums| before.get(name).is_some_and(|before| before != sum);
            found.written.get(name).is_some_and(|sums| sums.contains(sum)) || found.open.values().any(by_open)
        };
        sums.iter().filter(|(name, sum)| is_written(name, sum)).map(|(name, _)| name.as_str()).collect()
    }

    fn save(&self, known: &BTreeMap<String, WorkspaceBaseline>) {
        let Some(path) = &self.path else { return };
        let saved = serde_json::to_vec(known)
            .map_err(std::io::Error::from)
            .and_then(|content| replace_file(path, &content, ReplaceOptions::CACHE));
        if let Err(error) = saved {
            tracing::warn!(%error, path = %path.display(), "what turns wrote into checks is not on disk");
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, WorkspaceBaseline>> {
        self.workspaces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WorkspaceBaseline {
    fn note_written(&mut self, before: &FileSums, now: &FileSums) {
        for (name, sum) in now.iter().filter(|(name, sum)| before.get(*name) != Some(sum)) {
            let versions = self.written.entry(name.clone()).or_default();
            if versions.len() >= MAX_VERSIONS {
                versions.pop_first();
            }
            versions.insert(sum.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ostler_runner::FileSums;
    use ostler_types::SessionId;

    use super::Baselines;

    fn sums(text: &str) -> FileSums {
        FileSums::from([("Makefile".to_owned(), text.to_owned())])
    }

    #[test]
    fn what_a_turn_wrote_is_known_until_it_is_accepted_or_changed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("workspace-checks.json");
        let (place, one, two) = (Path::new("/w"), SessionId::new(uuid(1)), SessionId::new(uuid(2)));
        let baselines = Baselines::load(path.clone());
        baselines.begin_turn(place, one, &sums("owner's"));
        baselines.end_turn(place, one, &sums("owner's"), &sums("model's"));
        let baselines = Baselines::load(path.clone());
        assert_eq!(baselines.written_by_turns(place, &sums("model's")), ["Makefile"]);
        assert!(baselines.written_by_turns(place, &sums("owner's again")).is_empty());
        baselines.accept(place);
        assert!(baselines.written_by_turns(place, &sums("model's")).is_empty());
        // A turn that never ended, and one beside it.
        baselines.begin_turn(place, one, &sums("owner's"));
        let baselines = Baselines::load(path);
        baselines.begin_turn(place, two, &sums("half done"));
        assert_eq!(baselines.written_by_turns(place, &sums("half done")), ["Makefile"]);
    }

    fn uuid(number: u128) -> uuid::Uuid {
        uuid::Uuid::from_u128(number)
    }
}
