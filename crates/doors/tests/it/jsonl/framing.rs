//! Lines as they come: long, split, ended in other ways, or not text at all.

use ostler_doors::jsonl::JsonlOptions;
use serde_json::{Value, json};

use super::client::{JsonlClient, options, text};
use crate::daemon::DoorTestDaemon;

#[tokio::test]
async fn only_a_line_feed_ends_a_line() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let primary = rpc.primary.clone();
    let said = "a\u{2028}b\u{2029}c\u{85}d 😀";
    let line = format!("{{\"type\":\"prompt\",\"text\":\"{said}\"}}\r\n");
    // Byte by byte, so that every character is split.
    for byte in line.as_bytes() {
        rpc.write(&[*byte]).await;
        tokio::task::yield_now().await;
    }
    let end = rpc.event(&primary, "agent_end").await;
    assert_eq!(text(&end["data"][0][1]), format!("You said: {said}"));
    rpc.write(b"\n\r\n   \n{\"type\":\"ping\"}\n{\"type\":\"ping\"}\r\n").await;
    assert_eq!(rpc.next().await["type"], "pong");
    assert_eq!(rpc.next().await["type"], "pong");
}

#[tokio::test]
async fn bad_lines_do_not_spoil_the_next_one() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    for bad in [&b"nonsense"[..], b"{\"type\":\"ping\"", b"\xff\xff\xff", b"\0\0", b"{\"a\":\"\x01\"}"] {
        rpc.write(&[bad, b"\n{\"type\":\"ping\"}\n"].concat()).await;
        assert_eq!(rpc.next().await["type"], "error");
        assert_eq!(rpc.next().await["type"], "pong");
    }
}

#[tokio::test]
async fn a_line_of_five_megabytes_is_read_and_one_over_the_limit_skipped() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let ping = |bytes: usize| format!("{{\"type\":\"ping\",\"pad\":\"{}\"}}\n", "p".repeat(bytes));
    rpc.write(ping(5_000_000).as_bytes()).await;
    assert_eq!(rpc.next().await["type"], "pong");
    // What the engine does not take is refused by it, with what to do about it.
    rpc.send(json!({"type": "prompt", "text": "p".repeat(5_000_000)})).await;
    let error = rpc.next().await;
    assert!(error["message"].as_str().unwrap().contains("larger than"), "{error}");
    assert_ne!(error["hint"], Value::Null);
    rpc.write(ping(9_000_000).as_bytes()).await;
    let error = rpc.next().await;
    assert!(
        error["message"].as_str().unwrap().starts_with("the line is longer than 8388608 bytes"),
        "{error}"
    );
    rpc.send(json!({"type": "ping"})).await;
    assert_eq!(rpc.next().await["type"], "pong");
}

#[tokio::test]
async fn the_limit_can_be_set() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc =
        JsonlClient::start_with(&daemon, JsonlOptions { max_line_bytes: 2000, ..options(&daemon) }).await;
    rpc.send(json!({"type": "prompt", "text": "p".repeat(2000)})).await;
    assert!(rpc.next().await["message"].as_str().unwrap().contains("2000 bytes"));
    rpc.ask(&"p".repeat(1900)).await;
}
