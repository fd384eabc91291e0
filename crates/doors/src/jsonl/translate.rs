//! From our events to those of this wire, for one session. Our turn is `agent_start` to `agent_end` here,
//! and our step is `turn_start` to `turn_end`. Reads nothing and sends nothing: lines go into a buffer.

use jiff::Timestamp;
use ostler_engine::{DeltaLine, SubscriptionItem};
use ostler_eventlog::LogLine;
use ostler_types::{
    ApprovalEvent, BatchEvent, CallEvent, CallName, ChildCall, Delta, DeltaKind, Event, EventName, Message,
    MessageEvent, MessageId, Record, Role, SessionEvent, SessionId, SessionView, StepEvent, ToolCall,
    ToolCallId, ToolResult, TurnEvent, TurnId, Usage, WorkspaceEvent,
};
use serde_json::Value;
use tokio::time::Instant;

use super::draft::{JsonlCallOutput, JsonlDraft};
use super::frames::{CloseReason, JsonlOutcome, ServerFrame, WireEvent};
use super::messages::{self, EncodedMessage, MessageAuthor, StopReason};
use super::notices::{JsonlNotice, JsonlQuestionKey, review_summary};

/// Bytes of messages in one `agent_end`: the newest that fit. Each was shown by its own event before.
const AGENT_END: usize = 4 << 20;

/// Translates one session.
pub(super) struct JsonlTranslator {
    session_id: SessionId,
    author: MessageAuthor,
    next_event: u64,
    turn: Option<ShownTurn>,
    /// What was said to begin a turn that has not begun.
    messages_before_turn: Vec<EncodedMessage>,
    draft: Option<JsonlDraft>,
}

/// A turn that is being shown.
struct ShownTurn {
    turn_id: TurnId,
    messages: Vec<EncodedMessage>,
    step: Option<ShownStep>,
    /// What the model said last, as far as it came.
    last_model_message: Option<EncodedMessage>,
}

/// A step that is being shown.
#[derive(Default)]
struct ShownStep {
    answer: Option<EncodedMessage>,
    results: Vec<EncodedMessage>,
    calls: Vec<ShownCall>,
}

/// A call of the step.
struct ShownCall {
    call: ToolCall,
    started: bool,
    output: JsonlCallOutput,
}

impl JsonlTranslator {
    /// For a session as it stands; what has happened in it before is not shown again.
    pub(super) fn new(view: &SessionView) -> JsonlTranslator {
        let session = &view.session;
        JsonlTranslator {
            session_id: session.id,
            author: MessageAuthor { model: session.model.clone(), agent: session.agent.clone() },
            next_event: 0,
            turn: None,
            messages_before_turn: Vec::new(),
            draft: None,
        }
    }

    /// Shows that a turn was running already.
    pub(super) fn begin(&mut self, running: Option<TurnId>, out: &mut Vec<u8>) {
        if let Some(turn_id) = running {
            self.start_run(turn_id, out);
        }
    }

    /// Shows one thing that happened. Text waits for [`Translator::flush`], so that many pieces make one update.
    pub(super) fn translate_item(
        &mut self,
        item: &SubscriptionItem,
        out: &mut Vec<u8>,
        notes: &mut Vec<JsonlNotice>,
    ) {
        match item {
            SubscriptionItem::Delta(line) => self.translate_delta(line, out),
            SubscriptionItem::Record(line) if line.name().is_some_and(is_shown) => {
                self.translate_line(line, out, notes)
            }
            SubscriptionItem::Record(_) => {}
        }
    }

    /// Shows the text that has come, unless it can wait.
    pub(super) fn flush(&mut self, out: &mut Vec<u8>) {
        if self.flush_due_at().is_some_and(|due| due <= Instant::now()) {
            self.flush_message(out);
        }
        self.flush_outputs(out);
    }

    /// When text is to be shown that waits.
    pub(super) fn flush_due_at(&self) -> Option<Instant> {
        self.draft.as_ref().and_then(JsonlDraft::update_due_at)
    }

    fn translate_delta(&mut self, line: &DeltaLine, out: &mut Vec<u8>) {
        if self.turn.is_none() {
            return;
        }
        let Delta { kind, offset, text } = line.delta();
        match kind {
            DeltaKind::Text { message_id, part } | DeltaKind::Reasoning { message_id, part } => {
                let thinking = matches!(kind, DeltaKind::Reasoning { .. });
                self.ensure_draft_part(*message_id, line.ts(), *part, out);
                if let Some(draft) = &mut self.draft {
                    draft.splice(*part, thinking, *offset, text);
                }
            }
            DeltaKind::ToolOutput { tool_call_id, stream } => {
                let steps = self.turn.iter_mut().filter_map(|run| run.step.as_mut());
                let mut calls = steps.flat_map(|step| &mut step.calls);
                if let Some(call) = calls.find(|call| call.call.id == *tool_call_id) {
                    call.output.splice(stream, *offset, text);
                }
            }
        }
    }

