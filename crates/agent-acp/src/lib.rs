//! Someone else's agent in a child process, as an [`Agent`].
//!
//! One process per agent and workspace serves all sessions there: `process` starts and stops it for the supervisor, and
//! `connection` carries lines, in bounded queues. A turn (`turn`) opens the session in the agent (`open`) and sends
//! prompts (`prompt`). `prompt_loop` waits for what comes, passes it to the `recorder`, and carries out the recorder's
//! actions: reports, questions to people (`permission`), and what the agent requests of the daemon (`client_requests`,
//! `effect`, `terminals`). The recorder alone decides what is recorded and in which order, and it is pure.
//! `stop` ends it all. That the work is captured, checked and reviewed is left to `acceptance`. Beside turns an agent can
//! be asked what it has (`outside_turns`), and a session that was begun elsewhere can be taken over with what was said in it
//! (`adopt`).
//!
//! What the agent does in its own process is not ours to allow: it is recorded as the agent tells it. What it
//! asks for is put to a person, and what it has us do goes by the session's policy.

mod adopted_history;
mod client_requests;
mod config;
mod connection;
mod effect;
mod failure;
mod inbox;
mod outside_turns;
mod permission;
mod presets;
mod prompt;
mod prompt_loop;
mod prompts;
mod recorder;
mod running_agent;
mod session_opener;
mod status;
mod supervised_agent;
mod terminals;
mod tool_result;
mod turn;
mod turn_end;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_acceptance::{Baselines, CheckpointTracker, note_interrupted_turn};
use ostler_acp::SessionReplay;
use ostler_agent::{Agent, CompletedTurn, FailedTurn, TurnContext};
use ostler_process::{InstanceLease, NotReady, Supervisor, SupervisorSettings};
use ostler_runner::Runner;
use ostler_types::{AgentState, Clock, SessionId};
use tokio::sync::watch;

use crate::failure::failed;
use crate::session_opener::{AgentMemory, SessionOpener};
use crate::supervised_agent::SupervisedAgent;

pub use adopted_history::AdoptedHistory;
pub use config::{AgentLaunch, AgentProgram, AgentSettings, AgentSpawnFn, NotPrepared, unconfined};
pub use ostler_process::PreparedChild;
pub use presets::{AgentPreset, AgentStatePath, presets};
pub use status::{AcpAgentInfo, AcpSessionInfo, AgentStatus, ProcessState};

/// An agent that speaks the Agent Client Protocol. One serves all sessions that name it.
pub struct AcpAgent {
    program: Arc<AgentProgram>,
    settings: AgentSettings,
    spawn: AgentSpawnFn,
    /// Its processes, one for each workspace and shared by the sessions there.
    supervisor: Supervisor<SupervisedAgent>,
    /// Does what the agent has the daemon do.
    runner: Arc<dyn Runner>,
    baselines: Option<Arc<Baselines>>,
}

impl AcpAgent {
    /// An agent that is started by this. Nothing runs until a turn needs it. What the agent has us do is done
    /// by this runner.
    pub fn new(
        program: AgentProgram,
        settings: AgentSettings,
        spawn: AgentSpawnFn,
        runner: Arc<dyn Runner>,
    ) -> AcpAgent {
        let supervisor = Supervisor::new(SupervisorSettings {
            capacity: settings.processes,
            idle_timeout: settings.idle,
            evict_after: Duration::ZERO,
            restarts: settings.max_restarts,
            first_backoff: settings.first_backoff,
            retry_after: Duration::ZERO,
            // One that failed is kept to be shown until another one takes its place.
            remembered: settings.processes,
        });
        let program = Arc::new(program);
        AcpAgent { program, settings, spawn, supervisor, runner, baselines: None }
    }

    /// The same, knowing what turns have written into files that decide what checks run.
    #[must_use]
    pub fn with_baselines(self, baselines: Arc<Baselines>) -> AcpAgent {
        AcpAgent { baselines: Some(baselines), ..self }
    }

    /// How its processes are, one for each workspace in which it was needed.
    pub fn statuses(&self) -> Vec<AgentStatus> {
        self.supervisor.instances().iter().map(|instance| supervised_agent::status(instance)).collect()
    }

    /// Changes whenever a status does.
    pub fn status_changes(&self) -> watch::Receiver<u64> {
        self.supervisor.changes()
    }

