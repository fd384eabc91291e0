//! Events: what has happened to a session, for ever. Each is documented with an example line in
//! `docs/events.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AgentState, ApprovalOption, ChildCall, ChildOutcome, Compaction, FileChange, Message, MessageId, Moment,
    Purpose, Queued, Resolution, ReviewAnswer, Rule, Scope, Session, SessionId, ToolCall, ToolCallId,
    ToolKind, ToolResult, TurnId, Usage,
};

/// What has happened. The names and the shapes of `data` are a contract with every client and with
/// every log ever written: fields may be added, none renamed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are described in docs/events.md, beside an example of each")]
pub enum Event {
    /// The session exists.
    SessionCreated { session: Session },
    /// Its title, model, policy, archive flag or pin changed.
    SessionUpdated { session: Session },
    /// It was closed.
    SessionCompleted { by: String },
    /// Its last turn failed.
    SessionFailed { error: Failure },
    /// Its last turn was canceled.
    SessionCanceled { by: String, reason: Option<String> },
    /// A message became part of the conversation.
    MessageAdded {
        message: Message,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<String>,
    },
    /// A message waits for its turn, or waits differently.
    MessageQueued {
        queued: Queued,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<MessageId>,
    },
    /// A waiting message was taken back.
    MessageWithdrawn { message_id: MessageId, by: String },
    /// A turn began.
    TurnStarted {
        message_ids: Vec<MessageId>,
        model: String,
        #[serde(default, skip_serializing_if = "Purpose::is_answer")]
        purpose: Purpose,
    },
    /// The turn about to begin repeats an earlier one.
    TurnRetried { retry_of: TurnId },
    /// The turn ended as it should.
    TurnCompleted {
        stop_reason: String,
        usage: Usage,
        verified: Option<bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verification: Option<String>,
    },
    /// The turn ended in an error.
    TurnFailed { error: Failure, reason: String },
    /// The turn was stopped.
    TurnCanceled { by: String, reason: Option<String> },
    /// A model was found for the session, or took the place of one that failed.
    ModelResolved {
        #[serde(flatten)]
        resolution: Resolution,
    },
    /// The model could not answer yet, and is asked again after a while.
    ModelWaiting { model: String, attempt: u32, attempts: u32, wait_ms: u64, error: Failure },
    /// A model was used, and this is what it took.
    UsageRecorded { model: String, message_id: Option<MessageId>, usage: Usage },
    /// The model stopped reasoning.
    ReasoningCompleted { message_id: MessageId, part: u32, bytes: u64 },
    /// The model finished a message, or was stopped in it.
    ModelOutputCompleted { message: Message, stop_reason: String, usage: Usage },
    /// The calls of one message are about to run.
    ToolBatchStarted { tool_calls: Vec<ToolCallId>, parallel: bool },
    /// The rest of the batch will not run.
    ToolBatchHalted { tool_call_id: ToolCallId },
    /// Every call of the batch has its result.
    ToolBatchCompleted {},
    /// A call is about to take effect.
    ToolCallStarted { tool_call: ToolCall, kind: ToolKind },
    /// A call has its result.
    ToolCallCompleted {
        tool_call: CallName,
        tool_result: ToolResult,
        duration_ms: u64,
        message_id: MessageId,
    },
    /// A call waits for an answer.
    ApprovalRequested {
        tool_call: ToolCall,
        kind: ToolKind,
        summary: String,
        rule: Rule,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<ApprovalOption>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<ChildCall>,
    },
    /// The answer was yes.
    ApprovalGranted {
        tool_call_id: ToolCallId,
        tool: String,
        by: String,
        scope: Scope,
        reason: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        review: Option<ReviewAnswer>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        option: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<ChildCall>,
    },
    /// The answer was no.
    ApprovalDenied {
        tool_call_id: ToolCallId,
        tool: String,
        by: String,
        scope: Scope,
        reason: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        review: Option<ReviewAnswer>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        option: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<ChildCall>,
    },
    /// The workspace was captured, so that it can be brought back.
    CheckpointCreated { checkpoint_id: String, moment: Moment, files: u64, bytes: u64, left_out: u64 },
    /// The workspace could not be captured, so the turn cannot be undone.
    CheckpointFailed { moment: Moment, reason: String },
    /// What the turn changed waits for a person, or is shown to one.
    PatchReviewRequested {
        tool_call_id: ToolCallId,
        files: Vec<FileChange>,
        waits: bool,
        #[serde(default, skip_serializing_if = "is_zero")]
        more: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkpoint_id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The workspace is being checked.
    VerificationStarted { round: u32, commands: Vec<String> },
    /// The check is over.
    VerificationCompleted { round: u32, ok: bool, results: Vec<CommandResult> },
    /// The conversation was made shorter for the model.
    ContextCompacted {
        #[serde(flatten)]
        compaction: Compaction,
    },
    /// Someone else's agent said something of itself: what can be chosen, what it plans.
    AgentUpdated {
        #[serde(flatten)]
        agent: AgentState,
    },
    /// The session started another one.
    SubagentStarted {
        session_id: SessionId,
        tool_call_id: Option<ToolCallId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subtask: Option<String>,
        description: String,
        background: bool,
    },
    /// That one has ended.
    SubagentCompleted {
        session_id: SessionId,
        #[serde(flatten)]
        outcome: ChildOutcome,
    },
}

impl Event {
    /// Whether something went on in the session, rather than with it: a new title or a pin does not make it newer.
    pub fn is_activity(&self) -> bool {
        !matches!(self, Event::SessionUpdated { .. })
    }

    /// The message that this event adds to the conversation, if it adds one.
    pub fn message(&self, at: jiff::Timestamp) -> Option<Message> {
        if let Event::MessageAdded { message, .. } | Event::ModelOutputCompleted { message, .. } = self {
            return Some(message.clone());
        }
        let Event::ToolCallCompleted { tool_call, tool_result, message_id, .. } = self else { return None };
        Some(Message {
            id: *message_id,
            role: crate::Role::Tool,
            parts: vec![crate::Part::ToolResult {
                tool_call_id: tool_call.id.clone(),
                name: tool_call.name.clone(),
                ok: tool_result.ok,
                text: tool_result.text(),
                images: tool_result.pictures().collect(),
            }],
            created_at: at,
        })
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A call without its input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallName {
    /// The call's id.
    pub id: ToolCallId,
    /// The tool's name.
    pub name: String,
}

/// What went wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// A stable word for programs.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

/// How one verification command went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandResult {
    /// The command line.
    pub command: String,
    /// Its exit code; none when it was killed or could not start.
    pub exit_code: Option<i32>,
    /// How long it took.
    pub duration_ms: u64,
    /// What it printed, head and tail.
    pub output: String,
}
