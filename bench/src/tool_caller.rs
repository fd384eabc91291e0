//! Calls of tools as a turn makes them, with the time that each took. Nobody is asked for leave, and
//! nothing is recorded.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ostler_runner::ToolContext;
use ostler_tools::Tools;
use ostler_types::SessionId;
use serde_json::Value;
use uuid::Uuid;

/// Tools at work in one workspace.
pub struct ToolCaller {
    tools: Tools,
    context: ToolContext,
}

impl ToolCaller {
    /// Lets these tools work there.
    pub fn new(tools: Tools, workspace: &Path) -> ToolCaller {
        let session = SessionId::new(Uuid::now_v7());
        ToolCaller { tools, context: ToolContext::new(workspace.to_owned(), session, Arc::new(|_, _| {})) }
    }

    /// Calls a tool: what it says in structure, and how long it took. A call that fails is an error.
    pub async fn call(&self, name: &str, input: &Value) -> Result<(Value, Duration)> {
        let tool = self.tools.get(name).with_context(|| format!("there is no tool `{name}`"))?;
        let (input, context) = (input.clone(), self.context.clone());
        let start = Instant::now();
        let outcome = tool.run(input, context).await;
        let took = start.elapsed();
        ensure!(outcome.ok, "`{name}` failed: {}", outcome.text);
        Ok((outcome.details.unwrap_or_default(), took))
    }
}
