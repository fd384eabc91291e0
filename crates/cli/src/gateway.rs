//! The gateway of a daemon: its port, and where its sessions work. A port that is taken does not keep the daemon from
//! starting, since the gateway has a place on the http door too.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ostler_doors::gateway::{GatewayDoor, GatewaySettings};
use ostler_doors::{Access, serve_tcp};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::{Config, Environment};

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
pub(crate) struct Gateway {
    pub(crate) door: GatewayDoor,
    pub(crate) port: GatewayPort,
    served: Option<JoinHandle<()>>,
    stop: CancellationToken,
}

impl Gateway {
    /// Opens the port, if it can be had. `access` says who may come in at an address.
    pub(crate) async fn open(
        door: GatewayDoor,
        address: SocketAddr,
        access: impl FnOnce(SocketAddr) -> Access,
    ) -> Gateway {
        let stop = CancellationToken::new();
        let bound = async {
            let listener = TcpListener::bind(address).await?;
            listener.local_addr().map(|address| (listener, address))
        };
        let (port, served) = match bound.await {
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
        Gateway { door, port, served, stop }
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
/// started. A daemon that the system starts is in `/`, and works at home then.
pub(crate) fn workspace(config: &Config, environment: &Environment) -> PathBuf {
    let configured = config.gateway.workspace.as_ref().map(PathBuf::from);
    let here = || std::env::current_dir().ok().filter(|here| here != Path::new("/"));
    let home = || environment.path("HOME").filter(|home| home.is_absolute());
    configured.or_else(here).or_else(home).unwrap_or_else(|| PathBuf::from("/"))
}

/// What sessions of the gateway get; the same as those of the http door.
pub(crate) fn settings(
    config: &Config,
    environment: &Environment,
    http: &ostler_doors::http::HttpSettings,
) -> GatewaySettings {
    GatewaySettings {
        workspace: workspace(config, environment),
        policy: http.policy.clone(),
        fallback_models: http.fallback_models.clone(),
        raw_log: http.raw_log,
        verbose_log: http.verbose_log,
        models: http.models.clone(),
    }
}
