//! Ten thousand sockets of the gateway that say nothing: the daemon holds them, answers each, and they cost little.

use std::net::SocketAddr;

use futures_util::{StreamExt, stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::process::DaemonProcess;

const SOCKETS: usize = 10_000;
/// Sockets that are opened at a time; those that have not shown their token are limited.
const AT_ONCE: usize = 32;
/// Memory that an idle socket may take, in a binary that is not optimised.
const BYTES: u64 = 48 << 10;

/// Lets this process have as many files as the system allows, and says how many that are.
fn file_limit() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).unwrap();
    limit.maximum.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

/// A text frame as a client sends it, masked with nothing.
fn frame(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81];
    match text.len() {
        short @ 0..126 => frame.push(0x80 | short as u8),
        long => {
            frame.push(0x80 | 126);
            frame.extend((long as u16).to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(text.as_bytes());
    frame
}

/// Reads until this has come.
async fn until(stream: &mut TcpStream, wanted: &str) {
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains(wanted) {
        assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "{}", String::from_utf8_lossy(&bytes));
    }
}

async fn open(address: SocketAddr, token: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET /gateway HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    until(&mut stream, "\r\n\r\n").await;
    stream.write_all(&frame(&format!(r#"{{"type":"auth","token":"{token}"}}"#))).await.unwrap();
    until(&mut stream, r#""ok":true"#).await;
    stream
}

#[tokio::test]
async fn ten_thousand_idle_sockets_are_held_and_answered() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let daemon = DaemonProcess::serve(&data, "[gateway]\nlisten = \"127.0.0.1:0\"\n");
    let token = std::fs::read_to_string(data.join("token")).unwrap().trim().to_owned();
    let address = daemon.address.unwrap();
    // A system that allows fewer files shows fewer sockets.
    let count = SOCKETS.min(file_limit().saturating_sub(500));
    drop(open(address, &token).await);
    let before = daemon.memory();
    let opening = stream::iter(0..count).map(|_| open(address, &token)).buffer_unordered(AT_ONCE);
    let mut sockets: Vec<TcpStream> = opening.collect().await;
    assert_eq!(sockets.len(), count);
    let each = daemon.memory().saturating_sub(before) / count as u64;
    assert!(each < BYTES, "an idle socket takes {each} bytes");
    for socket in &mut sockets {
        socket.write_all(&frame(r#"{"id":"1","method":"health.check"}"#)).await.unwrap();
    }
    for socket in &mut sockets {
        until(socket, r#""status":"ok""#).await;
    }
    drop(sockets);
    // And there is room again.
    drop(open(address, &token).await);
}
