//! The state of a session: the fold of its log, and no larger than what is still open.
//!
//! History (messages, finished turns beyond the newest few) stays in the log; a session with a
//! million records has a state as small as a new one's.

use std::collections::VecDeque;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AgentState, ApprovalOption, Child, Delivery, Message, MessageId, Purpose, Reviewed, Rule, Session,
    SessionId, SessionView, ToolCall, ToolCallId, ToolKind, TurnId, Usage,
};

/// How a session stands. Equal to the fold of its log, always.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// What clients see of it.
    pub session: Session,
    /// The newest record.
    pub last_seq: u64,
    /// The turn that runs or waits now.
    pub turn: Option<OpenTurn>,
    /// Messages that wait for their turn, first one first.
    pub queue: VecDeque<Queued>,
    /// Messages in the conversation that no turn has answered.
    pub unanswered: Vec<MessageId>,
    /// The newest turns, oldest first.
    pub turns: VecDeque<TurnSummary>,
    /// The newest idempotency keys and what they led to.
    pub keys: VecDeque<(String, MessageId, Option<TurnId>)>,
    /// The newest answers to approvals, so that a second answer can be told of the first.
    pub answers: VecDeque<AnsweredApproval>,
    /// How much of the log the model is shown.
    #[serde(default)]
    pub context: ContextUse,
    /// Sessions that it has started, until the turn is over that waits for them or has heard of them.
    #[serde(default)]
    pub children: Vec<Child>,
    /// What the sessions that it has started have spent, those that they have started included.
    #[serde(default)]
    pub children_usage: Usage,
    /// What its agent says of itself, if it is someone else's.
    #[serde(default)]
    pub agent: Option<Box<AgentState>>,
}

/// How much of a log the model is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextUse {
    /// Roughly how many tokens the conversation has; none before the first answer.
    pub tokens: Option<u64>,
    /// The record from which on the log holds all that is shown.
    pub first_seq: u64,
}

impl Default for ContextUse {
    fn default() -> ContextUse {
        ContextUse { tokens: None, first_seq: 1 }
    }
}

/// Limits on what a state holds. Refusals say so when one is reached.
#[derive(Debug, Clone, Copy)]
pub struct StateLimits;

impl StateLimits {
    /// Messages in the queue.
    pub const QUEUE: usize = 100;
    /// Bytes in the queue.
    pub const QUEUE_BYTES: usize = 4 << 20;
    /// Finished turns that a state remembers.
    pub const TURNS: usize = 50;
    /// Idempotency keys that a state remembers.
    pub const KEYS: usize = 256;
    /// Answers that a state remembers.
    pub const ANSWERS: usize = 64;
    /// Tool calls in one message.
    pub const CALLS: usize = 128;
    /// Call ids that a turn remembers.
    pub const TURN_CALLS: usize = 1024;
    /// Rules that a session remembers.
    pub const RULES: usize = 1000;
    /// Messages that may wait unanswered with `auto_run` off.
    pub const UNANSWERED: usize = 1000;
    /// Models that may take the place of a session's own.
    pub const FALLBACK_MODELS: usize = 16;
    /// Sessions that one session has started and not yet heard the end of.
    pub const CHILDREN: usize = 64;
    /// Choices among an agent's settings that a session remembers.
    pub const SETTINGS: usize = 100;
    /// Pieces of one plan.
    pub const SUBTASKS: usize = 200;
    /// Bytes of a child's answer that its parent keeps.
    pub const CHILD_TEXT: usize = 32 << 10;
    /// Bytes in one message.
    pub const MESSAGE_BYTES: usize = 1 << 20;
    /// Bytes in a title, an idempotency key, a reason.
    pub const LABEL_BYTES: usize = 1000;
}

