//! The workspace before a turn and after it, so that the turn can be undone. An agent may write whenever it
//! likes and need not say so: the workspace is captured before it hears the prompt.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use ostler_agent::{Failed, TurnContext};
use ostler_checkpoint::{CaptureOptions, Changing, Checkpoint, InUse, Limits, Store};
use ostler_types::{Moment, Report};
use tokio::sync::OnceCell;

/// The checkpoints of one turn. Without a store there are none.
pub(crate) struct Checkpoints {
    store: Option<Arc<Store>>,
    workspace: PathBuf,
    before: OnceCell<Result<(Checkpoint, InUse), String>>,
    /// Held from the prompt to the turn's end, so that nothing is undone in between.
    lease: OnceCell<Changing>,
}

impl Checkpoints {
    pub(crate) fn new(store: Option<Arc<Store>>, context: &TurnContext) -> Checkpoints {
        let workspace = PathBuf::from(&context.session.workspace_path);
        Checkpoints { store, workspace, before: OnceCell::new(), lease: OnceCell::new() }
    }

    /// Captures the workspace. One that cannot be captured is worked in all the same; that is recorded, and the
    /// turn can then not be undone.
    pub(crate) async fn before_turn(&self, context: &TurnContext) -> Result<(), Failed> {
        let Some(store) = &self.store else { return Ok(()) };
        self.lease.get_or_init(|| store.changing(&self.workspace)).await;
        let captured = self.before.get_or_try_init(|| async {
            let captured = self.capture(CaptureOptions::default()).await;
            context.report(report(&captured, Moment::Before)).await?;
            Ok::<_, Failed>(captured.map(|checkpoint| {
                let in_use = store.in_use(checkpoint.id);
                (checkpoint, in_use)
            }))
        });
        captured.await.map(drop)
    }

    /// Records the workspace as the turn leaves it, and says what there is to say of it.
    pub(crate) async fn after_turn(&self, context: &TurnContext) -> Result<Option<String>, Failed> {
        let before = match self.before.get() {
            None => return Ok(None),
            Some(Err(why)) => return Ok(Some(format!("this turn cannot be undone: {why}"))),
            Some(Ok((before, _))) => before.id,
        };
        let options = CaptureOptions { since: Some(before), ..CaptureOptions::default() };
        let after = self.capture(options).await;
        context.report(report(&after, Moment::After)).await?;
        self.prune();
        let has_changed = after.is_ok_and(|after| after.id != before);
        Ok(has_changed
            .then(|| "not verified: the work of this agent is not checked by the daemon".to_owned()))
    }

    async fn capture(&self, options: CaptureOptions) -> Result<Checkpoint, String> {
        let store = self.store.clone().ok_or("there is no store")?;
        let workspace = self.workspace.clone();
        let captured = tokio::task::spawn_blocking(move || store.capture(&workspace, &options)).await;
        captured.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
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
}

fn report(captured: &Result<Checkpoint, String>, moment: Moment) -> Report {
    match captured {
        Ok(Checkpoint { id, files, bytes, left_out, .. }) => {
            let (checkpoint_id, files, bytes, left_out) = (id.to_string(), *files, *bytes, *left_out);
            Report::CheckpointCreated { checkpoint_id, moment, files, bytes, left_out }
        }
        Err(reason) => Report::CheckpointFailed { moment, reason: reason.clone() },
    }
}
