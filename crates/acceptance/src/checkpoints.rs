//! Checkpoints of a turn: the workspace before its first change, and as it is later. By them a turn can
//! be undone and reviewed, and what it changed is known from the files, not from what anybody says.
//!
//! They outlive the turn's own future, so that a turn that was stopped can still say how it left the
//! workspace.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ostler_agent::{FailedTurn, TurnContext};
use ostler_runner::{
    CaptureWorkspace, CapturedCheckpoint, CheckpointError, CheckpointId, CompareCheckpoints, HoldGuard,
    HoldPurpose, RevertOutcome, RevertRejected, Runner,
};
use ostler_types::{FileChange, Moment, RejectedFile, TurnReport};
use tokio::sync::OnceCell;

/// The checkpoints of one turn. On a runner that keeps none, what a turn changed is only known from its tools.
pub struct CheckpointTracker {
    runner: Arc<dyn Runner>,
    workspace: String,
    /// The workspace before the first change, or why it could not be captured.
    before: OnceCell<Result<CheckpointBeforeTurn, String>>,
    /// Held from the turn's first change to its end, so that nothing is undone in between.
    hold: OnceCell<HoldGuard>,
    /// How many calls that may change something have begun.
    changes: AtomicU64,
}

struct CheckpointBeforeTurn {
    checkpoint: CapturedCheckpoint,
    /// An old turn may have waited for longer than checkpoints are kept.
    _kept: HoldGuard,
}

impl CheckpointTracker {
    /// The checkpoints of a turn that begins, or is picked up.
    pub async fn new(runner: Arc<dyn Runner>, context: &TurnContext) -> CheckpointTracker {
        let workspace = context.session.workspace_path.clone();
        let (known, failed) = (&context.open_turn.checkpoint, &context.open_turn.checkpoint_error);
        let found = match (known, runner.checkpoints()) {
            (Some(id), Some(store)) => Some(find_checkpoint(store, id).await),
            (Some(_), None) | (None, _) => failed.clone().map(Err),
        };
        let before = found.map_or_else(OnceCell::new, |found| OnceCell::new_with(Some(found)));
        let changes = AtomicU64::new(u64::from(context.open_turn.changed));
        CheckpointTracker { runner, workspace, before, hold: OnceCell::new(), changes }
    }

    /// The workspace before the turn's first change, if there was one.
    pub fn before(&self) -> Option<&CapturedCheckpoint> {
        self.before.get().and_then(|before| before.as_ref().ok()).map(|before| &before.checkpoint)
    }

    /// Whether what a turn changes can be told from the files.
    pub fn can_compare(&self) -> bool {
        self.before().is_some()
    }

