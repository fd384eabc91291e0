//! The servers that run, by workspace. Each is started when it is first needed, and there is never more
//! than one of a kind in a workspace. Workspaces may have servers of their own, which nobody else has.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::attend::{Surroundings, attend};
use crate::config::ServerConfig;
use crate::connect::Configured;
use crate::instance::{Instance, Live, NotReady, Use};
use crate::launch::SpawnFn;
use crate::names::server_keys;
use crate::servers::Limits;
use crate::status::{ServerState, ServerStatus};

/// How often a call looks for a server that is not just being stopped.
const TRIES: usize = 3;

/// All servers. Dropping it ends them.
pub(crate) struct Pool {
    /// Those that are there for every workspace.
    servers: Vec<Arc<Configured>>,
    /// Those that a workspace has for itself. Taken before `instances` by whoever needs both.
    own: Mutex<Own>,
    surroundings: Surroundings,
    /// By workspace and by the server's number.
    instances: Mutex<HashMap<(PathBuf, usize), Arc<Instance>>>,
    /// Owns what attends to the servers.
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// The servers that workspaces have for themselves.
#[derive(Default)]
struct Own {
    by_workspace: HashMap<PathBuf, Vec<Arc<Configured>>>,
    /// How many there have ever been.
    count: usize,
}

impl Pool {
    pub(crate) fn new(configs: Vec<ServerConfig>, spawn: SpawnFn, limits: Limits) -> Arc<Pool> {
        let keys = server_keys(configs.iter().map(|config| config.name.as_str()));
        let numbered = configs.into_iter().zip(keys).enumerate();
        let servers = numbered.map(|(number, (config, key))| configured(number, config, key)).collect();
        Arc::new_cyclic(|pool: &Weak<Pool>| {
            let places = Arc::new(Semaphore::new(limits.processes));
            let surroundings = Surroundings { spawn, limits, places, pool: Weak::clone(pool) };
            let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
            let (own, instances) = (Mutex::default(), Mutex::default());
            Pool { servers, own, surroundings, instances, tasks, stop }
        })
    }

    /// The servers of a workspace: those of all, then its own.
    pub(crate) fn servers_of(&self, workspace: &Path) -> Vec<Arc<Configured>> {
        let own = self.own();
        self.servers.iter().chain(own.by_workspace.get(workspace).into_iter().flatten()).cloned().collect()
    }

    /// Gives a workspace these servers of its own, in place of those that it had. The ones that stay are left
    /// alone; the others are stopped, and their processes are gone when this returns.
    pub(crate) async fn set_own(&self, workspace: &Path, configs: Vec<ServerConfig>) {
        let gone = self.replace_own(workspace, configs);
        for instance in &gone {
            instance.close();
        }
        for instance in &gone {
            instance.over().await;
        }
    }

    fn replace_own(&self, workspace: &Path, configs: Vec<ServerConfig>) -> Vec<Arc<Instance>> {
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
        let stays = |server: &Configured| now.iter().any(|other| other.number == server.number);
        let gone: Vec<usize> =
            before.iter().filter(|server| !stays(server)).map(|server| server.number).collect();
        if !now.is_empty() {
            own.by_workspace.insert(workspace.to_owned(), now);
        }
        let mut instances = self.instances();
        gone.into_iter().filter_map(|number| instances.remove(&(workspace.to_owned(), number))).collect()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.surroundings.limits
    }

    /// The server in this workspace, which is started if it does not run. None once all are stopped, or when
    /// the workspace does not have it any more.
    pub(crate) fn instance(&self, workspace: &Path, server: &Arc<Configured>) -> Option<Arc<Instance>> {
        if self.stop.is_cancelled() {
            return None;
        }
        let rest = self.limits().rest;
        let own = self.own();
        let mut of_workspace =
            self.servers.iter().chain(own.by_workspace.get(workspace).into_iter().flatten());
        of_workspace.find(|other| other.number == server.number)?;
        let mut instances = self.instances();
        let key = (workspace.to_owned(), server.number);
        if let Some(instance) = instances.get(&key)
            && !instance.is_over(rest)
        {
            instance.touch();
            return Some(Arc::clone(instance));
        }
        // Workspaces that nobody works in any more are forgotten here.
        instances.retain(|_, instance| !instance.is_over(rest));
        let instance = Arc::new(Instance::new(Arc::clone(server), key.0.clone(), self.stop.child_token()));
        self.tasks.spawn(attend(Arc::clone(&instance), self.surroundings.clone()));
        instances.insert(key, Arc::clone(&instance));
        Some(instance)
    }

    /// The server in this workspace when it can be called. It is not stopped while the use is kept.
    pub(crate) async fn ready(
        &self,
        workspace: &Path,
        server: &Arc<Configured>,
    ) -> Result<(Live, Use), String> {
        for _ in 0..TRIES {
            let Some(instance) = self.instance(workspace, server) else {
                break;
            };
            let Some(held) = instance.begin() else {
                continue;
            };
            match instance.ready(self.limits().start).await {
                Ok(live) => return Ok((live, held)),
                Err(NotReady::Stopped) => {}
                Err(NotReady::Unavailable(why)) => return Err(why),
            }
        }
        Err("it has been stopped; try again if it is still meant to be there".to_owned())
    }

    /// Stops the server that has been unused for the longest time, if that is long enough. True if there
    /// was one.
    pub(crate) fn make_room(&self, wanted_by: &Instance) -> bool {
        let instances = self.instances();
        let others = instances.values().filter(|other| other.workspace != wanted_by.workspace);
        let mut unused: Vec<(Instant, &Arc<Instance>)> = others
            .filter(|other| other.has_place())
            .filter_map(|other| Some((other.last_used()?, other)))
            .collect();
        unused.sort_by_key(|(last_used, _)| *last_used);
        let unused_for = self.limits().evict_after;
        let closed = unused.into_iter().find(|(_, other)| other.close_if_unused_for(unused_for).is_ok());
        closed.inspect(|(_, instance)| instance.stop.cancel()).is_some()
    }

    pub(crate) fn status(&self) -> Vec<ServerStatus> {
        let mut instances: Vec<_> = {
            let instances = self.instances();
            instances.iter().map(|(key, instance)| (key.clone(), Arc::clone(instance))).collect()
        };
        instances.sort_by(|(one, _), (other, _)| one.cmp(other));
        let of_all = self.servers.iter().map(|server| (None, Arc::clone(server)));
        let mut servers: Vec<(Option<PathBuf>, Arc<Configured>)> = of_all.collect();
        for (workspace, own) in &self.own().by_workspace {
            servers.extend(own.iter().map(|server| (Some(workspace.clone()), Arc::clone(server))));
        }
        servers.sort_by(|(one, first), (other, second)| (one, first.number).cmp(&(other, second.number)));
        let mut status = Vec::new();
        for (workspace, server) in servers {
            let of_server = instances.iter().filter(|((_, number), _)| *number == server.number);
            let before = status.len();
            status.extend(of_server.map(|(_, instance)| instance.status()));
            if status.len() == before {
                status.push(never_started(&server.config.name, workspace));
            }
        }
        status
    }

    fn own(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn instances(&self) -> MutexGuard<'_, HashMap<(PathBuf, usize), Arc<Instance>>> {
        self.instances.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops all, for good.
    pub(crate) async fn shut_down(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn configured(number: usize, config: ServerConfig, key: String) -> Arc<Configured> {
    Arc::new(Configured { number, config, key, is_legacy: AtomicBool::new(false) })
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
