//! Lines over a connection that was HTTP: who is let in, the options, and that each end is closed by itself.

use ostler_door_kit::line_connection::END_OF_LINES;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use crate::daemon::DoorTestDaemon;
use crate::raw_http::RawRequest;

fn upgrade(daemon: &DoorTestDaemon) -> RawRequest {
    daemon.request("GET", "/jsonl").add("connection", "Upgrade").add("upgrade", "ostler-jsonl")
}

fn options(daemon: &DoorTestDaemon) -> String {
    format!("{}\n", json!({"cwd": daemon.workspace(), "linger_ms": 0}))
}

/// Reads the head of an answer.
async fn head(stream: &mut (impl AsyncReadExt + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// Reads to the end, and takes the lines apart.
async fn lines(stream: &mut (impl AsyncReadExt + Unpin)) -> (Vec<Value>, bool) {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    let whole = bytes.last() == Some(&END_OF_LINES);
    let text = String::from_utf8(bytes).unwrap();
    let text = text.strip_suffix(char::from(END_OF_LINES)).unwrap_or(&text);
    (text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), whole)
}

#[tokio::test]
async fn only_those_come_in_who_may() {
    let daemon = DoorTestDaemon::start().await;
    let host = daemon.address.to_string();
    let bare = RawRequest::new("GET", "/jsonl")
        .add("host", &host)
        .add("connection", "Upgrade")
        .add("upgrade", "ostler-jsonl");
    assert_eq!(daemon.send(&bare).await.status(), 401);
    let wrong = bare.clone().add("authorization", "Bearer nonsense");
    assert_eq!(daemon.send(&wrong).await.status(), 401);
    assert_eq!(daemon.send(&upgrade(&daemon).add("origin", "https://evil.example")).await.status(), 403);
    assert_eq!(daemon.send(&upgrade(&daemon).set("host", "evil.example")).await.status(), 403);
    let plain = daemon.get("/jsonl").await;
    assert_eq!((plain.status(), plain.json()["error"]["code"].as_str()), (426, Some("upgrade_required")));
    let other = daemon.request("GET", "/jsonl").add("connection", "upgrade").add("upgrade", "websocket");
    assert_eq!(daemon.send(&other).await.status(), 426);
    assert_eq!(daemon.post("/jsonl", &json!({})).await.status(), 405);
    assert!(daemon.recorded().is_empty(), "nobody began anything");
}

#[tokio::test]
async fn the_writing_end_can_be_closed_and_the_rest_be_read() {
    let daemon = DoorTestDaemon::start().await;
    let mut stream = TcpStream::connect(daemon.address).await.unwrap();
    stream.write_all(&upgrade(&daemon).bytes()).await.unwrap();
    let answer = head(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    assert!(answer.to_lowercase().contains("upgrade: ostler-jsonl"), "{answer}");
    let sent = format!("{}{}\n", options(&daemon), json!({"type": "ping"}));
    stream.write_all(sent.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let (frames, whole) = lines(&mut stream).await;
    let kinds: Vec<&Value> = frames.iter().map(|frame| &frame["type"]).collect();
    assert_eq!(kinds, ["ready", "pong"]);
    assert!(whole, "it ended in order");
}

#[tokio::test]
async fn it_works_on_the_socket_with_the_options_in_the_same_packet() {
    let daemon = DoorTestDaemon::start().await;
    let mut stream = UnixStream::connect(daemon.socket()).await.unwrap();
    let mut bytes = upgrade(&daemon).set("host", "localhost").bytes();
    bytes.extend(options(&daemon).into_bytes());
    bytes.extend(b"{\"type\":\"quit\"}\n");
    stream.write_all(&bytes).await.unwrap();
    assert!(head(&mut stream).await.starts_with("HTTP/1.1 101 "));
    let (frames, whole) = lines(&mut stream).await;
    assert_eq!((frames.len(), &frames[0]["type"], whole), (1, &json!("ready"), true));
}

#[tokio::test]
async fn options_that_cannot_be_read_are_told() {
    let daemon = DoorTestDaemon::start().await;
    for first in ["{}", "[]", "{\"cwd\":\"/\",\"surprise\":1}", "", "{\"cwd\":\"nowhere\"}"] {
        let mut stream = TcpStream::connect(daemon.address).await.unwrap();
        stream.write_all(&upgrade(&daemon).bytes()).await.unwrap();
        assert!(head(&mut stream).await.starts_with("HTTP/1.1 101 "));
        stream.write_all(format!("{first}\n").as_bytes()).await.unwrap();
        let (frames, _) = lines(&mut stream).await;
        assert_eq!((frames.len(), &frames[0]["type"]), (1, &json!("error")), "{first}");
    }
}

#[tokio::test]
async fn a_token_that_was_replaced_opens_nothing_any_more() {
    let daemon = DoorTestDaemon::start().await;
    let mut stream = TcpStream::connect(daemon.address).await.unwrap();
    stream.write_all(&upgrade(&daemon).bytes()).await.unwrap();
    head(&mut stream).await;
    stream.write_all(options(&daemon).as_bytes()).await.unwrap();
    let (mut reader, _writer) = stream.into_split();
    std::fs::write(daemon.data().join("token"), "0123456789abcdef0123456789abcdef0123456789abcdef").unwrap();
    let (frames, _) = lines(&mut reader).await;
    assert_eq!(frames[0]["type"], "ready");
}

#[tokio::test]
async fn a_stopping_daemon_ends_the_connection_in_order() {
    let daemon = DoorTestDaemon::start().await;
    let mut stream = TcpStream::connect(daemon.address).await.unwrap();
    stream.write_all(&upgrade(&daemon).bytes()).await.unwrap();
    head(&mut stream).await;
    let sent = format!("{}{}\n", options(&daemon), json!({"type": "prompt", "text": "wait"}));
    stream.write_all(sent.as_bytes()).await.unwrap();
    let mut seen = String::new();
    while !seen.contains("message_update") {
        seen.push(char::from(stream.read_u8().await.unwrap()));
    }
    let dir = daemon.stop().await;
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.unwrap();
    let rest = String::from_utf8(rest).unwrap();
    assert!(rest.contains("agent_end") && rest.contains("the daemon is shutting down"), "{rest}");
    assert!(rest.ends_with(char::from(END_OF_LINES)));
    drop(dir);
}
