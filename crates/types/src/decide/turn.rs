//! How turns begin and end. Every way out of a turn leads through [`end`], which leaves no call
//! without a result, records exactly one terminal, and begins the next turn if a message waits.

use super::{refuse_if_closed, session_event, turn_event};
use crate::{
    Accepted, AgentEvent, BatchEvent, CallEvent, CallName, CallStatus, CancelTurn, Decision, DecisionFacts,
    Event, EventFor, Failure, Message, MessageEvent, MessageId, NewCompaction, OpenTurn, Part, Plan, Purpose,
    Refusal, RefusalCode, SessionEvent, State, ToolResult, TurnEvent, TurnId, TurnStatus, Usage, results,
};

/// How a turn ends.
pub(super) enum TurnEnding {
    Completed { stop_reason: String, verified: Option<bool>, verification: Option<String> },
    Failed { error: Failure, reason: String },
    Canceled { by: String, reason: Option<String> },
}

/// Starts a turn on the messages that no turn has answered.
pub(super) fn run(state: &State, turn_id: TurnId) -> Result<Decision, Refusal> {
    refuse_if_closed(state)?;
    refuse_if_running(state)?;
    if state.unanswered.is_empty() {
        return Err(Refusal::conflict("nothing_to_run", "every message has been answered")
            .hint("send a message, or retry the last turn if it failed"));
    }
    let events = vec![turn_started(state, turn_id, state.unanswered.clone())];
    Ok(Decision { events, accepted: Accepted::Turn { turn_id } })
}

/// Repeats the last turn with the same messages.
pub(super) fn retry(state: &State, retry_of: TurnId, turn_id: TurnId) -> Result<Decision, Refusal> {
    refuse_if_closed(state)?;
    let turn = state.turns.iter().find(|turn| turn.id == retry_of).ok_or_else(|| {
        Refusal::not_found(
            "turn_not_found",
            format!("turn {retry_of} is not among the newest of this session"),
        )
    })?;
    refuse_if_running(state)?;
    match turn.status {
        TurnStatus::Failed | TurnStatus::Canceled => {}
        TurnStatus::Completed | TurnStatus::Running => {
            return Err(Refusal::conflict(
                "turn_not_failed",
                "only a failed or canceled turn can be retried",
            ));
        }
    }
    if state.session.last_turn_id != Some(retry_of) {
        return Err(Refusal::conflict(
            "turn_not_last",
            "another turn has run since; its context has moved on",
        )
        .hint("send the message again"));
    }
    let mut message_ids = turn.message_ids.clone();
    message_ids.extend(&state.unanswered);
    if message_ids.len() > 2 * crate::StateLimits::UNANSWERED {
        return Err(Refusal::conflict("too_many_messages", "too many messages wait for this turn")
            .hint("start a turn on the newest ones with run"));
    }
    let retried = turn_event(turn_id, Event::Turn(TurnEvent::Retried { retry_of }));
    let events = vec![retried, turn_started(state, turn_id, message_ids)];
    Ok(Decision { events, accepted: Accepted::Turn { turn_id } })
}

/// Makes the conversation shorter, in a turn of its own. What has not been answered stays so.
pub(super) fn compact(state: &State, turn_id: TurnId) -> Result<Decision, Refusal> {
    start_without_messages(state, turn_id, Purpose::Compact)
}

/// Begins the conversation anew. Nothing leaves the log.
pub(super) fn reset(state: &State, compaction: NewCompaction) -> Result<Decision, Refusal> {
    refuse_if_closed(state)?;
    refuse_if_running(state)?;
    let compaction = compaction.into_compaction(state.last_seq + 1);
    Ok(Decision::done(vec![session_event(Event::Agent(AgentEvent::ContextCompacted { compaction }))]))
}

/// Has other sessions work on a plan, in a turn of its own.
pub(super) fn run_plan(state: &State, turn_id: TurnId, plan: Plan) -> Result<Decision, Refusal> {
    plan.check().map_err(|why| Refusal::invalid("bad_plan", why))?;
    start_without_messages(state, turn_id, Purpose::Subtasks { plan })
}

