//! From the engine's records and deltas to this wire's events. One record leads to at most one entry besides the
//! text that it completes, so that a place in the log is a place on the wire.

use std::borrow::Cow;

use ostler_door_kit::websocket::framing;
use ostler_engine::{DeltaLine, Item};
use ostler_eventlog::Line;
use ostler_types::{
    ApprovalEvent, CallEvent, CallName, ChildCall, Delta, DeltaKind, Event, EventName, FileChange, Message,
    MessageEvent, MessageId, PATCH_REVIEW, Part, PendingApproval, Record, StepEvent, ToolCall, ToolCallId,
    ToolResult, TurnEvent, TurnId, Usage, WorkspaceEvent, unseen,
};
use serde_json::json;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::frames::{ApprovalRequest, RunUsage, ServerEvent};
use super::place::{Entry, Place, Span};

/// Characters of a tool's output that are shown as it comes; the history has all of it.
const OUTPUT: usize = 8000;
/// What stands where a tool's output was cut.
const CUT: &str = "\n\n[output truncated]";

/// What to send of an item, in order. Moves the place on. `usage` is what a stopped turn took, for the record
/// that says that it was stopped.
pub(super) fn translate(item: &Item, place: &mut Place, usage: Option<Usage>) -> Vec<Entry> {
    match item {
        Item::Delta(line) => delta(line, place).into_iter().collect(),
        Item::Record(line) => {
            let entries = if speaks(line) { records(line, place, usage) } else { Vec::new() };
            place.seq = line.seq;
            entries
        }
    }
}

/// Which messages get no more text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finished {
    /// It is not known of any.
    Nothing,
    /// This one.
    Message(MessageId),
    /// All that there are, since their turn is over.
    All,
}

/// Which messages get no more text after an item.
pub(super) fn finished(item: &Item) -> Finished {
    let Item::Record(line) = item else { return Finished::Nothing };
    match line.name() {
        Some(name) if name.ends_turn() => Finished::All,
        Some(EventName::ModelOutputCompleted) => match line.record().map(|record| record.event) {
            Ok(Event::Step(StepEvent::ModelOutputCompleted { message, .. })) => Finished::Message(message.id),
            Ok(_) | Err(_) => Finished::Nothing,
        },
        _ => Finished::Nothing,
    }
}

/// Whether an item says that its turn was stopped; its usage stands elsewhere.
pub(super) fn stopped_turn(item: &Item) -> Option<TurnId> {
    match item {
        Item::Record(line) if line.name() == Some(EventName::TurnCanceled) => line.record().ok()?.turn_id,
        Item::Record(_) | Item::Delta(_) => None,
    }
}

/// The name of an approval on this wire: the same for everybody, in every process.
pub(super) fn approval_id(turn_id: TurnId, tool_call_id: &ToolCallId) -> Uuid {
    let digest = Sha256::new().chain_update(turn_id.uuid()).chain_update(&tool_call_id.0).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    // Version 8 is for ids that are made like this.
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    Uuid::from_bytes(bytes)
}

/// An approval that waits, as a client is told of it.
pub(super) fn approval_request(approval: &PendingApproval) -> ApprovalRequest {
    ApprovalRequest {
        approval_id: approval_id(approval.turn_id, &approval.tool_call_id),
        tool_name: approval.tool.clone(),
        summary: approval.summary.clone(),
        details: approval.input.clone(),
    }
}

/// Whether a record means anything here, told by its name so that the others need not be parsed.
fn speaks(line: &Line) -> bool {
    matches!(
        line.name(),
        Some(
            EventName::TurnCompleted
                | EventName::TurnFailed
                | EventName::TurnCanceled
                | EventName::MessageWithdrawn
                | EventName::ModelOutputCompleted
                | EventName::ModelWaiting
                | EventName::ToolCallStarted
                | EventName::ToolCallCompleted
                | EventName::ApprovalRequested
                | EventName::ApprovalGranted
                | EventName::ApprovalDenied
                | EventName::PatchReviewRequested
                | EventName::VerificationStarted
        )
    )
}

