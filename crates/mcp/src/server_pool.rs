//! The servers of each workspace: those of all, and its own, which nobody else has. When they start and end is left
//! to the supervisor.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_process::{Instance, InstanceLease, NotReady, StderrTail, Supervisor, SupervisorSettings};

use crate::config::ServerConfig;
use crate::connect::{ConfiguredServer, ServerEndpoint};
use crate::launch::ServerSpawnFn;
use crate::servers::McpLimits;
use crate::status::{ServerState, ServerStatus};
use crate::supervised_server::{SupervisedServer, status};
use crate::tool_names::server_keys;

/// How many times a server that ended by itself is started again.
const RESTARTS: u32 = 5;

/// All servers. Dropping it ends them.
pub(crate) struct ServerPool {
    /// Those that are there for every workspace.
    servers: Vec<Arc<ConfiguredServer>>,
    /// Those that a workspace has for itself.
    workspace_servers: Mutex<WorkspaceServers>,
    spawn: ServerSpawnFn,
    limits: McpLimits,
    supervisor: Supervisor<SupervisedServer>,
}

/// The servers that workspaces have for themselves.
#[derive(Default)]
struct WorkspaceServers {
    by_workspace: HashMap<PathBuf, Vec<Arc<ConfiguredServer>>>,
    /// How many there have ever been.
    count: usize,
}

impl ServerPool {
    pub(crate) fn new(
        configs: Vec<ServerConfig>,
        spawn: ServerSpawnFn,
        limits: McpLimits,
    ) -> Arc<ServerPool> {
        let keys = server_keys(configs.iter().map(|config| config.name.as_str()));
        let numbered = configs.into_iter().zip(keys).enumerate();
        let servers = numbered.map(|(number, (config, key))| configured(number, config, key)).collect();
        let supervisor = Supervisor::new(SupervisorSettings {
            capacity: limits.processes,
            idle_timeout: limits.idle,
            evict_after: limits.evict_after,
            restarts: RESTARTS,
            first_backoff: limits.first_backoff,
            retry_after: limits.retry_after,
            // Workspaces that nobody works in any more are forgotten.
            remembered: 0,
        });
        Arc::new(ServerPool { servers, workspace_servers: Mutex::default(), spawn, limits, supervisor })
    }

    /// Whether any workspace has servers of its own.
    pub(crate) fn has_workspace_servers(&self) -> bool {
        !self.own().by_workspace.is_empty()
    }

    /// Whether no workspace has any server.
    pub(crate) fn is_empty(&self) -> bool {
        self.servers.is_empty() && !self.has_workspace_servers()
    }

    /// The servers of a workspace: those of all, then its own.
    pub(crate) fn servers_of(&self, workspace: &Path) -> Vec<Arc<ConfiguredServer>> {
        let own = self.own();
        self.servers.iter().chain(own.by_workspace.get(workspace).into_iter().flatten()).cloned().collect()
    }

    /// Gives a workspace these servers of its own, in place of those that it had. The ones that stay are left
    /// alone; the others are stopped, and their processes are gone when this returns.
    pub(crate) async fn set_workspace_servers(&self, workspace: &Path, configs: Vec<ServerConfig>) {
        let gone = self.replace_workspace_servers(workspace, configs);
        self.supervisor.remove(&gone).await;
    }

    /// Returns the keys of the servers that are gone, which nobody can start any more.
    fn replace_workspace_servers(
        &self,
        workspace: &Path,
        configs: Vec<ServerConfig>,
    ) -> Vec<(PathBuf, usize)> {
        let mut own = self.own();
        let before = own.by_workspace.remove(workspace).unwrap_or_default();
        // Whatever they are called, they do not take the names of those that are there for all.
        let names = self.servers.iter().map(|server| &server.config).chain(&configs);
        let keys = server_keys(names.map(|config| config.name.as_str())).split_off(self.servers.len());
        let mut now = Vec::with_capacity(configs.len());
        for (config, key) in configs.into_iter().zip(keys) {
            let stays = before.iter().find(|server| server.config == config && server.key == key);
            now.push(stays.cloned().unwrap_or_else(|| {
                own.count += 1;
                configured(self.servers.len() + own.count, config, key)
            }));
        }
        let stays = |server: &ConfiguredServer| now.iter().any(|other| other.number == server.number);
        let gone = before.iter().filter(|server| !stays(server));
        let gone = gone.map(|server| (workspace.to_owned(), server.number)).collect();
        if !now.is_empty() {
            own.by_workspace.insert(workspace.to_owned(), now);
        }
        gone
    }

