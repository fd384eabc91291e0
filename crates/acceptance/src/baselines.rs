//! Which of the files that decide what a check runs were written by turns, and not accepted by the owner since. Kept in
//! the document `workspace-checks.json`, and noted before a turn changes anything, so that neither a crash nor a canceled
//! turn makes a model's words the owner's. A workspace is named by its key ([`Session::workspace_key`]).
//!
//! The baselines in memory apply even if saving them fails: a forgotten baseline would let a check run a model's code.
//!
//! [`Session::workspace_key`]: ostler_types::Session::workspace_key

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_documents::{DocumentError, DocumentVersion, Documents};
use ostler_runner::FileSums;
use ostler_types::SessionId;
use serde::{Deserialize, Serialize};

/// The document.
const DOCUMENT: &str = "workspace-checks.json";
/// Attempts at one write, of which each but the first follows a conflict with another writer.
const MAX_ATTEMPTS: usize = 4;
/// Maximum number of workspaces with baselines, and of versions of one file.
const MAX_WORKSPACES: usize = 1000;
const MAX_VERSIONS: usize = 64;

/// Contents that turns wrote into the files that define checks. The default keeps nothing on disk.
#[derive(Default)]
pub struct Baselines {
    storage: Option<BaselineStorage>,
    workspaces: Mutex<BTreeMap<String, WorkspaceBaseline>>,
}

/// Where it is kept.
struct BaselineStorage {
    documents: Arc<dyn Documents>,
    /// The version that was read or written last. Held by whoever writes, so that the newest contents are written last.
    version: tokio::sync::Mutex<Option<DocumentVersion>>,
}

/// The baselines of one workspace.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct WorkspaceBaseline {
    /// The files as they were when each turn began that is not known to be over.
    #[serde(default)]
    open: BTreeMap<String, FileSums>,
    /// Checksums that turns left behind, by file.
    #[serde(default)]
    written: BTreeMap<String, BTreeSet<String>>,
}

