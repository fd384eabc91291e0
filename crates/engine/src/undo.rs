//! Undo: takes back what turns did to a workspace, the newest first, each from how it left a file to how
//! it found it. What others did in between stays. The session is told by a message, so that the model does
//! not believe in files that are no longer there.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ostler_checkpoint::{Checkpoint, LeftOut, ProtectedPath, Reason, RestoreOptions, Restored, Span, Store};
use ostler_types::{
    Command, Delivery, Message, MessageId, Part, Refusal, RefusalCode, Role, SessionId, SessionStatus,
    SessionView, SubmitMessage, TurnId,
};

use crate::engine::Engine;
use crate::error::EngineError;

/// How long an undo waits for turns that are at work in the workspace.
const PATIENCE: Duration = Duration::from_secs(5);
/// What no undo can bring back, whatever it did.
const NOT_COVERED: &str = "Files that git ignores are in no checkpoint: they are as the turns left them.";

/// How an undo is to be done.
#[derive(Debug, Clone, Copy)]
pub struct Undo {
    /// The turn before which the workspace is to stand.
    pub turn_id: TurnId,
    /// Only say what would be done.
    pub preview: bool,
    /// Also put back what somebody else has changed since.
    pub force: bool,
}

/// What an undo did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
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
    pub async fn undo(&self, id: SessionId, undo: Undo, by: String) -> Result<Undone, EngineError> {
        let view = self.view(id).await?;
        refuse_if_running(&view)?;
        let store = self.shared.checkpoints.clone().ok_or_else(|| {
            Refusal::conflict("no_checkpoints", "this daemon keeps no checkpoints, so nothing can be undone")
        })?;
        let workspace = PathBuf::from(&view.session.workspace_path);
        let lease = match tokio::time::timeout(PATIENCE, store.undoing(&workspace)).await {
            Ok(lease) => Some(lease),
            Err(_) if undo.preview => None,
            Err(_) => return Err(busy()),
        };
        // A turn that was stopped has said how it left the workspace by now.
        let view = self.view(id).await?;
        refuse_if_running(&view)?;
        let chain = Chain::of(&view, undo.turn_id)?;
        let note = chain.note();
        // The lease goes along: who asked may be gone before the work is done.
        let work = move || {
            let _lease = lease;
            chain.undo(&store, &workspace, undo)
        };
        let restored = tokio::task::spawn_blocking(work).await;
        let restored = restored.map_err(|error| failed(&error.to_string()))?.map_err(|why| failed(&why))?;
        let mut undone = Undone::new(restored, note);
        let is_closed = view.session.status == SessionStatus::Completed;
        if !undo.preview && undone.changes() > 0 && !is_closed {
            // What is done is done, whether or not the model can be told.
            if let Err(error) = self.tell(id, undo.turn_id, &undone, by).await {
                tracing::warn!(%id, %error, "the session was not told of an undo");
                undone.note.push_str(" The session could not be told.");
            }
        }
        Ok(undone)
    }

    /// Says in the conversation what was undone.
    async fn tell(
        &self,
        id: SessionId,
        turn: TurnId,
        undone: &Undone,
        by: String,
    ) -> Result<(), EngineError> {
        let (clock, named) = (self.clock(), undone.named());
        let text = format!("The user brought the workspace back to how it was before {turn}. {named}");
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
struct Chain {
    turns: Vec<Captured>,
    /// Those that changed the workspace without a checkpoint, and why there is none.
    unknown: Vec<(TurnId, String)>,
}

/// By which checkpoints a turn is known.
struct Captured {
    before: String,
    after: Option<String>,
}

impl Chain {
    fn of(view: &SessionView, turn_id: TurnId) -> Result<Chain, Refusal> {
        let from = view.turns.iter().position(|turn| turn.id == turn_id).ok_or_else(|| {
            let message = format!("turn {turn_id} is not among the newest of this session");
            Refusal::not_found("turn_not_found", message)
        })?;
        let (mut turns, mut unknown) = (Vec::new(), Vec::new());
        for turn in view.turns[from..].iter().rev() {
            match (&turn.checkpoint_before, &turn.checkpoint_error) {
                (Some(before), _) => {
                    turns.push(Captured { before: before.clone(), after: turn.checkpoint_after.clone() });
                }
                (None, Some(why)) => unknown.push((turn.id, why.clone())),
                (None, None) => {}
            }
        }
        match (turns.is_empty(), unknown.first()) {
            (false, _) => Ok(Chain { turns, unknown }),
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
        self.unknown.iter().map(unknown).fold(NOT_COVERED.to_owned(), |note, more| note + &more)
    }

    fn undo(&self, store: &Store, workspace: &Path, undo: Undo) -> Result<Restored, String> {
        let find = |id: &str| -> Result<Checkpoint, String> {
            let id = id.parse().map_err(|_| format!("`{id}` is no checkpoint"))?;
            store.find(id).map_err(|error| error.to_string())
        };
        let mut found = Vec::new();
        for Captured { before, after } in &self.turns {
            found.push((find(before)?, after.as_deref().map(find).transpose()?));
        }
        let spans: Vec<Span<'_>> =
            found.iter().map(|(before, after)| Span { before, after: after.as_ref() }).collect();
        let options = RestoreOptions { only: None, preview: undo.preview, force: undo.force };
        store.undo(workspace, &spans, &options).map_err(|error| error.to_string())
    }
}

impl Undone {
    fn new(restored: Restored, note: String) -> Undone {
        let name = |path: PathBuf| path.to_string_lossy().into_owned();
        let names = |paths: Vec<PathBuf>| -> Vec<String> { paths.into_iter().map(name).collect() };
        let conflict = |it: ostler_checkpoint::Conflict| (name(it.path), it.why);
        let left_out = |it: LeftOut| (name(it.path), why_left_out(it.reason).to_owned());
        let protected = |it: ProtectedPath| (it.path.to_string_lossy().into_owned(), it.why());
        let (left_out, protected) =
            (restored.left_out.into_iter().map(left_out), restored.protected.into_iter().map(protected));
        Undone {
            restored: names(restored.restored),
            recreated: names(restored.recreated),
            deleted: names(restored.deleted),
            conflicts: restored.conflicts.into_iter().map(conflict).collect(),
            left_out: left_out.chain(protected).collect(),
            note,
        }
    }

    fn changes(&self) -> usize {
        self.restored.len() + self.recreated.len() + self.deleted.len()
    }

    fn named(&self) -> String {
        let list = |what: &str, paths: &[String]| match paths.len() {
            0 => String::new(),
            count if count > 50 => format!("{what}: {}, and {} more. ", paths[..50].join(", "), count - 50),
            _ => format!("{what}: {}. ", paths.join(", ")),
        };
        let all = list("Changed back", &self.restored) + &list("There again", &self.recreated);
        (all + &list("Gone again", &self.deleted)).trim_end().to_owned()
    }
}

fn why_left_out(reason: Reason) -> &'static str {
    match reason {
        Reason::TooLarge => "it was too large to be kept",
        Reason::Unreadable => "it could not be read",
        Reason::Special => "it is no file",
    }
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

/// Where checkpoints are kept, if they are.
pub(crate) type Checkpoints = Option<Arc<Store>>;
