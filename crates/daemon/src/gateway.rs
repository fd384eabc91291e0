//! The gateway of a daemon: its port, and where its sessions work. A port that is taken does not keep the daemon from
//! starting, since the gateway has a place on the http door too.

use std::fs::DirBuilder;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::time::Duration;

use ostler_door_kit::{DoorSettings, ListenerAccess, listen_tcp, serve_tcp};
use ostler_doors::gateway::{GatewayDoor, GatewayLimits, GatewaySettings};
use ostler_runner::Runner;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::daemon::{DaemonConfig, sibling_directory};

/// Where the gateway can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GatewayPort {
    /// There is none: it is switched off, or the daemon is there for one command only.
    Off,
    /// It has a port of its own.
    Listening(SocketAddr),
    /// That port cannot be had; there is only its place on the http door.
    Unavailable {
        /// The address that was wanted.
        address: SocketAddr,
        /// Why it cannot be had.
        reason: String,
    },
}

/// The gateway at work.
pub(crate) struct RunningGateway {
    pub(crate) door: GatewayDoor,
    pub(crate) port: GatewayPort,
    served: Option<JoinHandle<()>>,
    stop: CancellationToken,
}

impl RunningGateway {
    /// Opens the port, if it can be had. `access` says who may come in at an address.
    pub(crate) fn open(
        door: GatewayDoor,
        address: SocketAddr,
        access: impl FnOnce(SocketAddr) -> ListenerAccess,
    ) -> RunningGateway {
        let stop = CancellationToken::new();
        let bound =
            listen_tcp(address).and_then(|listener| listener.local_addr().map(|address| (listener, address)));
        let (port, served) = match bound {
            Ok((listener, address)) => {
                let router = door.router(access(address));
                let served = tokio::spawn(serve_tcp(listener, router, stop.clone()));
                (GatewayPort::Listening(address), Some(served))
            }
            Err(error) => {
                let reason = error.to_string();
                tracing::warn!(%address, %reason, "the gateway has no port of its own; set gateway.listen to another");
                (GatewayPort::Unavailable { address, reason }, None)
            }
        };
        RunningGateway { door, port, served, stop }
    }

    /// Tells the clients that it is over, and returns when they are gone.
    pub(crate) async fn close(self) {
        self.door.close().await;
        self.stop.cancel();
        if let Some(served) = self.served {
            _ = served.await;
        }
    }
}

/// The directory that sessions of the gateway work in: the configured one, else the one in which the daemon was
/// started. A daemon that the system starts is in `/` or at home, where nobody should work; its sessions have an empty
/// directory beside the data, which is made for a daemon that others can reach.
pub(crate) async fn workspace(settings: &DaemonConfig, runner: &dyn Runner) -> PathBuf {
    let (config, data_dir) = (&settings.config, &settings.data_dir);
    let configured = config.gateway.workspace.as_ref().map(PathBuf::from);
    let here = match &settings.working_directory {
        Some(here) if configured.is_none() => {
            let unfit = runner.workspaces().unsuitable_reason(here.display().to_string()).await;
            Some(here.clone()).filter(|_| unfit.is_none())
        }
        Some(_) | None => None,
    };
    configured.or(here).unwrap_or_else(|| {
        let beside = sibling_directory(data_dir, "-workspace");
        if settings.listen.is_some()
            && let Err(error) = DirBuilder::new().recursive(true).mode(0o700).create(&beside)
        {
            tracing::warn!(%error, path = %beside.display(), "the gateway's sessions have no directory");
        }
        beside
    })
}

/// The configured numbers as the door takes them.
pub(crate) fn limits(config: &ostler_config::GatewaySection) -> GatewayLimits {
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    GatewayLimits {
        max_frame_bytes: count(config.max_frame_bytes),
        max_sockets: count(config.max_sockets),
        max_unauthenticated: count(config.max_unauthenticated),
        auth_timeout: Duration::from_secs(config.auth_timeout_seconds.into()),
        ping_every: Duration::from_secs(config.ping_seconds.into()),
    }
}

/// What sessions of the gateway get; the same as those of the other doors.
pub(crate) fn settings(shared: &DoorSettings) -> GatewaySettings {
    GatewaySettings {
        workspace: shared.workspace.clone(),
        policy: shared.policy.clone(),
        fallback_models: shared.fallback_models.clone(),
        raw_log: shared.raw_log,
        verbose_log: shared.verbose_log,
        models: shared.models.clone(),
    }
}
