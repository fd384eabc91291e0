//! What an agent says about its turn. Reports about a turn that is over are refused, so that a
//! canceled agent can say no more.

use std::collections::HashSet;

use super::approval::{may_start, propose, unknown_call};
use super::turn::{TurnEnding, end_turn};
use super::{child, turn_event};
use crate::{
    Accepted, AgentEvent, BatchEvent, CallEvent, CallName, CallStatus, Decision, DecisionFacts, Delivery,
    Event, EventFor, Message, MessageEvent, Moment, OpenTurn, Part, Refusal, RefusalCode, Reviewed, State,
    StateLimits, StepEvent, ToolCallId, ToolResult, TurnId, TurnPatch, TurnReport, TurnStatus, Usage,
    WorkspaceEvent,
};

/// Takes a report of the running turn's agent.
pub(super) fn report(
    state: &State,
    turn_id: TurnId,
    report: TurnReport,
    facts: &DecisionFacts,
) -> Result<Decision, Refusal> {
    let Some(open) = state.turn.as_ref().filter(|turn| turn.id == turn_id) else {
        let over = || Refusal::conflict(RefusalCode::TurnOver, format!("turn {turn_id} is over"));
        let event = late_event(state, turn_id, &report).ok_or_else(over)?;
        return Ok(Decision::done(vec![turn_event(turn_id, event)]));
    };
    let one = |event: Event| Ok(Decision::done(vec![turn_event(turn_id, event)]));
    match report {
        TurnReport::TakeSteering => refuse_open_calls(open).map(|()| take_steering(state, turn_id)),
        TurnReport::ModelWaiting { model, attempt, attempts, wait_ms, error } => {
            one(Event::Step(StepEvent::ModelWaiting { model, attempt, attempts, wait_ms, error }))
        }
        TurnReport::ModelResolved(resolution) => one(Event::Step(StepEvent::ModelResolved { resolution })),
        TurnReport::UsageSpent { model, usage } => {
            one(Event::Step(StepEvent::UsageRecorded { model, message_id: None, usage }))
        }
        TurnReport::StepFinished { model, message, stop_reason, usage } => {
            finish_step(open, model, message, stop_reason, usage)
        }
        TurnReport::LastStepFinished { model, message, stop_reason, usage } => {
            finish_last_step(state, open, model, message, stop_reason, usage)
        }
        TurnReport::BatchStarted { parallel } => {
            one(Event::Batch(BatchEvent::Started { tool_calls: call_ids(open), parallel }))
        }
        TurnReport::BatchHalted { tool_call_id } => one(Event::Batch(BatchEvent::Halted { tool_call_id })),
        TurnReport::BatchCompleted => {
            refuse_open_calls(open).and_then(|()| one(Event::Batch(BatchEvent::Completed {})))
        }
        TurnReport::CallProposed(proposed) => propose(state, open, proposed, facts),
        TurnReport::CallStarted { tool_call, kind } => {
            may_start(state, open, (&tool_call, kind), facts)?;
            one(Event::Call(CallEvent::Started { tool_call, kind }))
        }
        TurnReport::CallFinished { result, duration_ms, message_id } => {
            let tool_call = check_finished_call(open, &result)?;
            one(Event::Call(CallEvent::Completed { tool_call, tool_result: result, duration_ms, message_id }))
        }
        TurnReport::CheckpointCreated { checkpoint_id, moment, files, bytes, left_out } => {
            one(Event::Workspace(WorkspaceEvent::CheckpointCreated {
                checkpoint_id,
                moment,
                files,
                bytes,
                left_out,
            }))
        }
        TurnReport::CheckpointFailed { moment, reason } => {
            one(Event::Workspace(WorkspaceEvent::CheckpointFailed { moment, reason }))
        }
        TurnReport::ReviewRequested { patch, waits } => review(state, open, patch, waits),
        TurnReport::NoteAdded { message } => refuse_open_calls(open)
            .and_then(|()| one(Event::Message(MessageEvent::Added { message, idempotency_key: None }))),
        TurnReport::Compacted(compaction) => {
            refuse_open_calls(open)?;
            one(Event::Agent(AgentEvent::ContextCompacted {
                compaction: compaction.into_compaction(facts.first_kept_seq),
            }))
        }
        TurnReport::AgentUpdated(agent) if state.agent.as_ref() == Some(&agent) => Ok(Decision::unchanged()),
        TurnReport::AgentUpdated(agent) => one(Event::Agent(AgentEvent::Updated { agent: *agent })),
        TurnReport::SubagentStarted { session_id, tool_call_id, subtask, description, background } => {
            child::start(state, open, session_id, (tool_call_id, subtask), description, background)
        }
        TurnReport::VerificationStarted { round, commands } => {
            one(Event::Workspace(WorkspaceEvent::VerificationStarted { round, commands }))
        }
        TurnReport::VerificationCompleted { round, ok, results, feedback } => {
            refuse_open_calls(open)?;
            let completed = Event::Workspace(WorkspaceEvent::VerificationCompleted { round, ok, results });
            let told = feedback
                .map(|message| Event::Message(MessageEvent::Added { message, idempotency_key: None }));
            let events = std::iter::once(completed).chain(told).map(|event| turn_event(turn_id, event));
            Ok(Decision::done(events.collect()))
        }
        TurnReport::Completed { stop_reason, verified, verification } => {
            refuse_open_calls(open)?;
            let how = TurnEnding::Completed { stop_reason, verified, verification };
            Ok(Decision::done(end_turn(state, open, &DecisionFacts::default(), how)))
        }
        TurnReport::Failed { error, reason } => {
            Ok(Decision::done(end_turn(state, open, facts, TurnEnding::Failed { error, reason })))
        }
    }
}