impl Baselines {
    /// Loads the baselines of a daemon. A document that cannot be parsed is replaced by an empty one.
    pub async fn load(documents: Arc<dyn Documents>) -> Baselines {
        let stored = documents.read(DOCUMENT).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "what turns wrote into checks is not known");
            None
        });
        let parse = |content: &[u8]| {
            serde_json::from_slice(content).unwrap_or_else(|error| {
                tracing::warn!(%error, "what turns wrote into checks is forgotten: {DOCUMENT} cannot be read");
                BTreeMap::new()
            })
        };
        let known = stored.as_ref().map(|stored| parse(&stored.content)).unwrap_or_default();
        let version = tokio::sync::Mutex::new(stored.map(|stored| stored.version));
        Baselines { storage: Some(BaselineStorage { documents, version }), workspaces: Mutex::new(known) }
    }

    /// The owner accepts the files of a workspace as they are.
    pub async fn accept(&self, workspace: &str) {
        let is_known = match self.lock().get_mut(workspace) {
            Some(found) => {
                found.written.clear();
                found.open.clear();
                true
            }
            None => false,
        };
        if is_known {
            self.save().await;
        }
    }

    /// A turn begins with these files. Whatever turns that are not over have changed counts as written by them.
    pub(crate) async fn begin_turn(&self, workspace: &str, session: SessionId, now: &FileSums) {
        {
            let mut known = self.lock();
            if known.len() >= MAX_WORKSPACES && !known.contains_key(workspace) {
                known.clear();
            }
            let found = known.entry(workspace.to_owned()).or_default();
            for before in found.open.values().cloned().collect::<Vec<_>>() {
                found.note_written(&before, now);
            }
            found.open.insert(session.to_string(), now.clone());
        }
        self.save().await;
    }

    /// A turn that found the one and leaves the other is over. It may go on after all, and end again.
    pub(crate) async fn end_turn(
        &self,
        workspace: &str,
        session: SessionId,
        before: &FileSums,
        now: &FileSums,
    ) {
        {
            let mut known = self.lock();
            let found = known.entry(workspace.to_owned()).or_default();
            found.open.remove(&session.to_string());
            found.note_written(before, now);
        }
        self.save().await;
    }

    /// The files as they were when the turn of this session began, if that is known.
    pub(crate) fn files_at_turn_start(&self, workspace: &str, session: SessionId) -> Option<FileSums> {
        self.lock().get(workspace)?.open.get(&session.to_string()).cloned()
    }

    /// A turn that was cut short has left these files, which it may have written.
    pub(crate) async fn note_interrupted_turn(&self, workspace: &str, session: SessionId, left: &FileSums) {
        {
            let mut known = self.lock();
            let found = known.entry(workspace.to_owned()).or_default();
            let before = found.open.remove(&session.to_string()).unwrap_or_default();
            found.note_written(&before, left);
        }
        self.save().await;
    }

    /// Returns true where no turn is known to have written or to be writing anything.
    pub(crate) fn is_empty(&self, workspace: &str) -> bool {
        let known = self.lock();
        let found = known.get(workspace);
        found.is_none_or(|found| found.written.is_empty() && found.open.is_empty())
    }

    /// The files that turns have written.
    pub(crate) fn written_names(&self, workspace: &str) -> Vec<String> {
        let known = self.lock();
        let found = known.get(workspace);
        found.map(|found| found.written.keys().cloned().collect()).unwrap_or_default()
    }

    /// Those of these files that a turn wrote just as they are, or that are not as a turn found them that is not known to
    /// be over.
    pub(crate) fn written_by_turns<'a>(&self, workspace: &str, sums: &'a FileSums) -> Vec<&'a str> {
        let known = self.lock();
        let Some(found) = known.get(workspace) else { return Vec::new() };
        let is_written = |name: &String, sum: &String| {
            let by_open = |before: &FileSums| before.get(name).is_some_and(|before| before != sum);
            found.written.get(name).is_some_and(|sums| sums.contains(sum)) || found.open.values().any(by_open)
        };
        sums.iter().filter(|(name, sum)| is_written(name, sum)).map(|(name, _)| name.as_str()).collect()
    }

    async fn save(&self) {
        let Some(storage) = &self.storage else { return };
        if let Err(error) = storage.save(|| serde_json::to_vec(&*self.lock())).await {
            tracing::warn!(%error, "what turns wrote into checks is not on disk");
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, WorkspaceBaseline>> {
        self.workspaces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BaselineStorage {
    async fn save(&self, content: impl Fn() -> serde_json::Result<Vec<u8>>) -> Result<(), DocumentError> {
        let mut version = self.version.lock().await;
        let content = content().map_err(|error| DocumentError::Storage(error.to_string()))?;
        for _ in 0..MAX_ATTEMPTS {
            match self.documents.replace(DOCUMENT, *version, content.clone().into()).await {
                Ok(written) => {
                    *version = Some(written);
                    return Ok(());
                }
                Err(DocumentError::Changed) => {
                    *version = self.documents.read(DOCUMENT).await?.map(|stored| stored.version);
                }
                Err(error) => return Err(error),
            }
        }
        Err(DocumentError::Changed)
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
    use std::sync::Arc;

    use ostler_documents::{Documents, FileDocuments};
    use ostler_runner::FileSums;
    use ostler_types::SessionId;

    use super::Baselines;

    fn sums(text: &str) -> FileSums {
        FileSums::from([("Makefile".to_owned(), text.to_owned())])
    }

    #[tokio::test]
    async fn what_a_turn_wrote_is_known_until_it_is_accepted_or_changed() {
        let dir = tempfile::tempdir().unwrap();
        let documents: Arc<dyn Documents> = Arc::new(FileDocuments::new(dir.path()));
        let load = || Baselines::load(Arc::clone(&documents));
        let (place, one, two) = ("/w", SessionId::new(uuid(1)), SessionId::new(uuid(2)));
        let baselines = load().await;
        baselines.begin_turn(place, one, &sums("owner's")).await;
        baselines.end_turn(place, one, &sums("owner's"), &sums("model's")).await;
        let baselines = load().await;
        assert_eq!(baselines.written_by_turns(place, &sums("model's")), ["Makefile"]);
        assert!(baselines.written_by_turns(place, &sums("owner's again")).is_empty());
        baselines.accept(place).await;
        assert!(baselines.written_by_turns(place, &sums("model's")).is_empty());
        // A turn that never ended, and one beside it.
        baselines.begin_turn(place, one, &sums("owner's")).await;
        let baselines = load().await;
        baselines.begin_turn(place, two, &sums("half done")).await;
        assert_eq!(baselines.written_by_turns(place, &sums("half done")), ["Makefile"]);
        assert!(baselines.is_empty("lab1:/w"), "the same path of another runner is another workspace");
    }

    #[tokio::test]
    async fn a_file_of_before_is_read_and_what_cannot_be_written_holds_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let documents: Arc<dyn Documents> = Arc::new(FileDocuments::new(dir.path()));
        let path = dir.path().join("workspace-checks.json");
        std::fs::write(&path, r#"{"/w":{"open":{},"written":{"Makefile":["model's"]}}}"#).unwrap();
        let baselines = Baselines::load(Arc::clone(&documents)).await;
        assert_eq!(baselines.written_by_turns("/w", &sums("model's")), ["Makefile"]);
        // Somebody else writes the document, and then nobody can.
        std::fs::write(&path, "{}").unwrap();
        baselines.begin_turn("/w", SessionId::new(uuid(1)), &sums("owner's")).await;
        let again = Baselines::load(Arc::clone(&documents)).await;
        assert_eq!(again.written_by_turns("/w", &sums("model's")), ["Makefile"]);
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        again.end_turn("/w", SessionId::new(uuid(1)), &sums("owner's"), &sums("other")).await;
        assert_eq!(again.written_by_turns("/w", &sums("other")), ["Makefile"]);
    }

    fn uuid(number: u128) -> uuid::Uuid {
        uuid::Uuid::from_u128(number)
    }
}
