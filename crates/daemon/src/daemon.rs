//! Wiring: a data directory and a configuration become a running daemon.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ostler_acceptance::Baselines;
use ostler_agent::Agent;
use ostler_agent_native::{NativeAgent, TurnContextSettings, loop_tools};
use ostler_config::{Auth, Config, Environment, LogStream};
use ostler_documents::{Documents, FileDocuments};
use ostler_door_kit::{
    DaemonToken, DoorContext, DoorSettings, ListenerAccess, Listeners, Logins, ServeError, TokenError, serve,
};
use ostler_doors::acp::AcpDoor;
use ostler_doors::gateway::GatewayDoor;
use ostler_doors::jsonl::JsonlDoor;
use ostler_engine::{Engine, EngineConfig, EngineError, SystemClock};
use ostler_eventlog::{Disk, FileLog, OpenError, RealDisk};
use ostler_http_api::{ConfigurationInfo, HttpDoor, built_page};
use ostler_index::{IndexError, SqliteIndex};
use ostler_models::ModelRegistry;
use ostler_process::{Program, ProgramFinder};
use ostler_runner::Runner;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::context_size::NativeContextMeter;
use crate::editors::EditorBridge;
use crate::gateway::{self, GatewayPort, RunningGateway};
use crate::local_machine::LocalMachine;
use crate::models::{ConfiguredModels, models, provider_description, providers};
use crate::secrets;
use crate::tool_previews::ToolPreviews;
use crate::workspace_trust::WorkspaceTrustService;

/// How long an actor without turn and subscriber stays in memory.
const IDLE_AFTER: Duration = Duration::from_secs(30);

/// What a daemon is made of. Nothing else is read from the process that it runs in.
pub struct DaemonConfig {
    /// Where everything is kept.
    pub data_dir: PathBuf,
    /// Where to listen for TCP, if at all. Its socket in the data directory is there in any case.
    pub listen: Option<SocketAddr>,
    /// The configuration.
    pub config: Config,
    /// Where the configuration file is or would be: `skills` beside it is read, and people are told of it.
    pub config_path: Option<PathBuf>,
    /// Where API keys and the home directory are found, and what child processes get a part of.
    pub environment: Environment,
    /// The directory of sessions that are made where none has to be named, unless nobody should work there or the
    /// configuration names another.
    pub working_directory: Option<PathBuf>,
    /// The program that confines others when it is started with [`crate::SANDBOX_HELPER`], where the helper that is
    /// embedded in this one cannot be started; without one, nothing is confined. [`crate::sandbox_helper`] makes the
    /// program of the caller such a one.
    pub sandbox_helper: Option<Program>,
    /// Agents that sessions can have besides the native one and those of the configuration, by name.
    pub agents: BTreeMap<String, Arc<dyn Agent>>,
    /// How files are written; tests inject faults here.
    pub disk: Arc<dyn Disk>,
    /// How long an idle session stays in memory.
    pub idle_after: Duration,
    /// Whether sessions are only looked at and answered, and no turn is run.
    pub turns_disabled: bool,
}

/// A daemon at work. Stop it with [`Daemon::stop`]; dropping it is like killing it.
pub struct Daemon {
    /// Where TCP clients find it.
    pub address: Option<SocketAddr>,
    /// Where clients of the gateway find it.
    pub gateway_port: GatewayPort,
    gateway: Option<RunningGateway>,
    engine: Engine,
    stop: CancellationToken,
    served: JoinHandle<()>,
    machine: LocalMachine,
    context: DoorContext,
    acp: AcpDoor,
    logins: Arc<Logins>,
}

