//! Makes the runner of this machine from the configuration: the sandbox, the tools, the tool servers, the checkpoints, the
//! agents of others.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostler_acceptance::Baselines;
use ostler_checkpoint::{CheckpointStore, StoreLimits as CheckpointLimits};
use ostler_config::{
    Config, Environment, HomeAccess, McpSection, SandboxMode, server_config, with_variables,
};
use ostler_engine::SystemClock;
use ostler_git::{GitWorktrees, Isolation};
use ostler_local_runner::{
    AgentDependencies, ConfiguredAgents, ContextGatherSettings, LocalRunner, RunnerToolServers,
    spawn_confined, spawn_unconfined,
};
use ostler_process::{Program, ProgramFinder, child_environment};
use ostler_sandbox::{BackendChoice, GIT_REPOSITORY, Sandbox, SandboxSettings, protected_name};
use ostler_tools::{Editors, ToolSettings, Tools, WebSettings};

use crate::daemon::{DaemonConfig, worktrees_path};
use crate::programs;

/// The runner of this machine, and what its owner ends with it.
pub(crate) struct LocalMachine {
    pub(crate) runner: LocalRunner,
    pub(crate) servers: Arc<RunnerToolServers>,
    pub(crate) editors: Arc<Editors>,
    agents: Arc<ConfiguredAgents>,
    /// Finds programs that run with more rights than a sandboxed command.
    pub(crate) programs: ProgramFinder,
}

impl LocalMachine {
    /// Sets everything up. A process that runs no turns needs no sandbox, no checkpoints and no servers, and pays for
    /// none.
    pub(crate) async fn open(settings: &DaemonConfig, baselines: &Arc<Baselines>) -> LocalMachine {
        let DaemonConfig { config, environment, data_dir, .. } = settings;
        let sandbox = match settings.turns_disabled {
            true => None,
            false => {
                let helper = settings.sandbox_helper.clone();
                sandbox(config, environment, data_dir, helper, false).await
            }
        };
        let programs = programs::program_finder(config, environment, data_dir, sandbox.as_ref());
        let tools = Arc::new(match settings.turns_disabled {
            true => Tools::new(ToolSettings::default()),
            false => Tools::new(tool_settings(settings, sandbox.clone(), &programs)),
        });
        let servers = Arc::new(match settings.turns_disabled {
            true => RunnerToolServers::new(Vec::new(), spawn_confined(None, Vec::new())),
            false => servers(config, environment, sandbox.clone(), &programs),
        });
        let home = environment.path("HOME").unwrap_or_else(|| PathBuf::from("/nonexistent"));
        let isolation = isolation(sandbox.as_ref());
        let asks = matches!(isolation, Isolation::None) && config.sandbox.mode != SandboxMode::Off;
        let worktrees = GitWorktrees::new(worktrees_path(data_dir), isolation);
        let worktrees = if asks { worktrees.asking_first() } else { worktrees };
        let mut runner = LocalRunner::new(data_dir.clone())
            .with_worktrees(worktrees.with_home(home.clone()))
            .with_tools(Arc::clone(&tools))
            .with_servers(Arc::clone(&servers))
            .with_home(home.clone())
            .with_context(context_settings(settings));
        if let Some(store) = (!settings.turns_disabled).then(|| checkpoints(data_dir, &home)).flatten() {
            runner = runner.with_checkpoints(store);
        }
        let parts = AgentDependencies {
            environment: environment.clone(),
            sandbox,
            programs: programs.clone(),
            runner: Arc::new(runner.clone()),
            baselines: Some(Arc::clone(baselines)),
            clock: Arc::new(SystemClock),
        };
        let agents = Arc::new(ConfiguredAgents::from_config(config, &parts, &settings.agents));
        let runner = runner.with_agents(Arc::<ConfiguredAgents>::clone(&agents));
        LocalMachine { runner, servers, editors: Arc::clone(tools.editors()), agents, programs }
    }

