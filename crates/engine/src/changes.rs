//! What a turn changed in its workspace: the difference between how it found the files and how it left them, told from checkpoints
//! and not from what tools say. It changes nothing, and keeps no turn from working meanwhile.

use ostler_runner::{ChangedFile, CheckpointError, CheckpointId, CompareCheckpoints};
use ostler_types::{Refusal, SessionId, SessionView, TurnId, TurnStatus};

use crate::engine::Engine;
use crate::error::EngineError;

/// How many files are told of; of more than that, those with the largest changes.
const MAX_FILES: usize = 2_000;

/// What a turn changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnChanges {
    /// The files, in the order of their paths.
    pub files: Vec<ChangedFile>,
    /// How many more have changed.
    pub more: u64,
    /// Whether the turn is still at work, so that this may change.
    pub running: bool,
    /// What is to be known about it, where it is not known how the turn left the files.
    pub note: Option<String>,
}

impl Engine {
    /// What a turn changed in the session's workspace. A turn that changed nothing has no files.
    pub async fn changes(&self, id: SessionId, turn_id: TurnId) -> Result<TurnChanges, EngineError> {
        let view = self.view(id).await?;
        let span = CheckpointSpan::from_view(&view, turn_id)?;
        let (running, note) = (span.running, span.note());
        let Some(before) = span.before.clone() else {
            return Ok(TurnChanges { files: Vec::new(), more: 0, running, note });
        };
        let checkpoints = self.shared.runner_of(&view.session)?.checkpoints().ok_or_else(|| {
            Refusal::conflict("no_checkpoints", "this daemon keeps no checkpoints, so changes are not known")
        })?;
        let workspace = view.session.workspace_path.clone();
        let compare =
            CompareCheckpoints { workspace, from: CheckpointId(before), to: span.after.map(CheckpointId) };
        let files = checkpoints.compare(compare).await.map_err(|error| match error {
            CheckpointError::Gone(_) => failed("it was removed to make room for newer ones"),
            CheckpointError::Failed(why) => failed(&why),
        })?;
        Ok(largest_changes(files, running, note))
    }
}

/// Between which checkpoints a turn did its work.
struct CheckpointSpan {
    before: Option<String>,
    /// None for the workspace as it is now.
    after: Option<String>,
    running: bool,
    /// Whether the turn is over, and did not say how it left the files.
    guessed: bool,
}

impl CheckpointSpan {
    fn from_view(view: &SessionView, turn_id: TurnId) -> Result<CheckpointSpan, Refusal> {
        let place = view.turns.iter().position(|turn| turn.id == turn_id).ok_or_else(|| {
            let message = format!("turn {turn_id} is not among the newest of this session");
            Refusal::not_found("turn_not_found", message)
        })?;
        let turn = &view.turns[place];
        if let (None, Some(why)) = (&turn.checkpoint_before, &turn.checkpoint_error) {
            let message = format!("turn {turn_id} was not captured, so its changes are not known: {why}");
            return Err(Refusal::conflict("not_captured", message));
        }
        let running = turn.status == TurnStatus::Running;
        let guessed = !running && turn.checkpoint_before.is_some() && turn.checkpoint_after.is_none();
        let next = || view.turns[place + 1..].iter().find_map(|turn| turn.checkpoint_before.clone());
        let after = turn.checkpoint_after.clone().or_else(next);
        Ok(CheckpointSpan { before: turn.checkpoint_before.clone(), after, running, guessed })
    }

    fn note(&self) -> Option<String> {
        let until = if self.after.is_some() { "the next turn that changed something" } else { "now" };
        let note = format!(
            "The turn could not say how it left the files. This is all that changed from its beginning until {until}."
        );
        self.guessed.then_some(note)
    }
}

fn largest_changes(mut files: Vec<ChangedFile>, running: bool, note: Option<String>) -> TurnChanges {
    let count = files.len();
    if count > MAX_FILES {
        files.sort_by_key(|file| std::cmp::Reverse(file.change.added + file.change.removed));
        files.truncate(MAX_FILES);
        files.sort_by(|one, other| one.change.path.cmp(&other.change.path));
    }
    let more = (count - files.len()) as u64;
    TurnChanges { files, more, running, note }
}

fn failed(why: &str) -> EngineError {
    Refusal::conflict("changes_not_known", format!("what the turn changed cannot be told: {why}"))
        .hint("the tool calls of the turn say what they did")
        .into()
}
