//! The servers that run, by workspace. Each is started when it is first needed, and there is never more
//! than one of a kind in a workspace.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::attend::{Surroundings, attend};
use crate::child::SpawnFn;
use crate::connect::Configured;
use crate::instance::{Instance, Live, NotReady, Use};
use crate::servers::Limits;
use crate::status::{ServerState, ServerStatus};

/// How often a call looks for a server that is not just being stopped.
const TRIES: usize = 3;

/// All servers. Dropping it ends them.
pub(crate) struct Pool {
    pub(crate) servers: Vec<Arc<Configured>>,
    surroundings: Surroundings,
    /// By workspace and by place in `servers`.
    instances: Mutex<HashMap<(PathBuf, usize), Arc<Instance>>>,
    /// Owns what attends to the servers.
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Pool {
    pub(crate) fn new(servers: Vec<Arc<Configured>>, spawn: SpawnFn, limits: Limits) -> Arc<Pool> {
        Arc::new_cyclic(|pool: &Weak<Pool>| {
            let places = Arc::new(Semaphore::new(limits.processes));
            let surroundings = Surroundings { spawn, limits, places, pool: Weak::clone(pool) };
            let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
            Pool { servers, surroundings, instances: Mutex::default(), tasks, stop }
        })
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.surroundings.limits
    }

    /// The server in this workspace, which is started if it does not run. None once all are stopped.
    pub(crate) fn instance(&self, workspace: &Path, server: usize) -> Option<Arc<Instance>> {
        if self.stop.is_cancelled() {
            return None;
        }
        let rest = self.limits().rest;
        let mut instances = self.instances.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (workspace.to_owned(), server);
        if let Some(instance) = instances.get(&key)
            && !instance.is_over(rest)
        {
            instance.touch();
            return Some(Arc::clone(instance));
        }
        // Workspaces that nobody works in any more are forgotten here.
        instances.retain(|_, instance| !instance.is_over(rest));
        let configured = Arc::clone(&self.servers[server]);
        let instance = Arc::new(Instance::new(configured, key.0.clone(), self.stop.child_token()));
        self.tasks.spawn(attend(Arc::clone(&instance), self.surroundings.clone()));
        instances.insert(key, Arc::clone(&instance));
        Some(instance)
    }

    /// The server in this workspace when it can be called. It is not stopped while the use is kept.
    pub(crate) async fn ready(&self, workspace: &Path, server: usize) -> Result<(Live, Use), String> {
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
        Err("it is being stopped; try again".to_owned())
    }

    /// Stops the server that has been unused for the longest time, if that is long enough. True if there
    /// was one.
    pub(crate) fn make_room(&self, wanted_by: &Instance) -> bool {
        let instances = self.instances.lock().unwrap_or_else(PoisonError::into_inner);
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
            let instances = self.instances.lock().unwrap_or_else(PoisonError::into_inner);
            instances.iter().map(|(key, instance)| (key.clone(), Arc::clone(instance))).collect()
        };
        instances.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut status = Vec::new();
        for (number, server) in self.servers.iter().enumerate() {
            let of_server = instances.iter().filter(|((_, server), _)| *server == number);
            let before = status.len();
            status.extend(of_server.map(|(_, instance)| instance.status()));
            if status.len() == before {
                status.push(never_started(&server.config.name));
            }
        }
        status
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

fn never_started(name: &str) -> ServerStatus {
    ServerStatus {
        name: name.to_owned(),
        workspace: None,
        state: ServerState::Stopped,
        protocol: None,
        tools: Vec::new(),
        left_out: 0,
        error: None,
        stderr_tail: String::new(),
    }
}
