//! What goes into the recorder and what comes out of it. Both are plain data, so that a table can hold a prompt.

use std::time::Instant;

use agent_client_protocol::v1::schema::{Error, RequestId, ToolCallUpdate};
use ostler_acp::AcpCallOutcome;
use ostler_agent::FailedTurn;
use ostler_runner::ToolOutcome;
use ostler_types::{Accepted, ApprovalOption, Delta, MessageId, Part, ToolCall, ToolCallId, ToolKind};
use serde_json::Value;

use crate::effect::AgentEffect;
use crate::recorder::draft::TextKind;

/// Something that happened while the agent works on a prompt.
#[derive(Debug)]
pub(crate) enum RecorderInput {
    /// The agent sent a piece of text, perhaps under its own name of the message.
    Text { kind: TextKind, text: String, message: Option<String> },
    /// The agent sent a part that is no text, stored already, of this size.
    Part { part: Part, bytes: usize },
    /// The agent announced a call, or updated one.
    Call(Box<ToolCallUpdate>),
    /// The agent asks for permission to make a call.
    Permission { request: RequestId, call: Box<ToolCallUpdate>, options: Vec<ApprovalOption> },
    /// The agent requests an effect of this daemon.
    Effect { request: RequestId, effect: AgentEffect, policy: EffectPolicy },
    /// A question about a call was answered.
    Answer { call: ToolCallId, accepted: Accepted },
    /// A call that this daemon made for the agent ended.
    OwnCallEnded { call: ToolCallId, outcome: ToolOutcome },
    /// The agent has a notice for people.
    Notice(String),
    /// The agent answered the prompt: nothing follows.
    PromptEnded,
    /// The prompt failed: nothing follows.
    PromptFailed,
}

/// What the policy says of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EffectPolicy {
    /// Whether a person has to approve it.
    pub(crate) asks: bool,
    /// Whether the tool warns of it; then no approval of another call covers it.
    pub(crate) is_risky: bool,
}

/// One thing to carry out. Actions are carried out in order, each before the next: a report is on disk before the
/// agent gets the response that follows it.
#[derive(Debug)]
pub(crate) enum RecorderAction {
    /// Show a delta.
    Show(Delta),
    /// Record a message of the agent.
    RecordMessage { id: MessageId, parts: Vec<Part>, stop_reason: &'static str },
    /// Record that the calls of the last message begin.
    StartBatch { parallel: bool },
    /// Record that a call takes effect.
    StartCall { call: ToolCall, kind: ToolKind },
    /// Record the result of a call that was announced at that time.
    FinishCall { id: ToolCallId, ok: bool, outcome: AcpCallOutcome, announced: Instant },
    /// Record that all calls of the batch have results.
    CompleteBatch,
    /// Ask a person about a call, and pass the answer in as [`Input::Answer`].
    Ask { call: ToolCall, kind: ToolKind, asker: Asker },
    /// Respond to a request of the agent.
    Respond { request: RequestId, response: Result<Value, Error> },
    /// Carry out an effect, show its output with the call, and respond to the request. Where the call is the
    /// daemon's own, its end is passed in as [`Input::OwnCallEnded`].
    CarryOut { request: RequestId, effect: AgentEffect, call: Option<ToolCallId>, is_own: bool },
    /// Fail the turn.
    Fail(FailedTurn),
}

/// Who asks a question.
#[derive(Debug, Clone)]
pub(crate) enum Asker {
    /// The agent, about a call of its own that it sums up so, with the answers that it offers.
    Agent { summary: String, options: Vec<ApprovalOption> },
    /// The daemon, about a call that it makes for the agent.
    Daemon,
}
