//! Undo: takes back what turns did to a workspace, the newest first, each from how it left a file to how
//! it found it. What others did in between stays. The session is told by a message, so that the model does
//! not believe in files that are no longer there.

use std::sync::Arc;
use std::time::Duration;

use ostler_runner::{
    CheckpointError, CheckpointId, HoldPurpose, TurnSpan, UndoOutcome, UndoTurns, UnrestoredFile,
};
use ostler_types::{
    Command, Delivery, Message, MessageId, Part, Refusal, RefusalCode, Role, SessionId, SessionStatus,
    SessionView, SubmitMessage, TurnId,
};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::prompts;

/// How long an undo waits for turns that are at work in the workspace.
const TURN_WAIT: Duration = Duration::from_secs(5);
/// What no undo can bring back, whatever it did.
const IGNORED_FILES_NOTE: &str =
    "Files that git ignores are in no checkpoint: they are as the turns left them.";

/// How an undo is to be done.
#[derive(Debug, Clone, Copy)]
pub struct UndoRequest {
    /// The turn before which the workspace is to stand.
    pub turn_id: TurnId,
    /// Only say what would be done.
    pub preview: bool,
    /// Also put back what somebody else has changed since.
    pub force: bool,
}

/// What an undo did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoReport {
    /// Files that have their old content again.
    pub restored: Vec<String>,
    /// Files that are there again.
    pub recreated: Vec<String>,
    /// Files that are gone again.
    pub deleted: Vec<String>,
    /// Files that were left alone, or brought back only in part of the way, and why.
    pub conflicts: Vec<(String, String)>,
    /// Files that have changed and are not brought back, forced or not, and why.
    pub left_out: Vec<(String, String)>,
    /// What else there is to know.
    pub note: String,
}

impl Engine {
    /// Brings the session's workspace back to how it was before a turn, as far as turns changed it. No turn
    /// changes the workspace meanwhile, of whichever session.
    pub async fn undo(
        &self,
        id: SessionId,
        undo: UndoRequest,
        by: String,
    ) -> Result<UndoReport, EngineError> {
        let view = self.view(id).await?;
        refuse_if_running(&view)?;
        let runner = Arc::clone(self.shared.runner_of(&view.session)?);
        let checkpoints = runner.checkpoints().ok_or_else(no_checkpoints)?;
        let workspace = view.session.workspace_path.clone();
        let holding = checkpoints.hold_workspace(workspace.clone(), HoldPurpose::Undoing);
        let hold = match tokio::time::timeout(TURN_WAIT, holding).await {
            Ok(hold) => Some(hold),
            Err(_) if undo.preview => None,
            Err(_) => return Err(busy()),
        };
        // A turn that was stopped has said how it left the workspace by now.
        let view = self.view(id).await?;
        refuse_if_running(&view)?;
        let chain = UndoChain::from_view(&view, undo.turn_id)?;
        let note = chain.note();
        let UndoRequest { preview, force, .. } = undo;
        let turns = UndoTurns { workspace, turns: chain.turns, preview, force };
        // The hold goes along: the caller may be gone before the work is done.
        let work = tokio::spawn(async move {
            let _hold = hold;
            match runner.checkpoints() {
                Some(checkpoints) => checkpoints.undo_turns(turns).await,
                None => Err(CheckpointError::Failed("there are no checkpoints".to_owned())),
            }
        });
        let restored = work.await.map_err(|error| failed(&error.to_string()))?;
        let restored = restored.map_err(|error| failed(&error.to_string()))?;
        let mut undone = UndoReport::new(restored, note);
        let is_closed = view.session.status == SessionStatus::Completed;
        if !undo.preview && undone.changes() > 0 && !is_closed {
            // What is done is done, whether or not the model can be told.
            if let Err(error) = self.record_undo_message(id, undo.turn_id, &undone, by).await {
                tracing::warn!(%id, %error, "the session was not told of an undo");
                undone.note.push_str(" The session could not be told.");
            }
        }
        Ok(undone)
    }

