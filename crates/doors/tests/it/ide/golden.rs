//! One conversation, byte for byte: ids and times are those of a clock that counts. `OSTLER_WRITE_GOLDEN=1` writes
//! the file anew.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use ostler_testing::clock::FixedClock;
use ostler_types::Clock;
use serde_json::{Value, json};
use uuid::Uuid;

use super::client::IdeClient;
use crate::daemon::{DoorTestDaemon, DoorTestOptions};

#[tokio::test]
async fn a_conversation_looks_like_the_kept_one() {
    let clock = Arc::new(IdeStillClock::default());
    let daemon = DoorTestDaemon::start_as(DoorTestOptions { clock, ..DoorTestOptions::default() }).await;
    let mut ide = IdeClient::open(&daemon).await;
    let project = ide.project(&daemon).await;
    ide.ask("project:list", json!({})).await;
    let session = ide.session(&project).await;
    ide.say(&session, "Hello, my name is Alice.").await;
    ide.turn().await;
    ide.history(&session).await;
    ide.say(&session, "wait").await;
    ide.until("session:chunk").await;
    ide.tell("session:cancel", json!({"sessionId": session})).await;
    ide.until("session:cancelled").await;
    ide.ask("session:send", json!({"sessionId": session, "content": "fail"})).await;
    ide.turn().await;
    ide.sessions(&project).await;
    ide.history(&session).await;
    ide.ask("session:archive", json!({"sessionId": session})).await;
    ide.ask("session:open", json!({"sessionId": "ostler:x"})).await;
    ide.ask("project:remove", json!({"projectId": project})).await;
    let lines = normalized(&ide.socket.transcript, &daemon.workspace());
    daemon.stop().await;
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/ide/conversation.ndjson");
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
struct IdeStillClock(FixedClock);

impl Clock for IdeStillClock {
    fn now(&self) -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    fn uuid(&self) -> Uuid {
        self.0.uuid()
    }
}

/// The lines as they came. What depends on who is faster is evened out: the title comes first, and text that waits is
/// sent as one piece.
fn normalized(transcript: &[String], workspace: &str) -> String {
    let (titles, others): (Vec<&String>, Vec<&String>) =
        transcript.iter().partition(|line| line.contains("session:title-updated"));
    let mut lines: Vec<String> = Vec::new();
    for line in titles.into_iter().chain(others) {
        let line = line.replace(workspace, "/workspace");
        let frame: Value = serde_json::from_str(&line).unwrap();
        let before = lines.last().and_then(|line| serde_json::from_str::<Value>(line).ok());
        match before {
            Some(before)
                if frame["type"] == "session:chunk"
                    && before["entryId"] == frame["entryId"]
                    && before["type"] == frame["type"] =>
            {
                let content = |frame: &Value| frame["content"].as_str().unwrap().to_owned();
                let both = json!(content(&before) + &content(&frame)).to_string();
                let joined = line.replace(&frame["content"].to_string(), &both);
                *lines.last_mut().unwrap() = joined;
            }
            _ => lines.push(line),
        }
    }
    lines.join("\n") + "\n"
}
