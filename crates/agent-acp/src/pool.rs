//! The processes of an agent, one for each workspace and shared by its sessions. How each is started and stopped is
//! left to `process`, when to the supervisor.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ostler_agent::Failed;
use ostler_process::{Lease, NotReady, Supervisor, SupervisorSettings};
use tokio::sync::watch;

use crate::config::{AgentProgram, AgentSettings, SpawnFn};
use crate::failure::failed;
use crate::process::{AgentProcess, status};
use crate::status::AgentStatus;

/// All processes of one agent. Dropping it ends them.
pub(crate) struct Pool {
    program: Arc<AgentProgram>,
    settings: AgentSettings,
    spawn: SpawnFn,
    supervisor: Supervisor<AgentProcess>,
}

impl Pool {
    pub(crate) fn new(program: Arc<AgentProgram>, settings: AgentSettings, spawn: SpawnFn) -> Pool {
        let supervisor = Supervisor::new(SupervisorSettings {
            capacity: settings.processes,
            idle_timeout: settings.idle,
            evict_after: Duration::ZERO,
            restarts: settings.tries,
            first_backoff: settings.first_wait,
            retry_after: Duration::ZERO,
            // One that failed is kept to be shown until another one takes its place.
            remembered: settings.processes,
        });
        Pool { program, settings, spawn, supervisor }
    }

    /// The process of a workspace, started if it is not there. Waits until it takes turns.
    pub(crate) async fn acquire(&self, workspace: &Path) -> Result<Lease<AgentProcess>, Failed> {
        let find = || {
            self.supervisor.instance(&workspace.to_owned(), || {
                let (program, spawn) = (Arc::clone(&self.program), Arc::clone(&self.spawn));
                AgentProcess::new(program, self.settings.clone(), spawn, workspace.to_owned())
            })
        };
        Supervisor::lease(find, None).await.map_err(|error| match error {
            NotReady::Unavailable(error) => Failed { reason: error.code.clone(), error },
            NotReady::Stopped | NotReady::TimedOut(_) => self.stopping(),
        })
    }

    pub(crate) fn statuses(&self) -> Vec<AgentStatus> {
        self.supervisor.instances().iter().map(|instance| status(instance)).collect()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.supervisor.changes()
    }

    pub(crate) async fn stop(&self) {
        self.supervisor.shut_down().await;
    }

    fn stopping(&self) -> Failed {
        let message = format!("the agent {} is being stopped", self.program.name);
        let hint = "the daemon stops; retry the turn after its next start".to_owned();
        failed("agent_stopped", message, Some(hint))
    }
}