/// A turn that answers nobody.
fn start_without_messages(state: &State, turn_id: TurnId, purpose: Purpose) -> Result<Decision, Refusal> {
    refuse_if_closed(state)?;
    refuse_if_running(state)?;
    let started = Event::Turn(TurnEvent::Started {
        message_ids: Vec::new(),
        model: state.session.model.clone(),
        purpose,
    });
    Ok(Decision { events: vec![turn_event(turn_id, started)], accepted: Accepted::Turn { turn_id } })
}

/// Stops the running turn, if it is the one that is meant; an idle session stays as it is.
pub(super) fn cancel(state: &State, cancel: CancelTurn, facts: &DecisionFacts) -> Decision {
    let CancelTurn { turn_id, by, reason } = cancel;
    match state.turn.as_ref().filter(|turn| turn_id.is_none_or(|id| id == turn.id)) {
        None => Decision::unchanged(),
        Some(turn) => Decision::done(end_turn(state, turn, facts, TurnEnding::Canceled { by, reason })),
    }
}

/// Closes the session. What waits in the queue is withdrawn, so that nothing starts after it.
pub(super) fn close(state: &State, by: String, facts: &DecisionFacts) -> Decision {
    if refuse_if_closed(state).is_err() {
        return Decision::unchanged();
    }
    let withdraw = |queued: &crate::Queued| {
        let event = Event::Message(MessageEvent::Withdrawn { message_id: queued.message.id, by: by.clone() });
        turn_event(queued.turn_id, event)
    };
    let mut events: Vec<EventFor> = state.queue.iter().map(withdraw).collect();
    if let Some(turn) = &state.turn {
        let mut emptied = state.clone();
        emptied.queue.clear();
        let reason = Some("the session was closed".to_owned());
        events.extend(end_turn(&emptied, turn, facts, TurnEnding::Canceled { by: by.clone(), reason }));
    }
    events.push(session_event(Event::Session(SessionEvent::Completed { by })));
    Decision::done(events)
}

/// Ends the turn because the daemon stops. What waits in the queue runs at the next start.
pub(super) fn suspend(state: &State, resumable: bool, facts: &DecisionFacts) -> Decision {
    let mut held = state.clone();
    held.queue.clear();
    match &state.turn {
        Some(turn) if !(resumable && turn.is_resumable(&state.children)) => {
            let reason = Some("the daemon is shutting down".to_owned());
            Decision::done(end_turn(
                &held,
                turn,
                facts,
                TurnEnding::Canceled { by: "daemon".to_owned(), reason },
            ))
        }
        Some(_) | None => Decision::unchanged(),
    }
}

/// What becomes of a turn that was open when the daemon died. One that only waited is left as it
/// is; any other is failed, because what it was doing may or may not have happened.
pub(super) fn recover(state: &State, resumable: bool, facts: &DecisionFacts) -> Decision {
    let Some(turn) = &state.turn else {
        return Decision::done(next_turn(state));
    };
    if resumable && turn.is_resumable(&state.children) {
        return Decision::unchanged();
    }
    let error = Failure {
        code: "interrupted".to_owned(),
        message: "the daemon stopped while this turn was running".to_owned(),
        hint: Some("retry the turn to run it again".to_owned()),
    };
    Decision::done(end_turn(
        state,
        turn,
        facts,
        TurnEnding::Failed { error, reason: "interrupted".to_owned() },
    ))
}

/// The event that begins a turn.
pub(super) fn turn_started(state: &State, turn_id: TurnId, message_ids: Vec<MessageId>) -> EventFor {
    let (model, purpose) = (state.session.model.clone(), Purpose::Answer);
    turn_event(turn_id, Event::Turn(TurnEvent::Started { message_ids, model, purpose }))
}

