//! Tool calls, what kind of thing they do, and their results.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Part, Picture, ToolCallId};

/// What a tool touches; approvals are asked for by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Looks at the workspace.
    Read,
    /// Changes files of the workspace.
    Write,
    /// Runs programs.
    Exec,
    /// Talks to other machines.
    Network,
}

/// A call that a model asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// Its id, unique within the turn.
    pub id: ToolCallId,
    /// The tool's name.
    pub name: String,
    /// The arguments, as the model gave them.
    pub input: Value,
}

/// What a model is told of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSpec {
    /// The tool's name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The JSON schema of its input.
    pub input_schema: Value,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolResult {
    /// The call's id.
    pub id: ToolCallId,
    /// Whether the tool did what was asked.
    pub ok: bool,
    /// What it said, for the model and for people.
    pub parts: Vec<Part>,
    /// Why not, when it is not `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Files that it left beside the log, relative to the session's folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    /// What it did, in structure, for clients (an exit code, a diff).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl ToolResult {
    /// A result that says why the call came to nothing.
    pub fn failed(id: ToolCallId, error: impl Into<String>) -> ToolResult {
        let error = error.into();
        let parts = vec![Part::text(error.clone())];
        ToolResult { id, ok: false, parts, error: Some(error), artifacts: Vec::new(), details: None }
    }

    /// The pictures that the model is shown.
    pub fn pictures(&self) -> impl Iterator<Item = Picture> + '_ {
        self.parts.iter().filter_map(|part| {
            let Part::Image { reference, mime_type } = part else { return None };
            Some(Picture { reference: reference.clone(), mime_type: mime_type.clone() })
        })
    }

    /// The text that the model reads.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .parts
            .iter()
            .filter_map(|part| if let Part::Text { text } = part { Some(text.as_str()) } else { None })
            .collect();
        texts.join("\n")
    }
}

/// The exact words of results that no tool wrote. Clients and models match on them.
pub mod results {
    /// A call after the first failed one of a sequential batch.
    pub const HALTED: &str = "Did not execute: halted due to error in previous tool";
    /// A call that was running or waiting when its turn was canceled.
    pub const CANCELED: &str = "Cancelled by user: tool execution was interrupted";
    /// A call that had started when the daemon died.
    pub const INTERRUPTED: &str = "interrupted: outcome unknown";
    /// A call that had not started when its turn failed.
    pub const NOT_STARTED: &str = "Did not execute: the turn ended before this call started";
    /// The notice that ends a turn with too many steps.
    pub const MAX_STEPS: &str = "[Max tool iterations reached]";
    /// Output that was left out to make the conversation shorter.
    pub const PRUNED: &str = "[Old output left out to save room; call the tool again if it is needed]";
}
