//! Wiring of what works in a workspace: the sandbox, the tools, the MCP servers, the checkpoints, the agents that others
//! wrote.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_agent_native::{More, MoreFor, MoreTools};
use ostler_checkpoint::{Limits as CheckpointLimits, Store};
use ostler_config::{Config, Environment, HomeAccess, McpServer, SandboxMode, server_config, with_variables};
use ostler_documents::Documents;
use ostler_door_kit::ToolServers;
use ostler_git::{Isolation, Worktrees};
use ostler_local_runner::LocalRunner;
use ostler_mcp::{Launch, Limits, McpServers, Prepared, SpawnFn};
use ostler_process::{Invocation, Program, ProgramFinder};
use ostler_runner::Runner;
use ostler_sandbox::{Choice, Profile, Sandbox, Settings, WorkspaceAccess};
use ostler_tools::{Tool, ToolSettings, Tools, WebSettings, child_environment};
use ostler_types::{Brought, Refusal, ToolKind, ToolSpec};

use crate::agents::{AgentParts, Agents};
use crate::daemon::{DaemonConfig, worktrees_path};
use crate::editors::{EditorGifts, Handed};
use crate::programs;
use crate::project::Projects;

/// Workspaces of which it is remembered what tools their sessions were offered.
const OFFERED: usize = 256;

/// What works in workspaces.
pub struct Workshop {
    /// The tools that every session has.
    pub tools: Arc<Tools>,
    /// The tools of other people's servers, by workspace.
    pub servers: Arc<Servers>,
    /// What workspaces say of themselves.
    pub projects: Arc<Projects>,
    /// What is never read for anybody, beside the places of secrets that tools know themselves.
    pub hidden: Vec<PathBuf>,
    /// The workspaces themselves.
    pub runner: Arc<dyn Runner>,
    /// The agents that others wrote.
    pub agents: Arc<Agents>,
    /// Finds programs that run with more rights than a sandboxed command.
    pub programs: ProgramFinder,
}

impl Workshop {
    /// Sets everything up. A process that runs no turns needs none of it, and pays for none.
    pub async fn open(settings: &DaemonConfig, documents: &Arc<dyn Documents>) -> Workshop {
        let DaemonConfig { config, environment, data_dir, .. } = settings;
        let projects = Arc::new(Projects::open(data_dir, Arc::clone(documents)).await);
        if settings.at_rest {
            let tools = Arc::new(Tools::new(ToolSettings::default()));
            let servers = Arc::new(Servers::none(Arc::clone(&projects)));
            let parts = AgentParts {
                environment: environment.clone(),
                sandbox: None,
                programs: programs::finder(config, environment, data_dir, None),
                tools: Arc::clone(&tools),
                runner: None,
                own_checks: None,
            };
            let agents = Arc::new(Agents::of(config, &parts, &settings.agents));
            let (hidden, programs) = (Vec::new(), parts.programs);
            let runner = Arc::new(runner(settings, &projects, &tools, None));
            return Workshop { tools, servers, projects, hidden, runner, agents, programs };
        }
        let helper = settings.sandbox_helper.clone();
        let sandbox = sandbox(config, environment, data_dir, helper, false).await;
        let finder = programs::finder(config, environment, data_dir, sandbox.as_ref());
        let hidden: Vec<PathBuf> = hidden(config).into_iter().chain([data_dir.to_owned()]).collect();
        let tools = Tools::new(ToolSettings {
            sandbox: sandbox.clone(),
            allow_unconfined: config.sandbox.mode == SandboxMode::Off,
            sandbox_network: config.sandbox.network,
            writable: config.sandbox.writable.iter().map(PathBuf::from).collect(),
            hidden: hidden.clone(),
            home: environment.get("HOME").map(PathBuf::from),
            environment: environment.variables().collect(),
            map_cache: Some(data_dir.join("maps")),
            web: WebSettings { enabled: config.web.fetch, ..WebSettings::default() },
        });
        let tools = Arc::new(tools);
        let runner = runner(settings, &projects, &tools, sandbox.as_ref());
        let runner: Arc<dyn Runner> = match checkpoints(data_dir) {
            Some(store) => Arc::new(runner.with_checkpoints(store)),
            None => Arc::new(runner),
        };
        let parts = AgentParts {
            environment: environment.clone(),
            sandbox: sandbox.clone(),
            programs: finder.clone(),
            tools: Arc::clone(&tools),
            runner: Some(Arc::clone(&runner)),
            own_checks: Some(projects.checks()),
        };
        let agents = Arc::new(Agents::of(config, &parts, &settings.agents));
        let servers = Servers::of(config, environment, (sandbox, &finder), Arc::clone(&projects));
        let servers = Arc::new(servers);
        Workshop { tools, servers, projects, hidden, runner, agents, programs: finder }
    }

    /// What sessions have of editors.
    pub fn editors(&self) -> EditorGifts {
        EditorGifts::new(Arc::clone(self.tools.editors()), Arc::clone(&self.servers))
    }

