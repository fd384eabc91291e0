//! From our events to the updates of this protocol, for one session. Reads nothing and sends nothing: lines go
//! into a buffer, and what the desk has to act on becomes a note.

mod plan;
mod steps;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, MessageId as EditorMessage, ResourceLink, SessionUpdate, StopReason,
};
use ostler_acp::{to_commands, to_stop_reason};
use ostler_door_kit::DoorSettings;
use ostler_engine::{DeltaLine, Engine, SubscriptionItem};
use ostler_eventlog::LogLine;
use ostler_types::{
    AgentEvent, AgentState, ApprovalEvent, CallEvent, ChildCall, ChildEvent, Cost, Delta, DeltaKind, Event,
    Message, MessageEvent, MessageId, PATCH_REVIEW, Part, Record, Role, SessionEvent, SessionId, SessionView,
    StepEvent, ToolCall, ToolCallId, ToolKind, TurnEvent, TurnId, WorkspaceEvent,
};
use serde_json::Value;
use tokio::time::Instant;

use super::notices::{EditorNotice, EditorQuestion, EditorQuestionKey, EditorTurnEnd};
use super::streaming_output::{EditorCallOutput, EditorTextCursor};
use super::wire;
use plan::AnnouncedPlan;

/// Messages of an editor that are remembered as its own; the engine lets fewer wait.
const MAX_OWN_MESSAGES: usize = 256;

/// The messages that the editor has sent itself, and shows already. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct EditorOwnMessages(Arc<Mutex<VecDeque<MessageId>>>);

impl EditorOwnMessages {
    pub(super) fn add(&self, id: MessageId) {
        let mut own = self.0.lock().expect("nobody panics while holding it");
        if own.len() == MAX_OWN_MESSAGES {
            own.pop_front();
        }
        own.push_back(id);
    }

    /// Whether the message is one of them, which it then no longer is: each is added once.
    fn remove(&self, id: MessageId) -> bool {
        let mut own = self.0.lock().expect("nobody panics while holding it");
        let place = own.iter().position(|own| *own == id);
        place.and_then(|place| own.remove(place)).is_some()
    }
}

/// Translates one session.
pub(super) struct EditorTranslator {
    session_id: SessionId,
    settings: Arc<DoorSettings>,
    workspace: PathBuf,
    /// Where what belongs to messages lies.
    engine: Engine,
    own_messages: EditorOwnMessages,
    /// Records up to this one are the past.
    history: u64,
    text_cursor: EditorTextCursor,
    /// The calls of the running turn that the editor knows.
    calls: Vec<AnnouncedCall>,
    plan: AnnouncedPlan,
    /// What the session has cost so far, as far as it is known.
    cost: Option<Cost>,
}

/// A call that the editor knows.
struct AnnouncedCall {
    id: ToolCallId,
    turn_id: Option<TurnId>,
    output: EditorCallOutput,
}

impl EditorTranslator {
    /// For a session as it stands, from its beginning or from now on.
    pub(super) fn new(
        view: &SessionView,
        from_beginning: bool,
        settings: Arc<DoorSettings>,
        engine: Engine,
        own: EditorOwnMessages,
    ) -> EditorTranslator {
        EditorTranslator {
            session_id: view.session.id,
            settings,
            workspace: PathBuf::from(&view.session.workspace_path),
            engine,
            own_messages: own,
            history: view.last_seq,
            text_cursor: EditorTextCursor::default(),
            calls: Vec::new(),
            plan: AnnouncedPlan::default(),
            cost: if from_beginning { None } else { view.session.usage.cost_usd },
        }
    }

    /// Tells what a session's agent offers that is not told again.
    pub(super) fn begin(&mut self, agent: &AgentState, out: &mut Vec<u8>) {
        if !agent.commands.is_empty() {
            self.send_update(SessionUpdate::AvailableCommandsUpdate(to_commands(&agent.commands)), out);
        }
        if let Some(plan) = self.plan.replace(&agent.plan) {
            self.send_update(SessionUpdate::Plan(plan), out);
        }
    }

    /// Tells one thing that happened.
    pub(super) fn translate_item(
        &mut self,
        item: &SubscriptionItem,
        out: &mut Vec<u8>,
        notes: &mut Vec<EditorNotice>,
    ) {
        match item {
            SubscriptionItem::Delta(line) => self.translate_delta(line, out),
            SubscriptionItem::Record(line) => self.translate_line(line, out, notes),
        }
    }

