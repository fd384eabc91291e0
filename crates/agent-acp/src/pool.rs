//! The processes of an agent, one for each workspace: started when a turn needs one, shared by its sessions,
//! and stopped in order when there would be too many.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_agent::Failed;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::attend::{Starter, attend};
use crate::config::{AgentProgram, AgentSettings, SpawnFn};
use crate::failure::failed;
use crate::instance::{Held, Instance, Using};
use crate::status::AgentStatus;

/// All processes of one agent. Dropping it ends them.
pub(crate) struct Pool {
    starter: Arc<Starter>,
    instances: Mutex<Vec<Arc<Instance>>>,
    stop: CancellationToken,
    /// Owns what attends to the processes.
    tasks: TaskTracker,
    changes: watch::Sender<u64>,
}

impl Pool {
    pub(crate) fn new(program: Arc<AgentProgram>, settings: AgentSettings, spawn: SpawnFn) -> Pool {
        Pool {
            starter: Arc::new(Starter { program, settings, spawn }),
            instances: Mutex::default(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            changes: watch::Sender::new(0),
        }
    }

    /// The process of a workspace, started if it is not there. Waits until it takes turns.
    pub(crate) async fn acquire(&self, workspace: &Path) -> Result<Held, Failed> {
        loop {
            let (instance, using) = self.instance(workspace)?;
            match instance.ready(using).await {
                Ok(held) => return Ok(held),
                Err(Some(error)) => return Err(Failed { reason: error.code.clone(), error }),
                // It was stopped between the two; another one is started.
                Err(None) if !self.stop.is_cancelled() => {}
                Err(None) => return Err(self.stopping()),
            }
        }
    }

    pub(crate) fn statuses(&self) -> Vec<AgentStatus> {
        let name = &self.starter.program.name;
        self.instances().iter().map(|instance| instance.status(name)).collect()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn instance(&self, workspace: &Path) -> Result<(Arc<Instance>, Using), Failed> {
        if self.stop.is_cancelled() {
            return Err(self.stopping());
        }
        let mut instances = self.instances();
        let of_workspace =
            instances.iter().find(|instance| instance.workspace == workspace && !instance.is_over());
        if let Some((instance, using)) = of_workspace.and_then(|it| Some((Arc::clone(it), it.begin()?))) {
            return Ok((instance, using));
        }
        // One that failed is kept to be shown until another one takes its place.
        instances.retain(|instance| !instance.is_over() || instance.workspace != workspace);
        self.make_room(&mut instances)?;
        let instance =
            Arc::new(Instance::new(PathBuf::from(workspace), self.stop.child_token(), self.changes.clone()));
        let using = instance.begin().expect("an instance that was just made is not over");
        instances.push(Arc::clone(&instance));
        drop(instances);
        self.tasks.spawn(attend(Arc::clone(&instance), Arc::clone(&self.starter)));
        Ok((instance, using))
    }

    /// Stops the process that has rested longest, where there are as many as there may be.
    fn make_room(&self, instances: &mut Vec<Arc<Instance>>) -> Result<(), Failed> {
        let most = self.starter.settings.processes;
        if instances.len() >= most {
            instances.retain(|instance| !instance.is_over());
        }
        if instances.len() < most {
            return Ok(());
        }
        let unused = instances.iter().filter_map(|instance| Some((instance.unused_since()?, instance)));
        let Some((_, oldest)) = unused.min_by_key(|(since, _)| *since) else {
            let message =
                format!("the agent {} works in {most} workspaces already", self.starter.program.name);
            let hint = "wait until one of its turns has ended".to_owned();
            return Err(failed("too_many_agents", message, Some(hint)));
        };
        oldest.retire();
        let oldest = Arc::clone(oldest);
        instances.retain(|instance| !Arc::ptr_eq(instance, &oldest));
        Ok(())
    }

    fn stopping(&self) -> Failed {
        let message = format!("the agent {} is being stopped", self.starter.program.name);
        failed(
            "agent_stopped",
            message,
            Some("the daemon stops; retry the turn after its next start".to_owned()),
        )
    }

    fn instances(&self) -> MutexGuard<'_, Vec<Arc<Instance>>> {
        self.instances.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
