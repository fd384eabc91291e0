//! A server on loopback that is asked anything and answers what a function says, to the last byte.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;

/// The server, which ends with its owner.
pub(crate) struct RawServer {
    pub(crate) address: SocketAddr,
    server: tokio::task::JoinHandle<()>,
}

/// What was asked.
pub(crate) struct RawServerRequest {
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// What is answered.
pub(crate) struct RawServerReply {
    pub(crate) status: &'static str,
    pub(crate) kind: &'static str,
    /// Each is sent by itself.
    pub(crate) pieces: Vec<String>,
    /// Is waited for before each piece.
    pub(crate) together: Option<Arc<Barrier>>,
}

impl RawServer {
    pub(crate) async fn start(
        reply: impl Fn(&RawServerRequest) -> RawServerReply + Send + Sync + 'static,
    ) -> RawServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let reply: Arc<dyn Fn(&RawServerRequest) -> RawServerReply + Send + Sync> = Arc::new(reply);
        let server = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                connections.spawn(serve(stream, reply.clone()));
            }
        });
        RawServer { address, server }
    }
}

impl Drop for RawServer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl RawServerRequest {
    /// What the user said last, in any of the protocols.
    pub(crate) fn prompt(&self) -> String {
        let messages = self.body["input"].as_array().or(self.body["messages"].as_array()).unwrap();
        let last = messages.iter().rfind(|message| message["role"] == "user").unwrap();
        match &last["content"] {
            Value::String(text) => text.clone(),
            parts => parts[0]["text"].as_str().unwrap().to_owned(),
        }
    }
}

impl RawServerReply {
    /// A stream of Chat Completions that says these pieces.
    pub(crate) fn chat(pieces: &[String]) -> RawServerReply {
        let text = |piece| chunk(&json!({"content": piece}), &Value::Null);
        let pieces = pieces.iter().map(text).chain([chunk(&json!({}), &json!("stop")), done()]).collect();
        RawServerReply { status: "200 OK", kind: "text/event-stream", pieces, together: None }
    }

    /// One that asks for a tool.
    pub(crate) fn chat_call(id: &str, name: &str, arguments: &Value) -> RawServerReply {
        let function = json!({"name": name, "arguments": arguments.to_string()});
        let call = json!({"tool_calls": [{"index": 0, "id": id, "type": "function", "function": function}]});
        let pieces = vec![chunk(&call, &Value::Null), chunk(&json!({}), &json!("tool_calls")), done()];
        RawServerReply { status: "200 OK", kind: "text/event-stream", pieces, together: None }
    }

    /// A body in one piece.
    pub(crate) fn whole(status: &'static str, body: String) -> RawServerReply {
        RawServerReply { status, kind: "application/json", pieces: vec![body], together: None }
    }
}

fn chunk(delta: &Value, finish: &Value) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    format!("data: {}\n\n", json!({"object": "chat.completion.chunk", "choices": [choice]}))
}

fn done() -> String {
    "data: [DONE]\n\n".to_owned()
}

async fn serve(
    mut stream: TcpStream,
    reply: Arc<dyn Fn(&RawServerRequest) -> RawServerReply + Send + Sync>,
) -> Option<()> {
    loop {
        let asked = read(&mut stream).await?;
        let RawServerReply { status, kind, pieces, together } = reply(&asked);
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n");
        stream.write_all(head.as_bytes()).await.ok()?;
        for piece in pieces {
            if let Some(together) = &together {
                together.wait().await;
            }
            stream.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes()).await.ok()?;
        }
        stream.write_all(b"0\r\n\r\n").await.ok()?;
    }
}

async fn read(stream: &mut TcpStream) -> Option<RawServerRequest> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    let length = |line: &str| line.to_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok();
    let mut body = vec![0; head.lines().find_map(length).unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    Some(RawServerRequest { head, body: serde_json::from_slice(&body).unwrap_or(Value::Null) })
}
