//! What came of a child: how its last turn ended, what it said last, what it has spent.

use ostler_types::{
    ChildOutcome, ChildStatus, Event, EventName, Role, SessionId, SessionStatus, SessionView, TurnEvent,
    TurnId, TurnStatus, Usage,
};

use super::worktree;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::history;

/// Messages that are looked through at a time, from the end.
const PAGE: usize = 16;
/// Records at the end of a log among which the end of its last turn is looked for.
const LAST_RECORDS: u64 = 64;

/// A child that could not be started.
pub(super) fn failed(why: String) -> ChildOutcome {
    ChildOutcome {
        status: ChildStatus::Failed,
        text: String::new(),
        error: Some(why),
        usage: Usage::default(),
        changed_files: None,
    }
}

/// A child that is gone before it could say anything.
pub(super) fn canceled(why: String) -> ChildOutcome {
    ChildOutcome { status: ChildStatus::Canceled, ..failed(why) }
}

/// Whether nothing more will come of a child by itself: no turn runs or waits in the queue, and those that it
/// has started itself have ended, too.
pub(super) fn has_ended(view: &SessionView) -> bool {
    let is_over = view.session.status == SessionStatus::Completed || !view.turns.is_empty();
    let is_idle = view.running_turn_id.is_none() && view.queue.is_empty();
    is_over && is_idle && view.children.iter().all(|child| child.outcome.is_some())
}

/// What came of a child that has ended.
pub(super) async fn read_outcome(engine: &Engine, view: &SessionView) -> Result<ChildOutcome, EngineError> {
    let (id, mut usage) = (view.session.id, view.session.usage);
    usage += view.children_usage;
    let Some(turn) = view.turns.last() else {
        return Ok(ChildOutcome { usage, ..canceled("the session was closed".to_owned()) });
    };
    let text = last_text(engine, id, turn.id, view.last_seq).await?;
    let (status, error) = match turn.status {
        TurnStatus::Completed => (ChildStatus::Completed, None),
        TurnStatus::Failed => (ChildStatus::Failed, turn.error.clone()),
        TurnStatus::Canceled | TurnStatus::Running => {
            (ChildStatus::Canceled, cancel_reason(engine, id, turn.id, view.last_seq).await?)
        }
    };
    let changed_files = match view.session.worktree {
        Some(_) => worktree::changed_files(engine, id).await,
        None => None,
    };
    Ok(ChildOutcome { status, text, error, usage, changed_files })
}

/// The last text that the model wrote in a turn, finished or not.
async fn last_text(
    engine: &Engine,
    id: SessionId,
    turn: TurnId,
    last_seq: u64,
) -> Result<String, EngineError> {
    let mut before = Some(last_seq + 1);
    while let Some(end) = before {
        let page = history::page(&*engine.shared.log, id, end, PAGE).await?;
        for (message, of) in page.messages.iter().zip(&page.turn_ids).rev() {
            if *of != Some(turn) {
                continue;
            }
            let text = message.text();
            if message.role == Role::Assistant && !text.trim().is_empty() {
                return Ok(text);
            }
        }
        let reaches_back = page.turn_ids.first().is_some_and(|of| *of == Some(turn));
        before = page.before.filter(|_| reaches_back);
    }
    Ok(String::new())
}

/// What was said when a turn was stopped.
async fn cancel_reason(
    engine: &Engine,
    id: SessionId,
    turn: TurnId,
    last_seq: u64,
) -> Result<Option<String>, EngineError> {
    let mut found = None;
    let from = last_seq.saturating_sub(LAST_RECORDS).max(1);
    history::each_line(&*engine.shared.log, id, from..last_seq + 1, |line| {
        if line.name() == Some(EventName::TurnCanceled)
            && let Ok(record) = line.record()
            && record.turn_id == Some(turn)
            && let Event::Turn(TurnEvent::Canceled { by, reason }) = record.event
        {
            found = Some(reason.unwrap_or_else(|| format!("it was stopped by {by}")));
        }
        Ok(())
    })
    .await?;
    Ok(found)
}
