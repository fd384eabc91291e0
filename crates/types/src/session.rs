//! A session's description, as clients see it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AgentState, Budget, Child, Cost, Effort, ForkedFrom, PendingApproval, Policy, Queued, Resolution,
    RunnerName, SessionId, TurnId, TurnSummary, Worktree, workspace_key,
};

/// How a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// Ready for a message, or working on one.
    Active,
    /// A tool call waits for an answer.
    WaitingApproval,
    /// The last turn failed.
    Failed,
    /// Closed.
    Completed,
    /// The last turn was canceled.
    Canceled,
}

impl SessionStatus {
    /// The word used on every wire and in the index.
    pub fn as_str(self) -> &'static str {
        match self {
            SessionStatus::Active => "active",
            SessionStatus::WaitingApproval => "waiting_approval",
            SessionStatus::Failed => "failed",
            SessionStatus::Completed => "completed",
            SessionStatus::Canceled => "canceled",
        }
    }
}

/// Tokens spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Usage {
    /// Tokens sent to the model, cached ones included.
    pub input_tokens: u64,
    /// Tokens that the model wrote, reasoning included.
    pub output_tokens: u64,
    /// How many of the input tokens came from the provider's cache.
    pub cached_tokens: u64,
    /// How many of the input tokens were written to the provider's cache.
    pub cache_write_tokens: u64,
    /// How many of the output tokens were reasoning.
    pub reasoning_tokens: u64,
    /// What it cost in US dollars, as far as prices are known.
    pub cost_usd: Option<Cost>,
}

impl Usage {
    /// Tokens sent and received.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Whether nothing was spent.
    pub fn is_nothing(&self) -> bool {
        *self == Usage::default()
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (Some(one), Some(other)) => Some(one.plus(other)),
            (one, other) => one.or(other),
        };
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
    }
}

/// What a session is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its last event was recorded.
    pub updated_at: Timestamp,
    /// How it stands.
    pub status: SessionStatus,
    /// The directory that it works in.
    pub workspace_path: String,
    /// The runner whose machine that directory lies on; left out for the daemon's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub runner: Option<RunnerName>,
    /// Instructions for the model, if any were given.
    pub system_prompt: Option<String>,
    /// The newest turn.
    pub last_turn_id: Option<TurnId>,
    /// Which agent runs its turns.
    pub agent: String,
    /// Which model the agent uses, as `provider:model`.
    pub model: String,
    /// Models that take its place, in this order, when it cannot begin to answer.
    #[serde(default)]
    pub fallback_models: Vec<String>,
    /// How much the model thinks; as its maker thinks best when absent.
    #[serde(default)]
    pub effort: Option<Effort>,
    /// Whether the traffic with providers is kept in `raw.jsonl`.
    #[serde(default)]
    pub raw_log: bool,
    /// Whether thinking, times and tokens are kept in `verbose.md`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verbose_log: bool,
    /// The directory in which its readable files are kept, instead of beside its log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_root: Option<String>,
    /// What people call it.
    pub title: Option<String>,
    /// Whether it is put away.
    pub archived: bool,
    /// Whether it is kept at the head of lists.
    #[serde(default, skip_serializing_if = "is_false")]
    pub pinned: bool,
    /// The session that started it, if one did.
    pub parent_session_id: Option<SessionId>,
    /// How many sessions are above it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub depth: u32,
    /// What a program calls it, unique among the open ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What its agent calls it, if that is someone else's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_session_id: Option<String>,
    /// What was chosen of the agent's settings, such as its mode.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agent_settings: BTreeMap<String, String>,
    /// What it may spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Where its workspace was taken from, when that is a git worktree of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
    /// The turn of another session that it goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// How it is used: `repl`, `serve` or `agent`.
    pub mode: String,
    /// Whether a message starts a turn unless it says otherwise.
    pub auto_run: bool,
    /// What it may do by itself.
    pub policy: Policy,
    /// Tokens spent so far.
    pub usage: Usage,
    /// The key under which its creation was asked for, so that asking twice makes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