    /// Ends what was left running.
    pub(crate) async fn stop(&self) {
        self.agents.stop().await;
        self.runner.stop().await;
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
        SandboxMode::On => BackendChoice::Best,
        SandboxMode::Bubblewrap => BackendChoice::Bubblewrap,
        SandboxMode::Landlock => BackendChoice::Landlock,
        SandboxMode::Off => return None,
    };
    let home = environment.get("HOME").map_or_else(|| PathBuf::from("/nonexistent"), PathBuf::from);
    let settings = SandboxSettings {
        home,
        data_dir: data_dir.to_owned(),
        scratch: data_dir.join("sandbox"),
        helper,
        helper_arguments: vec![crate::SANDBOX_HELPER.into()],
        hidden: secret_files(config),
        hides_home: config.sandbox.home == HomeAccess::Hidden,
        readable: config.sandbox.readable.iter().map(PathBuf::from).collect(),
        search_path: environment
            .get("PATH")
            .map(|path| std::env::split_paths(path).collect())
            .unwrap_or_default(),
        backend_choice: choice,
        ignore_cached_probe: anew,
    };
    Some(Sandbox::probe(settings).await)
}

/// Files that hold secrets, wherever they lie: the configuration, and those that keys are read from.
fn secret_files(config: &Config) -> Vec<PathBuf> {
    let keys =
        config.providers.values().filter_map(|provider| provider.api_key_file.as_ref()).map(PathBuf::from);
    config.file.iter().cloned().chain(keys).filter(|path| path.is_absolute() && path.exists()).collect()
}

/// Files and directories that nothing reads for anybody.
fn hidden_paths(settings: &DaemonConfig) -> Vec<PathBuf> {
    secret_files(&settings.config).into_iter().chain([settings.data_dir.clone()]).collect()
}

fn tool_settings(
    settings: &DaemonConfig,
    sandbox: Option<Sandbox>,
    programs: &ProgramFinder,
) -> ToolSettings {
    let DaemonConfig { config, environment, data_dir, .. } = settings;
    ToolSettings {
        sandbox,
        allow_unconfined: config.sandbox.mode == SandboxMode::Off,
        sandbox_network: config.sandbox.network,
        writable: config.sandbox.writable.iter().map(PathBuf::from).collect(),
        hidden: hidden_paths(settings),
        home: environment.get("HOME").map(PathBuf::from),
        environment: environment.variables().collect(),
        programs: Some(programs.clone()),
        map_cache: Some(data_dir.join("maps")),
        web: WebSettings { enabled: config.web.fetch, ..WebSettings::default() },
    }
}

/// What sessions are told of their workspaces.
fn context_settings(settings: &DaemonConfig) -> ContextGatherSettings {
    let beside = settings.config_path.as_ref().map(|file| file.with_file_name("skills"));
    let named = settings.config.context.skills.iter().map(PathBuf::from);
    ContextGatherSettings {
        skill_directories: beside.into_iter().chain(named).collect(),
        hidden: if settings.turns_disabled { Vec::new() } else { hidden_paths(settings) },
        ..ContextGatherSettings::default()
    }
}

/// The tool servers of the configuration. They are confined, unless the owner has turned the sandbox off.
fn servers(
    config: &Config,
    environment: &Environment,
    sandbox: Option<Sandbox>,
    programs: &ProgramFinder,
) -> RunnerToolServers {
    let of_section = |(name, server): (&String, &McpSection)| {
        server_config(name, &with_variables(server.clone(), environment))
    };
    let variables = child_environment(environment.variables());
    let spawn = match config.sandbox.mode == SandboxMode::Off {
        true => spawn_unconfined(programs.clone(), variables),
        false => spawn_confined(sandbox.map(|sandbox| (sandbox, config.sandbox.network)), variables),
    };
    RunnerToolServers::new(config.mcp.iter().map(of_section).collect(), spawn)
}

/// Where nothing confines git, those who want a worktree are asked first.
fn isolation(sandbox: Option<&Sandbox>) -> Isolation {
    match sandbox.filter(|sandbox| sandbox.is_available()) {
        Some(sandbox) => Isolation::Sandbox(sandbox.clone()),
        None => Isolation::None,
    }
}

fn checkpoints(data_dir: &Path, home: &Path) -> Option<Arc<CheckpointStore>> {
    let opened = CheckpointStore::open_excluding(&data_dir.join("checkpoints"), &[data_dir]);
    let opened = opened.inspect_err(|error| tracing::warn!(%error, "turns cannot be undone")).ok()?;
    let opened = opened.with_placeholders(ostler_sandbox::is_placeholder);
    let home = home.to_owned();
    let protected = move |workspace: &Path, path: &Path, removes: bool| {
        let name = protected_name(workspace, path, &home);
        name.filter(|name| !removes || *name != GIT_REPOSITORY)
    };
    let store = Arc::new(opened.with_protected_names(Arc::new(protected)));
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
