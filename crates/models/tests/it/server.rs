//! A provider on this machine that sends exactly the bytes that a test wants, and breaks as told.

use std::sync::Arc;

use ostler_models::{Model, ModelRegistry, ProviderConfig, ProviderKey, ProviderKind, Secret, Timeouts};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

pub(crate) const KEY: &str = "sk-very-secret-key";

/// What the server does after it has read a request.
#[derive(Debug, Clone)]
pub(crate) enum ServerAction {
    /// Sends these bytes.
    Send(String),
    /// Sends these bytes again and again, until the client closes the connection.
    Endless(String),
    /// Does nothing until the client closes the connection.
    Stall,
    /// Breaks the connection rather than closing it.
    Reset,
}

/// What the server saw.
#[derive(Debug)]
pub(crate) enum ServerObservation {
    /// A request: its head and its body.
    Request(String, String),
    /// The client closed the connection while the server stalled.
    Closed,
}

pub(crate) struct MisbehavingServer {
    pub(crate) base_url: String,
    pub(crate) seen: mpsc::Receiver<ServerObservation>,
    task: JoinHandle<()>,
}

impl Drop for MisbehavingServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl MisbehavingServer {
    /// Answers each connection's first request with these acts, then closes it.
    pub(crate) async fn start(acts: Vec<ServerAction>) -> MisbehavingServer {
        MisbehavingServer::start_each(vec![acts]).await
    }

    /// The same with acts for each connection; the last ones for all that follow.
    pub(crate) async fn start_each(mut scripts: Vec<Vec<ServerAction>>) -> MisbehavingServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1/", listener.local_addr().unwrap());
        let (sender, seen) = mpsc::channel(16);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                serve(stream, &scripts[0], &sender).await;
                if scripts.len() > 1 {
                    scripts.remove(0);
                }
            }
        });
        MisbehavingServer { base_url, seen, task }
    }

    /// A model of this server.
    pub(crate) fn model(&self, timeouts: Timeouts) -> Arc<dyn Model> {
        model(&self.base_url, timeouts)
    }

    /// The head and the body of the next request.
    pub(crate) async fn request(&mut self) -> (String, String) {
        match self.seen.recv().await {
            Some(ServerObservation::Request(head, body)) => (head, body),
            other => panic!("expected a request, saw {other:?}"),
        }
    }
}

pub(crate) fn model(base_url: &str, timeouts: Timeouts) -> Arc<dyn Model> {
    model_of(ProviderKind::OpenAiChat, base_url, timeouts)
}

/// A model that speaks this protocol.
pub(crate) fn model_of(kind: ProviderKind, base_url: &str, timeouts: Timeouts) -> Arc<dyn Model> {
    let provider = ProviderConfig {
        api_key: ProviderKey::Fixed(Secret::new(KEY)),
        models: vec!["small".to_owned()],
        ..ProviderConfig::new("local", kind, base_url)
    };
    ModelRegistry::with_timeouts(vec![provider], timeouts).resolve("local:small").unwrap()
}

/// A model with this key.
pub(crate) fn model_with(base_url: &str, api_key: ProviderKey, timeouts: Timeouts) -> Arc<dyn Model> {
    let provider =
        ProviderConfig { api_key, ..ProviderConfig::new("local", ProviderKind::OpenAiChat, base_url) };
    ModelRegistry::with_timeouts(vec![provider], timeouts).resolve("local:small").unwrap()
}

/// A response with this status, type and body, whole and with its length.
pub(crate) fn response(status: &str, kind: &str, body: &str) -> ServerAction {
    let length = body.len();
    ServerAction::Send(format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
    ))
}

/// The head of a stream whose end is the end of the connection.
pub(crate) fn stream_head() -> ServerAction {
    ServerAction::Send(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_owned(),
    )
}

/// The head of a stream whose end is a chunk of length 0.
pub(crate) fn chunked_head() -> ServerAction {
    ServerAction::Send(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_owned(),
    )
}

/// A transfer chunk.
pub(crate) fn chunk(data: &str) -> ServerAction {
    ServerAction::Send(format!("{:x}\r\n{data}\r\n", data.len()))
}

async fn serve(mut stream: TcpStream, acts: &[ServerAction], seen: &mpsc::Sender<ServerObservation>) {
    let Some((head, body)) = read_request(&mut stream).await else { return };
    seen.send(ServerObservation::Request(head, body)).await.ok();
    for act in acts {
        match act {
            ServerAction::Send(bytes) => {
                stream.write_all(bytes.as_bytes()).await.ok();
                stream.flush().await.ok();
            }
            ServerAction::Endless(bytes) => while stream.write_all(bytes.as_bytes()).await.is_ok() {},
            ServerAction::Stall => {
                let mut buffer = [0; 64];
                while stream.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
                seen.send(ServerObservation::Closed).await.ok();
            }
            ServerAction::Reset => stream.set_zero_linger().unwrap(),
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.to_ascii_lowercase().split_once("content-length: ")?.1.lines().next()?.parse().ok()?;
            if body.len() >= length {
                return Some((head.to_owned(), body.to_owned()));
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
