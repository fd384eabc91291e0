//! The runner whose workspaces lie on the disk of this process. It puts the crates that work on files (`checkpoint`,
//! `git`, `tools`, `mcp`, `workspace-context`) and the agents of others behind the contract of `runner`, off the async
//! threads, and adds no copy and no task to what they do.

mod agents;
mod check_content;
mod check_files;
mod checkpoints;
mod context;
mod documented_checks;
mod editor_servers;
mod file_list_cache;
mod read_text;
mod tool_servers;
mod toolbox;
mod workspace_settings;
mod workspaces;
mod worktrees;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_checkpoint::CheckpointStore;
use ostler_runner::{
    Checkpoints, NoAgents, Runner, ThirdPartyAgents, Toolbox, WorkspaceContext, Workspaces, Worktrees,
};
use ostler_tools::{ToolSettings, Tools};
use ostler_types::SessionId;
use ostler_workspace_context::ContextGatherer;

use checkpoints::LocalCheckpoints;
use workspaces::LocalWorkspaces;
use worktrees::LocalWorktrees;

pub use agents::{AgentDependencies, ConfiguredAgents, acp_agent, expand, program};
pub use context::ContextGatherSettings;
pub use editor_servers::{EditorServers, UnusedServer};
pub use tool_servers::{RunnerToolServers, spawn_confined, spawn_unconfined};

/// The workspaces of this machine. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct LocalRunner {
    workspaces: LocalWorkspaces,
    checkpoints: Option<LocalCheckpoints>,
    worktrees: Option<Arc<LocalWorktrees>>,
    tools: Arc<Tools>,
    servers: Option<Arc<RunnerToolServers>>,
    context: Arc<ContextGatherSettings>,
    gatherer: Arc<ContextGatherer>,
    agents: Arc<dyn ThirdPartyAgents>,
}

impl LocalRunner {
    /// A runner whose own data lies there. It keeps no checkpoints, makes no worktrees, knows no unfit workspace and has
    /// no tool servers and no agents; its tools run nothing unasked, since nothing confines them.
    pub fn new(data_dir: PathBuf) -> LocalRunner {
        LocalRunner {
            workspaces: LocalWorkspaces::new(data_dir),
            checkpoints: None,
            worktrees: None,
            tools: Arc::new(Tools::new(ToolSettings::default())),
            servers: None,
            context: Arc::default(),
            gatherer: Arc::default(),
            agents: Arc::new(NoAgents),
        }
    }

    /// The same, which keeps checkpoints in this store.
    #[must_use]
    pub fn with_checkpoints(self, store: Arc<CheckpointStore>) -> LocalRunner {
        LocalRunner { checkpoints: Some(LocalCheckpoints::new(store)), ..self }
    }

    /// The same, which makes worktrees. Tools must be able to see them, so they lie outside of the data directory; no
    /// other runner may use their directory.
    #[must_use]
    pub fn with_worktrees(self, worktrees: ostler_git::GitWorktrees) -> LocalRunner {
        LocalRunner { worktrees: Some(Arc::new(LocalWorktrees::new(worktrees))), ..self }
    }

    /// The same with these built-in tools.
    #[must_use]
    pub fn with_tools(self, tools: Arc<Tools>) -> LocalRunner {
        LocalRunner { tools, ..self }
    }

    /// The same with these tool servers.
    #[must_use]
    pub fn with_servers(self, servers: Arc<RunnerToolServers>) -> LocalRunner {
        LocalRunner { servers: Some(servers), ..self }
    }

    /// The same, which gathers what models are told in this way.
    #[must_use]
    pub fn with_context(self, context: ContextGatherSettings) -> LocalRunner {
        LocalRunner { context: Arc::new(context), ..self }
    }

    /// The same with the agents of others. They use the runner as it was before, which has none.
    #[must_use]
    pub fn with_agents(self, agents: Arc<dyn ThirdPartyAgents>) -> LocalRunner {
        LocalRunner { agents, ..self }
    }

    /// The same, where nobody works in a directory that the sandbox could not confine anybody to, given this home.
    #[must_use]
    pub fn with_home(self, home: PathBuf) -> LocalRunner {
        LocalRunner { workspaces: self.workspaces.with_home(home), ..self }
    }

    /// Ends the processes that sessions left running, and all tool servers.
    pub async fn stop(&self) {
        self.tools.stop().await;
        if let Some(servers) = &self.servers {
            servers.stop().await;
        }
    }
}

impl Runner for LocalRunner {
    fn workspaces(&self) -> &dyn Workspaces {
        &self.workspaces
    }

    fn checkpoints(&self) -> Option<&dyn Checkpoints> {
        self.checkpoints.as_ref().map(|checkpoints| checkpoints as &dyn Checkpoints)
    }

    fn worktrees(&self) -> Option<&dyn Worktrees> {
        self.worktrees.as_deref().map(|worktrees| worktrees as &dyn Worktrees)
    }

    fn toolbox(&self) -> &dyn Toolbox {
        self
    }

    fn context(&self) -> &dyn WorkspaceContext {
        self
    }

    fn agents(&self) -> &dyn ThirdPartyAgents {
        &*self.agents
    }

    fn end_session(&self, session: SessionId) -> BoxFuture<'_, ()> {
        self.tools.end_session(session).boxed()
    }
}