    /// Starts it in a workspace, if it does not run there, and says what it is.
    pub async fn probe(&self, workspace: &Path) -> Result<AcpAgentInfo, FailedTurn> {
        let lease = self.lease(workspace).await?;
        Ok(lease.handle.info())
    }

    /// Begins a session in the agent before its first turn, so that what can be chosen is known and what is wrong is
    /// said at once. The turn finds it by the session that it is for.
    pub async fn begin(
        &self,
        session: SessionId,
        workspace: &Path,
        settings: &BTreeMap<String, String>,
    ) -> Result<AgentState, FailedTurn> {
        let lease = self.lease(workspace).await?;
        let opening = SessionOpener { program: &self.program, running: &lease.handle, workspace, raw: None };
        let mut opened = opening.begin(AgentMemory::Nothing).await?;
        opening.apply_settings(&mut opened, settings).await?;
        lease.handle.keep_session(session, opened.agent_session.clone());
        Ok(opened.agent_session.state)
    }

    /// Takes over a session that was begun elsewhere, under this id, with what the agent tells of what was said.
    pub async fn adopt(
        &self,
        session: SessionId,
        workspace: &Path,
        known: &str,
        clock: &dyn Clock,
    ) -> Result<AdoptedHistory, FailedTurn> {
        let lease = self.lease(workspace).await?;
        let opening = SessionOpener { program: &self.program, running: &lease.handle, workspace, raw: None };
        let mut replay = SessionReplay::default();
        let opened = opening.adopt(known, &mut replay).await?;
        lease.handle.keep_session(session, opened.agent_session.clone());
        Ok(AdoptedHistory::new(&self.program.name, workspace, opened.agent_session.state, replay, clock))
    }

    /// The sessions of a workspace that the agent itself knows of, the newest first as it lists them. Empty
    /// where it keeps no list.
    pub async fn sessions(&self, workspace: &Path) -> Result<Vec<AcpSessionInfo>, FailedTurn> {
        let lease = self.lease(workspace).await?;
        outside_turns::list(&self.program.name, &lease.handle, workspace).await
    }

    /// Has the agent log in by one of its methods, which may open a browser and take as long as a person does.
    pub async fn login(&self, workspace: &Path, method: &str) -> Result<(), FailedTurn> {
        let lease = self.lease(workspace).await?;
        outside_turns::login(&self.program.name, &lease.handle, method).await
    }

    /// Ends all its processes, and waits until they are gone. To be called when the daemon stops.
    pub async fn stop(&self) {
        self.supervisor.shut_down().await;
    }

    /// Leases the process of a workspace, started if it is not there. Waits until it takes turns.
    async fn lease(&self, workspace: &Path) -> Result<InstanceLease<SupervisedAgent>, FailedTurn> {
        let find = || {
            self.supervisor.instance(&workspace.to_owned(), || {
                let (program, spawn) = (Arc::clone(&self.program), Arc::clone(&self.spawn));
                SupervisedAgent::new(program, self.settings.clone(), spawn, workspace.to_owned())
            })
        };
        Supervisor::lease(find, None).await.map_err(|error| match error {
            NotReady::Unavailable(error) => FailedTurn { reason: error.code.clone(), error },
            NotReady::Stopped | NotReady::TimedOut(_) => {
                let message = format!("the agent {} is being stopped", self.program.name);
                let hint = "the daemon stops; retry the turn after its next start".to_owned();
                failed("agent_stopped", message, Some(hint))
            }
        })
    }
}

impl Agent for AcpAgent {
    fn run_turn(&self, turn: TurnContext) -> BoxFuture<'_, Result<CompletedTurn, FailedTurn>> {
        async move {
            let checkpoints = CheckpointTracker::new(Arc::clone(&self.runner), &turn).await;
            let ended = Box::pin(turn::run(self, &turn, &checkpoints)).await;
            // How a turn left the workspace is seen when nothing of it runs any more.
            if let Err(error) = checkpoints.capture_after_turn(&turn).await {
                tracing::debug!(reason = error.reason, "how the turn left the workspace is not recorded");
            }
            if ended.is_err() {
                note_interrupted_turn(&turn, &*self.runner, self.baselines.as_deref(), &checkpoints).await;
            }
            ended
        }
        .boxed()
    }

    /// A question dies with the process that asked it, so that a turn which waited cannot be picked up.
    fn can_resume_turns(&self) -> bool {
        false
    }
}
