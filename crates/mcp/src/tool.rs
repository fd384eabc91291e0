//! A tool of a server, as one of ours. The server is looked up when the tool is called, so that a tool
//! outlives the process that offered it.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_runner::{Tool, ToolContext, ToolOutcome};
use ostler_types::{ToolKind, ToolSpec};
use serde_json::Value;

use crate::call::call;
use crate::config::ServerConfig;
use crate::connect::ConfiguredServer;
use crate::result::to_tool_outcome;
use crate::server_pool::ServerPool;
use crate::server_text::escape_hidden;
use crate::tool_listing::ListedTool;

/// Calls one tool of one server.
pub(crate) struct McpTool {
    pool: Arc<ServerPool>,
    workspace: PathBuf,
    server: Arc<ConfiguredServer>,
    listed: Arc<ListedTool>,
}

impl McpTool {
    pub(crate) fn new(
        pool: Arc<ServerPool>,
        workspace: PathBuf,
        server: Arc<ConfiguredServer>,
        listed: Arc<ListedTool>,
    ) -> McpTool {
        McpTool { pool, workspace, server, listed }
    }

    fn config(&self) -> &ServerConfig {
        &self.server.config
    }

    async fn call(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, String> {
        let arguments = match input {
            Value::Object(arguments) => arguments,
            Value::Null => serde_json::Map::new(),
            _ => return Err("it takes an object of arguments, and got none; nothing was sent".to_owned()),
        };
        let lease = self.pool.lease(&self.workspace, &self.server).await?;
        let name = &self.listed.remote_name;
        let result = call(&lease.handle, name, arguments, self.config().timeout, &*context.output).await?;
        Ok(to_tool_outcome(&self.config().name, name, result))
    }
}

impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        self.listed.spec.clone()
    }

    fn kind(&self) -> ToolKind {
        self.listed.kind
    }

    fn summary(&self, input: &Value) -> String {
        let (server, tool) = (escape_hidden(&self.config().name), escape_hidden(&self.listed.remote_name));
        format!("call {tool} of the MCP server {server} with {}", escape_hidden(&input.to_string()))
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        async move {
            self.call(input, &context).await.unwrap_or_else(|why| {
                let why = self.config().redact(&why);
                ToolOutcome::failed(format!("The MCP server {}: {why}.", self.config().name))
            })
        }
        .boxed()
    }
}
