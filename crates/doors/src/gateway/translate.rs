//! From the engine's records and deltas to this wire's events. A frame is made by the first socket that needs it and kept
//! beside the record or the delta, so that the other sockets send the same bytes.

use std::borrow::Cow;
use std::sync::OnceLock;

use bytes::Bytes;
use ostler_door_kit::websocket::{OutgoingFrames, framing};
use ostler_engine::{Engine, RecordLine, SubscriptionItem};
use ostler_eventlog::LogLine;
use ostler_types::{
    ApprovalEvent, CallEvent, CallName, ChildCall, Delta, DeltaKind, Event, EventName, FileChange, Message,
    MessageEvent, MessageId, PATCH_REVIEW, Part, PendingApproval, Record, SessionId, StepEvent, ToolCall,
    ToolCallId, ToolResult, TurnEvent, TurnId, Usage, WorkspaceEvent,
};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;
use uuid::Uuid;

use super::frames::{ApprovalRequest, RunUsage, ServerEvent};
use super::text_cursor::{TextCursor, UnsentText};

/// Characters of a tool's output that are shown as it comes; the history has all of it.
const MAX_OUTPUT_CHARS: usize = 8000;
/// What stands where a tool's output was cut.
const TRUNCATION_NOTE: &str = "\n\n[output truncated]";

/// The frames of a record, shared by the sockets.
#[derive(Default)]
struct RecordFrames(OnceLock<TranslatedRecord>);

/// What a record leads to.
enum TranslatedRecord {
    Nothing,
    Frame(Bytes),
    /// The text of a completed message; each socket is sent what it has not been sent as it streamed.
    Message(TurnId, MessageId, Vec<TextPart>),
    /// The end of a turn that was stopped. Its usage is not in the record.
    Stopped(TurnId, OnceCell<Bytes>),
}

/// A text part of a completed message.
struct TextPart {
    index: u32,
    text: String,
    frame: TextFrame,
}

/// The frame of a piece of text, shared by the sockets to which all of it is new.
#[derive(Default)]
struct TextFrame(OnceLock<(bool, Bytes)>);

/// Sends the events of an item.
pub(super) async fn send(
    engine: &Engine,
    session: SessionId,
    item: &SubscriptionItem,
    cursor: &mut TextCursor,
    out: &mut OutgoingFrames,
) {
    match item {
        SubscriptionItem::Delta(line) => {
            let Delta { kind, offset, text } = line.delta();
            let DeltaKind::Text { message_id, part } = *kind else { return };
            if let Some(fresh) = cursor.advance(message_id, part, *offset, text) {
                out.push(line.encoding::<TextFrame>().frame_for(line.turn_id(), text, fresh));
            }
        }
        SubscriptionItem::Record(line) if is_translated(line) => {
            send_record(engine, session, line, cursor, out).await
        }
        SubscriptionItem::Record(_) => {}
    }
}

async fn send_record(
    engine: &Engine,
    session: SessionId,
    line: &RecordLine,
    cursor: &mut TextCursor,
    out: &mut OutgoingFrames,
) {
    let frames = line.encoding::<RecordFrames>();
    match frames.0.get_or_init(|| TranslatedRecord::from_line(line)) {
        TranslatedRecord::Nothing => {}
        TranslatedRecord::Frame(frame) => out.push(frame.clone()),
        TranslatedRecord::Message(turn_id, message_id, parts) => {
            for TextPart { index, text, frame } in parts {
                let fresh = cursor.advance(*message_id, *index, 0, text);
                fresh.into_iter().for_each(|fresh| out.push(frame.frame_for(*turn_id, text, fresh)));
            }
        }
        TranslatedRecord::Stopped(turn_id, frame) => {
            // Boxed, since turns are seldom stopped and every idle socket would keep room for this.
            let make = || Box::pin(stopped_frame(engine, session, *turn_id));
            out.push(frame.get_or_init(make).await.clone());
        }
    }
}

impl TextFrame {
    /// The frame of what is new to a socket in a piece of text.
    fn frame_for(
        &self,
        turn_id: TurnId,
        piece: &str,
        UnsentText { text, on_new_line }: UnsentText<'_>,
    ) -> Bytes {
        let make = || {
            let text = if on_new_line { Cow::Owned(format!("\n{text}")) } else { Cow::Borrowed(text) };
            framing::text(&ServerEvent::Delta { run_id: turn_id.uuid(), text })
        };
        if text.len() < piece.len() {
            return make();
        }
        match self.0.get_or_init(|| (on_new_line, make())) {
            (made_for, frame) if *made_for == on_new_line => frame.clone(),
            _ => make(),
        }
    }
}

