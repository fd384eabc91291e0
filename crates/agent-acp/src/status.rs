//! What clients are told of agents and their processes.

use std::path::PathBuf;

use ostler_acp::AcceptedContent;
use ostler_types::{Failure, LoginMethod};

/// How an agent's process in one workspace is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentStatus {
    /// The agent.
    pub agent: String,
    /// The workspace.
    pub workspace: PathBuf,
    /// How far it is.
    pub state: ProcessState,
    /// What went wrong last.
    pub error: Option<Failure>,
    /// The end of what it printed on its error output.
    pub stderr_tail: String,
}

/// How far a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessState {
    /// It is being started.
    Starting,
    /// It takes turns.
    Connected,
    /// It ended by itself and is started again.
    Reconnecting,
    /// It does not run; the next turn starts it.
    Idle,
    /// It ended by itself too often, or could not be started; the next turn tries again.
    Disconnected,
}

/// What an agent says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcpAgentInfo {
    /// Its own name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether a session of its can be taken up again by another process, telling what was said.
    pub loads_sessions: bool,
    /// The same, without telling.
    pub resumes_sessions: bool,
    /// Whether it lists its sessions.
    pub lists_sessions: bool,
    /// What it takes in a prompt besides text.
    pub accepts: AcceptedContent,
    /// Whether it can use tool servers that speak HTTP.
    pub mcp_over_http: bool,
    /// How a person can log in.
    pub login: Vec<LoginMethod>,
}

/// A session that an agent keeps itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcpSessionInfo {
    /// What the agent calls it.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// When it was last used, as the agent writes it.
    pub updated_at: Option<String>,
    /// The directory that it works in.
    pub workspace: PathBuf,
}