    /// Ends what was left running.
    pub async fn close(&self) {
        self.agents.stop().await;
        self.tools.stop().await;
        self.servers.servers.shut_down().await;
        self.servers.handed.end_all().await;
    }
}

/// The sandbox of this machine, unless there is no helper or the configuration turns it off; tried out anew, or as it
/// was found before.
pub async fn sandbox(
    config: &Config,
    environment: &Environment,
    data_dir: &Path,
    helper: Option<Program>,
    anew: bool,
) -> Option<Sandbox> {
    let helper = helper?;
    let choice = match config.sandbox.mode {
        SandboxMode::On => Choice::Best,
        SandboxMode::Bubblewrap => Choice::Bubblewrap,
        SandboxMode::Landlock => Choice::Landlock,
        SandboxMode::Off => return None,
    };
    let home = environment.get("HOME").map_or_else(|| PathBuf::from("/nonexistent"), PathBuf::from);
    let settings = Settings {
        home,
        data_dir: data_dir.to_owned(),
        scratch: data_dir.join("sandbox"),
        helper,
        helper_arguments: vec![crate::SANDBOX_HELPER.into()],
        hidden: hidden(config),
        hides_home: config.sandbox.home == HomeAccess::Hidden,
        readable: config.sandbox.readable.iter().map(PathBuf::from).collect(),
        search_path: environment
            .get("PATH")
            .map(|path| std::env::split_paths(path).collect())
            .unwrap_or_default(),
        choice,
        anew,
    };
    Some(Sandbox::probe(settings).await)
}

/// Files that hold secrets, wherever they lie: the configuration, and those that keys are read from.
fn hidden(config: &Config) -> Vec<PathBuf> {
    let keys =
        config.providers.values().filter_map(|provider| provider.api_key_file.as_ref()).map(PathBuf::from);
    config.file.iter().cloned().chain(keys).filter(|path| path.is_absolute() && path.exists()).collect()
}

/// The workspaces of this machine, without checkpoints. Where nothing confines git, those who want a worktree are asked
/// first.
fn runner(
    settings: &DaemonConfig,
    projects: &Arc<Projects>,
    tools: &Arc<Tools>,
    sandbox: Option<&Sandbox>,
) -> LocalRunner {
    let isolation = match sandbox.filter(|sandbox| sandbox.is_available()) {
        Some(sandbox) => Isolation::Sandbox(sandbox.clone()),
        None => Isolation::None,
    };
    let home = settings.environment.path("HOME").unwrap_or_else(|| PathBuf::from("/nonexistent"));
    LocalRunner::new(settings.data_dir.clone())
        .with_worktrees(Worktrees::new(worktrees_path(&settings.data_dir), isolation))
        .with_tools(Arc::clone(tools))
        .with_home(home)
        .with_approval(projects.approval())
}

fn checkpoints(data_dir: &Path) -> Option<Arc<Store>> {
    let opened = Store::open_leaving_alone(&data_dir.join("checkpoints"), &[data_dir]);
    let opened = opened.inspect_err(|error| tracing::warn!(%error, "turns cannot be undone")).ok()?;
    let opened = opened.with_placeholders(ostler_sandbox::is_placeholder);
    let store = Arc::new(opened.with_protected_names(ostler_sandbox::protected_name));
    let kept = Arc::clone(&store);
    tokio::task::spawn_blocking(move || {
        if let Err(error) = kept.clean_interrupted() {
            tracing::warn!(%error, "what an interrupted undo left behind was not removed");
        }
        if let Err(error) = kept.prune(&CheckpointLimits::default(), std::time::SystemTime::now()) {
            tracing::warn!(%error, "old checkpoints were not removed");
        }
    });
    Some(store)
}

/// Other people's tool servers.
pub struct Servers {
    servers: McpServers,
    projects: Arc<Projects>,
    /// What sessions of a workspace were offered last.
    offered: Mutex<HashMap<PathBuf, Arc<[ToolSpec]>>>,
    /// Those that editors bring for single sessions.
    pub handed: Handed,
}

impl Servers {
    fn none(projects: Arc<Projects>) -> Servers {
        let (handed, offered) = (Handed::new(spawn(None, Vec::new()), Vec::new()), Mutex::default());
        let servers = McpServers::new(Vec::new(), spawn(None, Vec::new()), Limits::default());
        Servers { servers, projects, offered, handed }
    }

    fn of(
        config: &Config,
        environment: &Environment,
        (sandbox, finder): (Option<Sandbox>, &ProgramFinder),
        projects: Arc<Projects>,
    ) -> Servers {
        let of_section = |(name, server): (&String, &McpServer)| {
            server_config(name, &with_variables(server.clone(), environment))
        };
        let servers = config.mcp.iter().map(of_section).collect();
        let sandbox = sandbox.map(|sandbox| (sandbox, config.sandbox.network));
        let unconfined = config.sandbox.mode == SandboxMode::Off;
        let variables = child_environment(environment.variables());
        let spawn = match unconfined {
            true => spawn_in_the_open(finder.clone(), variables),
            false => spawn(sandbox, variables),
        };
        let handed = Handed::new(Arc::clone(&spawn), config.mcp.keys().cloned().collect());
        let servers = McpServers::new(servers, spawn, Limits::default());
        Servers { servers, projects, offered: Mutex::default(), handed }
    }