/// What can still be said of a turn that is over, because it can only be seen when nothing of the turn runs
/// any more: how it left the workspace, once, and what the answer took in which it was stopped.
fn late_event(state: &State, turn_id: TurnId, report: &TurnReport) -> Option<Event> {
    let turn = state.turns.iter().find(|turn| turn.id == turn_id)?;
    if let (TurnReport::UsageSpent { model, usage }, TurnStatus::Canceled | TurnStatus::Failed) =
        (report, turn.status)
    {
        let (model, usage) = (model.clone(), *usage);
        return Some(Event::Step(StepEvent::UsageRecorded { model, message_id: None, usage }));
    }
    if turn.checkpoint_before.is_none() || turn.checkpoint_after.is_some() || turn.checkpoint_error.is_some()
    {
        return None;
    }
    if let TurnReport::CheckpointCreated { checkpoint_id, moment: Moment::After, files, bytes, left_out } =
        report
    {
        let (checkpoint_id, moment) = (checkpoint_id.clone(), Moment::After);
        let (files, bytes, left_out) = (*files, *bytes, *left_out);
        return Some(Event::Workspace(WorkspaceEvent::CheckpointCreated {
            checkpoint_id,
            moment,
            files,
            bytes,
            left_out,
        }));
    }
    if let TurnReport::CheckpointFailed { moment: Moment::After, reason } = report {
        return Some(Event::Workspace(WorkspaceEvent::CheckpointFailed {
            moment: Moment::After,
            reason: reason.clone(),
        }));
    }
    None
}

/// Moves the messages that steer from the queue into the conversation.
fn take_steering(state: &State, turn_id: TurnId) -> Decision {
    let mut steering: Vec<Message> = child::end_notices(state);
    let queued = state
        .queue
        .iter()
        .filter(|queued| queued.delivery == Delivery::Steer)
        .map(|queued| queued.message.clone());
    steering.extend(queued);
    let added = |message: &Message| {
        turn_event(
            turn_id,
            Event::Message(MessageEvent::Added { message: message.clone(), idempotency_key: None }),
        )
    };
    Decision { events: steering.iter().map(added).collect(), accepted: Accepted::Steering(steering) }
}

fn finish_step(
    turn: &OpenTurn,
    model: String,
    message: Message,
    stop_reason: String,
    usage: Usage,
) -> Result<Decision, Refusal> {
    refuse_open_calls(turn)?;
    let mut seen = HashSet::new();
    let calls = message.tool_calls().count();
    if calls > StateLimits::CALLS {
        return Err(Refusal::invalid(
            "bad_tool_calls",
            format!("a message has at most {} tool calls", StateLimits::CALLS),
        ));
    }
    if !message.tool_calls().all(|call| !turn.used.contains(&call.id) && seen.insert(&call.id)) {
        return Err(Refusal::invalid("bad_tool_calls", "two tool calls of the turn have one id"));
    }
    let mut events: Vec<EventFor> =
        reasoning_events(&message).map(|event| turn_event(turn.id, event)).collect();
    let message_id = Some(message.id);
    events.push(turn_event(
        turn.id,
        Event::Message(MessageEvent::ModelOutputCompleted { message, stop_reason, usage }),
    ));
    if usage != Usage::default() {
        events.push(turn_event(turn.id, Event::Step(StepEvent::UsageRecorded { model, message_id, usage })));
    }
    Ok(Decision::done(events))
}