    /// Begins with a message, or with another part of it.
    fn ensure_draft_part(&mut self, id: MessageId, ts: Timestamp, part: u32, out: &mut Vec<u8>) {
        if self.draft.as_ref().is_none_or(|draft| draft.id != id) {
            self.flush_message(out);
            self.start_step(out);
            let draft = JsonlDraft::new(id, ts);
            let begun = EncodedMessage::from_json(draft.empty_message_json(&self.author));
            self.write_event(&WireEvent::MessageStart((&begun,)), out);
            self.draft = Some(draft);
        }
        if !self.draft.as_ref().is_some_and(|draft| draft.continues_part(part)) {
            self.flush_message(out);
        }
    }

    fn translate_line(&mut self, line: &LogLine, out: &mut Vec<u8>, notes: &mut Vec<JsonlNotice>) {
        let record = match line.record() {
            Ok(record) => record,
            Err(error) => {
                tracing::error!(seq = line.seq, %error, "a record cannot be read back");
                return;
            }
        };
        self.translate_record(record, out, notes);
    }

    fn translate_record(&mut self, record: Record, out: &mut Vec<u8>, notes: &mut Vec<JsonlNotice>) {
        let Record { ts, turn_id, event, .. } = record;
        match event {
            Event::Message(MessageEvent::Added { message, .. }) => self.message_added(turn_id, &message, out),
            Event::Turn(TurnEvent::Started { model, .. }) => {
                self.author.model = model;
                if let Some(turn_id) = turn_id {
                    self.start_run(turn_id, out);
                }
            }
            Event::Step(StepEvent::ModelResolved { resolution }) => self.author.model = resolution.model,
            Event::Message(MessageEvent::ModelOutputCompleted { message, stop_reason, usage }) => {
                self.model_output_completed(&message, &stop_reason, &usage, out);
            }
            Event::Call(CallEvent::Started { tool_call, .. }) => self.call_started(tool_call, out),
            Event::Call(CallEvent::Completed { tool_call, tool_result, message_id, .. }) => {
                self.call_completed(tool_call, &tool_result, message_id, ts.as_millisecond(), out);
            }
            Event::Batch(BatchEvent::Completed {}) => self.end_step(out),
            Event::Turn(TurnEvent::Completed { .. }) => {
                self.end_run(turn_id, StopReason::Stop, None, ts, out, notes)
            }
            Event::Turn(TurnEvent::Canceled { .. }) => {
                self.end_run(turn_id, StopReason::Aborted, None, ts, out, notes)
            }
            Event::Turn(TurnEvent::Failed { error, .. }) => {
                self.end_run(turn_id, StopReason::Error, Some(&error.message), ts, out, notes);
            }
            Event::Session(SessionEvent::Completed { .. }) => {
                notes.push(JsonlNotice::Gone(CloseReason::Normal))
            }
            // The turn that was to answer it will never be.
            Event::Message(MessageEvent::Withdrawn { .. }) => {
                notes.extend(turn_id.map(JsonlNotice::TurnDropped))
            }
            Event::Approval(ApprovalEvent::Requested { tool_call, summary, child, .. }) => {
                let key = self.question_key(turn_id, child.as_ref(), tool_call.id);
                notes.extend(JsonlNotice::asked(key, summary, false));
            }
            Event::Workspace(WorkspaceEvent::PatchReviewRequested {
                tool_call_id,
                files,
                waits: true,
                more,
                note,
                ..
            }) => {
                let key = self.question_key(turn_id, None, tool_call_id);
                notes.extend(JsonlNotice::asked(key, review_summary(&files, more, note.as_deref()), true));
            }
            Event::Approval(ApprovalEvent::Granted { tool_call_id, by, child, .. }) => {
                let key = self.question_key(turn_id, child.as_ref(), tool_call_id);
                notes.extend(JsonlNotice::answered(key, JsonlOutcome::Approved, by));
            }
            Event::Approval(ApprovalEvent::Denied { tool_call_id, by, child, .. }) => {
                let key = self.question_key(turn_id, child.as_ref(), tool_call_id);
                notes.extend(JsonlNotice::answered(key, JsonlOutcome::Denied, by));
            }
            Event::Session(
                SessionEvent::Created { .. }
                | SessionEvent::Updated { .. }
                | SessionEvent::Failed { .. }
                | SessionEvent::Canceled { .. },
            )
            | Event::Message(MessageEvent::Queued { .. })
            | Event::Turn(TurnEvent::Retried { .. })
            | Event::Step(
                StepEvent::ModelWaiting { .. }
                | StepEvent::UsageRecorded { .. }
                | StepEvent::ReasoningCompleted { .. },
            )
            | Event::Batch(BatchEvent::Started { .. } | BatchEvent::Halted { .. })
            | Event::Workspace(_)
            | Event::Agent(_)
            | Event::Child(_) => {}
        }
    }

