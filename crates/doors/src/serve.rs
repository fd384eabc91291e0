//! Listening: TCP and the Unix socket, with limits on connections, headers and time, and an orderly
//! end. What the bytes mean is the business of the doors.

use std::fs::Permissions;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Connections at the same time, over all listeners.
const CONNECTIONS: usize = 8192;
/// How long a client may take to send its headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of headers, and of what is read ahead. The last read may go beyond it, at most by as much again.
const BUFFER: usize = 32 * 1024;
/// How long connections have to finish when the daemon stops.
const GRACE: Duration = Duration::from_secs(5);

/// Where the daemon listens.
pub struct Listeners {
    tcp: Option<TcpListener>,
    unix: UnixListener,
    unix_path: PathBuf,
}

/// Why the daemon cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is taken or not ours.
    #[error("cannot listen on {address}; choose another address with --listen")]
    Tcp {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The socket cannot be made.
    #[error("cannot listen on the socket {path}")]
    Unix {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl Listeners {
    /// Binds the socket, and TCP if there is an address. The caller holds the data directory's lock, so a
    /// socket that is there is a leftover and is replaced.
    pub async fn bind(address: Option<SocketAddr>, unix_path: &Path) -> Result<Listeners, ServeError> {
        let tcp = match address {
            Some(address) => {
                let bound = TcpListener::bind(address).await;
                Some(bound.map_err(|source| ServeError::Tcp { address, source })?)
            }
            None => None,
        };
        let failed = |source| ServeError::Unix { path: unix_path.to_owned(), source };
        match std::fs::remove_file(unix_path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let unix = UnixListener::bind(unix_path).map_err(failed)?;
        std::fs::set_permissions(unix_path, Permissions::from_mode(0o600)).map_err(failed)?;
        Ok(Listeners { tcp, unix, unix_path: unix_path.to_owned() })
    }

    /// The address that TCP clients use, if there is one.
    pub fn address(&self) -> Option<SocketAddr> {
        self.tcp.as_ref().and_then(|tcp| tcp.local_addr().ok())
    }

    async fn accept_tcp(&self) -> std::io::Result<TcpStream> {
        match &self.tcp {
            Some(tcp) => tcp.accept().await.map(|(stream, _)| stream),
            None => std::future::pending().await,
        }
    }
}

/// Serves until `stop` fires, then lets open requests finish.
pub async fn serve(listeners: Listeners, tcp: Router, unix: Router, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let (ending, connections) = (CancellationToken::new(), TaskTracker::new());
    loop {
        let place = Arc::clone(&places).acquire_owned();
        let place = tokio::select! {
            () = stop.cancelled() => break,
            place = place => place.expect("the semaphore is never closed"),
        };
        tokio::select! {
            () = stop.cancelled() => break,
            accepted = listeners.accept_tcp() => match accepted {
                Ok(stream) => {
                    _ = stream.set_nodelay(true);
                    connections.spawn(connection(stream, tcp.clone(), ending.clone(), place));
                }
                Err(error) => pause_after(&error).await,
            },
            accepted = listeners.unix.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, unix.clone(), ending.clone(), place));
                }
                Err(error) => pause_after(&error).await,
            },
        }
    }
    drop(listeners.tcp);
    _ = std::fs::remove_file(&listeners.unix_path);
    end(&ending, &connections).await;
}

/// Serves a door that has a TCP listener of its own, until `stop` fires.
pub async fn serve_tcp(listener: TcpListener, router: Router, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let (ending, connections) = (CancellationToken::new(), TaskTracker::new());
    loop {
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await.expect("the semaphore is never closed");
            (listener.accept().await, place)
        };
        let (accepted, place) = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accepted => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                _ = stream.set_nodelay(true);
                connections.spawn(connection(stream, router.clone(), ending.clone(), place));
            }
            Err(error) => pause_after(&error).await,
        }
    }
    drop(listener);
    end(&ending, &connections).await;
}

/// Lets open requests finish.
async fn end(ending: &CancellationToken, connections: &TaskTracker) {
    connections.close();
    ending.cancel();
    if tokio::time::timeout(GRACE, connections.wait()).await.is_err() {
        tracing::warn!("some connections did not end in time");
    }
}

/// One connection, from its first byte to its last, or until it is no HTTP any more.
async fn connection<S>(stream: S, router: Router, ending: CancellationToken, _place: OwnedSemaphorePermit)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = TowerToHyperService::new(router);
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = ending.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Out of file descriptors, most likely: wait for some to come back instead of spinning.
async fn pause_after(error: &std::io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(Duration::from_millis(50)).await;
}
