//! A model provider on loopback that speaks Chat Completions and says what a test tells it to.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, Semaphore, mpsc};

/// A provider. Each request takes the next answer.
pub(crate) struct GatedProvider {
    pub(crate) address: SocketAddr,
    answers: mpsc::UnboundedSender<Vec<AnswerPiece>>,
    /// Lets one [`AnswerPiece::Gate`] through per permit.
    pub(crate) gate: Arc<Semaphore>,
    server: tokio::task::JoinHandle<()>,
}

/// A piece of an answer.
#[derive(Clone)]
pub(crate) enum AnswerPiece {
    /// Some text.
    Text(String),
    /// Waits for a permit.
    Gate,
}

impl GatedProvider {
    pub(crate) async fn start() -> GatedProvider {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (answers, receiver) = mpsc::unbounded_channel();
        let (receiver, gate) = (Arc::new(Mutex::new(receiver)), Arc::new(Semaphore::new(0)));
        let doorman = gate.clone();
        let server = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                connections.spawn(serve(stream, receiver.clone(), doorman.clone()));
            }
        });
        GatedProvider { address, answers, gate, server }
    }

    pub(crate) fn answer(&self, pieces: Vec<AnswerPiece>) {
        self.answers.send(pieces).unwrap();
    }

    /// The configuration of a daemon that uses it.
    pub(crate) fn config(&self) -> String {
        format!(
            "[models]\ndefault = \"mock:m\"\n[providers.mock]\nkind = \"openai-chat\"\nbase_url = \"http://{}/v1\"\nmodels = [\"m\"]\n",
            self.address
        )
    }
}

impl Drop for GatedProvider {
    fn drop(&mut self) {
        self.server.abort();
    }
}

type AnswerQueue = Arc<Mutex<mpsc::UnboundedReceiver<Vec<AnswerPiece>>>>;

async fn serve(mut stream: TcpStream, answers: AnswerQueue, gate: Arc<Semaphore>) -> Option<()> {
    loop {
        read_request(&mut stream).await?;
        let pieces = answers.lock().await.recv().await?;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).await.ok()?;
        for piece in pieces {
            let delta = match piece {
                AnswerPiece::Text(text) => json!({"content": text}),
                AnswerPiece::Gate => {
                    gate.acquire().await.ok()?.forget();
                    continue;
                }
            };
            send(&mut stream, &json!({"choices": [{"index": 0, "delta": delta}]}).to_string()).await?;
        }
        send(
            &mut stream,
            &json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}).to_string(),
        )
        .await?;
        send(&mut stream, "[DONE]").await?;
        stream.write_all(b"0\r\n\r\n").await.ok()?;
    }
}

async fn send(stream: &mut TcpStream, data: &str) -> Option<()> {
    let event = format!("data: {data}\n\n");
    stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).await.ok()
}

/// Reads one request to the end of its body.
async fn read_request(stream: &mut TcpStream) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(())
}