impl TranslatedRecord {
    fn from_line(line: &LogLine) -> TranslatedRecord {
        let Record { turn_id, event, .. } = match line.record() {
            Ok(record) => record,
            Err(error) => {
                tracing::error!(seq = line.seq, %error, "a record cannot be read, and is not shown");
                return TranslatedRecord::Nothing;
            }
        };
        let Some(turn_id) = turn_id.or_else(|| turn_of_child(&event)) else {
            return TranslatedRecord::Nothing;
        };
        match event {
            Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => {
                TranslatedRecord::Message(turn_id, message.id, text_parts(message))
            }
            Event::Turn(TurnEvent::Canceled { .. }) => TranslatedRecord::Stopped(turn_id, OnceCell::new()),
            event @ (Event::Session(_)
            | Event::Message(_)
            | Event::Turn(_)
            | Event::Step(_)
            | Event::Batch(_)
            | Event::Call(_)
            | Event::Approval(_)
            | Event::Workspace(_)
            | Event::Agent(_)
            | Event::Child(_)) => match server_event(turn_id, event) {
                Some(event) => TranslatedRecord::Frame(framing::text(&event)),
                None => TranslatedRecord::Nothing,
            },
        }
    }
}

fn text_parts(message: Message) -> Vec<TextPart> {
    let parts = message.parts.into_iter().zip(0_u32..).filter_map(|(part, index)| match part {
        Part::Text { text } => Some(TextPart { index, text, frame: TextFrame::default() }),
        Part::Image { .. }
        | Part::Audio { .. }
        | Part::File { .. }
        | Part::Reasoning { .. }
        | Part::ToolCall { .. }
        | Part::ToolResult { .. } => None,
    });
    parts.collect()
}

/// The end of a turn that was stopped, with what it took by then.
async fn stopped_frame(engine: &Engine, session: SessionId, turn_id: TurnId) -> Bytes {
    let view = engine.view(session).await.ok();
    let turns = view.iter().flat_map(|view| &view.turns);
    let usage = turns.into_iter().find(|turn| turn.id == turn_id).map(|turn| turn.usage);
    framing::text(&aborted_event(turn_id, usage.unwrap_or_default()))
}

fn aborted_event(turn_id: TurnId, usage: Usage) -> ServerEvent<'static> {
    ServerEvent::Final { run_id: turn_id.uuid(), usage: run_usage(usage), aborted: Some(true) }
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

/// The name of a tool on this wire, whose clients show the output of `bash` only.
pub(super) fn to_wire_tool(tool: &str) -> &str {
    if tool == "shell" { "bash" } else { tool }
}

/// An approval that waits, as a client is told of it.
pub(super) fn approval_request(approval: &PendingApproval) -> ApprovalRequest {
    ApprovalRequest {
        approval_id: approval_id(approval.turn_id, &approval.tool_call_id),
        tool_name: to_wire_tool(&approval.tool).to_owned(),
        summary: approval.summary.clone(),
        details: approval.input.clone(),
    }
}