    /// Tells the output that has come, unless it can wait.
    pub(super) fn flush(&mut self, out: &mut Vec<u8>) {
        let now = Instant::now();
        let mut calls = std::mem::take(&mut self.calls);
        for call in &mut calls {
            if let Some(text) = call.output.take(now) {
                self.send_output(call.turn_id, &call.id, text, out);
            }
        }
        self.calls = calls;
    }

    /// When output is to be told that waits.
    pub(super) fn flush_due_at(&self) -> Option<Instant> {
        self.calls.iter().filter_map(|call| call.output.update_due_at()).min()
    }

    fn translate_delta(&mut self, line: &DeltaLine, out: &mut Vec<u8>) {
        let Delta { kind, offset, text } = line.delta();
        match kind {
            DeltaKind::Text { message_id, part } | DeltaKind::Reasoning { message_id, part } => {
                let fresh = self.text_cursor.advance(*message_id, *part, *offset, text);
                self.send_model_text(*message_id, fresh, matches!(kind, DeltaKind::Reasoning { .. }), out);
            }
            DeltaKind::ToolOutput { tool_call_id, stream } => {
                if let Some(call) = self.calls.iter_mut().find(|call| call.id == *tool_call_id) {
                    call.output.splice(stream, *offset, text);
                }
            }
        }
    }

    fn translate_line(&mut self, line: &LogLine, out: &mut Vec<u8>, notes: &mut Vec<EditorNotice>) {
        match line.record() {
            Ok(record) => self.translate_record(record, out, notes),
            Err(error) => tracing::error!(seq = line.seq, %error, "a record cannot be read back"),
        }
    }

    fn translate_record(&mut self, record: Record, out: &mut Vec<u8>, notes: &mut Vec<EditorNotice>) {
        let Record { seq, turn_id, event, .. } = record;
        let is_past = seq <= self.history;
        match event {
            Event::Message(MessageEvent::Added { message, .. }) => self.message_added(&message, is_past, out),
            Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => {
                self.model_output_completed(turn_id, &message, out)
            }
            Event::Turn(TurnEvent::Started { purpose, .. }) => self.begin_plan(&purpose, out),
            Event::Step(StepEvent::UsageRecorded { model, message_id, usage }) => {
                self.model_used(&model, message_id.is_some(), &usage, out);
            }
            Event::Call(CallEvent::Started { tool_call, kind }) => {
                self.call_started(turn_id, &tool_call, kind, out)
            }
            Event::Call(CallEvent::Completed { tool_call, tool_result, .. }) => {
                self.call_completed(turn_id, tool_call, &tool_result, out);
            }
            Event::Workspace(WorkspaceEvent::VerificationStarted { round, commands }) => {
                self.checks_started(turn_id, round, &commands, out)
            }
            Event::Workspace(WorkspaceEvent::VerificationCompleted { round, ok, results }) => {
                self.checks_finished(turn_id, round, ok, &results, out);
            }
            Event::Child(ChildEvent::Started { session_id, subtask, .. }) => {
                self.child_started(session_id, subtask.as_deref(), out);
            }
            Event::Child(ChildEvent::Completed { session_id, .. }) => self.child_ended(session_id, out),
            Event::Agent(AgentEvent::Updated { agent }) => {
                self.begin(&agent, out);
                if !is_past {
                    notes.push(EditorNotice::AgentChanged(Box::new(agent)));
                }
            }
            Event::Session(SessionEvent::Updated { session }) if !is_past => {
                notes.push(EditorNotice::Changed(Box::new(session)))
            }
            other @ (Event::Session(_)
            | Event::Message(_)
            | Event::Turn(_)
            | Event::Step(_)
            | Event::Batch(_)
            | Event::Approval(_)
            | Event::Workspace(_)
            | Event::Agent(_)) => notes.extend(self.translate_notice(turn_id, other, is_past, out)),
        }
    }