    /// What a question is about. A child's is answered where it was put.
    fn question_key(
        &self,
        turn_id: Option<TurnId>,
        child: Option<&ChildCall>,
        call: ToolCallId,
    ) -> Option<JsonlQuestionKey> {
        match child {
            Some(child) => {
                let ChildCall { session_id, turn_id, .. } = *child;
                Some(JsonlQuestionKey { session_id, turn_id, call })
            }
            None => Some(JsonlQuestionKey { session_id: self.session_id, turn_id: turn_id?, call }),
        }
    }

    /// Somebody said something. What begins a turn is shown in it, and what steers it in the step that reads it.
    fn message_added(&mut self, turn_id: Option<TurnId>, message: &Message, out: &mut Vec<u8>) {
        let Some(encoded) = messages::encode_user_message(message) else { return };
        let in_turn = self.turn.as_ref().map(|run| run.turn_id);
        if turn_id.is_some() && turn_id != in_turn {
            self.messages_before_turn.push(encoded);
        } else {
            if turn_id.is_some() {
                self.start_step(out);
            }
            self.write_whole_message(encoded, out);
        }
    }

    fn start_run(&mut self, turn_id: TurnId, out: &mut Vec<u8>) {
        self.turn = Some(ShownTurn { turn_id, messages: Vec::new(), step: None, last_model_message: None });
        self.write_event(&WireEvent::AgentStart, out);
        self.start_step(out);
        for message in std::mem::take(&mut self.messages_before_turn) {
            self.write_whole_message(message, out);
        }
    }

    fn start_step(&mut self, out: &mut Vec<u8>) {
        let begins = self.turn.as_mut().is_some_and(|run| match run.step {
            Some(_) => false,
            None => {
                run.step = Some(ShownStep::default());
                true
            }
        });
        if begins {
            self.write_event(&WireEvent::TurnStart, out);
        }
    }

    /// The model finished a message. Without calls that is the end of the step.
    fn model_output_completed(&mut self, message: &Message, reason: &str, usage: &Usage, out: &mut Vec<u8>) {
        self.flush_message(out);
        self.start_step(out);
        let reason = messages::stop_reason(reason, message);
        let encoded = messages::encode_model_message(message, reason, usage, &self.author);
        if self.draft.take_if(|draft| draft.id == message.id).is_none() {
            self.write_event(&WireEvent::MessageStart((&encoded,)), out);
        }
        self.write_event(&WireEvent::MessageEnd((&encoded,)), out);
        let Some(run) = &mut self.turn else { return };
        run.messages.push(encoded.clone());
        run.last_model_message = Some(encoded.clone());
        let step = run.step.get_or_insert_default();
        step.answer = Some(encoded);
        let call = |call: &ToolCall| ShownCall {
            call: call.clone(),
            started: false,
            output: JsonlCallOutput::default(),
        };
        step.calls = message.tool_calls().map(call).collect();
        if step.calls.is_empty() || reason != StopReason::ToolUse {
            self.end_step(out);
        }
    }

    fn call_started(&mut self, tool_call: ToolCall, out: &mut Vec<u8>) {
        let start = WireEvent::ToolExecutionStart(&tool_call.id.0, &tool_call.name, &tool_call.input);
        self.write_event(&start, out);
        let Some(run) = &mut self.turn else { return };
        let step = run.step.get_or_insert_default();
        match step.calls.iter_mut().find(|call| call.call.id == tool_call.id) {
            Some(call) => (call.call, call.started) = (tool_call, true),
            None => step.calls.push(ShownCall {
                call: tool_call,
                started: true,
                output: JsonlCallOutput::default(),
            }),
        }
    }

    /// A call has its result. One that never started is shown as if it had, so that they pair.
    fn call_completed(
        &mut self,
        CallName { id, name }: CallName,
        result: &ToolResult,
        message_id: MessageId,
        timestamp: i64,
        out: &mut Vec<u8>,
    ) {
        self.flush_outputs(out);
        let step = self.turn.as_mut().and_then(|run| run.step.as_mut());
        let place = step.as_ref().and_then(|step| step.calls.iter().position(|call| call.call.id == id));
        let call = step.zip(place).map(|(step, place)| step.calls.remove(place));
        if !call.as_ref().is_some_and(|call| call.started) {
            let input = call.map_or(Value::Null, |call| call.call.input);
            self.write_event(&WireEvent::ToolExecutionStart(&id.0, &name, &input), out);
        }
        let end = WireEvent::ToolExecutionEnd(&id.0, &name, messages::to_wire_result(result), !result.ok);
        self.write_event(&end, out);
        let encoded = messages::encode_tool_message(message_id, &name, result, timestamp);
        if let Some(step) = self.turn.as_mut().and_then(|run| run.step.as_mut()) {
            step.results.push(encoded.clone());
        }
        self.write_whole_message(encoded, out);
    }

