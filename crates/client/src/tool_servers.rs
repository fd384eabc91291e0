//! Servers that offer tools: how they are, as far as the daemon has started them.

use serde::Deserialize;

use crate::{Client, ClientError, requests};

/// How one server is, in one workspace.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ToolServer {
    /// Its name, as configured.
    pub name: String,
    /// How it is, in a word: `stopped`, `starting`, `ready`, `restarting` or `unavailable`.
    pub state: String,
    /// The names of the tools that it offers.
    #[serde(default)]
    pub tools: Vec<String>,
    /// What went wrong last.
    #[serde(default)]
    pub error: Option<String>,
}

#[derive(Deserialize)]
struct ToolServerList {
    servers: Vec<ToolServer>,
}

impl Client {
    /// How the tool servers are. With a workspace, those are started first that its sessions would get.
    pub async fn tool_servers(&self, workspace: Option<&str>) -> Result<Vec<ToolServer>, ClientError> {
        let query = requests::query(&[("workspace_path", workspace)]);
        let ToolServerList { servers } = self.get(&format!("/v1/tools{query}")).await?;
        Ok(servers)
    }
}