fn records(line: &Line, place: &mut Place, usage: Option<Usage>) -> Vec<Entry> {
    let record = match line.record() {
        Ok(record) => record,
        Err(error) => {
            tracing::error!(seq = line.seq, %error, "a record cannot be read, and is not shown");
            return Vec::new();
        }
    };
    let Record { seq, turn_id, event, .. } = record;
    let Some(turn_id) = turn_id.or_else(|| turn_of_child(&event)) else { return Vec::new() };
    if let Event::Step(StepEvent::ModelOutputCompleted { message, .. }) = &event {
        return rest_of(message, turn_id, place);
    }
    let sent = server_event(turn_id, event, usage);
    sent.map(|event| Entry { seq, span: None, wire: framing::text(&event) }).into_iter().collect()
}

/// A session that goes on in the background asks when its parent has no turn.
fn turn_of_child(event: &Event) -> Option<TurnId> {
    match event {
        Event::Approval(ApprovalEvent::Requested { child, .. })
        | Event::Approval(ApprovalEvent::Granted { child, .. })
        | Event::Approval(ApprovalEvent::Denied { child, .. }) => child.as_ref().map(|child| child.turn_id),
        _ => None,
    }
}

/// The event that a record leads to, text aside.
fn server_event(turn_id: TurnId, event: Event, usage: Option<Usage>) -> Option<ServerEvent<'static>> {
    let run_id = turn_id.uuid();
    Some(match event {
        Event::Turn(TurnEvent::Completed { usage, .. }) => {
            ServerEvent::Final { run_id, usage: run_usage(usage), aborted: None }
        }
        Event::Turn(TurnEvent::Canceled { .. }) | Event::Message(MessageEvent::Withdrawn { .. }) => {
            let usage = run_usage(usage.unwrap_or_default());
            ServerEvent::Final { run_id, usage, aborted: Some(true) }
        }
        Event::Turn(TurnEvent::Failed { error, .. }) => {
            let hint = error.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
            ServerEvent::Error { run_id, message: error.message + &hint }
        }
        Event::Call(CallEvent::Completed { tool_call, tool_result, .. }) => {
            tool_result_event(run_id, tool_call, &tool_result)
        }
        Event::Approval(ApprovalEvent::Requested { tool_call, summary, child, .. }) => {
            ServerEvent::ApprovalRequest(requested(turn_id, tool_call, summary, child))
        }
        Event::Workspace(WorkspaceEvent::PatchReviewRequested {
            tool_call_id, files, waits: true, ..
        }) => ServerEvent::ApprovalRequest(review_request(turn_id, &tool_call_id, &files)),
        Event::Approval(ApprovalEvent::Granted { tool_call_id, by, reason, child, .. }) => {
            resolved(turn_id, &tool_call_id, child, (true, by, reason))
        }
        Event::Approval(ApprovalEvent::Denied { tool_call_id, by, reason, child, .. }) => {
            resolved(turn_id, &tool_call_id, child, (false, by, reason))
        }
        other => ServerEvent::Progress { run_id, message: progress(other)? },
    })
}

/// What is said of events that only show that something goes on.
fn progress(event: Event) -> Option<String> {
    match event {
        Event::Call(CallEvent::Started { tool_call, .. }) => Some(format!("{} is running", tool_call.name)),
        Event::Step(StepEvent::ModelWaiting { model, wait_ms, error, .. }) => {
            let seconds = wait_ms.div_ceil(1000);
            Some(format!("{model} is asked again in {seconds} s: {}", error.message))
        }
        Event::Workspace(WorkspaceEvent::VerificationStarted { commands, .. }) => {
            Some(format!("the workspace is being checked: {}", commands.join(", ")))
        }
        Event::Session(_)
        | Event::Message(_)
        | Event::Turn(_)
        | Event::Step(
            StepEvent::ModelResolved { .. }
            | StepEvent::UsageRecorded { .. }
            | StepEvent::ReasoningCompleted { .. }
            | StepEvent::ModelOutputCompleted { .. },
        )
        | Event::Call(
            CallEvent::BatchStarted { .. }
            | CallEvent::BatchHalted { .. }
            | CallEvent::BatchCompleted { .. }
            | CallEvent::Completed { .. },
        )
        | Event::Approval(_)
        | Event::Workspace(
            WorkspaceEvent::CheckpointCreated { .. }
            | WorkspaceEvent::CheckpointFailed { .. }
            | WorkspaceEvent::PatchReviewRequested { .. }
            | WorkspaceEvent::VerificationCompleted { .. },
        )
        | Event::Agent(_)
        | Event::Child(_) => None,
    }
}