    /// Why the workspace could not be captured before the turn's first change.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.before.get().and_then(|before| before.as_ref().err()).map(String::as_str)
    }

    /// Why nobody knows what the turn changed, although it may have changed something.
    pub(crate) fn unknown_change_reason(&self) -> Option<String> {
        if self.store().is_none() && self.change_count() > 0 {
            return Some("this daemon keeps no checkpoints".to_owned());
        }
        self.failure().map(str::to_owned)
    }

    /// How many calls that may change something have begun, as far as this process knows.
    pub(crate) fn change_count(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Whether no call that may change something has begun, as far as the log and this process know.
    pub(crate) fn are_unused(&self) -> bool {
        self.before.get().is_none() && self.change_count() == 0
    }

    /// Makes sure that the workspace is captured before anything changes it, and that no undo runs meanwhile.
    /// One that cannot be captured (because it is too large) is worked in all the same; that is recorded, and
    /// the turn can then not be undone.
    pub async fn capture_before_change(&self, context: &TurnContext) -> Result<(), FailedTurn> {
        self.changes.fetch_add(1, Ordering::Relaxed);
        let Some(store) = self.store() else { return Ok(()) };
        self.hold().await;
        let captured = self.before.get_or_try_init(|| async {
            let captured = self.capture(None).await;
            let report = match &captured {
                Ok(checkpoint) => checkpoint_report(checkpoint, Moment::Before),
                Err(reason) => {
                    TurnReport::CheckpointFailed { moment: Moment::Before, reason: reason.clone() }
                }
            };
            context.report(report).await?;
            Ok::<_, FailedTurn>(match captured {
                Ok(checkpoint) => Ok(CheckpointBeforeTurn::new(store, checkpoint).await),
                Err(reason) => Err(reason),
            })
        });
        captured.await.map(drop)
    }

    /// Keeps undo away until the turn is over; waits while one runs.
    pub(crate) async fn hold(&self) {
        if let Some(store) = self.store() {
            self.hold
                .get_or_init(|| store.hold_workspace(self.workspace.clone(), HoldPurpose::Changing))
                .await;
        }
    }

    /// The workspace as it is now, comparable with the one before; none if there is none before.
    pub(crate) async fn capture_now(&self) -> Option<Result<CapturedCheckpoint, String>> {
        let since = self.before()?.id.clone();
        let captured = self.capture(Some(since)).await;
        Some(captured.inspect_err(|error| tracing::warn!(error, "no checkpoint")))
    }

    /// What is different between before the turn and this later checkpoint.
    pub(crate) async fn changes(&self, now: CheckpointId) -> Result<Vec<FileChange>, String> {
        let (store, before) = self.store().zip(self.before()).ok_or("there is nothing to compare with")?;
        let (workspace, from) = (self.workspace.clone(), before.id.clone());
        let compared = store.compare(CompareCheckpoints { workspace, from, to: Some(now) }).await;
        let changes = compared.map_err(|error| error.to_string())?;
        Ok(changes.into_iter().map(|file| file.change).collect())
    }

    /// The files that are different from before the turn, as they are now; none on a runner that keeps no checkpoints.
    /// The error says that it cannot be told.
    pub(crate) async fn changed_paths(&self) -> Result<Vec<String>, String> {
        let Some(store) = self.store() else { return Ok(Vec::new()) };
        let before = match self.before.get() {
            None => return Ok(Vec::new()),
            Some(Ok(before)) => before,
            Some(Err(why)) => return Err(why.clone()),
        };
        let (workspace, from) = (self.workspace.clone(), before.checkpoint.id.clone());
        let compared = store.compare(CompareCheckpoints { workspace, from, to: None }).await;
        let changed = compared.map_err(|error| error.to_string())?;
        Ok(changed.into_iter().map(|file| file.change.path).collect())
    }

    /// Puts back what was rejected of the change that a person was shown. None when there is no checkpoint of the
    /// workspace before the turn.
    pub(crate) async fn revert_rejected(
        &self,
        shown: CheckpointId,
        files: Vec<RejectedFile>,
    ) -> Option<Result<Vec<RevertOutcome>, CheckpointError>> {
        let (store, before) = self.store().zip(self.before())?;
        let (workspace, before) = (self.workspace.clone(), before.id.clone());
        Some(store.revert_rejected(RevertRejected { workspace, before, shown, files }).await)
    }

    /// Records the workspace as the turn leaves it, if the turn may have changed it. Said of a turn that
    /// is over, too; where that is not taken, there is nothing else to be done.
    pub async fn capture_after_turn(&self, context: &TurnContext) -> Result<(), FailedTurn> {
        let report = match self.capture_now().await {
            Some(Ok(checkpoint)) => checkpoint_report(&checkpoint, Moment::After),
            Some(Err(reason)) => TurnReport::CheckpointFailed { moment: Moment::After, reason },
            None => return Ok(()),
        };
        context.report(report).await?;
        if let Some(store) = self.store() {
            store.prune();
        }
        Ok(())
    }

    async fn capture(&self, since: Option<CheckpointId>) -> Result<CapturedCheckpoint, String> {
        let store = self.store().ok_or("there is no store")?;
        let captured = store.capture(CaptureWorkspace { workspace: self.workspace.clone(), since }).await;
        captured.map_err(|error| error.to_string())
    }

    fn store(&self) -> Option<&dyn ostler_runner::Checkpoints> {
        self.runner.checkpoints()
    }
}

impl CheckpointBeforeTurn {
    async fn new(
        store: &dyn ostler_runner::Checkpoints,
        checkpoint: CapturedCheckpoint,
    ) -> CheckpointBeforeTurn {
        CheckpointBeforeTurn { _kept: store.retain(checkpoint.id.clone()).await, checkpoint }
    }
}

async fn find_checkpoint(
    store: &dyn ostler_runner::Checkpoints,
    id: &str,
) -> Result<CheckpointBeforeTurn, String> {
    match store.find(CheckpointId(id.to_owned())).await {
        Ok(checkpoint) => Ok(CheckpointBeforeTurn::new(store, checkpoint).await),
        Err(error) => Err(error.to_string()),
    }
}

fn checkpoint_report(checkpoint: &CapturedCheckpoint, moment: Moment) -> TurnReport {
    let CapturedCheckpoint { id, files, bytes, left_out } = checkpoint;
    let (checkpoint_id, files, bytes, left_out) = (id.to_string(), *files, *bytes, *left_out);
    TurnReport::CheckpointCreated { checkpoint_id, moment, files, bytes, left_out }
}
