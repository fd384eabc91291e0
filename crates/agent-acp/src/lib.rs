//! Someone else's agent in a child process, as an [`Agent`].
//!
//! One process per agent and workspace serves all sessions there: `pool` finds it, `attend` starts it and starts
//! it again, `child` ends it with all that it started. `connection` carries lines, in bounded queues. A turn
//! (`turn`) opens the session in the agent (`open`), sends the prompt (`prompt`) and records what comes back:
//! `draft` is the message that is being written, `calls` the calls that are open, `question` what a person is
//! asked, `serve` what the agent has us do (`files`, `terminals`), `stop` how it ends. `checkpoints` makes a turn
//! undoable.
//!
//! What the agent does in its own process is not ours to allow: it is recorded as the agent tells it. What it
//! asks for is put to a person, and what it has us do goes by the session's policy.

mod attend;
mod calls;
mod checkpoints;
mod config;
mod connection;
mod draft;
mod failure;
mod files;
mod inbox;
mod instance;
mod lines;
mod link;
mod open;
mod pool;
mod presets;
mod prompt;
mod question;
mod record;
mod serve;
mod status;
mod stop;
mod terminals;
mod turn;

use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_agent::{Agent, Completed, Failed, TurnContext};
use ostler_checkpoint::Store;
use ostler_tools::Tools;
use tokio::sync::watch;

use crate::checkpoints::Checkpoints;
use crate::pool::Pool;

pub use config::{AgentProgram, AgentSettings, Launch, SpawnFn, unconfined};
pub use ostler_process::Prepared;
pub use presets::{Preset, presets};
pub use status::{AgentInfo, AgentSession, AgentStatus, ProcessState};

/// An agent that speaks the Agent Client Protocol. One serves all sessions that name it.
pub struct AcpAgent {
    program: Arc<AgentProgram>,
    settings: AgentSettings,
    pool: Pool,
    tools: Arc<Tools>,
    checkpoints: Option<Arc<Store>>,
}

impl AcpAgent {
    /// An agent that is started by this. Nothing runs until a turn needs it. What the agent has us do is done
    /// with these tools.
    pub fn new(
        program: AgentProgram,
        settings: AgentSettings,
        spawn: SpawnFn,
        tools: Arc<Tools>,
    ) -> AcpAgent {
        let program = Arc::new(program);
        let pool = Pool::new(Arc::clone(&program), settings.clone(), spawn);
        AcpAgent { program, settings, pool, tools, checkpoints: None }
    }

    /// The same with a place to keep workspaces as they were before each turn.
    #[must_use]
    pub fn with_checkpoints(self, store: Arc<Store>) -> AcpAgent {
        AcpAgent { checkpoints: Some(store), ..self }
    }

    /// How its processes are, one for each workspace in which it was needed.
    pub fn statuses(&self) -> Vec<AgentStatus> {
        self.pool.statuses()
    }

    /// Changes whenever a status does.
    pub fn status_changes(&self) -> watch::Receiver<u64> {
        self.pool.changes()
    }

    /// Starts it in a workspace, if it does not run there, and says what it is.
    pub async fn probe(&self, workspace: &Path) -> Result<AgentInfo, Failed> {
        let held = self.pool.acquire(workspace).await?;
        Ok(held.link.info())
    }

    /// The sessions of a workspace that the agent itself knows of, the newest first as it lists them. Empty
    /// where it keeps no list.
    pub async fn sessions(&self, workspace: &Path) -> Result<Vec<AgentSession>, Failed> {
        let held = self.pool.acquire(workspace).await?;
        open::list(&self.program.name, &held.link, workspace).await
    }

    /// Has the agent log in by one of its methods, which may open a browser and take as long as a person does.
    pub async fn login(&self, workspace: &Path, method: &str) -> Result<(), Failed> {
        let held = self.pool.acquire(workspace).await?;
        open::login(&self.program.name, &held.link, method).await
    }

    /// Ends all its processes, and waits until they are gone. To be called when the daemon stops.
    pub async fn stop(&self) {
        self.pool.stop().await;
    }
}

impl Agent for AcpAgent {
    fn run_turn(&self, turn: TurnContext) -> BoxFuture<'_, Result<Completed, Failed>> {
        async move {
            let checkpoints = Checkpoints::new(self.checkpoints.clone(), &turn);
            let ended = Box::pin(turn::run(self, &turn, &checkpoints)).await;
            // How a turn left the workspace is seen when nothing of it runs any more.
            let note = match checkpoints.after_turn(&turn).await {
                Ok(note) => note,
                Err(error) => {
                    tracing::debug!(reason = error.reason, "how the turn left the workspace is not recorded");
                    None
                }
            };
            ended.map(|completed| Completed { verification: note, ..completed })
        }
        .boxed()
    }

    /// A question dies with the process that asked it, so that a turn which waited cannot be picked up.
    fn resumes(&self) -> bool {
        false
    }
}
