//! What sessions can have and what their models are shown: models, tools, agents, context.

use ostler_types::{
    AgentDescription, AgentSession, ContextSection, ModelInfo, Resolution, ToolKind, ToolSpec,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The models that sessions can have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Models")]
pub struct ModelList {
    /// The one that a session gets when it names none, and why; null when there is none to be had.
    pub default: Option<Resolution>,
    /// Why there is none to be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_default: Option<String>,
    pub models: Vec<ModelInfo>,
}

/// The tools of the native agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Tools")]
pub struct ToolList {
    pub tools: Vec<OneTool>,
    /// How the servers stand that offer tools.
    pub servers: Vec<serde_json::Map<String, serde_json::Value>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OneTool {
    #[serde(flatten)]
    pub spec: ToolSpec,
    pub kind: ToolKind,
}

/// The agents that sessions can have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Agents")]
pub struct AgentList {
    pub agents: Vec<AgentDescription>,
}

/// The sessions that an agent keeps itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AgentSessions")]
pub struct AgentSessionList {
    pub sessions: Vec<AgentSession>,
}

/// What a model is shown of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextView {
    /// Which model it is shown to.
    pub model: String,
    /// Roughly how many tokens it takes: as the provider counted them last, or else as the sections add up.
    pub tokens: u64,
    /// How many the model takes; null where that is not known.
    pub window: Option<u64>,
    /// How much of the window is taken, from 0 to 100.
    pub percent: Option<f64>,
    /// How many messages the model is shown.
    pub messages: u64,
    /// The pieces, in the order in which the model is shown them.
    pub sections: Vec<ContextShare>,
}

/// A piece, and how much of the whole it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Share")]
pub struct ContextShare {
    #[serde(flatten)]
    pub section: ContextSection,
    /// How much of all the pieces it is, from 0 to 100.
    pub percent: f64,
}
