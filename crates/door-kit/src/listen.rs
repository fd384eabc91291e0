//! Sockets to listen on, with room for a burst of connections that nobody has accepted yet. Accepting them is left
//! to `serve`.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use tokio::net::{TcpListener, TcpSocket, UnixListener, UnixSocket};

/// Connections that the kernel holds until they are accepted, or `net.core.somaxconn` if that is less. The default of
/// the runtime is 128: whoever connects beyond it waits a second, until the kernel of the client tries again.
const BACKLOG: u32 = 4096;

/// Listens on a TCP address. Like `TcpListener::bind` it takes an address that a daemon before it has just left.
pub fn listen_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Listens on a Unix socket. The path must not exist.
pub(crate) fn listen_unix(path: &Path) -> io::Result<UnixListener> {
    let socket = UnixSocket::new_stream()?;
    socket.bind(path)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use futures_util::future::try_join_all;
    use tokio::net::{TcpStream, UnixStream};

    use super::*;

    /// Connections that are opened before one is accepted: more than the default of the runtime, no more than the
    /// kernel allows.
    fn burst() -> usize {
        let allowed = std::fs::read_to_string("/proc/sys/net/core/somaxconn");
        allowed.ok().and_then(|allowed| allowed.trim().parse().ok()).unwrap_or(128).min(400)
    }

    #[tokio::test]
    async fn many_clients_connect_before_one_is_accepted() {
        let listener = listen_tcp((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let address = listener.local_addr().unwrap();
        let clients = try_join_all((0..burst()).map(|_| TcpStream::connect(address))).await.unwrap();
        for _ in &clients {
            listener.accept().await.unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = listen_unix(&path).unwrap();
        let clients = try_join_all((0..burst()).map(|_| UnixStream::connect(&path))).await.unwrap();
        for _ in &clients {
            listener.accept().await.unwrap();
        }
    }
}