fn run_usage(usage: Usage) -> RunUsage {
    RunUsage { input_tokens: usage.input_tokens, output_tokens: usage.output_tokens }
}

fn tool_result_event(run_id: Uuid, tool_call: CallName, result: &ToolResult) -> ServerEvent<'static> {
    let exit_code = result.details.as_ref().and_then(|details| details["exit_code"].as_i64());
    let mut output = result.text();
    if let Some((cut, _)) = output.char_indices().nth(OUTPUT) {
        output.truncate(cut);
        output.push_str(CUT);
    }
    ServerEvent::ToolResult { run_id, tool: tool_call.name, exit_code, output }
}

fn requested(turn_id: TurnId, call: ToolCall, summary: String, child: Option<ChildCall>) -> ApprovalRequest {
    let turn_id = child.map_or(turn_id, |child| child.turn_id);
    let approval_id = approval_id(turn_id, &call.id);
    ApprovalRequest { approval_id, tool_name: call.name, summary, details: call.input }
}

fn review_request(turn_id: TurnId, id: &ToolCallId, files: &[FileChange]) -> ApprovalRequest {
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    ApprovalRequest {
        approval_id: approval_id(turn_id, id),
        tool_name: PATCH_REVIEW.to_owned(),
        summary: format!("review the changes of {} files", files.len()),
        details: json!({"files": paths}),
    }
}

fn resolved(
    turn_id: TurnId,
    id: &ToolCallId,
    child: Option<ChildCall>,
    (approved, by, reason): (bool, String, Option<String>),
) -> ServerEvent<'static> {
    let turn_id = child.map_or(turn_id, |child| child.turn_id);
    ServerEvent::ApprovalResolved { approval_id: approval_id(turn_id, id), approved, by, reason }
}

/// The text of a message that was not shown as it streamed. Its frames come before the record, so they have the
/// place before it.
fn rest_of(message: &Message, turn_id: TurnId, place: &mut Place) -> Vec<Entry> {
    let parts = message.parts.iter().zip(0_u32..).filter_map(|(part, index)| match part {
        Part::Text { text } => Some((index, text.as_str())),
        Part::Image { .. }
        | Part::Audio { .. }
        | Part::File { .. }
        | Part::Reasoning { .. }
        | Part::ToolCall { .. }
        | Part::ToolResult { .. } => None,
    });
    parts.filter_map(|(part, text)| piece(turn_id, (message.id, part), 0, text, place)).collect()
}

/// What there is to send of a delta.
fn delta(line: &DeltaLine, place: &mut Place) -> Option<Entry> {
    let Delta { kind, offset, text } = line.delta();
    let DeltaKind::Text { message_id, part } = *kind else { return None };
    piece(line.turn_id(), (message_id, part), *offset, text, place)
}

/// A piece of text that begins at `offset` of its part, without what is known of it.
fn piece(
    turn_id: TurnId,
    (message_id, part): (MessageId, u32),
    offset: u64,
    text: &str,
    place: &mut Place,
) -> Option<Entry> {
    let start = place.known(message_id, part);
    let end = offset + text.len() as u64;
    // Text after a gap is left for the record of the whole message, which has it all.
    let fresh = unseen(start, offset, text).filter(|_| offset <= start)?;
    // The history joins the texts of a message by line feeds, and so it is shown.
    let text = if start == 0 && place.has_begun(message_id) {
        Cow::Owned(format!("\n{fresh}"))
    } else {
        Cow::Borrowed(fresh)
    };
    let span = Span { message_id, part, start, end };
    place.show(span);
    let wire = framing::text(&ServerEvent::Delta { run_id: turn_id.uuid(), text });
    Some(Entry { seq: place.seq, span: Some(span), wire })
}
