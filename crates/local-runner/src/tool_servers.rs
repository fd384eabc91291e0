//! Tool servers: those of the configuration, those that trusted workspaces bring, and those of editors.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_mcp::{McpLimits, McpServers, PreparedChild, ServerConfig, ServerLaunch, ServerSpawnFn};
use ostler_process::{Invocation, ProgramFinder};
use ostler_runner::Tool;
use ostler_sandbox::{Sandbox, SandboxProfile, WorkspaceAccess};
use ostler_types::ToolSpec;

use crate::editor_servers::EditorServers;
use crate::workspace_settings::WorkspaceSettingsReader;

/// Workspaces of which it is remembered what tools their sessions were offered.
const MAX_REMEMBERED_WORKSPACES: usize = 256;

/// The tool servers of a runner.
pub struct RunnerToolServers {
    servers: McpServers,
    settings_reader: WorkspaceSettingsReader,
    /// What sessions of a workspace were offered last.
    offered: Mutex<HashMap<PathBuf, Arc<[ToolSpec]>>>,
    /// The workspaces that are trusted no longer, so that a turn that began before starts nothing more.
    revoked: Mutex<BTreeSet<PathBuf>>,
    /// Those that editors bring for single sessions.
    of_editors: EditorServers,
}

impl RunnerToolServers {
    /// These servers, and those that workspaces and editors bring, all started by `spawn`.
    pub fn new(configured: Vec<ServerConfig>, spawn: ServerSpawnFn) -> RunnerToolServers {
        let names = configured.iter().map(|server| server.name.clone()).collect();
        RunnerToolServers {
            of_editors: EditorServers::new(Arc::clone(&spawn), names),
            servers: McpServers::new(configured, spawn, McpLimits::default()),
            settings_reader: WorkspaceSettingsReader::default(),
            offered: Mutex::default(),
            revoked: Mutex::default(),
        }
    }

    /// Those that editors bring for single sessions.
    pub fn of_editors(&self) -> &EditorServers {
        &self.of_editors
    }

    /// The tools of the configured servers, and of those that a trusted workspace brings, without those that are held
    /// back.
    pub(crate) async fn tools(
        &self,
        workspace: &Path,
        trusted: bool,
        held_back: &[String],
    ) -> Vec<Arc<dyn Tool>> {
        let mut own = match trusted && !self.is_revoked(workspace) {
            true => self.settings_reader.servers(workspace).await,
            false => Vec::new(),
        };
        own.retain(|server| !held_back.contains(&server.name));
        self.servers.set_workspace_servers(workspace, own).await;
        // Trust may have been taken back meanwhile, by somebody who then found nothing to stop.
        if self.is_revoked(workspace) {
            self.servers.set_workspace_servers(workspace, Vec::new()).await;
        }
        let tools = self.servers.for_workspace(workspace).await;
        let mut offered = lock(&self.offered);
        if offered.len() >= MAX_REMEMBERED_WORKSPACES && !offered.contains_key(workspace) {
            offered.clear();
        }
        offered.insert(workspace.to_owned(), tools.iter().map(|tool| tool.spec()).collect());
        drop(offered);
        tools
    }

    /// The tools of servers that sessions of a workspace were offered last. Starts nothing.
    pub(crate) fn last_offered(&self, workspace: &Path) -> Arc<[ToolSpec]> {
        lock(&self.offered).get(workspace).cloned().unwrap_or_default()
    }

    pub(crate) fn statuses(&self) -> Vec<serde_json::Value> {
        self.servers.status().iter().filter_map(|status| serde_json::to_value(status).ok()).collect()
    }

    /// Notes that a workspace is trusted from now on; or that it is not, and ends the servers that it brought.
    pub(crate) async fn set_trusted(&self, workspace: PathBuf, trusted: bool) {
        if trusted {
            lock(&self.revoked).remove(&workspace);
            return;
        }
        lock(&self.revoked).insert(workspace.clone());
        self.servers.set_workspace_servers(&workspace, Vec::new()).await;
    }

    /// Ends all of them.
    pub(crate) async fn stop(&self) {
        self.servers.shut_down().await;
        self.of_editors.end_all().await;
    }

    fn is_revoked(&self, workspace: &Path) -> bool {
        lock(&self.revoked).contains(workspace)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts servers confined, or not at all.
pub fn spawn_confined(
    sandbox: Option<(Sandbox, bool)>,
    variables: Vec<(OsString, OsString)>,
) -> ServerSpawnFn {
    Arc::new(move |launch: &ServerLaunch| {
        let available = sandbox.as_ref().filter(|(sandbox, _)| sandbox.is_available());
        let Some((sandbox, network)) = available else {
            return Err("nothing on this machine confines it, and servers are not run unconfined; `ostler doctor` says \
                        more"
                .to_owned());
        };
        let mut profile = SandboxProfile::new(&launch.workspace);
        profile.network = *network;
        // A server runs for as long as its sessions.
        profile.long_lived = true;
        if !sandbox.holds_protected_paths() {
            profile.access = WorkspaceAccess::ReadOnly;
        }
        let confined = sandbox.command(&profile, &launch.program, &launch.arguments);
        let confined = confined.map_err(|error| error.to_string())?;
        let (command, confinement) = confined.envs(variables.clone()).envs(&launch.env).prepare();
        Ok(PreparedChild { command, keep_alive: Box::new(confinement) })
    })
}

/// Starts servers as they are, because the owner has turned the sandbox off. A program that lies in a workspace
/// is not started so.
pub fn spawn_unconfined(finder: ProgramFinder, variables: Vec<(OsString, OsString)>) -> ServerSpawnFn {
    Arc::new(move |launch: &ServerLaunch| {
        let program = finder.find(&launch.program).map_err(|error| error.to_string())?;
        let invocation = Invocation::new(program).args(&launch.arguments).current_dir(&launch.workspace);
        let invocation = invocation
            .envs(finder.environment(variables.clone()))
            .envs(&launch.env)
            .envs([("PATH", finder.path())]);
        Ok(PreparedChild { command: invocation.prepare(), keep_alive: Box::new(()) })
    })
}