/// Ends a turn: partial text, missing results, the terminal, the session's standing, the next turn.
pub(super) fn end_turn(
    state: &State,
    turn: &OpenTurn,
    facts: &DecisionFacts,
    how: TurnEnding,
) -> Vec<EventFor> {
    let mut events = Vec::new();
    let stop_reason = match &how {
        TurnEnding::Completed { .. } => "completed",
        TurnEnding::Failed { reason, .. } if reason == "interrupted" => "interrupted",
        TurnEnding::Failed { .. } => "error",
        TurnEnding::Canceled { .. } => "canceled",
    };
    events.extend(missing_results(turn, &how));
    if let Some(message) = facts.partial.clone().and_then(without_calls) {
        let stop_reason = stop_reason.to_owned();
        let completed = Event::Message(MessageEvent::ModelOutputCompleted {
            message,
            stop_reason,
            usage: Usage::default(),
        });
        events.push(turn_event(turn.id, completed));
    }
    let told =
        |message| turn_event(turn.id, Event::Message(MessageEvent::Added { message, idempotency_key: None }));
    events.extend(super::child::end_notices(state).into_iter().map(told));
    match how {
        TurnEnding::Completed { stop_reason, verified, verification } => {
            let usage = turn.usage;
            let completed = Event::Turn(TurnEvent::Completed { stop_reason, usage, verified, verification });
            events.push(turn_event(turn.id, completed));
        }
        TurnEnding::Failed { error, reason } => {
            events.push(turn_event(turn.id, Event::Turn(TurnEvent::Failed { error: error.clone(), reason })));
            events.push(session_event(Event::Session(SessionEvent::Failed { error })));
        }
        TurnEnding::Canceled { by, reason } => {
            events.push(turn_event(
                turn.id,
                Event::Turn(TurnEvent::Canceled { by: by.clone(), reason: reason.clone() }),
            ));
            events.push(session_event(Event::Session(SessionEvent::Canceled { by, reason })));
        }
    }
    events.extend(next_turn(state));
    events
}

/// A result for each call that has none, so that calls and results always pair.
fn missing_results(turn: &OpenTurn, how: &TurnEnding) -> Vec<EventFor> {
    let mut events = Vec::new();
    for open in &turn.calls {
        let words = match (&open.status, how) {
            (CallStatus::Done { .. }, _) => continue,
            (_, TurnEnding::Canceled { .. }) => results::CANCELED,
            (CallStatus::Started, _) => results::INTERRUPTED,
            (_, _) => results::NOT_STARTED,
        };
        let id = open.call.id.clone();
        let event = Event::Call(CallEvent::Completed {
            tool_call: CallName { id: id.clone(), name: open.call.name.clone() },
            tool_result: ToolResult::failed(id, words),
            duration_ms: 0,
            message_id: missing_result_id(turn.id, &open.call.id),
        });
        events.push(turn_event(turn.id, event));
    }
    if turn.batch.is_some() || !events.is_empty() {
        events.push(turn_event(turn.id, Event::Batch(BatchEvent::Completed {})));
    }
    events
}

/// The next turn, if a message waits for one. A message that was to steer the turn that is over
/// begins the next one if it is first in the queue, and steers that one otherwise.
fn next_turn(state: &State) -> Vec<EventFor> {
    let Some(queued) = state.queue.front() else { return Vec::new() };
    let added =
        Event::Message(MessageEvent::Added { message: queued.message.clone(), idempotency_key: None });
    let mut message_ids = state.unanswered.clone();
    message_ids.push(queued.message.id);
    vec![turn_event(queued.turn_id, added), turn_started(state, queued.turn_id, message_ids)]
}

/// The id of a message that no tool sent: made from the turn and the call, since the rules make no
/// ids of their own, and the same repair must give the same id.
fn missing_result_id(turn: TurnId, call: &crate::ToolCallId) -> MessageId {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in call.0.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    let id = turn.uuid().as_u128() ^ u128::from(hash & 0x3fff_ffff_ffff_ffff);
    MessageId::new(uuid::Uuid::from_u128(id))
}

/// The text of an unfinished message. Its calls are dropped: they were never whole.
fn without_calls(mut message: Message) -> Option<Message> {
    message.parts.retain(|part| match part {
        Part::Text { text } | Part::Reasoning { text, .. } => !text.is_empty(),
        Part::ToolCall { .. } => false,
        Part::Image { .. } | Part::Audio { .. } | Part::File { .. } | Part::ToolResult { .. } => true,
    });
    (!message.parts.is_empty()).then_some(message)
}

fn refuse_if_running(state: &State) -> Result<(), Refusal> {
    match &state.turn {
        Some(turn) => {
            Err(Refusal::conflict(RefusalCode::TurnRunning, format!("turn {} is running", turn.id))
                .hint("wait for it to end, or cancel it"))
        }
        None => Ok(()),
    }
}
