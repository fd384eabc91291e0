//! A daemon of a few lines: it answers each request with the next prepared bytes and remembers what
//! it was asked. It knows no HTTP beyond where a request ends.

use std::path::PathBuf;

use ostler_client::{Client, DaemonEndpoint};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinHandle;

/// A running daemon.
pub(crate) struct CannedServer {
    pub(crate) endpoint: DaemonEndpoint,
    task: JoinHandle<Vec<String>>,
    _dir: Option<tempfile::TempDir>,
}

impl CannedServer {
    /// Listens on a free port, and stops listening after the last answer.
    pub(crate) async fn tcp(answers: Vec<Vec<u8>>) -> CannedServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = DaemonEndpoint::Tcp(listener.local_addr().unwrap());
        let task = tokio::spawn(async move {
            let mut requests = Vec::new();
            while requests.len() < answers.len() {
                let (stream, _) = listener.accept().await.unwrap();
                requests.extend(serve(stream, &answers[requests.len()]).await);
            }
            requests
        });
        CannedServer { endpoint, task, _dir: None }
    }

    /// The same on a Unix socket.
    pub(crate) async fn unix(answers: Vec<Vec<u8>>) -> CannedServer {
        let dir = tempfile::tempdir().unwrap();
        let path: PathBuf = dir.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let task = tokio::spawn(async move {
            let mut requests = Vec::new();
            while requests.len() < answers.len() {
                let (stream, _) = listener.accept().await.unwrap();
                requests.extend(serve(stream, &answers[requests.len()]).await);
            }
            requests
        });
        CannedServer { endpoint: DaemonEndpoint::Unix(path), task, _dir: Some(dir) }
    }

    /// A client of it.
    pub(crate) async fn client(&self, token: Option<&str>) -> Client {
        Client::connect(self.endpoint.clone(), token.map(str::to_owned)).await.unwrap()
    }

    /// What it was asked, once every answer is given.
    pub(crate) async fn requests(self) -> Vec<String> {
        self.task.await.unwrap()
    }
}

/// Answers one connection. One that is closed without a request is not counted.
async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, answer: &[u8]) -> Option<String> {
    let mut request = Vec::new();
    while !is_whole(&request) {
        if stream.read_buf(&mut request).await.unwrap() == 0 {
            assert!(request.is_empty(), "half a request: {}", String::from_utf8_lossy(&request));
            return None;
        }
    }
    // The client may have gone already, which is its right.
    let _ = stream.write_all(answer).await;
    let _ = stream.shutdown().await;
    Some(String::from_utf8(request).unwrap())
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0)
}

/// An answer with a JSON body.
pub(crate) fn json(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// An answer with an event stream in HTTP chunks of `size` bytes.
pub(crate) fn ndjson(body: &str, size: usize) -> Vec<u8> {
    let mut answer = ndjson_cut(body, size);
    answer.extend_from_slice(b"0\r\n\r\n");
    answer
}

/// The same without its end: the connection breaks.
pub(crate) fn ndjson_cut(body: &str, size: usize) -> Vec<u8> {
    let mut answer =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n"
            .to_vec();
    for chunk in body.as_bytes().chunks(size) {
        answer.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        answer.extend_from_slice(chunk);
        answer.extend_from_slice(b"\r\n");
    }
    answer
}
