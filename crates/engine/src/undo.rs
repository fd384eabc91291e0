//! Undo: brings a workspace back to how it was before a turn. The session is told by a message, so that
//! the model does not believe in files that are no longer there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostler_checkpoint::{Checkpoint, RestoreOptions, Restored, Store};
use ostler_types::{
    Command, Delivery, Message, MessageId, Part, Refusal, Role, SessionId, SessionView, TurnId, TurnSummary,
};

use crate::engine::Engine;
use crate::error::EngineError;

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
    /// Files that were left alone, and why.
    pub conflicts: Vec<(String, String)>,
}

impl Engine {
    /// Brings the session's workspace back to how it was before a turn.
    pub async fn undo(&self, id: SessionId, undo: Undo, by: String) -> Result<Undone, EngineError> {
        let view = self.view(id).await?;
        let store = self.shared.checkpoints.clone().ok_or_else(|| {
            Refusal::conflict("no_checkpoints", "this daemon keeps no checkpoints, so nothing can be undone")
        })?;
        if let Some(turn) = view.running_turn_id {
            return Err(Refusal::conflict("turn_running", format!("turn {turn} is running"))
                .hint("wait for it to end, or cancel it")
                .into());
        }
        let span = Span::of(&view, undo.turn_id)?;
        let workspace = PathBuf::from(&view.session.workspace_path);
        let work = move || span.restore(&store, &workspace, undo);
        let restored = tokio::task::spawn_blocking(work).await;
        let restored = restored.map_err(|error| failed(&error.to_string()))?.map_err(|why| failed(&why))?;
        let undone = Undone::from(restored);
        if !undo.preview && undone.changes() > 0 {
            self.tell(id, undo.turn_id, &undone, by).await?;
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
        let submit = Command::Submit {
            message,
            turn_id,
            delivery,
            auto_run,
            idempotency_key: None,
            by,
            partial: None,
        };
        self.submit(id, submit).await.map(drop)
    }
}

/// From which checkpoint to which: before the turn, and after the last one that is known to have ended.
struct Span {
    before: String,
    after: Option<String>,
}

impl Span {
    fn of(view: &SessionView, turn_id: TurnId) -> Result<Span, Refusal> {
        let from = view.turns.iter().position(|turn| turn.id == turn_id).ok_or_else(|| {
            let message = format!("turn {turn_id} is not among the newest of this session");
            Refusal::not_found("turn_not_found", message)
        })?;
        let changing: Vec<&TurnSummary> =
            view.turns[from..].iter().filter(|turn| turn.checkpoint_before.is_some()).collect();
        let (Some(first), Some(last)) = (changing.first(), changing.last()) else {
            return Err(Refusal::conflict(
                "nothing_to_undo",
                "neither this turn nor a later one changed the workspace, as far as is known",
            ));
        };
        let before = first.checkpoint_before.clone().unwrap_or_default();
        Ok(Span { before, after: last.checkpoint_after.clone() })
    }

    fn restore(&self, store: &Store, workspace: &Path, undo: Undo) -> Result<Restored, String> {
        let find = |id: &str| -> Result<Checkpoint, String> {
            let id = id.parse().map_err(|_| format!("`{id}` is no checkpoint"))?;
            store.find(id).map_err(|error| error.to_string())
        };
        let before = find(&self.before)?;
        let after = self.after.as_deref().map(find).transpose()?;
        // Where it is not known how the turn left the files, nobody can tell whose they are.
        let preview = undo.preview || (after.is_none() && !undo.force);
        let options = RestoreOptions { only: None, preview, force: undo.force };
        let restored = store.restore(workspace, &before, after.as_ref(), &options);
        let mut restored = restored.map_err(|error| error.to_string())?;
        if after.is_none() && !undo.force {
            let unknown = |path: PathBuf| ostler_checkpoint::Conflict {
                path,
                why: "the turn did not end in order, so it may hold a change of your own".to_owned(),
            };
            let all = std::mem::take(&mut restored.restored).into_iter();
            let all = all.chain(std::mem::take(&mut restored.recreated));
            let all = all.chain(std::mem::take(&mut restored.deleted)).map(unknown);
            restored.conflicts.extend(all);
        }
        Ok(restored)
    }
}

impl Undone {
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

impl From<Restored> for Undone {
    fn from(restored: Restored) -> Undone {
        let names = |paths: Vec<PathBuf>| -> Vec<String> {
            paths.into_iter().map(|path| path.to_string_lossy().into_owned()).collect()
        };
        let conflict = |it: ostler_checkpoint::Conflict| (it.path.to_string_lossy().into_owned(), it.why);
        Undone {
            restored: names(restored.restored),
            recreated: names(restored.recreated),
            deleted: names(restored.deleted),
            conflicts: restored.conflicts.into_iter().map(conflict).collect(),
        }
    }
}

fn failed(why: &str) -> EngineError {
    Refusal::conflict("cannot_undo", format!("the workspace could not be brought back: {why}"))
        .hint("what was not brought back stays as it is; asking again goes on where it stopped")
        .into()
}

/// Where checkpoints are kept, if they are.
pub(crate) type Checkpoints = Option<Arc<Store>>;
