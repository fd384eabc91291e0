//! Checkpoints in a store on this disk. All work on it blocks, so it is done on threads for that.

mod revert;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_checkpoint::{
    CaptureOptions, Checkpoint, CheckpointStore, DiffTarget, Error, LeftOutReason, RestoreOptions,
    StoreLimits, TurnCheckpoints,
};
use ostler_runner::{
    CaptureWorkspace, CapturedCheckpoint, ChangedFile, CheckpointError, CheckpointId, Checkpoints,
    CompareCheckpoints, HoldGuard, HoldPurpose, RevertOutcome, RevertRejected, UndoOutcome, UndoTurns,
    UnrestoredFile,
};

/// The checkpoints of a store.
#[derive(Clone)]
pub(crate) struct LocalCheckpoints {
    store: Arc<CheckpointStore>,
}

impl LocalCheckpoints {
    pub(crate) fn new(store: Arc<CheckpointStore>) -> LocalCheckpoints {
        LocalCheckpoints { store }
    }

    /// Does something on the store. It runs to its end, whether or not somebody waits for it.
    fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CheckpointStore) -> Result<T, CheckpointError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, CheckpointError>> {
        let store = Arc::clone(&self.store);
        let done = tokio::task::spawn_blocking(move || work(&store));
        async move { done.await.unwrap_or_else(|error| Err(CheckpointError::Failed(error.to_string()))) }
            .boxed()
    }
}

impl Checkpoints for LocalCheckpoints {
    fn hold_workspace(&self, workspace: String, purpose: HoldPurpose) -> BoxFuture<'_, HoldGuard> {
        async move {
            let workspace = Path::new(&workspace);
            match purpose {
                HoldPurpose::Changing => HoldGuard::new(self.store.lease_for_change(workspace).await),
                HoldPurpose::Undoing => HoldGuard::new(self.store.lease_for_undo(workspace).await),
            }
        }
        .boxed()
    }

    fn capture(
        &self,
        capture: CaptureWorkspace,
    ) -> BoxFuture<'_, Result<CapturedCheckpoint, CheckpointError>> {
        self.blocking(move |store| {
            let since = capture.since.as_ref().map(parse_id).transpose()?;
            let options = CaptureOptions { since, ..CaptureOptions::default() };
            store
                .capture(Path::new(&capture.workspace), &options)
                .map(|checkpoint| to_captured_checkpoint(&checkpoint))
                .map_err(|error| from_store_error(&error))
        })
    }

    fn find(&self, id: CheckpointId) -> BoxFuture<'_, Result<CapturedCheckpoint, CheckpointError>> {
        self.blocking(move |store| find(store, &id).map(|checkpoint| to_captured_checkpoint(&checkpoint)))
    }

    fn retain(&self, id: CheckpointId) -> BoxFuture<'_, HoldGuard> {
        // An id that is none keeps nothing.
        let kept = parse_id(&id).ok().map(|id| self.store.in_use(id));
        std::future::ready(HoldGuard::new(kept)).boxed()
    }

    fn compare(
        &self,
        compare: CompareCheckpoints,
    ) -> BoxFuture<'_, Result<Vec<ChangedFile>, CheckpointError>> {
        self.blocking(move |store| {
            let from = find(store, &compare.from)?;
            let to = compare.to.as_ref().map(|to| find(store, to)).transpose()?;
            let workspace = Path::new(&compare.workspace);
            let against = to.as_ref().map_or(DiffTarget::Workspace(workspace), DiffTarget::Checkpoint);
            let changes = store.diff(&from, against).map_err(|error| from_store_error(&error))?;
            let changed = |file: ostler_checkpoint::CheckpointFileChange| ChangedFile {
                truncated: file.truncated,
                change: file.into(),
            };
            Ok(changes.into_iter().map(changed).collect())
        })
    }

    fn revert_rejected(
        &self,
        rejected: RevertRejected,
    ) -> BoxFuture<'_, Result<Vec<RevertOutcome>, CheckpointError>> {
        self.blocking(move |store| {
            let (before, shown) = (find(store, &rejected.before)?, find(store, &rejected.shown)?);
            let workspace = Path::new(&rejected.workspace);
            let change = revert::RejectedChange { store, workspace, before: &before, shown: &shown };
            let put_back = if rejected.files.is_empty() {
                change.revert_all()
            } else {
                change.revert_files(&rejected.files)
            };
            put_back.map_err(|error| from_store_error(&error))
        })
    }

    fn undo_turns(&self, undo: UndoTurns) -> BoxFuture<'_, Result<UndoOutcome, CheckpointError>> {
        self.blocking(move |store| {
            let mut found = Vec::new();
            for turn in &undo.turns {
                let after = turn.after.as_ref().map(|after| find(store, after)).transpose()?;
                found.push((find(store, &turn.before)?, after));
            }
            let spans: Vec<TurnCheckpoints<'_>> = found
                .iter()
                .map(|(before, after)| TurnCheckpoints { before, after: after.as_ref() })
                .collect();
            let options = RestoreOptions { only: None, preview: undo.preview, force: undo.force };
            let restored = store.undo(Path::new(&undo.workspace), &spans, &options);
            restored.map(to_undo_outcome).map_err(|error| from_store_error(&error))
        })
    }

    fn prune(&self) {
        let store = Arc::clone(&self.store);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = store.prune_if_due(&StoreLimits::default(), SystemTime::now()) {
                tracing::warn!(%error, "old checkpoints were not removed");
            }
        });
    }
}

