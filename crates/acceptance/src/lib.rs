//! What is done for a turn around its agent's work, whoever does it: the workspace is captured before the first
//! change and after the last (`checkpoints`), checked (`verify`, with what was found at the `start`), and its change shown to a
//! person (`review`).
//!
//! It says what the agent is to be told; telling it, and how a turn runs, is left to the agents. That is why a turn
//! looks the same whether the daemon's own agent or someone else's has worked in it.

mod baselines;
mod changed_servers;
mod check_setup;
mod checkpoints;
mod prompts;
mod review;
mod verify;

use std::sync::Arc;

use ostler_agent::{CompletedTurn, FailedTurn, TurnContext};
use ostler_runner::{CheckFileScope, CheckpointId, FindCheckFiles, Runner};
use ostler_types::{Message, Part, Role, TurnReport};

pub use baselines::Baselines;
pub use changed_servers::changed_servers;
pub use checkpoints::CheckpointTracker;

use check_setup::CheckSetup;
use review::ReviewState;
use verify::VerificationVerdict;

/// The care of one turn.
pub struct TurnAcceptance<'a> {
    context: &'a TurnContext,
    /// Runs the commands that check.
    runner: Arc<dyn Runner>,
    /// How the workspace is checked, as it stood when the turn began.
    check_setup: CheckSetup,
    checkpoints: &'a CheckpointTracker,
    /// Whether the workspace may have changed since it was last checked.
    changed: bool,
    /// The workspace as it was when it was last checked and held.
    last_verified: Option<CheckpointId>,
    rounds: u32,
    reviews: ReviewState,
    /// What was said of the workspace, which holds until it changes again.
    verdict: VerificationVerdict,
}

/// Notes what a turn that was cut short may have written into files that decide what checks and servers run. A turn that
/// ends in order notes it by itself.
pub async fn note_interrupted_turn(
    context: &TurnContext,
    runner: &dyn Runner,
    baselines: Option<&Baselines>,
    checkpoints: &CheckpointTracker,
) {
    let Some(baselines) = baselines.filter(|_| context.trusted) else { return };
    let workspace = context.session.workspace_path.clone();
    let Ok(candidates) = checkpoints.changed_paths().await else {
        // The turn stays open there, so that whatever it has changed counts as written.
        return;
    };
    if !candidates.is_empty() {
        let servers = runner.workspaces().settings(workspace.clone()).await.servers;
        let lines = servers.into_iter().map(|server| server.runs).collect();
        let find = |scope, lines, candidates| FindCheckFiles {
            workspace: workspace.clone(),
            lines,
            scope,
            candidates,
        };
        let workspaces = runner.workspaces();
        let left = workspaces.check_files(find(CheckFileScope::Workspace, Vec::new(), candidates)).await;
        let mut left = left.unwrap_or_default();
        let of_servers = workspaces.check_files(find(CheckFileScope::Named, lines, Vec::new())).await;
        left.extend(of_servers.unwrap_or_default());
        let key = context.session.workspace_key();
        baselines.note_interrupted_turn(&key, context.session.id, &left).await;
    }
}

/// What follows when an agent has done what it was asked.
#[derive(Debug, Clone, PartialEq)]
pub enum AcceptanceOutcome {
    /// It is told this, which is recorded already, and goes on.
    Continue(Vec<Message>),
    /// The turn can end.
    End,
}

impl<'a> TurnAcceptance<'a> {
    /// The care of a turn that begins, or is picked up. To be called before the turn changes anything: how the
    /// workspace is checked is looked up here.
    pub async fn begin(
        context: &'a TurnContext,
        runner: Arc<dyn Runner>,
        baselines: Option<Arc<Baselines>>,
        checkpoints: &'a CheckpointTracker,
    ) -> TurnAcceptance<'a> {
        let start = CheckSetup::at_turn_start(context, Arc::clone(&runner), baselines).await;
        TurnAcceptance {
            context,
            runner,
            check_setup: start,
            checkpoints,
            changed: context.open_turn.changed,
            last_verified: None,
            rounds: context.open_turn.rounds,
            reviews: ReviewState::from_open_turn(&context.open_turn),
            verdict: VerificationVerdict::default(),
        }
    }

    /// The workspace before the turn, and later.
    pub fn checkpoints(&self) -> &'a CheckpointTracker {
        self.checkpoints
    }

    /// Notes that the workspace may have changed.
    pub fn note_change(&mut self) {
        self.changed = true;
    }

    /// Whether a turn that is picked up stood in a review.
    pub fn was_in_review(&self) -> bool {
        self.reviews.was_open()
    }

    /// Whether nothing was changed in this turn, so that there is nothing to check, to review or to say at its end:
    /// [`TurnAcceptance::verify_and_review`] reports nothing.
    pub fn has_no_changes(&self) -> bool {
        let was_checked = self.rounds > 0 || self.verdict != VerificationVerdict::default();
        !self.changed && !was_checked && !self.reviews.was_open() && self.checkpoints.are_unused()
    }

    /// The commands that a turn of this session is checked with, or why there are none.
    pub async fn check_commands(&self) -> Result<Vec<String>, String> {
        self.check_setup.commands(self.context, self.checkpoints).await
    }

    /// Checks what was done and has it reviewed. Only an agent that can go on is told what came of it.
    pub async fn verify_and_review(&mut self, can_go_on: bool) -> Result<AcceptanceOutcome, FailedTurn> {
        match verify::verify(self, can_go_on).await? {
            verify::VerificationOutcome::TryAgain(message) => {
                return Ok(AcceptanceOutcome::Continue(vec![message]));
            }
            verify::VerificationOutcome::TurnCanEnd(latest) if latest == VerificationVerdict::default() => {}
            verify::VerificationOutcome::TurnCanEnd(latest) => self.verdict = latest,
        }
        if let Some(message) = review::review(self, can_go_on).await? {
            return Ok(AcceptanceOutcome::Continue(vec![message]));
        }
        self.check_setup.end_turn(self.context, self.checkpoints).await;
        Ok(AcceptanceOutcome::End)
    }

    /// The end of a turn, with what there is to say of its check, its review and its undoing.
    pub fn completed_turn(&self, stop_reason: String) -> CompletedTurn {
        let VerificationVerdict { verified, note } = self.verdict.clone();
        let is_outdated = verified == Some(true) && self.changed;
        let (verified, note) = if is_outdated {
            (None, Some("not verified: files were put back after the check".to_owned()))
        } else {
            (verified, note)
        };
        let mut said: Vec<String> = note.into_iter().collect();
        if self.reviews.is_unsettled {
            said.push("files changed again after the last review".to_owned());
        }
        said.extend(self.checkpoints.failure().map(|why| format!("this turn cannot be undone: {why}")));
        let verification = (!said.is_empty()).then(|| said.join("; "));
        CompletedTurn { stop_reason, verified, verification }
    }

    /// Records something that the agent is to be told and that nobody said.
    async fn record_message_to_agent(&self, text: String) -> Result<Message, FailedTurn> {
        let (id, created_at) = (self.context.message_id(), self.context.clock.now());
        let message = Message { id, role: Role::User, parts: vec![Part::text(text)], created_at };
        self.context.report(TurnReport::NoteAdded { message: message.clone() }).await?;
        Ok(message)
    }
}
