//! Wiring: a data directory and a configuration become a running daemon.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ostler_agent::Agent;
use ostler_agent_native::NativeAgent;
use ostler_doors::http::{HttpDoor, HttpSettings};
use ostler_doors::{Access, Listeners, ServeError, Token, TokenError, serve};
use ostler_engine::{Engine, EngineConfig, SystemClock};
use ostler_eventlog::{Disk, FileLog, OpenError, RealDisk};
use ostler_index::{Index, IndexError};
use ostler_models::Models;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::{Auth, Config, Environment, LogStream};
use crate::models::{Choices, models};
use crate::workshop::Workshop;

/// How long an actor without turn and subscriber stays in memory.
const IDLE_AFTER: Duration = Duration::from_secs(30);

/// What a daemon is made of.
pub struct DaemonSettings {
    /// Where everything is kept.
    pub data_dir: PathBuf,
    /// Where to listen for TCP, if at all.
    pub listen: Option<SocketAddr>,
    /// The configuration.
    pub config: Config,
    /// Where API keys are found.
    pub environment: Environment,
    /// How files are written; tests inject faults here.
    pub disk: Arc<dyn Disk>,
    /// How long an idle session stays in memory.
    pub idle_after: Duration,
    /// Whether sessions are only looked at and answered, and no turn is run.
    pub at_rest: bool,
}

/// A daemon at work. Stop it with [`Daemon::stop`]; dropping it is like killing it.
pub struct Daemon {
    /// Where TCP clients find it.
    pub address: Option<SocketAddr>,
    engine: Engine,
    stop: CancellationToken,
    served: JoinHandle<()>,
    workshop: Workshop,
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

impl DaemonSettings {
    /// The settings of an ordinary daemon.
    pub fn new(
        data_dir: PathBuf,
        listen: Option<SocketAddr>,
        config: Config,
        environment: Environment,
    ) -> Self {
        let disk = Arc::new(RealDisk);
        DaemonSettings { data_dir, listen, config, environment, disk, idle_after: IDLE_AFTER, at_rest: false }
    }
}

impl Daemon {
    /// Starts a daemon. When it returns, clients can come in.
    pub async fn start(settings: DaemonSettings) -> Result<Daemon, StartError> {
        let data_dir = &settings.data_dir;
        let log = Arc::new(FileLog::open(data_dir, settings.disk.clone())?);
        // Recovery may start turns, so everything that can fail comes before the engine.
        let (config, environment) = (&settings.config, &settings.environment);
        let workshop = Workshop::open(config, environment, data_dir, settings.at_rest);
        let listeners = Listeners::bind(settings.listen, &socket_path(data_dir)).await?;
        let (index, index_opened) = Index::open(&data_dir.join("index.db"))?;
        let token = Arc::new(Token::open(&token_path(data_dir))?);
        let workshop = workshop.await;
        let models = Arc::new(models(&settings.config, &settings.environment));
        let max_steps = settings.config.turn_loop.max_steps;
        let mut native = NativeAgent::new(models.clone(), workshop.tools.clone(), max_steps)
            .with_more_tools(workshop.servers.more_tools());
        if let Some(checkpoints) = workshop.checkpoints.clone() {
            native = native.with_checkpoints(checkpoints);
        }
        let native: Arc<dyn Agent> = Arc::new(native);
        let engine = Engine::start(EngineConfig {
            log,
            index,
            index_opened,
            data_dir: data_dir.clone(),
            agents: HashMap::from([("native".to_owned(), native)]),
            clock: Arc::new(SystemClock),
            checkpoints: workshop.checkpoints.clone(),
            closed: workshop.end_session(),
            rules: settings.config.approval.rules.clone(),
            idle_after: settings.idle_after,
            at_rest: settings.at_rest,
        });
        let door = HttpDoor::new(engine.clone(), http_settings(&settings.config, models, &workshop));
        let address = listeners.address();
        let token = (settings.config.server.auth == Auth::On).then_some(token);
        let unix = door.router(Access::unix(token.clone()));
        let tcp = match address {
            Some(address) => door.router(Access::tcp(address, token)),
            None => unix.clone(),
        };
        let stop = CancellationToken::new();
        let served = tokio::spawn(serve(listeners, tcp, unix, stop.clone()));
        Ok(Daemon { address, engine, stop, served, workshop })
    }

    /// Returns when no turn runs that could go on by itself.
    pub async fn until_quiet(&self) {
        self.engine.until_quiet().await;
    }

    /// Ends turns in order, lets open requests finish, and returns when everything is on disk.
    pub async fn stop(self) {
        self.engine.stop().await;
        self.stop.cancel();
        _ = self.served.await;
        self.workshop.close().await;
    }
}

/// Where the token of a data directory lies.
pub fn token_path(data_dir: &Path) -> PathBuf {
    data_dir.join("token")
}

/// Where the socket of a data directory lies.
pub fn socket_path(data_dir: &Path) -> PathBuf {
    data_dir.join("ostler.sock")
}

fn http_settings(config: &Config, models: Arc<Models>, workshop: &Workshop) -> HttpSettings {
    let tools = &workshop.tools;
    let kinds: HashMap<&str, _> = tools.kinds().collect();
    let kind =
        |spec: &ostler_types::ToolSpec| kinds.get(spec.name.as_str()).map(|kind| (spec.clone(), *kind));
    HttpSettings {
        policy: config.policy(),
        fallback_models: config.models.fallback.clone(),
        raw_log: config.logging.streams.contains(&LogStream::Raw),
        models: Arc::new(Choices::new(models, config)),
        tools: tools.specs().iter().filter_map(kind).collect(),
        servers: workshop.servers.clone(),
    }
}
