//! Puts back what a person rejected of a change: all of it, some files, or some hunks.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ostler_checkpoint::{
    Checkpoint, CheckpointStore, DiffTarget, Error, RestoreOptions, RestoreReport, SkippedProtectedPath,
};
use ostler_runner::RevertOutcome;
use ostler_types::RejectedFile;

/// What a person was shown.
pub(super) struct RejectedChange<'a> {
    pub(super) store: &'a CheckpointStore,
    pub(super) workspace: &'a Path,
    pub(super) before: &'a Checkpoint,
    pub(super) shown: &'a Checkpoint,
}

impl RejectedChange<'_> {
    pub(super) fn revert_all(&self) -> Result<Vec<RevertOutcome>, Error> {
        let options = RestoreOptions::default();
        let RestoreReport { restored, deleted, recreated, conflicts, left_out, protected } =
            self.store.restore(self.workspace, self.before, Some(self.shown), &options)?;
        let failed =
            |path: &Path, why: String| RevertOutcome { what: path.display().to_string(), failure: Some(why) };
        let conflicts = conflicts.into_iter().map(|conflict| failed(&conflict.path, conflict.why));
        let left_out = left_out.iter().map(|left_out| failed(&left_out.path, "it was too large".to_owned()));
        let protected = protected.iter().map(|it| failed(&it.path, it.why()));
        let done = restored.iter().chain(&deleted).chain(&recreated);
        let done = done.map(|path| RevertOutcome { what: path.display().to_string(), failure: None });
        Ok(conflicts.chain(left_out).chain(protected).chain(done).collect())
    }

    pub(super) fn revert_files(&self, rejected: &[RejectedFile]) -> Result<Vec<RevertOutcome>, Error> {
        let changes = self.store.diff(self.before, DiffTarget::Checkpoint(self.shown))?;
        let known: HashMap<String, _> =
            changes.iter().map(|change| (change.path.to_string_lossy().into_owned(), change)).collect();
        let mut put_back = Vec::new();
        for RejectedFile { path, hunks } in rejected {
            let what = match hunks {
                Some(hunks) => format!("{path} (hunks {hunks:?})"),
                None => path.clone(),
            };
            let failure = match known.get(path) {
                Some(change) => self.revert_file(change, hunks.as_deref()),
                None => Some("it is no part of the change".to_owned()),
            };
            put_back.push(RevertOutcome { what, failure });
        }
        Ok(put_back)
    }

    /// Puts back one file, or some of its hunks. Says why it could not.
    fn revert_file(
        &self,
        change: &ostler_checkpoint::CheckpointFileChange,
        hunks: Option<&[usize]>,
    ) -> Option<String> {
        let restored = match hunks {
            Some(hunks) => {
                let since = Some(self.shown);
                self.store.restore_hunks(self.workspace, &change.path, self.before, since, hunks)
            }
            None => {
                let options = RestoreOptions { only: Some(paths(change)), ..RestoreOptions::default() };
                self.store.restore(self.workspace, self.before, Some(self.shown), &options)
            }
        };
        match restored {
            Ok(restored) => revert_failure(&restored),
            Err(error) => Some(error.to_string()),
        }
    }
}

/// Why something of a rejected file was not put back, if something was not.
fn revert_failure(restored: &RestoreReport) -> Option<String> {
    let protected = restored.protected.first().map(SkippedProtectedPath::why);
    let conflict = || restored.conflicts.first().map(|conflict| conflict.why.clone());
    let left_out = || restored.left_out.first().map(|_| "it was too large".to_owned());
    protected.or_else(conflict).or_else(left_out)
}

/// Where a file is, and where it was.
fn paths(change: &ostler_checkpoint::CheckpointFileChange) -> Vec<PathBuf> {
    let mut paths = vec![change.path.clone()];
    if let ostler_checkpoint::CheckpointChangeKind::Renamed { from } = &change.kind {
        paths.push(from.clone());
    }
    paths
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ostler_checkpoint::{CaptureOptions, CheckpointStore};
    use ostler_types::RejectedFile;

    use super::{RejectedChange, RevertOutcome};

    #[test]
    fn what_is_protected_is_not_put_back_and_that_is_told() {
        fn protected_name(_: &Path, path: &Path, _: bool) -> Option<&'static str> {
            path.ends_with(".envrc").then_some(".envrc")
        }
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("w");
        std::fs::create_dir_all(workspace.join("old")).unwrap();
        let store = CheckpointStore::open(&folder.path().join("s"))
            .unwrap()
            .with_protected_names(std::sync::Arc::new(protected_name));
        let put = |path: &str, text: &str| std::fs::write(workspace.join(path), text).unwrap();
        let read = |path: &str| std::fs::read_to_string(workspace.join(path)).unwrap();
        for path in [".envrc", "old/.envrc", "a", "b"] {
            put(path, &format!("before {path}\n"));
        }
        let before = store.capture(&workspace, &CaptureOptions::default()).unwrap();
        for path in [".envrc", "a", "b"] {
            put(path, "after\n");
        }
        std::fs::rename(workspace.join("old"), workspace.join("new")).unwrap();
        let shown = store.capture(&workspace, &CaptureOptions::default()).unwrap();
        let change = RejectedChange { store: &store, workspace: &workspace, before: &before, shown: &shown };
        let rejected = |path: &str, hunks| RejectedFile { path: path.to_owned(), hunks };
        let named = [
            rejected(".envrc", None),
            rejected(".envrc", Some(vec![0])),
            rejected("new/.envrc", None),
            rejected("a", None),
        ];
        let some = change.revert_files(&named).unwrap();
        for failed in &some[..3] {
            let why = failed.failure.as_deref().unwrap_or_default();
            assert!(why.contains("left as it is"), "{failed:?}");
        }
        assert_eq!(some[3], RevertOutcome { what: "a".to_owned(), failure: None });
        let all = change.revert_all().unwrap();
        assert!(all.contains(&RevertOutcome { what: "b".to_owned(), failure: None }), "{all:?}");
        let is_left =
            |it: &&RevertOutcome| it.failure.as_ref().is_some_and(|why| why.contains("left as it is"));
        assert_eq!(all.iter().filter(is_left).count(), 3, "{all:?}");
        assert_eq!(
            (read(".envrc"), read("new/.envrc")),
            ("after\n".to_owned(), "before old/.envrc\n".to_owned())
        );
        assert!(!workspace.join("old/.envrc").exists());
    }
}
