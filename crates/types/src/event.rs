//! Events: what has happened to a session, for ever. Each is documented with an example line in
//! `docs/events.md`.

mod decode;

pub(crate) use decode::RecordText;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AgentState, ApprovalOption, ChildCall, ChildOutcome, Compaction, FileChange, Message, MessageId, Moment,
    Purpose, Queued, Resolution, ReviewAnswer, Rule, Scope, Session, SessionId, ToolCall, ToolCallId,
    ToolKind, ToolResult, TurnId, Usage,
};

/// What has happened, by subject. The names and the shapes of `data` are a contract with every client and with every log
/// ever written: fields may be added, none renamed. Subjects are for readers of this code only: no wire knows them, so that
/// who does not care for one ignores it in one arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[expect(
    clippy::large_enum_variant,
    reason = "few events are in memory at once, and most are encoded by then"
)]
pub enum Event {
    /// The session itself.
    Session(SessionEvent),
    /// Messages: in the conversation, or queued for it.
    Message(MessageEvent),
    /// Turns: their beginning and their one end.
    Turn(TurnEvent),
    /// Steps: the model that is asked, and what that took.
    Step(StepEvent),
    /// Batches: the calls of one message, run together.
    Batch(BatchEvent),
    /// Tool calls.
    Call(CallEvent),
    /// Questions to a person, and their answers.
    Approval(ApprovalEvent),
    /// The workspace around a turn: captured, reviewed, verified.
    Workspace(WorkspaceEvent),
    /// The agent: what it says of itself, and how it shortened what it is shown.
    Agent(AgentEvent),
    /// Sessions that this one started.
    Child(ChildEvent),
}

/// The session itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
#[expect(missing_docs, reason = "the fields are described in docs/events.md, beside an example of each")]
pub enum SessionEvent {
    /// The session exists.
    #[serde(rename = "session_created")]
    Created { session: Session },
    /// Its title, model, policy, archive flag or pin changed.
    #[serde(rename = "session_updated")]
    Updated { session: Session },
    /// It was closed.
    #[serde(rename = "session_completed")]
    Completed { by: String },
    /// Its last turn failed.
    #[serde(rename = "session_failed")]
    Failed { error: Failure },
    /// Its last turn was canceled.
    #[serde(rename = "session_canceled")]
    Canceled { by: String, reason: Option<String> },
}

/// Messages: in the conversation, or queued for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
#[expect(missing_docs, reason = "the fields are described in docs/events.md, beside an example of each")]
pub enum MessageEvent {
    /// A message became part of the conversation.
    #[serde(rename = "message_added")]
    Added {
        message: Message,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<String>,
    },
    /// The model finished a message, or was stopped in it.
    #[serde(rename = "model_output_completed")]
    ModelOutputCompleted { message: Message, stop_reason: String, usage: Usage },
    /// A message waits for its turn, or waits differently.
    #[serde(rename = "message_queued")]
    Queued {
        queued: Queued,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<MessageId>,
    },
    /// A waiting message was taken back.
    #[serde(rename = "message_withdrawn")]
    Withdrawn { message_id: MessageId, by: String },
}

/// Turns: their beginning and their one end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
#[expect(missing_docs, reason = "the fields are described in docs/events.md, beside an example of each")]
pub enum TurnEvent {
    /// A turn began.
    #[serde(rename = "turn_started")]
    Started {
        message_ids: Vec<MessageId>,
        model: String,
        #[serde(default, skip_serializing_if = "Purpose::is_answer")]
        purpose: Purpose,
    },
    /// The turn about to begin repeats an earlier one.
    #[serde(rename = "turn_retried")]
    Retried { retry_of: TurnId },
    /// The turn ended as it should.
    #[serde(rename = "turn_completed")]
    Completed {
        stop_reason: String,
        usage: Usage,
        verified: Option<bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verification: Option<String>,
    },
    /// The turn ended in an error.
    #[serde(rename = "turn_failed")]
    Failed { error: Failure, reason: String },
    /// The turn was stopped.
    #[serde(rename = "turn_canceled")]
    Canceled { by: String, reason: Option<String> },
}

/// Steps: the model that is asked, and what that took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
#[expect(missing_docs, reason = "the fields are described in docs/events.md, beside an example of each")]
pub enum StepEvent {
    /// A model was found for the session, or took the place of one that failed.
    #[serde(rename = "model_resolved")]
    ModelResolved {
        #[serde(flatten)]
        resolution: Resolution,
    },
    /// The model could not answer yet, and is asked again after a while.
    #[serde(rename = "model_waiting")]
    ModelWaiting { model: String, attempt: u32, attempts: u32, wait_ms: u64, error: Failure },
    /// A model was used, and this is what it took.
    #[serde(rename = "usage_recorded")]
    UsageRecorded { model: String, message_id: Option<MessageId>, usage: Usage },
    /// The model stopped reasoning.
    #[serde(rename = "reasoning_completed")]
    ReasoningCompleted { message_id: MessageId, part: u32, bytes: u64 },
}

