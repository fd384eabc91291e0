//! An effect that an agent requests of the daemon: reading or writing a file of the workspace, or running a command.

use std::path::Path;

use agent_client_protocol::v1::schema::ToolCall as AgentCall;
use ostler_acp::subjects;
use ostler_types::ToolKind;
use serde_json::{Value, json};

use crate::terminals::without_session_variable;

/// Something to be done for an agent.
#[derive(Debug, Clone)]
pub(crate) enum AgentEffect {
    Read { path: String, line: Option<u32>, limit: Option<u32> },
    Write { path: String, content: String },
    Run { line: String, limit: Option<u64> },
}

impl AgentEffect {
    /// The same as a call of one of our tools: the tool, its input and its kind.
    pub(crate) fn tool_call(&self) -> (&'static str, Value, ToolKind) {
        match self {
            AgentEffect::Read { path, .. } => ("read_file", json!({"path": path}), ToolKind::Read),
            AgentEffect::Write { path, content } => {
                ("write_file", json!({"path": path, "content": content}), ToolKind::Write)
            }
            AgentEffect::Run { line, .. } => ("shell", json!({"command": line}), ToolKind::Exec),
        }
    }

    /// Whether a call of the agent names the very file or command.
    pub(crate) fn is_named_by(&self, call: &AgentCall, workspace: &Path) -> bool {
        match self {
            AgentEffect::Read { path, .. } | AgentEffect::Write { path, .. } => {
                let path = workspace.join(path);
                subjects(call).paths.iter().any(|named| workspace.join(named) == path)
            }
            AgentEffect::Run { line, .. } => {
                let line = without_session_variable(line);
                subjects(call).commands.iter().any(|named| named == line)
            }
        }
    }
}