    /// As the native agent asks for them.
    pub fn more_tools(self: &Arc<Servers>) -> MoreTools {
        let servers = Arc::clone(self);
        Arc::new(move |asked: MoreFor| {
            let servers = Arc::clone(&servers);
            async move {
                let mut tools = servers.for_workspace(&asked.workspace, asked.trusted).await;
                tools.extend(servers.handed.tools(asked.session, &asked.workspace).await);
                let notice = if asked.tells { servers.handed.notice(asked.session) } else { None };
                More { tools, notice }
            }
            .boxed()
        })
    }

    /// The tools of the configured servers, and of those that a trusted workspace brings.
    async fn for_workspace(&self, workspace: &Path, trusted: bool) -> Vec<Arc<dyn Tool>> {
        let own = self.projects.servers(workspace, trusted).await;
        self.servers.set_own(workspace, own).await;
        // Trust may have been taken back meanwhile, by somebody who then found nothing to stop.
        if self.projects.is_revoked(workspace) {
            self.servers.set_own(workspace, Vec::new()).await;
        }
        let tools = self.servers.for_workspace(workspace).await;
        let mut offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        if offered.len() >= OFFERED && !offered.contains_key(workspace) {
            offered.clear();
        }
        offered.insert(workspace.to_owned(), tools.iter().map(|tool| tool.spec()).collect());
        drop(offered);
        tools
    }

    /// The tools of servers that sessions of a workspace were offered last. Starts nothing.
    pub fn offered(&self, workspace: &Path) -> Arc<[ToolSpec]> {
        let offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        offered.get(workspace).cloned().unwrap_or_default()
    }
}

impl ToolServers for Servers {
    fn tools(&self, workspace: PathBuf, trusted: bool) -> BoxFuture<'_, Vec<(ToolSpec, ToolKind)>> {
        async move {
            let tools = self.for_workspace(&workspace, trusted).await;
            tools.iter().map(|tool: &Arc<dyn Tool>| (tool.spec(), tool.kind())).collect()
        }
        .boxed()
    }

    fn status(&self) -> Vec<serde_json::Value> {
        self.servers.status().iter().filter_map(|status| serde_json::to_value(status).ok()).collect()
    }

    fn brought(&self, workspace: PathBuf, trusted: bool) -> BoxFuture<'_, Brought> {
        self.projects.brought(workspace, trusted).boxed()
    }

    fn trust(&self, workspace: PathBuf, trusted: bool) -> BoxFuture<'_, Result<(), Refusal>> {
        async move {
            let noted = self.projects.trust(workspace.clone(), trusted).await;
            if !trusted {
                self.servers.set_own(&workspace, Vec::new()).await;
            }
            noted.map_err(|error| {
                let message = format!("what the workspace brings cannot be remembered: {error}");
                Refusal::conflict("trust_not_kept", message)
            })
        }
        .boxed()
    }
}

/// Starts servers confined, or not at all.
fn spawn(sandbox: Option<(Sandbox, bool)>, variables: Vec<(OsString, OsString)>) -> SpawnFn {
    Arc::new(move |launch: &Launch| {
        let available = sandbox.as_ref().filter(|(sandbox, _)| sandbox.is_available());
        let Some((sandbox, network)) = available else {
            return Err("nothing on this machine confines it, and servers are not run unconfined; `ostler doctor` says \
                        more"
                .to_owned());
        };
        let mut profile = Profile::new(&launch.workspace);
        profile.network = *network;
        // A server runs for as long as its sessions.
        if !sandbox.holds_protected_paths() {
            profile.access = WorkspaceAccess::ReadOnly;
        }
        let confined = sandbox.command(&profile, &launch.program, &launch.arguments);
        let confined = confined.map_err(|error| error.to_string())?;
        let (command, confinement) = confined.envs(variables.clone()).envs(&launch.env).prepare();
        Ok(Prepared { command, keep: Box::new(confinement) })
    })
}

/// Starts servers as they are, because the owner has turned the sandbox off. A program that lies in a workspace
/// is not started so.
fn spawn_in_the_open(finder: ProgramFinder, variables: Vec<(OsString, OsString)>) -> SpawnFn {
    Arc::new(move |launch: &Launch| {
        let program = finder.find(&launch.program).map_err(|error| error.to_string())?;
        let invocation = Invocation::new(program).args(&launch.arguments).current_dir(&launch.workspace);
        let command =
            invocation.envs(variables.clone()).envs(&launch.env).envs([("PATH", finder.path())]).prepare();
        Ok(Prepared { command, keep: Box::new(()) })
    })
}
