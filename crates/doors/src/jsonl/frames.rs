//! What the daemon says on this wire: every frame, with its exact field names. Nothing here knows when a
//! frame is said.

use bytes::Bytes;
use ostler_door_kit::line_connection::{Outbox, OutboxClosed};
use ostler_types::SessionId;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::messages::{EncodedMessage, WireResult, WireUsage, split_model};

/// One line to the client.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ServerFrame<'a> {
    /// The first line: the primary session is there.
    Ready {
        cwd: &'a str,
        model: ModelName<'a>,
        debug: bool,
        /// Whether questions are asked on this wire.
        ui: bool,
        primary_session_id: Option<SessionId>,
        active_session_id: Option<SessionId>,
    },
    /// Something happened in a session.
    Event {
        session_id: SessionId,
        /// Counts the events of this session on this wire, from 0.
        event_seq: u64,
        event: &'a WireEvent<'a>,
    },
    /// How a session stands.
    Stats { session_id: SessionId, stats: Stats<'a> },
    /// The answer to `ping`.
    Pong {},
    /// What is being done, for whoever looks for a mistake.
    Debug {
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        argv: Option<&'a [String]>,
    },
    /// Something could not be done, and nothing was.
    Error {
        message: &'a str,
        /// What to do about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        session_id: Option<&'a str>,
    },
    /// Where a session is kept.
    SaveResult { ok: bool, path: Option<&'a str>, error: Option<&'a str>, session_id: SessionId },
    /// The sessions on disk that work in this directory, the newest first.
    SessionsList { sessions: Vec<SavedSession>, error: Option<&'a str> },
    /// The sessions of this connection.
    RunningSessions { sessions: Vec<RunningSession>, error: Option<&'a str> },
    /// The models that sessions can have.
    ModelsList { providers: Vec<ModelProvider<'a>> },
    /// A session is there.
    SessionStarted { session_id: SessionId, cwd: &'a str, model: ModelName<'a> },
    /// A session is no longer of this connection.
    SessionClosed { session_id: &'a str, reason: CloseReason },
    /// Where commands go that name no session; null when there is none.
    ActiveSession { session_id: Option<SessionId> },
    /// A question for a person.
    UiRequest {
        id: &'a str,
        session_id: SessionId,
        #[serde(flatten)]
        dialog: Dialog<'a>,
    },
    /// A question that nobody here need answer any more.
    UiSettled {
        id: &'a str,
        session_id: SessionId,
        outcome: JsonlOutcome,
        /// Who answered, if somebody did.
        by: Option<&'a str>,
    },
}

/// What happened in a session. `data` is positional, and absent when there is nothing to say.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
#[schemars(rename = "SessionEvent")]
pub(super) enum WireEvent<'a> {
    /// A turn began.
    AgentStart,
    /// A turn ended, however it ended. The messages that came of it.
    AgentEnd((&'a [EncodedMessage],)),
    /// A step began: one answer of the model, and the calls that it asks for.
    TurnStart,
    /// A step ended: the answer, and what the calls came to.
    TurnEnd(&'a EncodedMessage, &'a [EncodedMessage]),
    /// A message begins.
    MessageStart((&'a EncodedMessage,)),
    /// The message so far, which replaces what was shown of it, and what is new.
    #[expect(dead_code, reason = "a draft writes it, without copying the message twice")]
    MessageUpdate(&'a EncodedMessage, TextDelta<'a>),
    /// A message is whole.
    MessageEnd((&'a EncodedMessage,)),
    /// A call takes effect: its id, its tool, its arguments.
    ToolExecutionStart(&'a str, &'a str, &'a Value),
    /// What a call has printed so far, which replaces what was shown of it.
    ToolExecutionUpdate(&'a str, &'a str, &'a Value, WireResult<'a>),
    /// A call has its result: its id, its tool, the result, whether it failed.
    ToolExecutionEnd(&'a str, &'a str, WireResult<'a>, bool),
    /// A turn failed: why, and what the model had written. `agent_end` follows.
    Error(&'a str, Option<&'a EncodedMessage>),
}

/// Text that has just come.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(dead_code, reason = "a draft writes it, too")]
pub(super) enum TextDelta<'a> {
    /// Of the answer.
    TextDelta { content_index: usize, delta: &'a str },
    /// Of the reasoning.
    ThinkingDelta { content_index: usize, delta: &'a str },
}

/// A model, taken apart.
#[derive(Serialize, JsonSchema)]
pub(super) struct ModelName<'a> {
    provider: &'a str,
    id: &'a str,
}

impl<'a> ModelName<'a> {
    pub(super) fn from_full_name(name: &'a str) -> ModelName<'a> {
        let (provider, id) = split_model(name);
        ModelName { provider, id }
    }
}

/// How a session stands, in figures.
#[derive(Serialize, JsonSchema)]
pub(super) struct Stats<'a> {
    pub(super) session_id: SessionId,
    /// What people, the model and tools have said.
    pub(super) message_count: u64,
    pub(super) turn_count: u64,
    /// Whether a turn runs or waits.
    pub(super) is_streaming: bool,
    pub(super) cwd: &'a str,
    pub(super) model: ModelName<'a>,
    /// How much the model thinks; null when that is left to its maker.
    pub(super) thinking_level: Option<&'static str>,
    pub(super) usage: WireUsage,
    /// Messages that wait for their turn.
    pub(super) queued: usize,
    /// Calls that wait for an answer.
    pub(super) pending_approvals: usize,
}

/// A session on disk.
#[derive(Serialize, JsonSchema)]
pub(super) struct SavedSession {
    /// Its log, which `start_session` takes as `session_file`.
    pub(super) path: String,
    pub(super) id: SessionId,
    /// Its last activity, in milliseconds since 1970.
    pub(super) timestamp: i64,
    pub(super) cwd: String,
    pub(super) title: Option<String>,
}

/// A session of this connection.
#[derive(Serialize, JsonSchema)]
pub(super) struct RunningSession {
    pub(super) session_id: SessionId,
    pub(super) cwd: String,
    pub(super) is_streaming: bool,
}

/// A provider and its models.
#[derive(Serialize, JsonSchema)]
pub(super) struct ModelProvider<'a> {
    pub(super) id: &'a str,
    pub(super) models: Vec<ListedModel<'a>>,
}

/// A model of a provider.
#[derive(Serialize, JsonSchema)]
pub(super) struct ListedModel<'a> {
    pub(super) id: &'a str,
    /// What `start_session` takes as `model`.
    pub(super) name: &'a str,
}

/// Why a session is no longer of this connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum CloseReason {
    /// It was closed, here or elsewhere.
    Normal,
    /// There is none, or no longer.
    NotFound,
    /// It cannot be read any more.
    Error,
}

/// A question, and how it is to be put.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "method", content = "params", rename_all = "snake_case")]
#[expect(
    dead_code,
    reason = "whatever can be asked is a part of the wire, though not all of it is asked yet"
)]
pub(super) enum Dialog<'a> {
    /// One of these; the answer is its value.
    Select { title: &'a str, options: Vec<Choice<'a>>, opts: NoOptions },
    /// Yes or no; the answer is a boolean.
    Confirm { title: &'a str, message: &'a str, opts: NoOptions },
    /// A line of text.
    Input { title: &'a str, placeholder: Option<&'a str>, opts: NoOptions },
    /// Some lines of text.
    Editor { title: &'a str, prefill: Option<&'a str>, opts: NoOptions },
}

/// One of the answers that can be chosen.
#[derive(Serialize, JsonSchema)]
pub(super) struct Choice<'a> {
    pub(super) label: &'a str,
    pub(super) value: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<&'a str>,
}

/// Nothing in particular.
#[derive(Serialize, JsonSchema)]
pub(super) struct NoOptions {}

/// How a question was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Outcome")]
pub(super) enum JsonlOutcome {
    /// The call may run.
    Approved,
    /// It may not.
    Denied,
    /// There is nothing to answer any more.
    Withdrawn,
}

/// Says something, once there is room for it.
pub(super) async fn send_frame(outbox: &Outbox, frame: &ServerFrame<'_>) -> Result<(), OutboxClosed> {
    outbox.send(frame.line()).await
}

impl ServerFrame<'_> {
    /// The line, with its end.
    pub(super) fn line(&self) -> Bytes {
        let mut line = Vec::with_capacity(256);
        self.write(&mut line);
        line.into()
    }

    /// Appends the line.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        serde_json::to_writer(&mut *out, self).expect("a frame is plain strings and numbers");
        out.push(b'\n');
    }
}
