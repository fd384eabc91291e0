//! One socket of the gateway, as little of the WebSocket protocol as a client needs that masks with zeros.

use std::borrow::Cow;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::answer::{AnswerPlan, AssembledAnswer};
use crate::clock;
use crate::daemon::BenchEndpoint;
use crate::http_connection::read_head;

/// How much is read at a time.
const READ: usize = 16 << 10;

/// A socket that has shown the token.
pub struct BenchGatewaySocket {
    stream: TcpStream,
    /// Received, and not yet understood.
    bytes: Vec<u8>,
    read: usize,
}

#[derive(Deserialize)]
struct GatewayFrame<'a> {
    id: Option<Cow<'a, str>>,
    event: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    data: GatewayFrameData<'a>,
}

#[derive(Default, Deserialize)]
struct GatewayFrameData<'a> {
    #[serde(borrow, default)]
    text: Cow<'a, str>,
}

impl BenchGatewaySocket {
    /// Connects, on the daemon's own port.
    pub async fn open(door: &BenchEndpoint) -> Result<BenchGatewaySocket> {
        let mut stream = TcpStream::connect(door.address()).await.context("cannot connect")?;
        stream.set_nodelay(true)?;
        let request = format!(
            "GET /gateway HTTP/1.1\r\nhost: {}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
            door.address()
        );
        stream.write_all(request.as_bytes()).await?;
        let mut bytes = Vec::new();
        let head = read_head(&mut stream, &mut bytes).await?.context("the daemon hung up")?;
        ensure!(head.first_line.contains(" 101 "), "no socket: {}", head.first_line);
        let mut socket = BenchGatewaySocket { stream, bytes, read: 0 };
        socket.send(&json!({"type": "auth", "token": door.token()})).await?;
        let answer: Value = serde_json::from_slice(socket.next().await?)?;
        ensure!(answer["ok"] == true, "the token is not taken: {answer}");
        Ok(socket)
    }

    /// Makes a session, and follows it.
    pub async fn session(&mut self) -> Result<String> {
        let made = self.call("sessions.create", json!({})).await?;
        Ok(made["result"]["sessionKey"].as_str().context("no session")?.to_owned())
    }

    /// Follows a session.
    pub async fn follow(&mut self, key: &str) -> Result<()> {
        self.call("chat.history", json!({"sessionKey": key, "limit": 1})).await.map(drop)
    }

    /// Says something, without waiting for anything.
    pub async fn say(&mut self, key: &str, plan: AnswerPlan) -> Result<()> {
        let params = json!({"sessionKey": key, "message": plan.prompt()});
        self.send(&json!({"id": "say", "method": "chat.send", "params": params})).await
    }

    /// Takes the answer to what was said, whoever said it.
    pub async fn answer(&mut self, plan: AnswerPlan) -> Result<AssembledAnswer> {
        let mut answer = AssembledAnswer::new(plan);
        loop {
            let bytes = self.next().await?;
            let now = clock::now();
            let frame: GatewayFrame<'_> = serde_json::from_slice(bytes)?;
            match frame.event.as_deref() {
                Some("chat.delta") => answer.append(&frame.data.text, now)?,
                Some("chat.final") => break,
                Some("chat.error") => bail!("the run failed: {}", String::from_utf8_lossy(bytes)),
                Some(_) | None => {}
            }
        }
        answer.check()?;
        Ok(answer)
    }

    async fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.send(&json!({"id": "call", "method": method, "params": params})).await?;
        loop {
            let bytes = self.next().await?;
            let frame: GatewayFrame<'_> = serde_json::from_slice(bytes)?;
            if frame.id.as_deref() == Some("call") {
                let answer: Value = serde_json::from_slice(bytes)?;
                ensure!(answer.get("error").is_none(), "{method}: {answer}");
                return Ok(answer);
            }
        }
    }

    async fn send(&mut self, frame: &Value) -> Result<()> {
        let text = frame.to_string();
        let length = u16::try_from(text.len()).context("the frame is too long")?;
        let mut bytes = vec![0x81, 0x80 | 126];
        bytes.extend(length.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(text.as_bytes());
        Ok(self.stream.write_all(&bytes).await?)
    }

    /// The next text frame.
    async fn next(&mut self) -> Result<&[u8]> {
        loop {
            match whole(&self.bytes[self.read..]) {
                Some((opcode, start, end)) => {
                    let at = self.read;
                    self.read += end;
                    match opcode {
                        1 => return Ok(&self.bytes[at + start..at + end]),
                        8 => bail!("the socket was closed"),
                        _ => {}
                    }
                }
                None => {
                    self.bytes.drain(..self.read);
                    self.read = 0;
                    self.bytes.reserve(READ);
                    ensure!(self.stream.read_buf(&mut self.bytes).await? > 0, "the connection ended");
                }
            }
        }
    }
}

/// The kind of the first frame, where its content begins and where it ends, if all of it is there.
fn whole(bytes: &[u8]) -> Option<(u8, usize, usize)> {
    let (start, length) = match *bytes.get(1)? {
        126 => (4, usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))),
        127 => (10, usize::try_from(u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?)).ok()?),
        short => (2, usize::from(short)),
    };
    (bytes.len() >= start + length).then_some((bytes[0] & 15, start, start + length))
}
