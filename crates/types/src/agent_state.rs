//! What someone else's agent says of itself: what it can be asked, what it plans, which answers it takes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An answer that an agent offers for one of its questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalOption {
    /// Its name on the wire.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it amounts to.
    pub kind: OptionKind,
}

/// What an offered answer amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    /// Yes, this time.
    AllowOnce,
    /// Yes, and do not ask again.
    AllowAlways,
    /// No, this time.
    RejectOnce,
    /// No, and do not ask again.
    RejectAlways,
}

impl OptionKind {
    /// Whether it is a yes.
    pub fn allows(self) -> bool {
        matches!(self, OptionKind::AllowOnce | OptionKind::AllowAlways)
    }
}

/// What someone else's agent says of itself in a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AgentState {
    /// What the agent calls the session.
    pub agent_session_id: Option<String>,
    /// What can be chosen, such as its mode and its model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<AgentSetting>,
    /// The commands that it understands at the beginning of a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<AgentCommand>,
    /// What it means to do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<PlanEntry>,
    /// How a person can log in to it, when it wants that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub login: Vec<LoginMethod>,
    /// How many tokens its conversation has, if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// How many tokens its model can take, if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
}

/// Something that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSetting {
    /// Its name on the wire; `mode` and `model` are the common ones.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What is chosen now.
    pub current: Option<String>,
    /// What there is to choose from.
    pub choices: Vec<AgentChoice>,
}

/// One of the things to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentChoice {
    /// Its name on the wire.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it means.
    pub description: Option<String>,
}

/// A command that an agent understands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentCommand {
    /// Its name, without the slash.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What may follow it.
    pub hint: Option<String>,
}

/// One thing that an agent means to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanEntry {
    /// What.
    pub content: String,
    /// `high`, `medium` or `low`.
    pub priority: String,
    /// `pending`, `in_progress` or `completed`.
    pub status: String,
}

/// A way to log in to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginMethod {
    /// Its name on the wire.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What to do.
    pub description: Option<String>,
}
