//! Checkpoints of a turn: the workspace before its first change, and as it is later. By them a turn can
//! be undone and reviewed, and what it changed is known from the files, not from what anybody says.

use std::path::PathBuf;
use std::sync::Arc;

use ostler_agent::Failed;
use ostler_checkpoint::{Against, CaptureOptions, ChangeKind as Kind, Checkpoint, Error, Store};
use ostler_types::{ChangeKind, FileChange, Moment, Report};
use tokio::sync::OnceCell;

use crate::turn::Turn;

/// The checkpoints of one turn. Without a store there are none, and what a turn changed is only known
/// from its tools.
pub(crate) struct Checkpoints {
    store: Option<Arc<Store>>,
    workspace: PathBuf,
    before: OnceCell<Option<Checkpoint>>,
}

impl Checkpoints {
    /// The checkpoints of a turn that begins, or is picked up with this one.
    pub(crate) fn new(store: Option<Arc<Store>>, workspace: PathBuf, known: Option<&str>) -> Checkpoints {
        let found = known.and_then(|id| id.parse().ok()).zip(store.as_ref());
        let found = found.and_then(|(id, store)| store.find(id).ok());
        let before =
            found.map_or_else(OnceCell::new, |checkpoint| OnceCell::new_with(Some(Some(checkpoint))));
        Checkpoints { store, workspace, before }
    }

    /// The workspace before the turn's first change, if there was one.
    pub(crate) fn before(&self) -> Option<&Checkpoint> {
        self.before.get().and_then(Option::as_ref)
    }

    /// The workspace as it is now, comparable with the one before.
    pub(crate) async fn now(&self) -> Option<Checkpoint> {
        let since = self.before()?.id;
        let options = CaptureOptions { since: Some(since), ..CaptureOptions::default() };
        self.capture(options).await.map_err(|error| tracing::warn!(%error, "no checkpoint")).ok()
    }

    /// What is different between before the turn and this later checkpoint.
    pub(crate) async fn changes(&self, now: &Checkpoint) -> Vec<FileChange> {
        let (Some(store), Some(before)) = (self.store.clone(), self.before().cloned()) else {
            return Vec::new();
        };
        let now = now.clone();
        let compare = move || store.diff(&before, Against::Checkpoint(&now));
        match tokio::task::spawn_blocking(compare).await {
            Ok(Ok(changes)) => changes.into_iter().map(change).collect(),
            Ok(Err(error)) => {
                tracing::warn!(%error, "the change of a turn cannot be shown");
                Vec::new()
            }
            Err(error) => {
                tracing::error!(%error, "comparing checkpoints panicked");
                Vec::new()
            }
        }
    }

    /// Runs something on the store and the checkpoint before the turn, off the async threads.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store, &std::path::Path, &Checkpoint) -> T + Send + 'static,
    ) -> Option<T> {
        let (store, before) = (self.store.clone()?, self.before()?.clone());
        let workspace = self.workspace.clone();
        tokio::task::spawn_blocking(move || work(&store, &workspace, &before)).await.ok()
    }

    async fn capture(&self, options: CaptureOptions) -> Result<Checkpoint, String> {
        let store = self.store.clone().ok_or("there is no store")?;
        let workspace = self.workspace.clone();
        let captured = tokio::task::spawn_blocking(move || store.capture(&workspace, &options)).await;
        captured.map_err(|error| error.to_string())?.map_err(|error: Error| error.to_string())
    }
}

/// Makes sure that the workspace is captured before anything changes it. One that cannot be (because it
/// is too large) is worked in all the same; the turn can then not be undone.
pub(crate) async fn before_change(turn: &Turn<'_>) -> Result<(), Failed> {
    let checkpoints = &turn.checkpoints;
    if checkpoints.store.is_none() || checkpoints.before.initialized() {
        return Ok(());
    }
    let captured = checkpoints.before.get_or_try_init(|| async {
        let captured = checkpoints.capture(CaptureOptions::default()).await;
        let captured = captured.map_err(|error| tracing::warn!(error, "this turn cannot be undone")).ok();
        if let Some(checkpoint) = &captured {
            report(turn, checkpoint, Moment::Before).await?;
        }
        Ok::<_, Failed>(captured)
    });
    captured.await.map(drop)
}

/// Records the workspace as the turn leaves it, if the turn may have changed it.
pub(crate) async fn after_turn(turn: &Turn<'_>) -> Result<(), Failed> {
    match turn.checkpoints.now().await {
        Some(checkpoint) => report(turn, &checkpoint, Moment::After).await,
        None => Ok(()),
    }
}

async fn report(turn: &Turn<'_>, checkpoint: &Checkpoint, moment: Moment) -> Result<(), Failed> {
    let Checkpoint { id, files, bytes, left_out, .. } = checkpoint;
    let (checkpoint_id, files, bytes, left_out) = (id.to_string(), *files, *bytes, *left_out);
    turn.context.report(Report::CheckpointCreated { checkpoint_id, moment, files, bytes, left_out }).await?;
    Ok(())
}

fn change(change: ostler_checkpoint::FileChange) -> FileChange {
    let (kind, from) = match change.kind {
        Kind::Added => (ChangeKind::Added, None),
        Kind::Deleted => (ChangeKind::Deleted, None),
        Kind::Modified => (ChangeKind::Modified, None),
        Kind::Renamed { from } => (ChangeKind::Renamed, Some(from.to_string_lossy().into_owned())),
        Kind::ModeChanged => (ChangeKind::ModeChanged, None),
        Kind::TypeChanged => (ChangeKind::TypeChanged, None),
    };
    FileChange {
        path: change.path.to_string_lossy().into_owned(),
        kind,
        from,
        added: change.added as u64,
        removed: change.removed as u64,
        binary: change.binary,
        diff: change.diff,
    }
}