/// A turn that runs or waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenTurn {
    /// Its id.
    pub id: TurnId,
    /// What it is for.
    #[serde(default)]
    pub purpose: Purpose,
    /// The messages that it answers.
    pub message_ids: Vec<MessageId>,
    /// When it began.
    pub started_at: Timestamp,
    /// How many messages the model has finished in it.
    pub steps: u32,
    /// The calls of the last message, in its order; empty once each has its result.
    pub calls: Vec<OpenCall>,
    /// The message that the model finished last.
    pub said: Option<MessageId>,
    /// The ids of its newest calls; none may come twice.
    pub used: VecDeque<ToolCallId>,
    /// The batch that runs those calls, once it has begun.
    pub batch: Option<OpenBatch>,
    /// Rounds of verification so far.
    pub rounds: u32,
    /// Whether a call of a kind that changes the workspace has run.
    pub changed: bool,
    /// What it has cost so far.
    pub usage: Usage,
    /// The workspace as it was before the turn's first change, once there was one.
    #[serde(default)]
    pub checkpoint: Option<String>,
    /// Why the workspace could not be captured before its first change, if it could not.
    #[serde(default)]
    pub checkpoint_error: Option<String>,
    /// The review of its change that waits for an answer.
    #[serde(default)]
    pub review: Option<OpenReview>,
    /// How its last review was answered, until the agent has heard it.
    #[serde(default)]
    pub reviewed: Option<Reviewed>,
}

/// A review of a turn's change, while it waits for an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenReview {
    /// What clients are shown, among the approvals.
    pub approval: Box<PendingApproval>,
    /// The files that it shows; no other can be rejected.
    pub paths: Vec<String>,
    /// The workspace that it shows.
    pub checkpoint_id: Option<String>,
}

/// A batch of calls that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenBatch {
    /// Whether the calls run side by side.
    pub parallel: bool,
    /// Whether a failed call has stopped the rest.
    pub halted: bool,
}

/// A call without a result, or with one while others of its message still have none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenCall {
    /// The call.
    pub call: ToolCall,
    /// How far it is.
    pub status: CallStatus,
    /// Which of the offered answers was chosen, when its agent offered some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum CallStatus {
    /// The model asked for it.
    Proposed,
    /// It waits for an answer.
    Waiting {
        /// What clients are shown.
        approval: Box<PendingApproval>,
    },
    /// The answer was yes.
    Granted,
    /// The answer was no.
    Denied {
        /// Why.
        reason: Option<String>,
    },
    /// It may have taken effect.
    Started,
    /// It has its result.
    Done {
        /// Whether it did what was asked.
        ok: bool,
    },
}

/// An approval that waits for an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PendingApproval {
    /// The session.
    pub session_id: SessionId,
    /// The turn.
    pub turn_id: TurnId,
    /// The call, which names the approval.
    pub tool_call_id: ToolCallId,
    /// The tool.
    pub tool: String,
    /// What it is to do.
    pub input: Value,
    /// What it touches.
    pub kind: ToolKind,
    /// The same for people, in a line.
    pub summary: String,
    /// The rule that `session` or `always` would add.
    pub rule: Rule,
    /// The answers that its agent offers; a plain yes or no stands for the nearest of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<ApprovalOption>,
    /// Since when it waits.
    pub requested_at: Timestamp,
}

/// An approval that was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweredApproval {
    /// The turn.
    pub turn_id: TurnId,
    /// The call.
    pub tool_call_id: ToolCallId,
    /// Whether it was granted.
    pub granted: bool,
    /// Who answered.
    pub by: String,
}

/// A message that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Queued {
    /// The message.
    pub message: Message,
    /// The turn that will answer it, unless it steers one.
    pub turn_id: TurnId,
    /// How it is to be delivered.
    pub delivery: Delivery,
}

/// How a turn stands or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// It runs or waits.
    Running,
    /// It ended as it should.
    Completed,
    /// It ended in an error.
    Failed,
    /// It was stopped.
    Canceled,
}

