//! What a model is shown of a session, measured piece by piece.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A piece of what a model is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextSection {
    /// What it is.
    pub kind: ContextKind,
    /// What it is called.
    pub name: String,
    /// Of how many messages it is made; none for what is no message.
    pub messages: u64,
    /// Roughly how many tokens it takes.
    pub tokens: u64,
}

/// What a piece of what a model is shown is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContextKind {
    /// How to work, and what the session's owner added.
    SystemPrompt,
    /// The tools that can be called.
    Tools,
    /// What was gathered about the workspace.
    Workspace,
    /// What stands for the part of the conversation that is no longer shown.
    Summary,
    /// Other notes that nobody typed.
    System,
    /// What people said.
    User,
    /// What the model said, thought and called.
    Assistant,
    /// What tools answered.
    ToolResults,
}