/// Whether a record means anything here, told by its name so that the others need not be parsed.
fn is_translated(line: &LogLine) -> bool {
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

/// A session that goes on in the background asks when its parent has no turn.
fn turn_of_child(event: &Event) -> Option<TurnId> {
    let Event::Approval(event) = event else { return None };
    match event {
        ApprovalEvent::Requested { child, .. }
        | ApprovalEvent::Granted { child, .. }
        | ApprovalEvent::Denied { child, .. } => child.as_ref().map(|child| child.turn_id),
    }
}

/// The event that a record leads to, text and stopped turns aside.
fn server_event(turn_id: TurnId, event: Event) -> Option<ServerEvent<'static>> {
    let run_id = turn_id.uuid();
    Some(match event {
        Event::Turn(TurnEvent::Completed { usage, .. }) => {
            ServerEvent::Final { run_id, usage: run_usage(usage), aborted: None }
        }
        // A message that was taken back has used nothing.
        Event::Message(MessageEvent::Withdrawn { .. }) => aborted_event(turn_id, Usage::default()),
        Event::Turn(TurnEvent::Failed { error, .. }) => {
            let hint = error.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
            ServerEvent::Error { run_id, message: error.message + &hint }
        }
        Event::Call(CallEvent::Completed { tool_call, tool_result, .. }) => {
            tool_result_event(run_id, &tool_call, &tool_result)
        }
        Event::Approval(ApprovalEvent::Requested { tool_call, summary, child, .. }) => {
            ServerEvent::ApprovalRequest(call_approval_request(turn_id, tool_call, summary, child))
        }
        Event::Workspace(WorkspaceEvent::PatchReviewRequested {
            tool_call_id, files, waits: true, ..
        }) => ServerEvent::ApprovalRequest(review_request(turn_id, &tool_call_id, &files)),
        Event::Approval(ApprovalEvent::Granted { tool_call_id, by, reason, child, .. }) => {
            approval_resolved_event(turn_id, &tool_call_id, child, (true, by, reason))
        }
        Event::Approval(ApprovalEvent::Denied { tool_call_id, by, reason, child, .. }) => {
            approval_resolved_event(turn_id, &tool_call_id, child, (false, by, reason))
        }
        other @ (Event::Session(_)
        | Event::Message(_)
        | Event::Turn(_)
        | Event::Step(_)
        | Event::Batch(_)
        | Event::Call(_)
        | Event::Workspace(_)
        | Event::Agent(_)
        | Event::Child(_)) => ServerEvent::Progress { run_id, message: progress_text(other)? },
    })
}

/// What is said of events that only show that something goes on.
fn progress_text(event: Event) -> Option<String> {
    match event {
        Event::Call(CallEvent::Started { tool_call, .. }) => {
            Some(format!("{} is running", to_wire_tool(&tool_call.name)))
        }
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
            | StepEvent::ReasoningCompleted { .. },
        )
        | Event::Batch(_)
        | Event::Call(CallEvent::Completed { .. })
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

fn tool_result_event(run_id: Uuid, tool_call: &CallName, result: &ToolResult) -> ServerEvent<'static> {
    let exit_code = result.details.as_ref().and_then(|details| details["exit_code"].as_i64());
    let mut output = result.text();
    if let Some((cut, _)) = output.char_indices().nth(MAX_OUTPUT_CHARS) {
        output.truncate(cut);
        output.push_str(TRUNCATION_NOTE);
    }
    ServerEvent::ToolResult { run_id, tool: to_wire_tool(&tool_call.name).to_owned(), exit_code, output }
}

fn call_approval_request(
    turn_id: TurnId,
    call: ToolCall,
    summary: String,
    child: Option<ChildCall>,
) -> ApprovalRequest {
    let turn_id = child.map_or(turn_id, |child| child.turn_id);
    let approval_id = approval_id(turn_id, &call.id);
    let tool_name = to_wire_tool(&call.name).to_owned();
    ApprovalRequest { approval_id, tool_name, summary, details: call.input }
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

fn approval_resolved_event(
    turn_id: TurnId,
    id: &ToolCallId,
    child: Option<ChildCall>,
    (approved, by, reason): (bool, String, Option<String>),
) -> ServerEvent<'static> {
    let turn_id = child.map_or(turn_id, |child| child.turn_id);
    ServerEvent::ApprovalResolved { approval_id: approval_id(turn_id, id), approved, by, reason }
}

#[cfg(test)]
mod tests {
    use ostler_types::TurnId;
    use uuid::Uuid;

    use super::TextFrame;
    use crate::gateway::text_cursor::UnsentText;

    #[test]
    fn sockets_to_which_all_of_a_text_is_new_share_its_frame() {
        let (frame, turn_id) = (TextFrame::default(), TurnId::new(Uuid::from_u128(1)));
        let send = |text, on_new_line| frame.frame_for(turn_id, "abc", UnsentText { text, on_new_line });
        let first = send("abc", false);
        assert_eq!(send("abc", false).as_ptr(), first.as_ptr());
        assert!(first.ends_with(b"\"text\":\"abc\"}}"));
        assert!(send("c", false).ends_with(b"\"text\":\"c\"}}"), "a socket that has seen the rest");
        assert!(send("abc", true).ends_with(b"\"text\":\"\\nabc\"}}"));
        assert_eq!(send("abc", false).as_ptr(), first.as_ptr());
    }
}