/// Why a daemon did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data directory cannot be used; most likely another daemon has it.
    #[error(transparent)]
    Log(#[from] OpenError),
    /// The index cannot be opened.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The token cannot be used.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// It cannot listen.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

impl DaemonConfig {
    /// An ordinary daemon, which can be reached by its socket only.
    pub fn new(data_dir: PathBuf, config: Config, environment: Environment) -> DaemonConfig {
        DaemonConfig {
            data_dir,
            listen: None,
            config_path: config.file.clone(),
            config,
            environment,
            working_directory: None,
            sandbox_helper: None,
            agents: BTreeMap::new(),
            disk: Arc::new(RealDisk),
            idle_after: IDLE_AFTER,
            turns_disabled: false,
        }
    }
}

impl Daemon {
    /// Starts a daemon. When it returns, clients can come in.
    pub async fn start(settings: DaemonConfig) -> Result<Daemon, StartError> {
        let data_dir = &settings.data_dir;
        let log = Arc::new(FileLog::open(data_dir, settings.disk.clone())?);
        let documents: Arc<dyn Documents> = Arc::new(FileDocuments::new(data_dir));
        // Recovery may start turns, so everything that can fail comes before the engine.
        let (config, environment) = (&settings.config, &settings.environment);
        let baselines = Arc::new(Baselines::load(Arc::clone(&documents)).await);
        let machine = LocalMachine::open(&settings, &baselines);
        let listeners = Listeners::bind(settings.listen, &socket_path(data_dir))?;
        let (index, index_opened) = SqliteIndex::open(&data_dir.join("index.db"))?;
        let token = Arc::new(DaemonToken::open(&token_path(data_dir))?);
        let machine = machine.await;
        let runner: Arc<dyn Runner> = Arc::new(machine.runner.clone());
        let secrets = secrets::initial_secrets(config, environment);
        if let Ok(token) = std::fs::read_to_string(token_path(data_dir)) {
            secrets.add(&token);
        }
        let models = Arc::new(models(config, environment, &machine.programs, &secrets));
        let max_steps = settings.config.turn_loop.max_steps;
        let native = NativeAgent::new(models.clone(), Arc::clone(&runner), max_steps)
            .with_secrets(secrets.clone())
            .with_baselines(Arc::clone(&baselines))
            .with_context(context_settings(config));
        let native: Arc<dyn Agent> = Arc::new(native);
        let engine = Engine::start(EngineConfig {
            log,
            index: Arc::new(index),
            index_opened,
            documents: documents.clone(),
            data_dir: data_dir.clone(),
            agents: runner
                .agents()
                .named_agents()
                .into_iter()
                .chain([("native".to_owned(), native)])
                .collect(),
            clock: Arc::new(SystemClock),
            runner: Arc::clone(&runner),
            rules: settings.config.approval.rules.clone(),
            secrets: secrets.clone(),
            idle_after: settings.idle_after,
            turns_disabled: settings.turns_disabled,
        })
        .await;
        let workspace = gateway::workspace(&settings, &*runner).await;
        let trust = WorkspaceTrustService { engine: engine.clone(), baselines };
        let shared = door_settings(config, workspace, models, (&runner, trust));
        let address = listeners.address();
        let logins = Arc::new(Logins::open(documents, token.clone(), Arc::new(SystemClock), address).await);
        let token = (settings.config.server.auth == Auth::On).then_some(token);
        let gateway = open_gateway(&settings, &engine, &shared, token.clone());
        let context = DoorContext::new(engine.clone(), shared);
        let http = HttpDoor::new(context.clone())
            .with_page(built_page, logins.clone())
            .with_configuration(configured(&settings, &machine.programs));
        let editors = EditorBridge::new(Arc::clone(&machine.editors), Arc::clone(&machine.servers));
        let acp = AcpDoor::new(context.clone()).with_editors(Arc::new(editors));
        let router = |access: ListenerAccess| {
            let access = access.with_logins(logins.clone());
            let gateway = gateway.as_ref().map(|gateway| &gateway.door);
            http.routes().merge(ostler_doors::routes(&context, &acp, gateway, &access)).guarded(access)
        };
        let unix = router(ListenerAccess::unix(token.clone()));
        let tcp = address.map_or_else(|| unix.clone(), |address| router(ListenerAccess::tcp(address, token)));
        let stop = CancellationToken::new();
        let served = tokio::spawn(serve(listeners, tcp, unix, stop.clone()));
        let gateway_port = gateway.as_ref().map_or(GatewayPort::Off, |gateway| gateway.port.clone());
        Ok(Daemon { address, gateway_port, gateway, engine, stop, served, machine, context, acp, logins })
    }

    /// Where the page is, with a one-time code where one is needed.
    pub fn page_address(&self, auth: Auth) -> std::io::Result<String> {
        let invitation = match auth {
            Auth::On => self.logins.create_login_link()?,
            Auth::Off => None,
        };
        let plain = || self.address.map(|address| format!("http://{address}/")).unwrap_or_default();
        Ok(invitation.map_or_else(plain, |invitation| invitation.address))
    }

    /// The way in for lines of JSON.
    pub fn jsonl(&self) -> JsonlDoor {
        JsonlDoor::new(self.context.clone())
    }

    /// The way in for editors.
    pub fn acp(&self) -> AcpDoor {
        self.acp.clone()
    }

    /// Returns when no turn runs that could go on by itself.
    pub async fn wait_until_idle(&self) {
        self.engine.wait_until_idle().await;
    }

    /// Returns when nobody speaks lines to it any more, and no turn runs either.
    pub async fn wait_until_unused(&self) {
        self.context.wait_upgraded_closed().await;
        self.engine.wait_until_idle().await;
    }

    /// Makes the readable files of every session anew from the logs.
    pub async fn rebuild_views(&self) -> Result<(), EngineError> {
        self.engine.rebuild_views().await
    }

    /// Ends turns in order, lets open requests finish, and returns when everything is on disk.
    pub async fn stop(self) {
        self.engine.stop().await;
        if let Some(gateway) = self.gateway {
            gateway.close().await;
        }
        self.context.close_upgraded().await;
        self.stop.cancel();
        _ = self.served.await;
        self.machine.stop().await;
    }
}

/// Opens the gateway of a daemon that others can reach.
fn open_gateway(
    settings: &DaemonConfig,
    engine: &Engine,
    shared: &DoorSettings,
    token: Option<Arc<DaemonToken>>,
) -> Option<RunningGateway> {
    let config = &settings.config;
    settings.listen.filter(|_| config.gateway.enabled)?;
    let of_sessions = gateway::settings(shared);
    let door = GatewayDoor::new(engine.clone(), of_sessions, gateway::limits(&config.gateway));
    Some(RunningGateway::open(door, config.gateway.listen, |address| ListenerAccess::tcp(address, token)))
}

/// Where the token of a data directory lies.
pub fn token_path(data_dir: &Path) -> PathBuf {
    data_dir.join("token")
}

/// Where the git worktrees of a data directory's sessions lie: beside it, because tools see nothing in it.
pub fn worktrees_path(data_dir: &Path) -> PathBuf {
    sibling_directory(data_dir, "-worktrees")
}

/// A directory beside that of the data, called like it.
pub(crate) fn sibling_directory(data_dir: &Path, suffix: &str) -> PathBuf {
    let mut name = data_dir.file_name().unwrap_or_else(|| "ostler".as_ref()).to_owned();
    name.push(suffix);
    data_dir.with_file_name(name)
}

/// Where the socket of a data directory lies.
pub fn socket_path(data_dir: &Path) -> PathBuf {
    data_dir.join("ostler.sock")
}

/// What sessions are told of their workspaces, and when their conversations are made shorter.
fn context_settings(config: &Config) -> TurnContextSettings {
    TurnContextSettings {
        bundle: config.context.bundle,
        bundle_tokens: config.context.bundle_tokens.into(),
        compact_at_percent: config.context.compact_at_percent,
    }
}

/// What people are shown of the configuration.
fn configured(settings: &DaemonConfig, programs: &ProgramFinder) -> ConfigurationInfo {
    let providers = providers(&settings.config, &settings.environment, programs);
    let providers = move || providers.iter().map(provider_description).collect();
    ConfigurationInfo { providers: Box::new(providers), config_path: settings.config_path.clone() }
}

fn door_settings(
    config: &Config,
    workspace: PathBuf,
    models: Arc<ModelRegistry>,
    (runner, trust): (&Arc<dyn Runner>, WorkspaceTrustService),
) -> DoorSettings {
    let built_in = runner.toolbox().built_in_tools();
    let described =
        built_in.specs().iter().cloned().zip(built_in.kinds().map(|(_, kind)| kind)).collect::<Vec<_>>();
    let tools: Vec<_> = loop_tools().into_iter().chain(described).collect();
    DoorSettings {
        policy: config.policy(),
        fallback_models: config.models.fallback.clone(),
        raw_log: config.logging.streams.contains(&LogStream::Raw),
        verbose_log: config.logging.streams.contains(&LogStream::Verbose),
        workspace,
        context_meter: Arc::new(NativeContextMeter::new(
            tools.iter().map(|(spec, _)| spec.clone()).collect(),
            Arc::clone(runner),
        )),
        previews: Arc::new(ToolPreviews { runner: Arc::clone(runner) }),
        models: Arc::new(ConfiguredModels::new(models, config)),
        tools,
        servers: Arc::new(trust),
    }
}
