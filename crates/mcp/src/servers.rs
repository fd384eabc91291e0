//! The way in: the configured servers, and the tools that they offer in a workspace.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use ostler_runner::Tool;

use crate::config::ServerConfig;
use crate::launch::ServerSpawnFn;
use crate::server_pool::ServerPool;
use crate::status::ServerStatus;
use crate::supervised_server::listing;
use crate::tool::McpTool;

/// The configured MCP servers. Cheap to clone; when the last clone and the last tool are dropped, the
/// servers end.
#[derive(Clone)]
pub struct McpServers(Arc<ServerPool>);

/// How much, and how long.
#[derive(Debug, Clone)]
pub struct McpLimits {
    /// How many processes of servers may run at once, over all workspaces.
    pub processes: usize,
    /// After how long without use a server is stopped.
    pub idle: Duration,
    /// How long a server may take to start.
    pub start: Duration,
    /// How long a server that is being started is waited for before the tools of the others are given.
    pub tools_wait: Duration,
    /// The pause before a server that ended by itself is started again; it doubles each time, up to thirty
    /// times its length.
    pub first_backoff: Duration,
    /// How long a server that does not work is left alone.
    pub retry_after: Duration,
    /// How long a server must have been unused to make room for one of another workspace.
    pub evict_after: Duration,
}

impl Default for McpLimits {
    fn default() -> McpLimits {
        McpLimits {
            processes: 32,
            idle: Duration::from_secs(10 * 60),
            start: Duration::from_secs(20),
            tools_wait: Duration::from_secs(2),
            first_backoff: Duration::from_secs(1),
            retry_after: Duration::from_secs(5 * 60),
            evict_after: Duration::from_secs(30),
        }
    }
}

impl McpServers {
    /// Takes the servers over; none is started yet. Servers whose configuration cannot work are reported by
    /// [`ServerConfig::check`], which the caller asks before; here they fail when they are needed.
    pub fn new(configs: Vec<ServerConfig>, spawn: ServerSpawnFn, limits: McpLimits) -> McpServers {
        McpServers(ServerPool::new(configs, spawn, limits))
    }

    /// Gives a workspace servers of its own beside those of all, in place of the ones that it had: none, to
    /// take them away. Those that it has already are left alone, and the others have ended when this returns;
    /// new ones are started when they are needed. Their tools never take the names of other servers' tools.
    pub async fn set_workspace_servers(&self, workspace: &Path, configs: Vec<ServerConfig>) {
        if configs.is_empty() && !self.0.has_workspace_servers() {
            return;
        }
        let workspace = tokio::fs::canonicalize(workspace).await.unwrap_or_else(|_| workspace.to_owned());
        self.0.set_workspace_servers(&workspace, configs).await;
    }

    /// The tools that the servers offer in this workspace, in the order of the configuration. Starts what
    /// does not run; a server that takes longer than the patience goes on starting, and its tools are there
    /// when this is asked again. To be asked before each step, which also keeps the servers from being
    /// stopped as unused.
    pub async fn for_workspace(&self, workspace: &Path) -> Vec<Arc<dyn Tool>> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let workspace = tokio::fs::canonicalize(workspace).await.unwrap_or_else(|_| workspace.to_owned());
        let servers = self.0.servers_of(&workspace).into_iter();
        let instances: Vec<_> = servers.filter_map(|server| self.0.instance(&workspace, &server)).collect();
        let patience = self.0.limits().tools_wait;
        join_all(instances.iter().map(|instance| instance.wait_until_settled(patience))).await;
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for instance in &instances {
            let listing = listing(instance);
            tools.extend(listing.tools.iter().map(|listed| -> Arc<dyn Tool> {
                let (pool, server) = (Arc::clone(&self.0), Arc::clone(&instance.child().endpoint.server));
                Arc::new(McpTool::new(pool, workspace.clone(), server, Arc::clone(listed)))
            }));
        }
        tools
    }

    /// How the servers are doing, in the order of the configuration. One that runs in several workspaces
    /// is there several times.
    pub fn status(&self) -> Vec<ServerStatus> {
        self.0.status()
    }

    /// Stops all servers, and waits until their processes are gone. None is started again.
    pub async fn shut_down(&self) {
        self.0.shut_down().await;
    }
}