    pub(crate) fn limits(&self) -> &McpLimits {
        &self.limits
    }

    /// The server in this workspace, which is started if it does not run. None once all are stopped, or when
    /// the workspace does not have it any more.
    pub(crate) fn instance(
        &self,
        workspace: &Path,
        server: &Arc<ConfiguredServer>,
    ) -> Option<Arc<Instance<SupervisedServer>>> {
        // Held until the instance is there, so that a server which is taken away meanwhile is not started.
        let own = self.own();
        let mut of_workspace =
            self.servers.iter().chain(own.by_workspace.get(workspace).into_iter().flatten());
        of_workspace.find(|other| other.number == server.number)?;
        self.supervisor.instance(&(workspace.to_owned(), server.number), || {
            let endpoint = ServerEndpoint {
                server: Arc::clone(server),
                workspace: workspace.to_owned(),
                spawn: Arc::clone(&self.spawn),
                stderr: StderrTail::default(),
            };
            SupervisedServer::new(endpoint, self.limits.start)
        })
    }

    /// Leases the server in this workspace when it can be called.
    pub(crate) async fn lease(
        &self,
        workspace: &Path,
        server: &Arc<ConfiguredServer>,
    ) -> Result<InstanceLease<SupervisedServer>, String> {
        let patience = self.limits.start;
        let leased = Supervisor::lease(|| self.instance(workspace, server), Some(patience)).await;
        leased.map_err(|error| match error {
            NotReady::Stopped => "it has been stopped; try again if it is still meant to be there".to_owned(),
            NotReady::Unavailable(why) => why,
            NotReady::TimedOut(why) => {
                let why = why.map_or_else(String::new, |why| format!(" Before, {why}."));
                format!("it is still being started after {} s.{why}", patience.as_secs())
            }
        })
    }

    pub(crate) fn status(&self) -> Vec<ServerStatus> {
        let mut instances = self.supervisor.instances();
        let place = |instance: &Instance<SupervisedServer>| {
            let ServerEndpoint { server, workspace, .. } = &instance.child().endpoint;
            (workspace.clone(), server.number)
        };
        instances.sort_by_key(|instance| place(instance));
        let of_all = self.servers.iter().map(|server| (None, Arc::clone(server)));
        let mut servers: Vec<(Option<PathBuf>, Arc<ConfiguredServer>)> = of_all.collect();
        for (workspace, own) in &self.own().by_workspace {
            servers.extend(own.iter().map(|server| (Some(workspace.clone()), Arc::clone(server))));
        }
        servers.sort_by(|(one, first), (other, second)| (one, first.number).cmp(&(other, second.number)));
        let mut statuses = Vec::new();
        for (workspace, server) in servers {
            let of_server = |instance: &&Arc<Instance<SupervisedServer>>| place(instance).1 == server.number;
            let before = statuses.len();
            statuses.extend(instances.iter().filter(of_server).map(|instance| status(instance)));
            if statuses.len() == before {
                statuses.push(never_started(&server.config.name, workspace));
            }
        }
        statuses
    }

    fn own(&self) -> MutexGuard<'_, WorkspaceServers> {
        self.workspace_servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops all, for good.
    pub(crate) async fn shut_down(&self) {
        self.supervisor.shut_down().await;
    }
}

fn configured(number: usize, config: ServerConfig, key: String) -> Arc<ConfiguredServer> {
    Arc::new(ConfiguredServer { number, config, key, is_legacy: AtomicBool::new(false) })
}

fn never_started(name: &str, workspace: Option<PathBuf>) -> ServerStatus {
    ServerStatus {
        name: name.to_owned(),
        workspace,
        state: ServerState::Stopped,
        protocol: None,
        tools: Vec::new(),
        left_out: 0,
        error: None,
        stderr_tail: String::new(),
    }
}
