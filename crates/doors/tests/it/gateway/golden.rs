//! One conversation, byte for byte: ids and times are those of a clock that counts. `OSTLER_WRITE_GOLDEN=1` writes
//! the file anew.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use ostler_testing::clock::FixedClock;
use ostler_types::Clock;
use serde_json::{Value, json};
use uuid::Uuid;

use super::client::GatewayClient;
use crate::daemon::{DoorTestDaemon, DoorTestOptions};

#[tokio::test]
async fn a_conversation_looks_like_the_kept_one() {
    let clock = Arc::new(GatewayStillClock::default());
    let daemon = DoorTestDaemon::start_as(DoorTestOptions { clock, ..DoorTestOptions::default() }).await;
    let mut client = GatewayClient::open(&daemon).await;
    client.ask("agents.list", json!({})).await;
    let key = client.session().await;
    let run = client.say(&key, "Hello, my name is Alice.").await;
    client.run(&run).await;
    let run = client.say(&key, "ask").await;
    let request = client.until("exec.approval_request").await;
    client.ask("approvals.list", json!({})).await;
    client.ask("exec.approve", json!({"approvalId": request["approvalId"]})).await;
    client.run(&run).await;
    let run = client.say(&key, "fail").await;
    client.run(&run).await;
    let run = client.say(&key, "wait").await;
    client.until("chat.delta").await;
    client.until("chat.delta").await;
    client.ask("chat.abort", json!({"runId": run})).await;
    client.run(&run).await;
    client.ask("chat.history", json!({"sessionKey": key})).await;
    client.ask("sessions.get", json!({"sessionKey": key})).await;
    client.call("sessions.get", json!({"sessionKey": "not-a-uuid"})).await;
    client.call("no.such.method", json!({})).await;
    let lines = normalized(&client.transcript);
    daemon.stop().await;
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/gateway/conversation.ndjson");
    if std::env::var_os("OSTLER_WRITE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &lines).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    for (number, (line, kept)) in lines.lines().zip(kept.lines()).enumerate() {
        assert_eq!(line, kept, "line {}", number + 1);
    }
    assert_eq!(lines.lines().count(), kept.lines().count());
}

/// Ids that count, and one time: how often the time is looked at depends on who is faster.
#[derive(Default)]
struct GatewayStillClock(FixedClock);

impl Clock for GatewayStillClock {
    fn now(&self) -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    fn uuid(&self) -> Uuid {
        self.0.uuid()
    }
}

/// The lines as they came, answers before events. What depends on who is faster is evened out: an answer may overtake
/// an event of the run before, and text that waits is sent as one piece.
fn normalized(transcript: &[String]) -> String {
    let (events, mut lines): (Vec<String>, Vec<String>) =
        transcript.iter().cloned().partition(|line| line.starts_with("{\"event\""));
    let mut text: Option<Value> = None;
    for line in events {
        let mut event: Value = serde_json::from_str(&line).unwrap();
        if event["event"] != "chat.delta" {
            lines.extend(text.take().map(|text| text.to_string()));
            lines.push(line);
            continue;
        }
        if let Some(before) = text.take() {
            let both = [&before, &event].map(|event| event["data"]["text"].as_str().unwrap().to_owned());
            event["data"]["text"] = json!(both.concat());
        }
        text = Some(event);
    }
    lines.join("\n") + "\n"
}