/// A step and the end of its turn, or what steers the turn to go on. The same events as if they were reported one
/// after the other.
fn finish_last_step(
    state: &State,
    turn: &OpenTurn,
    model: String,
    message: Message,
    stop_reason: String,
    usage: Usage,
) -> Result<Decision, Refusal> {
    if message.tool_calls().next().is_some() {
        return Err(Refusal::invalid("bad_tool_calls", "a message that asks for tool calls is not the last"));
    }
    let Decision { mut events, accepted } = finish_step(turn, model, message, stop_reason.clone(), usage)?;
    let steering = take_steering(state, turn.id);
    if !steering.events.is_empty() {
        events.extend(steering.events);
        return Ok(Decision { events, accepted: steering.accepted });
    }
    let mut turn = turn.clone();
    turn.usage += usage;
    let how = TurnEnding::Completed { stop_reason, verified: None, verification: None };
    events.extend(end_turn(state, &turn, &DecisionFacts::default(), how));
    Ok(Decision { events, accepted })
}

fn reasoning_events(message: &Message) -> impl Iterator<Item = Event> + '_ {
    message.parts.iter().enumerate().filter_map(|(index, part)| {
        let Part::Reasoning { text, .. } = part else { return None };
        Some(Event::Step(StepEvent::ReasoningCompleted {
            message_id: message.id,
            part: u32::try_from(index).unwrap_or(u32::MAX),
            bytes: text.len() as u64,
        }))
    })
}

/// Shows what the turn changed. The same review, asked for again after a restart, is the one that waits
/// or was answered.
fn review(state: &State, turn: &OpenTurn, patch: TurnPatch, waits: bool) -> Result<Decision, Refusal> {
    let same = |reviewed: &&Reviewed| reviewed.checkpoint_id == patch.checkpoint_id;
    if let Some(reviewed) = turn.reviewed.as_ref().filter(same) {
        let accepted = Accepted::Reviewed(Box::new(reviewed.clone()));
        return Ok(Decision { events: Vec::new(), accepted });
    }
    if turn.review.is_some() {
        return Ok(Decision { events: Vec::new(), accepted: Accepted::Waiting });
    }
    refuse_open_calls(turn)?;
    let name = format!("review_{}_{}", turn.id.uuid().simple(), turn.steps);
    let earlier = state.answers.iter().filter(|answer| answer.tool_call_id.0.starts_with(&name)).count();
    let tool_call_id = ToolCallId(if earlier == 0 { name } else { format!("{name}_{earlier}") });
    let TurnPatch { files, more, checkpoint_id, note } = patch;
    let requested = Event::Workspace(WorkspaceEvent::PatchReviewRequested {
        tool_call_id,
        files,
        waits,
        more,
        checkpoint_id,
        note,
    });
    let accepted = if waits { Accepted::Waiting } else { Accepted::Done };
    Ok(Decision { events: vec![turn_event(turn.id, requested)], accepted })
}

fn check_finished_call(turn: &OpenTurn, result: &ToolResult) -> Result<CallName, Refusal> {
    let open = turn.call(&result.id).ok_or_else(|| unknown_call(&result.id))?;
    if matches!(open.status, CallStatus::Done { .. }) {
        return Err(Refusal::conflict("call_already_done", format!("call {} has its result", result.id)));
    }
    if matches!(open.status, CallStatus::Waiting { .. }) {
        return Err(Refusal::conflict("call_waiting", format!("call {} waits for an answer", result.id)));
    }
    Ok(CallName { id: result.id.clone(), name: open.call.name.clone() })
}

fn call_ids(turn: &OpenTurn) -> Vec<ToolCallId> {
    turn.calls.iter().map(|open| open.call.id.clone()).collect()
}

fn refuse_open_calls(turn: &OpenTurn) -> Result<(), Refusal> {
    if turn.review.is_some() {
        return Err(Refusal::conflict("review_waiting", "the turn's change waits for a review"));
    }
    match turn.calls.iter().find(|open| !matches!(open.status, CallStatus::Done { .. })) {
        Some(open) => {
            Err(Refusal::conflict("call_without_result", format!("call {} has no result yet", open.call.id)))
        }
        None => Ok(()),
    }
}
