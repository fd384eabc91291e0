//! HTTP/1.1 by hand, so that a test decides about every byte that is sent and sees every byte that
//! comes back.

use std::net::SocketAddr;
use std::path::Path;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

/// A request in the making.
#[derive(Clone)]
pub(crate) struct RawRequest {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl RawRequest {
    pub(crate) fn new(method: &str, target: &str) -> RawRequest {
        RawRequest {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// Adds a header, beside others of its name.
    pub(crate) fn add(mut self, name: &str, value: &str) -> RawRequest {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Puts a header in place of those of its name.
    pub(crate) fn set(self, name: &str, value: &str) -> RawRequest {
        self.remove(name).add(name, value)
    }

    pub(crate) fn remove(mut self, name: &str) -> RawRequest {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    pub(crate) fn target(mut self, target: &str) -> RawRequest {
        target.clone_into(&mut self.target);
        self
    }

    pub(crate) fn body(mut self, body: &[u8]) -> RawRequest {
        self.body = body.to_owned();
        self.set("content-length", &body.len().to_string())
    }

    pub(crate) fn json(self, body: &Value) -> RawRequest {
        self.set("content-type", "application/json").body(body.to_string().as_bytes())
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            bytes += &format!("{name}: {value}\r\n");
        }
        bytes += "\r\n";
        let mut bytes = bytes.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// The first part of an answer.
#[derive(Debug)]
pub(crate) struct RawResponseHead {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
}

impl RawResponseHead {
    fn parse(text: &str) -> RawResponseHead {
        let mut lines = text.split("\r\n");
        let first = lines.next().unwrap();
        let status = first.split(' ').nth(1).unwrap().parse().unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(':').unwrap();
            (name.to_ascii_lowercase(), value.trim().to_owned())
        };
        RawResponseHead { status, headers: lines.map(header).collect() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.headers.iter().map(|(name, _)| name.as_str())
    }
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct RawResponse {
    pub(crate) head: RawResponseHead,
    pub(crate) body: Vec<u8>,
}

impl RawResponse {
    pub(crate) fn status(&self) -> u16 {
        self.head.status
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {:?}", self.text()))
    }

    /// The code of an error.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap().to_owned()
    }
}

trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Duplex for T {}

/// One connection.
pub(crate) struct RawConnection {
    stream: Box<dyn Duplex>,
    /// Read, not looked at yet.
    ahead: Vec<u8>,
}

impl RawConnection {
    pub(crate) async fn tcp(address: SocketAddr) -> RawConnection {
        let stream = TcpStream::connect(address).await.unwrap();
        RawConnection { stream: Box::new(stream), ahead: Vec::new() }
    }

    pub(crate) async fn unix(path: &Path) -> RawConnection {
        let stream = UnixStream::connect(path).await.unwrap();
        RawConnection { stream: Box::new(stream), ahead: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// Sends while it reads the answer, which may come before everything is sent. Nothing else can be
    /// done with the connection then.
    pub(crate) async fn exchange(self, bytes: &[u8]) -> RawResponse {
        let (read, mut write) = tokio::io::split(self.stream);
        let mut reader =
            RawConnection { stream: Box::new(tokio::io::join(read, tokio::io::sink())), ahead: self.ahead };
        let sent = async {
            // A daemon that has heard enough closes the connection, which is its right.
            _ = write.write_all(bytes).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            answer = reader.answer() => answer,
            () = sent => unreachable!("it waits for ever"),
        }
    }

    pub(crate) async fn head(&mut self) -> RawResponseHead {
        let end = loop {
            if let Some(end) = find(&self.ahead, b"\r\n\r\n") {
                break end;
            }
            assert!(self.more().await, "the connection ended in {:?}", String::from_utf8_lossy(&self.ahead));
        };
        let text = String::from_utf8(self.ahead.drain(..end + 4).take(end).collect()).unwrap();
        RawResponseHead::parse(&text)
    }

    pub(crate) async fn answer(&mut self) -> RawResponse {
        let head = self.head().await;
        let mut body = Vec::new();
        if head.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk().await {
                body.extend(chunk);
            }
        } else if let Some(length) = head.header("content-length") {
            let length: usize = length.parse().unwrap();
            while self.ahead.len() < length {
                assert!(self.more().await, "the body is too short");
            }
            body = self.ahead.drain(..length).collect();
        } else {
            while self.more().await {}
            body = std::mem::take(&mut self.ahead);
        }
        RawResponse { head, body }
    }

    /// The next chunk of a body; none at its end.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let end = loop {
            if let Some(end) = find(&self.ahead, b"\r\n") {
                break end;
            }
            assert!(self.more().await, "the connection ended before the body did");
        };
        let size = usize::from_str_radix(std::str::from_utf8(&self.ahead[..end]).unwrap(), 16).unwrap();
        while self.ahead.len() < end + 2 + size + 2 {
            assert!(self.more().await, "the connection ended in a chunk");
        }
        let mut chunk: Vec<u8> = self.ahead.drain(..end + 2 + size + 2).collect();
        assert_eq!(chunk.split_off(end + 2 + size), b"\r\n");
        chunk.drain(..end + 2);
        (size > 0).then_some(chunk)
    }

    /// Whether the daemon has closed it, and had nothing more to say.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.ahead.is_empty() && !self.more().await
    }

    async fn more(&mut self) -> bool {
        // A reset counts as an end: the daemon closed without reading what was still sent.
        self.stream.read_buf(&mut self.ahead).await.is_ok_and(|count| count > 0)
    }
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes.windows(pattern.len()).position(|window| window == pattern)
}
