//! A session that was begun elsewhere, as records: what its agent tells of it becomes turns that have ended. They
//! are made once, when the session is taken over; what the agent tells again later is not recorded.

use std::collections::HashSet;
use std::path::Path;

use agent_client_protocol::v1::schema::ToolCall as AgentCall;
use ostler_acp::{
    AcpContentPiece, ReplayedItem, SessionReplay, call_kind, from_call, from_outcome, has_ended,
    to_plain_line,
};
use ostler_types::{
    AgentEvent, AgentState, BatchEvent, CallEvent, CallName, Clock, Event, Message, MessageEvent, MessageId,
    NewRecord, Part, Purpose, Role, StateLimits, ToolCall, ToolCallId, ToolKind, ToolResult, TurnEvent,
    TurnId, Usage,
};

use crate::tool_result::{TEXT_BYTES, head_and_tail};

/// A session that was taken over.
#[derive(Debug, Clone, PartialEq)]
pub struct AdoptedHistory {
    /// What its agent says of itself.
    pub state: AgentState,
    /// What was said in it, to follow the record that describes the session.
    pub records: Vec<NewRecord>,
    /// The files that the records speak of, by where they lie beside the log.
    pub files: Vec<(String, Vec<u8>)>,
}

impl AdoptedHistory {
    pub(crate) fn new(
        agent: &str,
        workspace: &Path,
        state: AgentState,
        replay: SessionReplay,
        clock: &dyn Clock,
    ) -> AdoptedHistory {
        let model = model_name(agent, &state);
        let (said, is_cut) = replay.finish();
        let mut history = HistoryWriter::new(agent, workspace, clock, model);
        history.record(None, Event::Agent(AgentEvent::Updated { agent: state.clone() }));
        let is_silent = said.is_empty();
        said.into_iter().for_each(|said| history.write(said));
        history.end_turn();
        if is_silent || is_cut {
            let note = if is_silent {
                "This session was begun elsewhere. Its agent knows what was said there, and does not tell it."
            } else {
                "This session was begun elsewhere. What was said there at the end is too long to be kept here; its \
                 agent knows it."
            };
            history.add_message(Role::System, vec![Part::text(note)]);
        }
        AdoptedHistory { state, records: history.records, files: history.files }
    }
}

/// The model of a session, as far as its agent says.
fn model_name(agent: &str, state: &AgentState) -> String {
    let chosen = state.settings.iter().find(|setting| setting.id == "model");
    let chosen = chosen.and_then(|setting| setting.current.as_deref()).filter(|model| !model.is_empty());
    format!("{agent}:{}", chosen.unwrap_or("default"))
}

/// Puts what was said into the order of the log.
struct HistoryWriter<'a> {
    agent: &'a str,
    workspace: &'a Path,
    clock: &'a dyn Clock,
    model: String,
    records: Vec<NewRecord>,
    files: Vec<(String, Vec<u8>)>,
    turn: Option<TurnId>,
    /// The message that is being put together, and its calls.
    parts: Vec<Part>,
    bytes: usize,
    calls: Vec<(ToolCall, ToolKind, Box<AgentCall>)>,
    used: HashSet<ToolCallId>,
}

