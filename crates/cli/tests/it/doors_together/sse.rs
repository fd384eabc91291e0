//! An event stream over a connection of its own, read by hand: the http door's, and the pool's, which is the answer
//! to a POST.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;

/// How long anything is awaited before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// A stream of events.
pub(super) struct SseConnection {
    lines: Lines<BufReader<TcpStream>>,
}

/// One of them.
#[derive(Debug)]
pub(super) struct ReceivedEvent {
    pub(super) id: Option<u64>,
    pub(super) name: String,
    pub(super) data: Value,
}

impl SseConnection {
    /// Asks for a stream. HTTP/1.0, so that it comes as it is and not in chunks.
    pub(super) async fn open(address: SocketAddr, token: &str, request: &str, body: &str) -> SseConnection {
        let head = format!(
            "{request} HTTP/1.0\r\nhost: {address}\r\nauthorization: Bearer {token}\r\naccept: text/event-stream\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut lines = BufReader::new(stream).lines();
        let status = lines.next_line().await.unwrap().unwrap();
        assert!(status.contains(" 200 "), "{request}: {status}");
        while lines.next_line().await.unwrap().is_some_and(|line| !line.is_empty()) {}
        SseConnection { lines }
    }

    /// The next event; none when the stream has ended, in order or not.
    pub(super) async fn next(&mut self) -> Option<ReceivedEvent> {
        let (mut id, mut name) = (None, None);
        loop {
            let line =
                tokio::time::timeout(PATIENCE, self.lines.next_line()).await.expect("something happens");
            let line = line.ok()??;
            if let Some(given) = line.strip_prefix("id: ") {
                id = Some(given.parse().unwrap());
            } else if let Some(given) = line.strip_prefix("event: ") {
                name = Some(given.to_owned());
            } else if let Some(data) = line.strip_prefix("data: ") {
                let data: Value = serde_json::from_str(data).unwrap();
                // The pool names its events; an answer of its own has no type.
                let name = name.unwrap_or_else(|| data["type"].as_str().unwrap().to_owned());
                return Some(ReceivedEvent { id, name, data });
            }
        }
    }
}
