//! How the servers are doing, for people.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

/// How one server is doing in one workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ServerStatus {
    /// Its name, as configured.
    pub name: String,
    /// The workspace; none for a server that has been started nowhere yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<PathBuf>,
    /// How it is.
    pub state: ServerState,
    /// The version of the protocol that is spoken with it, while it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The names of the tools that it offers.
    pub tools: Vec<String>,
    /// How many tools it has beyond those, because there are too many.
    pub left_out: usize,
    /// What went wrong last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The last of what it printed on its error output, without secrets.
    pub stderr_tail: String,
}

/// How a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// Nobody has needed it, or not for a while.
    Stopped,
    /// It is being started for the first time.
    Starting,
    /// It is there.
    Ready,
    /// It ended by itself and is being started again.
    Restarting,
    /// It could not be started, or ended too often. It is tried again some minutes later.
    Unavailable,
}
