//! A model server with exact timing: OpenAI's Chat Completions and Responses, streamed. What it answers is the
//! [`AnswerPlan`](crate::answer::AnswerPlan) in the last message of the user.
//!
//! It runs on a thread of its own, so that the clients of the same process do not hold it up. A
//! delta has a deadline counted from the first one, so that delays do not add up.

mod request;
mod stream;

use std::net::SocketAddr;
use std::thread::JoinHandle;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::http_connection::read_head;

use self::request::MockProtocol;

/// The largest request that is read.
const MAX_BODY: usize = 64 << 20;

/// A running server. Dropping it ends it, with all that it streams.
pub struct MockModelServer {
    /// Where it listens, on the loopback interface.
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl MockModelServer {
    /// Starts a server on a free port.
    pub fn start() -> Result<MockModelServer> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").context("cannot listen")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("mock".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener) => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(MockModelServer { address, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for MockModelServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server was reported when it happened.
            _ = thread.join();
        }
    }
}

async fn accept(listener: std::net::TcpListener) {
    let listener = TcpListener::from_std(listener).expect("the listener does not block");
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => _ = connections.spawn(serve(stream)),
                Err(error) => eprintln!("the mock cannot accept a connection: {error}"),
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves a connection until the client has gone, which is no error.
async fn serve(mut stream: TcpStream) {
    let mut ahead = Vec::new();
    _ = stream.set_nodelay(true);
    while let Ok(true) = exchange(&mut stream, &mut ahead).await {}
}

/// One request and its answer; false when there is none any more.
async fn exchange(stream: &mut TcpStream, ahead: &mut Vec<u8>) -> Result<bool> {
    let Some(head) = read_head(stream, ahead).await? else { return Ok(false) };
    ensure!(head.length <= MAX_BODY, "the request is too large");
    while ahead.len() < head.length {
        ensure!(stream.read_buf(ahead).await? > 0, "the client has gone");
    }
    let body: Vec<u8> = ahead.drain(..head.length).collect();
    let Some(wire) = MockProtocol::from_request_line(&head.first_line) else {
        refuse(stream, "404 Not Found", "there is only POST /v1/chat/completions and /v1/responses").await?;
        return Ok(true);
    };
    match wire.parse_request(&body) {
        Some(asked) => stream::stream(stream, asked).await?,
        None => refuse(stream, "400 Bad Request", "the last user message is not a plan").await?,
    }
    Ok(true)
}

async fn refuse(stream: &mut TcpStream, status: &str, message: &str) -> Result<()> {
    let body =
        serde_json::json!({"error": {"message": message, "type": "invalid_request_error"}}).to_string();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    Ok(stream.write_all((head + &body).as_bytes()).await?)
}