/// A turn in a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnSummary {
    /// Its id.
    pub id: TurnId,
    /// How it stands or ended.
    pub status: TurnStatus,
    /// The messages that it answers.
    pub message_ids: Vec<MessageId>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Whether the workspace was checked at its end, and held.
    pub verified: Option<bool>,
    /// Why it failed.
    pub error: Option<String>,
    /// What it has cost.
    #[serde(default)]
    pub usage: Usage,
    /// The workspace as it was before the turn's first change, if there was one.
    #[serde(default)]
    pub checkpoint_before: Option<String>,
    /// The workspace as the turn left it.
    #[serde(default)]
    pub checkpoint_after: Option<String>,
    /// Why the workspace could not be captured, if it could not: the turn cannot be undone, or not safely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_error: Option<String>,
}

impl State {
    /// The state of a session of which nothing but its creation is recorded.
    pub(crate) fn new(session: Session, seq: u64) -> State {
        State {
            session,
            last_seq: seq,
            turn: None,
            queue: VecDeque::new(),
            unanswered: Vec::new(),
            turns: VecDeque::new(),
            keys: VecDeque::new(),
            answers: VecDeque::new(),
            context: ContextUse::default(),
            children: Vec::new(),
            children_usage: Usage::default(),
            agent: None,
        }
    }

    /// What clients are shown.
    pub fn view(&self) -> SessionView {
        SessionView {
            session: self.session.clone(),
            running_turn_id: self.turn.as_ref().map(|turn| turn.id),
            turns: self.turns.iter().cloned().collect(),
            pending_approvals: self.pending_approvals().cloned().collect(),
            queue: self.queue.iter().cloned().collect(),
            children: self.children.clone(),
            children_usage: self.children_usage,
            context_tokens: self.context.tokens,
            agent_state: self.agent.clone(),
            last_seq: self.last_seq,
        }
    }

    /// The calls that wait for an answer, those of its children included.
    pub fn pending_approvals(&self) -> impl Iterator<Item = &PendingApproval> {
        self.own_approvals().chain(self.children.iter().flat_map(|child| &child.approvals))
    }

    /// The calls of its own that wait for an answer.
    pub fn own_approvals(&self) -> impl Iterator<Item = &PendingApproval> {
        self.turn.iter().flat_map(|turn| {
            let review = turn.review.iter().map(|review| &*review.approval);
            turn.calls.iter().filter_map(OpenCall::pending_approval).chain(review)
        })
    }
}

impl OpenCall {
    /// What clients are shown while it waits for an answer.
    fn pending_approval(&self) -> Option<&PendingApproval> {
        match &self.status {
            CallStatus::Waiting { approval } => Some(approval),
            CallStatus::Proposed
            | CallStatus::Granted
            | CallStatus::Denied { .. }
            | CallStatus::Started
            | CallStatus::Done { .. } => None,
        }
    }
}

impl OpenTurn {
    /// The open call of that name.
    pub fn call(&self, id: &ToolCallId) -> Option<&OpenCall> {
        self.calls.iter().find(|open| open.call.id == *id)
    }

    pub(crate) fn call_mut(&mut self, id: &ToolCallId) -> Option<&mut OpenCall> {
        self.calls.iter_mut().find(|open| open.call.id == *id)
    }

    /// Whether the turn can be picked up where it stands: its review or calls are open, and no call has started but those
    /// that wait for one of these children. A plan can be picked up always.
    pub fn is_resumable(&self, children: &[Child]) -> bool {
        let is_child = |call: &OpenCall| {
            children.iter().any(|c| c.turn_id == self.id && c.tool_call_id.as_ref() == Some(&call.call.id))
        };
        let open = |call: &OpenCall| !matches!(call.status, CallStatus::Done { .. });
        let blind = |call: &OpenCall| call.status == CallStatus::Started && !is_child(call);
        let has_plan = matches!(self.purpose, Purpose::Subtasks { .. });
        (has_plan || self.review.is_some() || self.calls.iter().any(open)) && !self.calls.iter().any(blind)
    }
}
