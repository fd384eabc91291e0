//! Checkpoints of a turn: the workspace before its first change, and as it is later. By them a turn can
//! be undone and reviewed, and what it changed is known from the files, not from what anybody says.
//!
//! They outlive the turn's own future, so that a turn that was stopped can still say how it left the
//! workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use ostler_agent::{Failed, TurnContext};
use ostler_checkpoint::{Against, CaptureOptions, Changing, Checkpoint, Error, InUse, Limits, Store};
use ostler_types::{FileChange, Moment, Report};
use tokio::sync::OnceCell;

/// The checkpoints of one turn. Without a store there are none, and what a turn changed is only known
/// from its tools.
pub struct Checkpoints {
    store: Option<Arc<Store>>,
    workspace: PathBuf,
    /// The workspace before the first change, or why it could not be captured.
    before: OnceCell<Result<Before, String>>,
    /// Held from the turn's first change to its end, so that nothing is undone in between.
    lease: OnceCell<Changing>,
    /// How many calls that may change something have begun.
    changes: AtomicU64,
}

struct Before {
    checkpoint: Checkpoint,
    /// An old turn may have waited for longer than checkpoints are kept.
    _in_use: InUse,
}

impl Checkpoints {
    /// The checkpoints of a turn that begins, or is picked up.
    pub fn new(store: Option<Arc<Store>>, context: &TurnContext) -> Checkpoints {
        let workspace = PathBuf::from(&context.session.workspace_path);
        let (known, failed) = (&context.open.checkpoint, &context.open.checkpoint_error);
        let found = known.as_ref().zip(store.as_ref()).map(|(id, store)| find(store, id));
        let found = found.or_else(|| failed.clone().map(Err));
        let before = found.map_or_else(OnceCell::new, |found| OnceCell::new_with(Some(found)));
        let changes = AtomicU64::new(u64::from(context.open.changed));
        Checkpoints { store, workspace, before, lease: OnceCell::new(), changes }
    }

    /// The workspace before the turn's first change, if there was one.
    pub fn before(&self) -> Option<&Checkpoint> {
        self.before.get().and_then(|before| before.as_ref().ok()).map(|before| &before.checkpoint)
    }

    /// Whether what a turn changes can be told from the files.
    pub fn compares(&self) -> bool {
        self.before().is_some()
    }

    /// Why the workspace could not be captured before the turn's first change.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.before.get().and_then(|before| before.as_ref().err()).map(String::as_str)
    }

    /// Why nobody knows what the turn changed, although it may have changed something.
    pub(crate) fn unknown(&self) -> Option<String> {
        if self.store.is_none() && self.change_count() > 0 {
            return Some("this daemon keeps no checkpoints".to_owned());
        }
        self.failure().map(str::to_owned)
    }

    /// How many calls that may change something have begun, as far as this process knows.
    pub(crate) fn change_count(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Makes sure that the workspace is captured before anything changes it, and that no undo runs meanwhile.
    /// One that cannot be captured (because it is too large) is worked in all the same; that is recorded, and
    /// the turn can then not be undone.
    pub async fn before_change(&self, context: &TurnContext) -> Result<(), Failed> {
        self.changes.fetch_add(1, Ordering::Relaxed);
        let Some(store) = &self.store else { return Ok(()) };
        self.hold().await;
        let captured = self.before.get_or_try_init(|| async {
            let captured = self.capture(CaptureOptions::default()).await;
            let report = match &captured {
                Ok(checkpoint) => created(checkpoint, Moment::Before),
                Err(reason) => Report::CheckpointFailed { moment: Moment::Before, reason: reason.clone() },
            };
            context.report(report).await?;
            Ok::<_, Failed>(captured.map(|checkpoint| Before::new(store, checkpoint)))
        });
        captured.await.map(drop)
    }

    /// Keeps undo away until the turn is over; waits while one runs.
    pub(crate) async fn hold(&self) {
        if let Some(store) = &self.store {
            self.lease.get_or_init(|| store.changing(&self.workspace)).await;
        }
    }

    /// The workspace as it is now, comparable with the one before; none if there is none before.
    pub(crate) async fn now(&self) -> Option<Result<Checkpoint, String>> {
        let since = self.before()?.id;
        let options = CaptureOptions { since: Some(since), ..CaptureOptions::default() };
        let captured = self.capture(options).await;
        Some(captured.inspect_err(|error| tracing::warn!(error, "no checkpoint")))
    }

    /// What is different between before the turn and this later checkpoint.
    pub(crate) async fn changes(&self, now: &Checkpoint) -> Result<Vec<FileChange>, String> {
        let now = now.clone();
        let compared =
            self.blocking(move |store, _, before| store.diff(before, Against::Checkpoint(&now))).await;
        let changes =
            compared.ok_or("there is nothing to compare with")?.map_err(|error| error.to_string())?;
        Ok(changes.into_iter().map(FileChange::from).collect())
    }

    /// Runs something on the store and the checkpoint before the turn, off the async threads.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store, &Path, &Checkpoint) -> T + Send + 'static,
    ) -> Option<T> {
        let (store, before) = (self.store.clone()?, self.before()?.clone());
        let workspace = self.workspace.clone();
        tokio::task::spawn_blocking(move || work(&store, &workspace, &before)).await.ok()
    }

    /// Records the workspace as the turn leaves it, if the turn may have changed it. Said of a turn that
    /// is over, too; where that is not taken, there is nothing else to be done.
    pub async fn after_turn(&self, context: &TurnContext) -> Result<(), Failed> {
        let report = match self.now().await {
            Some(Ok(checkpoint)) => created(&checkpoint, Moment::After),
            Some(Err(reason)) => Report::CheckpointFailed { moment: Moment::After, reason },
            None => return Ok(()),
        };
        context.report(report).await?;
        self.prune();
        Ok(())
    }

    /// Keeps the store within its limits, beside whatever comes next.
    fn prune(&self) {
        let Some(store) = self.store.clone() else { return };
        tokio::task::spawn_blocking(move || {
            if let Err(error) = store.prune_if_due(&Limits::default(), SystemTime::now()) {
                tracing::warn!(%error, "old checkpoints were not removed");
            }
        });
    }

    async fn capture(&self, options: CaptureOptions) -> Result<Checkpoint, String> {
        let store = self.store.clone().ok_or("there is no store")?;
        let workspace = self.workspace.clone();
        let captured = tokio::task::spawn_blocking(move || store.capture(&workspace, &options)).await;
        captured.map_err(|error| error.to_string())?.map_err(|error: Error| error.to_string())
    }
}

impl Before {
    fn new(store: &Store, checkpoint: Checkpoint) -> Before {
        Before { _in_use: store.in_use(checkpoint.id), checkpoint }
    }
}

fn find(store: &Store, id: &str) -> Result<Before, String> {
    let parsed = id.parse().map_err(|_| format!("`{id}` is no checkpoint"))?;
    store.find(parsed).map(|checkpoint| Before::new(store, checkpoint)).map_err(|error| error.to_string())
}

fn created(checkpoint: &Checkpoint, moment: Moment) -> Report {
    let Checkpoint { id, files, bytes, left_out, .. } = checkpoint;
    let (checkpoint_id, files, bytes, left_out) = (id.to_string(), *files, *bytes, *left_out);
    Report::CheckpointCreated { checkpoint_id, moment, files, bytes, left_out }
}