impl<'a> HistoryWriter<'a> {
    fn new(agent: &'a str, workspace: &'a Path, clock: &'a dyn Clock, model: String) -> HistoryWriter<'a> {
        HistoryWriter {
            agent,
            workspace,
            clock,
            model,
            records: Vec::new(),
            files: Vec::new(),
            turn: None,
            parts: Vec::new(),
            bytes: 0,
            calls: Vec::new(),
            used: HashSet::new(),
        }
    }

    fn write(&mut self, said: ReplayedItem) {
        match said {
            ReplayedItem::User(pieces) => {
                self.end_turn();
                let parts: Vec<Part> = pieces.into_iter().flat_map(|piece| self.parts_of(piece)).collect();
                let id = self.add_message(Role::User, parts);
                self.begin_turn(vec![id]);
            }
            ReplayedItem::Answer(piece) => {
                let parts = self.parts_of(piece);
                parts.into_iter().for_each(|part| self.add(part));
            }
            ReplayedItem::Thought(text) => {
                for text in split_text(&text) {
                    self.add(Part::Reasoning { text: text.to_owned(), opaque: None });
                }
            }
            ReplayedItem::Call(told) => self.call(told),
        }
    }

    fn begin_turn(&mut self, message_ids: Vec<MessageId>) {
        let turn = TurnId::new(self.clock.uuid());
        self.turn = Some(turn);
        let (model, purpose) = (self.model.clone(), Purpose::default());
        self.record(Some(turn), Event::Turn(TurnEvent::Started { message_ids, model, purpose }));
    }

    fn end_turn(&mut self) {
        self.end_message("end_turn");
        let Some(turn) = self.turn.take() else { return };
        let (stop_reason, usage) = ("end_turn".to_owned(), Usage::default());
        let ended =
            Event::Turn(TurnEvent::Completed { stop_reason, usage, verified: None, verification: None });
        self.record(Some(turn), ended);
    }

    /// Adds a part to the answer. What comes after calls begins the next message.
    fn add(&mut self, part: Part) {
        let size = match &part {
            Part::Text { text } | Part::Reasoning { text, .. } => text.len(),
            Part::Image { .. }
            | Part::Audio { .. }
            | Part::File { .. }
            | Part::ToolCall { .. }
            | Part::ToolResult { .. } => 1024,
        };
        if !self.calls.is_empty() || self.bytes + size > StateLimits::MESSAGE_BYTES / 2 {
            self.end_message("tool_use");
        }
        self.bytes += size;
        self.parts.push(part);
    }

    fn call(&mut self, told: Box<AgentCall>) {
        if self.calls.len() >= StateLimits::CALLS {
            self.end_message("tool_use");
        }
        let wanted = ToolCallId(told.tool_call_id.0.to_string());
        let is_free = !wanted.0.is_empty() && wanted.0.len() <= 200 && !self.used.contains(&wanted);
        let id = if is_free { wanted } else { ToolCallId(format!("call_{}", self.clock.uuid().simple())) };
        self.used.insert(id.clone());
        let call = from_call(self.agent, id, &told);
        self.parts.push(Part::ToolCall { call: call.clone() });
        self.calls.push((call, call_kind(&told), told));
    }

    /// Records the answer that was put together, its calls, and what came of them.
    fn end_message(&mut self, stop_reason: &str) {
        let (parts, calls) = (std::mem::take(&mut self.parts), std::mem::take(&mut self.calls));
        self.bytes = 0;
        if parts.is_empty() {
            return;
        }
        if self.turn.is_none() {
            // It spoke before anybody said something.
            self.begin_turn(Vec::new());
        }
        let turn = self.turn;
        let stop_reason = if calls.is_empty() { stop_reason } else { "tool_use" }.to_owned();
        let message = self.message(Role::Assistant, parts);
        let output = Event::Message(MessageEvent::ModelOutputCompleted {
            message,
            stop_reason,
            usage: Usage::default(),
        });
        self.record(turn, output);
        if calls.is_empty() {
            return;
        }
        let tool_calls: Vec<ToolCallId> = calls.iter().map(|(call, ..)| call.id.clone()).collect();
        let parallel = calls.len() > 1;
        self.record(turn, Event::Batch(BatchEvent::Started { tool_calls, parallel }));
        for (tool_call, kind, told) in calls {
            let name = CallName { id: tool_call.id.clone(), name: tool_call.name.clone() };
            self.record(turn, Event::Call(CallEvent::Started { tool_call, kind }));
            let tool_result = self.result(&name.id, &told);
            let message_id = MessageId::new(self.clock.uuid());
            let ended = Event::Call(CallEvent::Completed {
                tool_call: name,
                tool_result,
                duration_ms: 0,
                message_id,
            });
            self.record(turn, ended);
        }
        self.record(turn, Event::Batch(BatchEvent::Completed {}));
    }

    fn result(&mut self, id: &ToolCallId, told: &AgentCall) -> ToolResult {
        let Some(ok) = has_ended(told) else {
            return ToolResult::failed(id.clone(), "The agent does not say what came of this call.");
        };
        let outcome = from_outcome(told, self.workspace);
        let (mut text, mut artifacts) = (outcome.text, Vec::new());
        if text.len() > TEXT_BYTES {
            let shown = head_and_tail(&text);
            artifacts.push(self.keep("txt", text.into_bytes()));
            text = shown;
        }
        let error = (!ok).then(|| if text.is_empty() { "the call failed".to_owned() } else { text.clone() });
        let mut parts = vec![Part::text(text)];
        for (mime_type, content) in outcome.images {
            let reference = self.keep("image", content);
            artifacts.push(reference.clone());
            parts.push(Part::Image { reference, mime_type: to_plain_line(&mime_type, 100) });
        }
        let details = Some(outcome.details).filter(|details| !details.is_null());
        ToolResult { id: id.clone(), ok, parts, error, artifacts, details }
    }

    fn parts_of(&mut self, piece: AcpContentPiece) -> Vec<Part> {
        match piece {
            AcpContentPiece::Text(text) => split_text(&text).into_iter().map(Part::text).collect(),
            AcpContentPiece::Link { name, uri } => {
                vec![Part::text(format!("[{}]({})", to_plain_line(&name, 500), to_plain_line(&uri, 2_000)))]
            }
            AcpContentPiece::Image { mime_type, bytes } => {
                vec![Part::Image {
                    reference: self.keep("image", bytes),
                    mime_type: to_plain_line(&mime_type, 100),
                }]
            }
            AcpContentPiece::Audio { mime_type, bytes } => {
                vec![Part::Audio {
                    reference: self.keep("audio", bytes),
                    mime_type: to_plain_line(&mime_type, 100),
                }]
            }
            AcpContentPiece::File { mime_type, bytes, .. } => {
                vec![Part::File {
                    reference: self.keep("file", bytes),
                    mime_type: to_plain_line(&mime_type, 100),
                }]
            }
        }
    }

    /// Keeps something beside the log, and says where.
    fn keep(&mut self, ending: &str, content: Vec<u8>) -> String {
        let reference = format!("attachments/adopted-{}.{ending}", self.files.len() + 1);
        self.files.push((reference.clone(), content));
        reference
    }

    fn add_message(&mut self, role: Role, parts: Vec<Part>) -> MessageId {
        let message = self.message(role, parts);
        let id = message.id;
        self.record(None, Event::Message(MessageEvent::Added { message, idempotency_key: None }));
        id
    }

    fn message(&self, role: Role, parts: Vec<Part>) -> Message {
        Message { id: MessageId::new(self.clock.uuid()), role, parts, created_at: self.clock.now() }
    }

    fn record(&mut self, turn_id: Option<TurnId>, event: Event) {
        self.records.push(NewRecord { ts: self.clock.now(), turn_id, event });
    }
}

/// A text in pieces, each of which has room in a message.
fn split_text(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(StateLimits::MESSAGE_BYTES / 2));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
