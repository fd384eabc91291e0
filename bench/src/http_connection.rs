//! HTTP/1.1 by hand, as little of it as the mock and the load need. The clients share two cores with
//! the daemon that they measure, so they must cost next to nothing, and must see bytes the moment they
//! come; a general client does neither.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The largest head of a message that is read.
const MAX_HEAD: usize = 64 << 10;
/// How much is read at a time.
const READ: usize = 16 << 10;

/// A connection to a server, for one request after the other.
pub struct HttpConnection {
    stream: TcpStream,
    host: String,
    token: Option<String>,
    /// Received, and not yet understood.
    ahead: Vec<u8>,
    left: RemainingBody,
}

/// What is still to come of a body.
enum RemainingBody {
    Bytes(usize),
    /// Chunks, of which the current one has so many bytes left.
    Chunk(usize),
    /// The line end after a chunk, then its successor's length.
    ChunkEnd,
    ChunkLength,
    Nothing,
}

impl HttpConnection {
    /// Connects. The token, if there is one, goes with every request.
    pub async fn open(address: SocketAddr, token: Option<&str>) -> Result<HttpConnection> {
        let stream = TcpStream::connect(address).await.context("cannot connect")?;
        stream.set_nodelay(true)?;
        let (host, token) = (address.to_string(), token.map(str::to_owned));
        Ok(HttpConnection { stream, host, token, ahead: Vec::new(), left: RemainingBody::Nothing })
    }

    /// Sends a request and reads the head of the answer: its status.
    pub async fn send(&mut self, method: &str, path: &str, body: Option<&str>) -> Result<u16> {
        let mut request = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\n", self.host);
        if let Some(token) = &self.token {
            request += &format!("authorization: Bearer {token}\r\n");
        }
        if let Some(body) = body {
            request += &format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
        }
        request += "\r\n";
        request += body.unwrap_or_default();
        let head = match self.exchange(&request).await {
            Ok(Some(head)) => head,
            // A server hangs up on who has long been silent.
            Ok(None) | Err(_) => {
                let again = HttpConnection::open(self.host.parse()?, self.token.as_deref()).await?;
                (self.stream, self.ahead) = (again.stream, again.ahead);
                self.exchange(&request).await?.context("the server hung up")?
            }
        };
        self.left = if head.chunked { RemainingBody::ChunkLength } else { RemainingBody::Bytes(head.length) };
        let status = head.first_line.split(' ').nth(1).and_then(|status| status.parse().ok());
        status.with_context(|| format!("not an answer: {}", head.first_line))
    }

    async fn exchange(&mut self, request: &str) -> Result<Option<HttpHead>> {
        self.stream.write_all(request.as_bytes()).await.context("cannot send")?;
        read_head(&mut self.stream, &mut self.ahead).await
    }

    /// Sends a request, and reads the whole answer if it is a success.
    pub async fn ask(&mut self, method: &str, path: &str, body: Option<&str>) -> Result<Vec<u8>> {
        let status = self.send(method, path, body).await?;
        let mut answer = Vec::new();
        while self.read(&mut answer).await? {}
        ensure!(
            (200..300).contains(&status),
            "{method} {path}: {status} {}",
            String::from_utf8_lossy(&answer)
        );
        Ok(answer)
    }

    /// Adds what has come of the body, waiting for at least one byte; false at its end.
    pub async fn read(&mut self, body: &mut Vec<u8>) -> Result<bool> {
        let before = body.len();
        loop {
            self.decode_body(body)?;
            if body.len() > before {
                return Ok(true);
            }
            if matches!(self.left, RemainingBody::Nothing) {
                return Ok(false);
            }
            self.ahead.reserve(READ);
            if self.stream.read_buf(&mut self.ahead).await.context("cannot receive")? == 0 {
                bail!("the connection ended in the middle of an answer");
            }
        }
    }

    /// Moves the body's bytes out of what was received.
    fn decode_body(&mut self, body: &mut Vec<u8>) -> Result<()> {
        let mut at = 0;
        loop {
            let waiting = &self.ahead[at..];
            match &mut self.left {
                RemainingBody::Nothing | RemainingBody::Bytes(0) => {
                    self.left = RemainingBody::Nothing;
                    break;
                }
                RemainingBody::Chunk(0) => self.left = RemainingBody::ChunkEnd,
                RemainingBody::Bytes(left) | RemainingBody::Chunk(left) if !waiting.is_empty() => {
                    let taken = (*left).min(waiting.len());
                    body.extend_from_slice(&waiting[..taken]);
                    *left -= taken;
                    at += taken;
                }
                RemainingBody::ChunkEnd if waiting.len() >= 2 => {
                    at += 2;
                    self.left = RemainingBody::ChunkLength;
                }
                RemainingBody::ChunkLength => {
                    let Some(end) = waiting.windows(2).position(|pair| pair == b"\r\n") else { break };
                    let digits = str::from_utf8(&waiting[..end]).unwrap_or_default();
                    let length = usize::from_str_radix(digits, 16).context("a chunk has no length")?;
                    if length > 0 {
                        at += end + 2;
                        self.left = RemainingBody::Chunk(length);
                    } else if waiting.len() >= end + 4 {
                        at += end + 4;
                        self.left = RemainingBody::Nothing;
                    } else {
                        break;
                    }
                }
                RemainingBody::Bytes(_) | RemainingBody::Chunk(_) | RemainingBody::ChunkEnd => break,
            }
        }
        self.ahead.drain(..at);
        Ok(())
    }
}

/// The head of a request or an answer.
pub struct HttpHead {
    /// Its first line.
    pub first_line: String,
    /// The length of its body, if it says so.
    pub length: usize,
    /// Whether the body comes in chunks instead.
    pub chunked: bool,
}

/// Reads a head, and leaves what was received after it; none when the other side has hung up.
pub async fn read_head(stream: &mut TcpStream, ahead: &mut Vec<u8>) -> Result<Option<HttpHead>> {
    let end = loop {
        if let Some(end) = ahead.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        ensure!(ahead.len() < MAX_HEAD, "the head of a message is too large");
        ahead.reserve(READ);
        if stream.read_buf(ahead).await? == 0 {
            ensure!(ahead.is_empty(), "the connection ended in the middle of a head");
            return Ok(None);
        }
    };
    let text = String::from_utf8_lossy(&ahead[..end]).into_owned();
    ahead.drain(..end + 4);
    let mut lines = text.split("\r\n");
    let first_line = lines.next().unwrap_or_default().to_owned();
    let mut head = HttpHead { first_line, length: 0, chunked: false };
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        if name.eq_ignore_ascii_case("content-length") {
            head.length = value.trim().parse().context("a content-length is not a number")?;
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            head.chunked = value.trim().eq_ignore_ascii_case("chunked");
        }
    }
    Ok(Some(head))
}
