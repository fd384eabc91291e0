//! Reaching a daemon: the one that has the data directory, or one of our own for as long as this
//! command takes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_client::{Client, ClientError, DaemonEndpoint};
use ostler_config::{Auth, Config, Environment};
use ostler_daemon::{Daemon, DaemonConfig, StartError, socket_path, token_path};
use ostler_eventlog::OpenError;
use ostler_process::Program;

use crate::paths::config_file;

/// How often, and how many times, to look for a daemon that is just starting.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
const MAX_POLLS: u32 = 100;

/// What our own daemon is for, should we need one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DaemonPurpose {
    /// Running a turn.
    Run,
    /// Looking, or answering: what is to be run is left to the next daemon.
    Look,
}

/// A client, and the daemon behind it if it is our own.
pub(crate) struct ConnectedDaemon {
    pub(crate) client: Client,
    own_daemon: Option<Daemon>,
}

impl ConnectedDaemon {
    /// The daemon, if it is our own.
    pub(crate) fn own_daemon(&self) -> Option<&Daemon> {
        self.own_daemon.as_ref()
    }

    /// Ends our own daemon, if there is one, with all that it does.
    pub(crate) async fn stop(self) {
        drop(self.client);
        if let Some(daemon) = self.own_daemon {
            daemon.stop().await;
        }
    }

    /// Ends our own daemon, if there is one; not before the turns of its other clients have ended,
    /// unless the person at the terminal has had enough.
    pub(crate) async fn stop_when_idle(self) {
        drop(self.client);
        if let Some(daemon) = self.own_daemon {
            tokio::select! {
                () = daemon.wait_until_idle() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            daemon.stop().await;
        }
    }
}

/// Finds the daemon of a data directory, or becomes it.
pub(crate) async fn connect_or_start(
    data_dir: &Path,
    config: &Config,
    environment: &Environment,
    purpose: DaemonPurpose,
) -> anyhow::Result<ConnectedDaemon> {
    for _ in 0..MAX_POLLS {
        if let Ok(client) = find_running(data_dir).await {
            return Ok(ConnectedDaemon { client, own_daemon: None });
        }
        let mut config = config.clone();
        // Nobody but the owner of the data directory can reach a socket in it.
        config.server.auth = Auth::Off;
        let mut daemon = daemon_config(data_dir.to_owned(), config, environment.clone());
        daemon.turns_disabled = purpose == DaemonPurpose::Look;
        match Daemon::start(daemon).await {
            Ok(daemon) => {
                let client = Client::connect(DaemonEndpoint::Unix(socket_path(data_dir)), None).await?;
                return Ok(ConnectedDaemon { client, own_daemon: Some(daemon) });
            }
            // Somebody has it, but does not listen yet.
            Err(StartError::Log(OpenError::Locked { .. })) => tokio::time::sleep(POLL_INTERVAL).await,
            Err(error) => return Err(error.into()),
        }
    }
    anyhow::bail!("another process uses {} but does not answer; `ostler stop` stops it", data_dir.display())
}

/// A daemon with what this process was started with: its current directory, and its program as the sandbox's helper.
pub(crate) fn daemon_config(data_dir: PathBuf, config: Config, environment: Environment) -> DaemonConfig {
    DaemonConfig {
        config_path: config_file(config.file.as_deref(), &environment).map(|file| file.path),
        working_directory: std::env::current_dir().ok(),
        sandbox_helper: Some(Program::current_executable()),
        ..DaemonConfig::new(data_dir, config, environment)
    }
}

/// Finds the daemon that runs on a data directory.
pub(crate) async fn find_running(data_dir: &Path) -> Result<Client, ClientError> {
    let token = || std::fs::read_to_string(token_path(data_dir)).ok().map(|token| token.trim().to_owned());
    let endpoint = || DaemonEndpoint::Unix(socket_path(data_dir));
    let before = token();
    let client = Client::connect(endpoint(), before.clone()).await?;
    client.health().await?;
    // A daemon that starts for the first time listens before it has a token, and answers after.
    match token() {
        after if after == before => Ok(client),
        after => Client::connect(endpoint(), after).await,
    }
}
