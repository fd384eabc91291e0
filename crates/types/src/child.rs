//! Sessions that a session starts: what they are for, how they ended, what they may spend.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{PendingApproval, Scope, SessionId, ToolCallId, TurnId, Usage};

/// How deep sessions may start sessions; the first one that a person makes has depth 0.
pub const MAX_SESSION_DEPTH: u32 = 5;

/// What a session may spend in all. What is absent has no limit of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Steps of each of its turns.
    pub max_steps: Option<u32>,
    /// Tokens sent and received, over all its turns.
    pub max_tokens: Option<u64>,
    /// Seconds that a parent waits for it.
    pub max_seconds: Option<u64>,
}

/// Where a session's workspace was taken from, when it is a git worktree made for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Worktree {
    /// The workspace that it was made from.
    pub repository: String,
    /// The commit that it began with.
    pub base: String,
}

/// The turn of another session after which a session goes its own way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForkedFrom {
    /// The other session.
    pub session_id: SessionId,
    /// Its last turn that both share; none when they share nothing but the settings.
    pub turn_id: Option<TurnId>,
}

/// How a session that another one started ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChildStatus {
    /// It answered.
    Completed,
    /// Its turn failed, or it could not be started.
    Failed,
    /// It was stopped.
    Canceled,
}

/// A session that a session has started, as its parent sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Child {
    /// The session.
    pub session_id: SessionId,
    /// The parent's turn that started it.
    pub turn_id: TurnId,
    /// The call that started it, unless a plan did.
    pub tool_call_id: Option<ToolCallId>,
    /// The subtask of the plan that it works on, if a plan started it.
    pub subtask: Option<String>,
    /// What it is for, in a line.
    pub description: String,
    /// Whether the parent goes on without waiting for it.
    pub background: bool,
    /// How it ended, if it has.
    pub outcome: Option<ChildOutcome>,
    /// Its calls that wait for an answer.
    pub approvals: Vec<PendingApproval>,
}

/// What came of a session that another one started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChildOutcome {
    /// How it ended.
    pub status: ChildStatus,
    /// Its last answer, or what it had written of it.
    pub text: String,
    /// Why it failed.
    pub error: Option<String>,
    /// What it has spent, with what those have that it has started itself.
    pub usage: Usage,
    /// How many files it has changed in its own git worktree, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_files: Option<u64>,
}

/// Which call of which session a parent's record speaks of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildCall {
    /// The session whose call it is.
    pub session_id: SessionId,
    /// Its turn.
    pub turn_id: TurnId,
    /// The child through which it came up: that session itself, or one above it.
    pub via: SessionId,
}

/// What a parent is told of a session that it has started.
#[derive(Debug, Clone, PartialEq)]
pub enum ChildUpdate {
    /// One of its calls waits for an answer.
    Asks(Box<PendingApproval>),
    /// Somebody has answered.
    Answered {
        /// The call.
        tool_call_id: ToolCallId,
        /// Its turn.
        turn_id: TurnId,
        /// Whether the answer was yes.
        granted: bool,
        /// Who answered.
        by: String,
        /// For how long.
        scope: Scope,
        /// Why.
        reason: Option<String>,
    },
    /// It has ended.
    Ended(ChildOutcome),
}

/// What a turn is for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Purpose {
    /// To answer what was said.
    #[default]
    Answer,
    /// To make the conversation shorter.
    Compact,
    /// To have other sessions work on a plan.
    Subtasks {
        /// The plan.
        plan: Plan,
    },
}

/// Work that is divided among sessions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The pieces.
    pub subtasks: Vec<Subtask>,
    /// How many may be worked on at once; as many as the daemon allows when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
}

/// One piece of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subtask {
    /// Its name in the plan.
    pub id: String,
    /// What it is for, in a line; its name when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What the session is told to do.
    pub prompt: String,
    /// Which agent does it; the parent's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Which model is used; the parent's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether it works in a git worktree of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub worktree: bool,
    /// The pieces that must have been completed before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// What it may spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
}

impl Plan {
    /// Refuses a plan that cannot be carried out, and says why.
    pub fn check(&self) -> Result<(), String> {
        if self.subtasks.is_empty() || self.subtasks.len() > crate::StateLimits::SUBTASKS {
            return Err(format!("a plan has between 1 and {} subtasks", crate::StateLimits::SUBTASKS));
        }
        for (index, subtask) in self.subtasks.iter().enumerate() {
            if subtask.id.is_empty() || subtask.id.len() > 100 {
                return Err("each subtask needs an id of at most 100 bytes".to_owned());
            }
            if subtask.prompt.trim().is_empty() {
                return Err(format!("subtask `{}` has no prompt", subtask.id));
            }
            if self.subtasks[..index].iter().any(|earlier| earlier.id == subtask.id) {
                return Err(format!("two subtasks are called `{}`", subtask.id));
            }
            let known = |name: &&String| !self.subtasks.iter().any(|other| other.id == **name);
            if let Some(unknown) = subtask.depends_on.iter().find(known) {
                return Err(format!("subtask `{}` depends on `{unknown}`, which is not there", subtask.id));
            }
        }
        self.check_acyclic()
    }

    /// A plan whose pieces wait for each other never ends.
    fn check_acyclic(&self) -> Result<(), String> {
        let mut done: Vec<&str> = Vec::new();
        while done.len() < self.subtasks.len() {
            let ready = |subtask: &&Subtask| {
                !done.contains(&subtask.id.as_str())
                    && subtask.depends_on.iter().all(|name| done.contains(&name.as_str()))
            };
            let Some(next) = self.subtasks.iter().find(ready) else {
                let stuck = self.subtasks.iter().find(|subtask| !done.contains(&subtask.id.as_str()));
                let name = stuck.map_or("", |subtask| subtask.id.as_str());
                return Err(format!("subtask `{name}` waits for itself, by way of others"));
            };
            done.push(&next.id);
        }
        Ok(())
    }
}

impl Purpose {
    /// Whether the turn is an ordinary one.
    pub fn is_answer(&self) -> bool {
        *self == Purpose::Answer
    }
}