    fn end_step(&mut self, out: &mut Vec<u8>) {
        let Some(ShownStep { answer: Some(answer), results, .. }) =
            self.turn.as_mut().and_then(|run| run.step.take())
        else {
            return;
        };
        self.write_event(&WireEvent::TurnEnd(&answer, &results), out);
    }

    /// A step in which the model came to say nothing gets a message without content, so that it ends as it began.
    fn fill_step(&mut self, reason: StopReason, ts: Timestamp, out: &mut Vec<u8>) {
        let Some(ShownTurn { turn_id, step: Some(ShownStep { answer: None, .. }), .. }) = self.turn else {
            return;
        };
        let id = MessageId::new(turn_id.uuid());
        let nothing = Message { id, role: Role::Assistant, created_at: ts, parts: Vec::new() };
        let encoded = messages::encode_model_message(&nothing, reason, &Usage::default(), &self.author);
        self.write_whole_message(encoded.clone(), out);
        if let Some(step) = self.turn.as_mut().and_then(|run| run.step.as_mut()) {
            step.answer = Some(encoded);
        }
    }

    fn end_run(
        &mut self,
        turn_id: Option<TurnId>,
        reason: StopReason,
        failed: Option<&str>,
        ts: Timestamp,
        out: &mut Vec<u8>,
        notes: &mut Vec<JsonlNotice>,
    ) {
        self.flush_message(out);
        self.draft = None;
        self.fill_step(reason, ts, out);
        self.end_step(out);
        let Some(run) = self.turn.take() else { return };
        if let Some(reason) = failed {
            self.write_event(&WireEvent::Error(reason, run.last_model_message.as_ref()), out);
        }
        let mut room = AGENT_END;
        let fits = |message: &&EncodedMessage| {
            let fits = message.len() <= room;
            room = room.saturating_sub(message.len());
            fits
        };
        let kept = run.messages.iter().rev().take_while(fits).count();
        self.write_event(&WireEvent::AgentEnd((&run.messages[run.messages.len() - kept..],)), out);
        notes.extend(turn_id.map(JsonlNotice::TurnEnded));
    }

    /// A message that is whole from its beginning.
    fn write_whole_message(&mut self, encoded: EncodedMessage, out: &mut Vec<u8>) {
        self.write_event(&WireEvent::MessageStart((&encoded,)), out);
        self.write_event(&WireEvent::MessageEnd((&encoded,)), out);
        if let Some(run) = &mut self.turn {
            run.messages.push(encoded);
        }
    }

    fn flush_message(&mut self, out: &mut Vec<u8>) {
        let Some(draft) = &mut self.draft else { return };
        if draft.update_due_at().is_some() {
            draft.write_update(self.session_id, self.next_event, &self.author, out);
            self.next_event += 1;
        }
    }

    fn flush_outputs(&mut self, out: &mut Vec<u8>) {
        let mut run = self.turn.take();
        let calls = run.iter_mut().filter_map(|run| run.step.as_mut()).flat_map(|step| &mut step.calls);
        for ShownCall { call, output, .. } in calls {
            if std::mem::take(&mut output.has_unshown) {
                let shown = messages::output_to_wire_result(&output.text);
                let update = WireEvent::ToolExecutionUpdate(&call.id.0, &call.name, &call.input, shown);
                self.write_event(&update, out);
            }
        }
        self.turn = run;
    }

    fn write_event(&mut self, event: &WireEvent<'_>, out: &mut Vec<u8>) {
        let (session_id, event_seq) = (self.session_id, self.next_event);
        ServerFrame::Event { session_id, event_seq, event }.write(out);
        self.next_event += 1;
    }
}

/// Whether a record is shown on this wire; the others need not be read.
fn is_shown(name: EventName) -> bool {
    matches!(
        name,
        EventName::MessageAdded
            | EventName::TurnStarted
            | EventName::ModelResolved
            | EventName::ModelOutputCompleted
            | EventName::ToolCallStarted
            | EventName::ToolCallCompleted
            | EventName::ToolBatchCompleted
            | EventName::TurnCompleted
            | EventName::TurnCanceled
            | EventName::TurnFailed
            | EventName::SessionCompleted
            | EventName::MessageWithdrawn
            | EventName::ApprovalRequested
            | EventName::ApprovalGranted
            | EventName::ApprovalDenied
            | EventName::PatchReviewRequested
    )
}