    /// What the desk has to act on. Questions of the past are not put again; those that are open are known.
    fn translate_notice(
        &mut self,
        turn_id: Option<TurnId>,
        event: Event,
        is_past: bool,
        out: &mut Vec<u8>,
    ) -> Option<EditorNotice> {
        match event {
            Event::Turn(TurnEvent::Completed { stop_reason, .. }) => {
                self.turn_ended(turn_id, EditorTurnEnd::Stopped(to_stop_reason(&stop_reason)))
            }
            Event::Turn(TurnEvent::Canceled { .. }) => {
                self.turn_ended(turn_id, EditorTurnEnd::Stopped(StopReason::Cancelled))
            }
            Event::Turn(TurnEvent::Failed { error, .. }) => {
                self.turn_ended(turn_id, EditorTurnEnd::Failed(error))
            }
            Event::Message(MessageEvent::Withdrawn { .. }) => turn_id.map(EditorNotice::TurnDropped),
            Event::Approval(ApprovalEvent::Requested {
                tool_call, kind, summary, options, child, ..
            }) => {
                if child.is_none() {
                    self.announce(turn_id, &tool_call, kind, out);
                }
                let key = self.question_key(turn_id, child.as_ref(), tool_call.id.clone())?;
                let (review, merged) = (None, None);
                let question = EditorQuestion { key, tool_call, kind, summary, options, review, merged };
                (!is_past).then(|| EditorNotice::Asked(Box::new(question)))
            }
            Event::Workspace(WorkspaceEvent::PatchReviewRequested {
                tool_call_id,
                files,
                waits: true,
                note,
                ..
            }) if !is_past => {
                let key = self.question_key(turn_id, None, tool_call_id.clone())?;
                let tool_call =
                    ToolCall { id: tool_call_id, name: PATCH_REVIEW.to_owned(), input: Value::Null };
                let (summary, options) = (note.unwrap_or_default(), Vec::new());
                let (review, merged, kind) = (Some(files), None, ToolKind::Write);
                let question = EditorQuestion { key, tool_call, kind, summary, options, review, merged };
                Some(EditorNotice::Asked(Box::new(question)))
            }
            Event::Approval(ApprovalEvent::Granted { tool_call_id, child, .. })
            | Event::Approval(ApprovalEvent::Denied { tool_call_id, child, .. }) => {
                self.question_key(turn_id, child.as_ref(), tool_call_id).map(EditorNotice::Answered)
            }
            Event::Session(_)
            | Event::Message(
                MessageEvent::Added { .. }
                | MessageEvent::Queued { .. }
                | MessageEvent::ModelOutputCompleted { .. },
            )
            | Event::Turn(TurnEvent::Started { .. } | TurnEvent::Retried { .. })
            | Event::Step(_)
            | Event::Batch(_)
            | Event::Call(_)
            | Event::Workspace(_)
            | Event::Agent(_)
            | Event::Child(_) => None,
        }
    }

    fn turn_ended(&mut self, turn_id: Option<TurnId>, end: EditorTurnEnd) -> Option<EditorNotice> {
        self.calls.clear();
        turn_id.map(|turn_id| EditorNotice::TurnEnded(turn_id, end))
    }

    /// What a question is about. A child's is answered where it was put.
    fn question_key(
        &self,
        turn_id: Option<TurnId>,
        child: Option<&ChildCall>,
        call: ToolCallId,
    ) -> Option<EditorQuestionKey> {
        match child {
            Some(child) => {
                let ChildCall { session_id, turn_id, .. } = *child;
                Some(EditorQuestionKey { session_id, turn_id, call })
            }
            None => Some(EditorQuestionKey { session_id: self.session_id, turn_id: turn_id?, call }),
        }
    }

    /// Somebody said something. What the editor has sent itself it shows already.
    fn message_added(&mut self, message: &Message, is_past: bool, out: &mut Vec<u8>) {
        let is_own = self.own_messages.remove(message.id);
        if message.role != Role::User || (is_own && !is_past) {
            return;
        }
        for part in &message.parts {
            if let Some(block) = self.user_block(part) {
                let chunk = ContentChunk::new(block).message_id(EditorMessage::from(message.id.to_string()));
                self.send_update(SessionUpdate::UserMessageChunk(chunk), out);
            }
        }
    }

    /// A part that a person said. Files are pointed at, so that a replay does not read them all.
    fn user_block(&self, part: &Part) -> Option<ContentBlock> {
        match part {
            Part::Text { text } => Some(ContentBlock::from(text.clone())),
            Part::Image { reference, mime_type }
            | Part::Audio { reference, mime_type }
            | Part::File { reference, mime_type } => {
                let name = reference.rsplit('/').next().unwrap_or(reference);
                let uri = format!("file://{}", self.engine.file_path(self.session_id, reference).display());
                let link = ResourceLink::new(name, uri).mime_type(mime_type.clone());
                Some(ContentBlock::ResourceLink(link))
            }
            Part::Reasoning { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => None,
        }
    }

    /// The model says something.
    fn send_model_text(&self, id: MessageId, text: &str, thinking: bool, out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        let chunk =
            ContentChunk::new(ContentBlock::from(text)).message_id(EditorMessage::from(id.to_string()));
        let said = if thinking { SessionUpdate::AgentThoughtChunk } else { SessionUpdate::AgentMessageChunk };
        self.send_update(said(chunk), out);
    }

    fn send_update(&self, update: SessionUpdate, out: &mut Vec<u8>) {
        wire::update(self.session_id, update, out);
    }
}