/// Batches: the calls of one message, run together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
#[expect(missing_docs, reason = "the fields are described in docs/events.md, beside an example of each")]
pub enum BatchEvent {
    /// The calls of one message are about to run.
    #[serde(rename = "tool_batch_started")]
    Started { tool_calls: Vec<ToolCallId>, parallel: bool },
    /// The rest of the batch will not run.
    #[serde(rename = "tool_batch_halted")]
    Halted { tool_call_id: ToolCallId },
    /// Every call of the batch has its result.
    #[serde(rename = "tool_batch_completed")]
    Completed {},
}

/// Tool calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
#[expect(missing_docs, reason = "the fields are described in docs/events.md, beside an example of each")]
pub enum CallEvent {
    /// A call is about to take effect.
    #[serde(rename = "tool_call_started")]
    Started { tool_call: ToolCall, kind: ToolKind },
    /// A call has its result.
    #[serde(rename = "tool_call_completed")]
    Completed { tool_call: CallName, tool_result: ToolResult, duration_ms: u64, message_id: MessageId },
}

/// Questions to a person, and their answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
#[expect(missing_docs, reason = "the fields are described in docs/events.md, beside an example of each")]
pub enum ApprovalEvent {
    /// A call waits for an answer.
    #[serde(rename = "approval_requested")]
    Requested {
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
    #[serde(rename = "approval_granted")]
    Granted {
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
    #[serde(rename = "approval_denied")]
    Denied {
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
}

/// The workspace around a turn: captured, reviewed, verified.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
#[expect(missing_docs, reason = "the fields are described in docs/events.md, beside an example of each")]
pub enum WorkspaceEvent {
    /// The workspace was captured, so that it can be brought back.
    #[serde(rename = "checkpoint_created")]
    CheckpointCreated { checkpoint_id: String, moment: Moment, files: u64, bytes: u64, left_out: u64 },
    /// The workspace could not be captured, so the turn cannot be undone.
    #[serde(rename = "checkpoint_failed")]
    CheckpointFailed { moment: Moment, reason: String },
    /// What the turn changed waits for a person, or is shown to one.
    #[serde(rename = "patch_review_requested")]
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
    #[serde(rename = "verification_started")]
    VerificationStarted { round: u32, commands: Vec<String> },
    /// The check is over.
    #[serde(rename = "verification_completed")]
    VerificationCompleted { round: u32, ok: bool, results: Vec<CommandResult> },
}

/// The agent: what it says of itself, and how it shortened what it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
#[expect(missing_docs, reason = "the fields are described in docs/events.md, beside an example of each")]
pub enum AgentEvent {
    /// Someone else's agent said something of itself: what can be chosen, what it plans.
    #[serde(rename = "agent_updated")]
    Updated {
        #[serde(flatten)]
        agent: AgentState,
    },
    /// The conversation was made shorter for the model.
    #[serde(rename = "context_compacted")]
    ContextCompacted {
        #[serde(flatten)]
        compaction: Compaction,
    },
}

/// Sessions that this one started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
#[expect(missing_docs, reason = "the fields are described in docs/events.md, beside an example of each")]
pub enum ChildEvent {
    /// The session started another one.
    #[serde(rename = "subagent_started")]
    Started {
        session_id: SessionId,
        tool_call_id: Option<ToolCallId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subtask: Option<String>,
        description: String,
        background: bool,
    },
    /// That one has ended.
    #[serde(rename = "subagent_completed")]
    Completed {
        session_id: SessionId,
        #[serde(flatten)]
        outcome: ChildOutcome,
    },
}

impl Event {
    /// Whether something went on in the session, rather than with it: a new title or a pin does not make it newer.
    pub fn is_activity(&self) -> bool {
        !matches!(self, Event::Session(SessionEvent::Updated { .. }))
    }

    /// The message that this event adds to the conversation, if it adds one.
    pub fn message(&self, at: jiff::Timestamp) -> Option<Message> {
        if let Event::Message(MessageEvent::Added { message, .. })
        | Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) = self
        {
            return Some(message.clone());
        }
        let Event::Call(CallEvent::Completed { tool_call, tool_result, message_id, .. }) = self else {
            return None;
        };
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