fn parse_id(id: &CheckpointId) -> Result<ostler_checkpoint::CheckpointDigest, CheckpointError> {
    id.0.parse().map_err(|_| CheckpointError::Failed(format!("`{id}` is no checkpoint")))
}

fn find(store: &CheckpointStore, id: &CheckpointId) -> Result<Checkpoint, CheckpointError> {
    store.find(parse_id(id)?).map_err(|error| from_store_error(&error))
}

fn to_captured_checkpoint(checkpoint: &Checkpoint) -> CapturedCheckpoint {
    let Checkpoint { id, files, bytes, left_out, .. } = checkpoint;
    CapturedCheckpoint { id: CheckpointId(id.to_string()), files: *files, bytes: *bytes, left_out: *left_out }
}

fn from_store_error(error: &Error) -> CheckpointError {
    match error {
        Error::NotFound(_) => CheckpointError::Gone(error.to_string()),
        _ => CheckpointError::Failed(error.to_string()),
    }
}

/// A restore in words, with paths as text.
fn to_undo_outcome(restored: ostler_checkpoint::RestoreReport) -> UndoOutcome {
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let texts = |paths: Vec<PathBuf>| -> Vec<String> { paths.into_iter().map(text).collect() };
    let conflict =
        |it: ostler_checkpoint::RestoreConflict| UnrestoredFile { path: text(it.path), why: it.why };
    let left_out = |it: ostler_checkpoint::LeftOut| UnrestoredFile {
        path: text(it.path),
        why: why_left_out(it.reason).to_owned(),
    };
    let protected =
        |it: ostler_checkpoint::SkippedProtectedPath| UnrestoredFile { why: it.why(), path: text(it.path) };
    let left_out = restored.left_out.into_iter().map(left_out);
    UndoOutcome {
        restored: texts(restored.restored),
        recreated: texts(restored.recreated),
        deleted: texts(restored.deleted),
        conflicts: restored.conflicts.into_iter().map(conflict).collect(),
        left_out: left_out.chain(restored.protected.into_iter().map(protected)).collect(),
    }
}

fn why_left_out(reason: LeftOutReason) -> &'static str {
    match reason {
        LeftOutReason::TooLarge => "it was too large to be kept",
        LeftOutReason::Unreadable => "it could not be read",
        LeftOutReason::Special => "it is no file",
    }
}