    /// Says in the conversation what was undone.
    async fn record_undo_message(
        &self,
        id: SessionId,
        turn: TurnId,
        undone: &UndoReport,
        by: String,
    ) -> Result<(), EngineError> {
        let clock = self.clock();
        let text = prompts::undone(turn, &undone.file_summary());
        let message = Message {
            id: MessageId::new(clock.uuid()),
            role: Role::System,
            parts: vec![Part::text(text)],
            created_at: clock.now(),
        };
        let turn_id = TurnId::new(clock.uuid());
        let (delivery, auto_run) = (Delivery::Queue, Some(false));
        let submit = Command::Submit(SubmitMessage {
            message,
            turn_id,
            delivery,
            auto_run,
            idempotency_key: None,
            by,
        });
        self.submit(id, submit).await.map(drop)
    }
}

/// The turns that are taken back, the newest first.
struct UndoChain {
    turns: Vec<TurnSpan>,
    /// Those that changed the workspace without a checkpoint, and why there is none.
    unknown: Vec<(TurnId, String)>,
}

impl UndoChain {
    fn from_view(view: &SessionView, turn_id: TurnId) -> Result<UndoChain, Refusal> {
        let from = view.turns.iter().position(|turn| turn.id == turn_id).ok_or_else(|| {
            let message = format!("turn {turn_id} is not among the newest of this session");
            Refusal::not_found("turn_not_found", message)
        })?;
        let (mut turns, mut unknown) = (Vec::new(), Vec::new());
        for turn in view.turns[from..].iter().rev() {
            match (&turn.checkpoint_before, &turn.checkpoint_error) {
                (Some(before), _) => {
                    let after = turn.checkpoint_after.clone().map(CheckpointId);
                    turns.push(TurnSpan { before: CheckpointId(before.clone()), after });
                }
                (None, Some(why)) => unknown.push((turn.id, why.clone())),
                (None, None) => {}
            }
        }
        match (turns.is_empty(), unknown.first()) {
            (false, _) => Ok(UndoChain { turns, unknown }),
            (true, Some((turn, why))) => {
                let message = format!("turn {turn} was not captured, so it cannot be undone: {why}");
                Err(Refusal::conflict("not_captured", message))
            }
            (true, None) => Err(Refusal::conflict(
                "nothing_to_undo",
                "neither this turn nor a later one changed the workspace, as far as is known",
            )),
        }
    }

    fn note(&self) -> String {
        let unknown = |(turn, why): &(TurnId, String)| {
            format!(" Turn {turn} was not captured, so what it did stays: {why}")
        };
        self.unknown.iter().map(unknown).fold(IGNORED_FILES_NOTE.to_owned(), |note, more| note + &more)
    }
}

impl UndoReport {
    fn new(restored: UndoOutcome, note: String) -> UndoReport {
        let told = |it: UnrestoredFile| (it.path, it.why);
        UndoReport {
            restored: restored.restored,
            recreated: restored.recreated,
            deleted: restored.deleted,
            conflicts: restored.conflicts.into_iter().map(told).collect(),
            left_out: restored.left_out.into_iter().map(told).collect(),
            note,
        }
    }

    fn changes(&self) -> usize {
        self.restored.len() + self.recreated.len() + self.deleted.len()
    }

    fn file_summary(&self) -> String {
        prompts::undone_files(&self.restored, &self.recreated, &self.deleted)
    }
}

fn no_checkpoints() -> Refusal {
    Refusal::conflict("no_checkpoints", "this daemon keeps no checkpoints, so nothing can be undone")
}

fn refuse_if_running(view: &SessionView) -> Result<(), Refusal> {
    match view.running_turn_id {
        Some(turn) => Err(Refusal::conflict(RefusalCode::TurnRunning, format!("turn {turn} is running"))
            .hint("wait for it to end, or cancel it")),
        None => Ok(()),
    }
}

fn busy() -> EngineError {
    Refusal::conflict("workspace_busy", "a turn of another session is changing this workspace")
        .hint("wait for it to end, or cancel it")
        .into()
}

fn failed(why: &str) -> EngineError {
    Refusal::conflict("cannot_undo", format!("the workspace could not be brought back: {why}"))
        .hint("what was not brought back stays as it is; asking again goes on where it stopped")
        .into()
}
