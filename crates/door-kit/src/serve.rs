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
use axum::http::Request;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connection_slots::{ConnectionSlot, ConnectionSlots};
use crate::guard::GuardedRouter;
use crate::listen::{listen_tcp, listen_unix};

/// Connections at the same time, on one listener. At the limit the oldest one that has shown no token gives way.
const CONNECTIONS: usize = 8192;
/// The connections of a listener where the process may open hardly any file.
const LEAST_CONNECTIONS: usize = 16;
/// The part of the process's file descriptors that the connections of one listener may take: there are two listeners,
/// and sessions need files of their own.
const DESCRIPTOR_DIVISOR: u64 = 4;
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
    pub fn bind(address: Option<SocketAddr>, unix_path: &Path) -> Result<Listeners, ServeError> {
        let tcp = match address {
            Some(address) => Some(listen_tcp(address).map_err(|source| ServeError::Tcp { address, source })?),
            None => None,
        };
        let failed = |source| ServeError::Unix { path: unix_path.to_owned(), source };
        match std::fs::remove_file(unix_path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let unix = listen_unix(unix_path).map_err(failed)?;
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

/// The maximum number of connections of one listener.
fn max_connections() -> usize {
    let descriptors = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let share = descriptors.map_or(u64::MAX, |all| all / DESCRIPTOR_DIVISOR);
    usize::try_from(share).unwrap_or(usize::MAX).clamp(LEAST_CONNECTIONS, CONNECTIONS)
}

/// Serves until `stop` fires, then lets open requests finish.
pub async fn serve(
    listeners: Listeners,
    GuardedRouter(tcp): GuardedRouter,
    GuardedRouter(unix): GuardedRouter,
    stop: CancellationToken,
) {
    let places = ConnectionSlots::new(max_connections());
    let (ending, connections) = (CancellationToken::new(), TaskTracker::new());
    loop {
        let place = tokio::select! {
            () = stop.cancelled() => break,
            place = places.acquire() => place,
        };
        tokio::select! {
            () = stop.cancelled() => break,
            accepted = listeners.accept_tcp() => match accepted {
                Ok(stream) => {
                    _ = stream.set_nodelay(true);
                    connections.spawn(serve_connection(stream, tcp.clone(), ending.clone(), place));
                }
                Err(error) => pause_after_accept_error(&error, &places).await,
            },
            accepted = listeners.unix.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve_connection(stream, unix.clone(), ending.clone(), place));
                }
                Err(error) => pause_after_accept_error(&error, &places).await,
            },
        }
    }
    drop(listeners.tcp);
    _ = std::fs::remove_file(&listeners.unix_path);
    drain_connections(&ending, &connections).await;
}

/// Serves a door on a TCP listener of its own, where it checks by itself who may come in, until `stop` fires.
pub async fn serve_tcp(listener: TcpListener, router: Router, stop: CancellationToken) {
    accept_tcp_loop(ConnectionSlots::new(max_connections()), listener, router, stop).await;
}

async fn accept_tcp_loop(
    places: ConnectionSlots,
    listener: TcpListener,
    router: Router,
    stop: CancellationToken,
) {
    let (ending, connections) = (CancellationToken::new(), TaskTracker::new());
    loop {
        let accepted = async {
            let place = places.acquire().await;
            (listener.accept().await, place)
        };
        let (accepted, place) = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accepted => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                _ = stream.set_nodelay(true);
                connections.spawn(serve_connection(stream, router.clone(), ending.clone(), place));
            }
            Err(error) => pause_after_accept_error(&error, &places).await,
        }
    }
    drop(listener);
    drain_connections(&ending, &connections).await;
}

/// Lets open requests finish.
async fn drain_connections(ending: &CancellationToken, connections: &TaskTracker) {
    connections.close();
    ending.cancel();
    if tokio::time::timeout(GRACE, connections.wait()).await.is_err() {
        tracing::warn!("some connections did not end in time");
    }
}

/// One connection, from its first byte to its last, or until it is no HTTP any more.
async fn serve_connection<S>(stream: S, router: Router, ending: CancellationToken, place: ConnectionSlot)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (place, inner) = (Arc::new(place), TowerToHyperService::new(router));
    let holder = Arc::clone(&place);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Arc::clone(&holder));
        inner.call(request)
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = place.evicted() => return,
        () = ending.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Out of file descriptors, most likely: wait for some to come back instead of spinning. A connection that has shown
/// no token gives its descriptor up.
async fn pause_after_accept_error(error: &std::io::Error, places: &ConnectionSlots) {
    places.evict_oldest();
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(Duration::from_millis(50)).await;
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use axum::Extension;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn half_open_requests_give_way_to_newer_connections() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let answer =
            |Extension(place): Extension<Arc<ConnectionSlot>>| async move { place.mark_authenticated() };
        let router = Router::new().route("/", get(answer));
        let served = tokio::spawn(accept_tcp_loop(ConnectionSlots::new(4), listener, router, stop.clone()));
        let ask = async |stream: &mut TcpStream| {
            stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
            let mut bytes = Vec::new();
            while !bytes.ends_with(b"\r\n\r\n") {
                assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "the connection ended");
            }
            assert!(bytes.starts_with(b"HTTP/1.1 200"));
        };
        let mut owner = TcpStream::connect(address).await.unwrap();
        ask(&mut owner).await;
        let mut crowd = Vec::new();
        for _ in 0..20 {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
            crowd.push(stream);
        }
        let mut newcomer = TcpStream::connect(address).await.unwrap();
        ask(&mut newcomer).await;
        assert!(crowd[0].read(&mut [0; 1]).await.is_ok_and(|count| count == 0), "the oldest gave way");
        ask(&mut owner).await;
        stop.cancel();
        drop((owner, newcomer, crowd));
        served.await.unwrap();
    }
}
