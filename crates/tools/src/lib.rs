//! Tools: one trait, and the tools that every session has.
//!
//! A tool does one thing in a workspace and says what it did. It asks nobody for leave: whether a
//! call may run is settled before [`Tool::run`], by the policy and by people.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_types::{ToolKind, ToolSpec};
use serde_json::Value;

/// Does one thing in a workspace.
pub trait Tool: Send + Sync + 'static {
    /// What a model is told of it.
    fn spec(&self) -> ToolSpec;

    /// What it touches.
    fn kind(&self) -> ToolKind;

    /// What a call will do, in a line, for the person who approves it. Shown in full, so it must
    /// leave nothing out that matters.
    fn summary(&self, input: &Value) -> String;

    /// Does it. Called once per call, after `tool_call_started` is on disk. Dropping the future ends
    /// the work, child processes included.
    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome>;
}

/// Where a call runs, and where its output goes while it runs.
#[derive(Clone)]
pub struct ToolContext {
    /// The directory that the session works in.
    pub workspace: PathBuf,
    /// Shows output as it comes: the stream's name, and text. Must not block.
    pub output: Arc<dyn Fn(&'static str, &str) + Send + Sync>,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    /// Whether it did what was asked.
    pub ok: bool,
    /// What the model is told; head and tail where it is long.
    pub text: String,
    /// The same in structure, for clients.
    pub details: Option<Value>,
    /// The whole output, where `text` leaves some out.
    pub whole: Option<Vec<u8>>,
}