impl Session {
    /// What its workspace is known by wherever that is remembered.
    pub fn workspace_key(&self) -> String {
        workspace_key(self.runner.as_ref(), &self.workspace_path)
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What is needed to make a session.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSession {
    /// Its id.
    pub id: SessionId,
    /// Now.
    pub at: Timestamp,
    /// The directory that it works in, checked by the caller.
    pub workspace_path: String,
    /// The runner whose machine that directory lies on; none for the daemon's own.
    pub runner: Option<RunnerName>,
    /// Instructions for the model.
    pub system_prompt: Option<String>,
    /// Which agent runs its turns.
    pub agent: String,
    /// Which model the agent uses.
    pub model: String,
    /// How that model was found, if nobody named it.
    pub resolution: Option<Resolution>,
    /// Models that take its place when it cannot begin to answer.
    pub fallback_models: Vec<String>,
    /// How much the model thinks.
    pub effort: Option<Effort>,
    /// Whether the traffic with providers is kept.
    pub raw_log: bool,
    /// Whether thinking, times and tokens are kept.
    pub verbose_log: bool,
    /// The directory in which its readable files are kept.
    pub log_root: Option<String>,
    /// What people call it.
    pub title: Option<String>,
    /// The session that starts it.
    pub parent_session_id: Option<SessionId>,
    /// How many sessions are above it.
    pub depth: u32,
    /// What a program calls it.
    pub name: Option<String>,
    /// What its agent calls it, when it was begun elsewhere.
    pub agent_session_id: Option<String>,
    /// What is chosen of the agent's settings.
    pub agent_settings: BTreeMap<String, String>,
    /// What its agent says of itself, when it was begun there already.
    pub agent_state: Option<Box<AgentState>>,
    /// What it may spend.
    pub budget: Option<Budget>,
    /// Where its workspace was taken from.
    pub worktree: Option<Worktree>,
    /// The turn of another session that it goes on from.
    pub forked_from: Option<ForkedFrom>,
    /// How it is used.
    pub mode: String,
    /// Whether a message starts a turn unless it says otherwise.
    pub auto_run: bool,
    /// What it may do by itself.
    pub policy: Policy,
    /// The caller's key for this request.
    pub idempotency_key: Option<String>,
}

impl NewSession {
    /// A plain session of the native agent.
    pub fn new(
        id: SessionId,
        at: Timestamp,
        workspace_path: impl Into<String>,
        model: impl Into<String>,
    ) -> NewSession {
        NewSession {
            id,
            at,
            workspace_path: workspace_path.into(),
            runner: None,
            system_prompt: None,
            agent: "native".to_owned(),
            model: model.into(),
            resolution: None,
            fallback_models: Vec::new(),
            effort: None,
            raw_log: false,
            verbose_log: false,
            log_root: None,
            title: None,
            parent_session_id: None,
            depth: 0,
            name: None,
            agent_session_id: None,
            agent_settings: BTreeMap::new(),
            agent_state: None,
            budget: None,
            worktree: None,
            forked_from: None,
            mode: "serve".to_owned(),
            auto_run: true,
            policy: Policy::default(),
            idempotency_key: None,
        }
    }
}

/// A session with its latest state: what a client needs to draw it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionView {
    /// The session.
    #[serde(flatten)]
    pub session: Session,
    /// Whether a turn runs or waits now.
    pub running_turn_id: Option<TurnId>,
    /// Its newest turns, oldest first.
    pub turns: Vec<TurnSummary>,
    /// Calls that wait for an answer.
    pub pending_approvals: Vec<PendingApproval>,
    /// Messages that wait for their turn.
    pub queue: Vec<Queued>,
    /// Sessions that it has started and that are still of interest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Child>,
    /// What the sessions that it has started have spent, those that they have started included. It counts
    /// against its budget, and is no part of its `usage`.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub children_usage: Usage,
    /// Roughly how many tokens its conversation has.
    #[serde(default)]
    pub context_tokens: Option<u64>,
    /// What its agent says of itself, if it is someone else's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_state: Option<Box<AgentState>>,
    /// The newest record.
    pub last_seq: u64,
}

impl SessionView {
    /// The view of a session of which nothing else is known.
    pub fn new(session: Session, last_seq: u64) -> SessionView {
        SessionView {
            session,
            running_turn_id: None,
            turns: Vec::new(),
            pending_approvals: Vec::new(),
            queue: Vec::new(),
            children: Vec::new(),
            children_usage: Usage::default(),
            context_tokens: None,
            agent_state: None,
            last_seq,
        }
    }
}
