//! A whole conversation, byte for byte but for the times.

use std::sync::Arc;
use std::time::Duration;

use ostler_eventlog::RealDisk;
use ostler_testing::clock::FixedClock;
use serde_json::{Value, json};

use super::client::{JsonlClient, options};
use crate::daemon::DoorTestDaemon;

/// Set to write the file anew.
const WRITE: &str = "OSTLER_WRITE_GOLDEN";

#[tokio::test]
async fn the_transcript_is_as_it_was() {
    let clock = Arc::new(FixedClock::default());
    let daemon = DoorTestDaemon::start_at(Arc::new(RealDisk), Duration::from_secs(600), clock).await;
    let mut rpc = JsonlClient::start_with(&daemon, options(&daemon)).await;
    let primary = rpc.primary.clone();
    let mut said: Vec<(usize, Value)> = Vec::new();
    macro_rules! say {
        ($($frame:tt)*) => {{
            let frame = json!($($frame)*);
            said.push((rpc.seen.len(), frame.clone()));
            rpc.send(frame).await;
        }};
    }
    say!({"type": "prompt", "text": "wait"});
    rpc.event(&primary, "message_update").await;
    say!({"type": "abort"});
    rpc.event(&primary, "agent_end").await;
    say!({"type": "prompt", "text": "ask", "session_id": primary});
    let asked = rpc.until("ui_request").await;
    say!({"type": "ui_response", "id": asked["id"], "result": "session", "error": null});
    rpc.event(&primary, "agent_end").await;
    say!({"type": "prompt", "text": "fail"});
    rpc.event(&primary, "agent_end").await;
    say!({"type": "start_session", "model": "test:two", "set_active": true});
    let second = rpc.until("session_started").await["session_id"].clone();
    rpc.until("active_session").await;
    say!({"type": "stats"});
    rpc.until("stats").await;
    say!({"type": "close_session", "session_id": second});
    rpc.until("active_session").await;
    said.push((rpc.seen.len(), json!({"type": "dance"})));
    rpc.write(b"{\"type\":\"dance\"}\n").await;
    rpc.next().await;
    say!({"type": "quit"});
    rpc.end().await.unwrap();
    let mut lines = Vec::new();
    for (place, line) in rpc.lines.iter().enumerate() {
        let before = said.iter().filter(|(at, _)| *at == place);
        lines.extend(before.map(|(_, frame)| format!("> {frame}")));
        lines.push(format!("< {}", without_times(line)));
    }
    lines.extend(said.iter().filter(|(at, _)| *at == rpc.seen.len()).map(|(_, frame)| format!("> {frame}")));
    let workspace = std::fs::canonicalize(daemon.workspace()).unwrap().display().to_string();
    let transcript =
        lines.join("\n").replace(&workspace, "/workspace").replace(&daemon.workspace(), "/workspace") + "\n";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/jsonl/transcript.txt");
    if std::env::var_os(WRITE).is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &transcript).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    for (number, (now, then)) in transcript.lines().zip(kept.lines()).enumerate() {
        assert_eq!(now, then, "line {}; {WRITE}=1 writes the file anew", number + 1);
    }
    assert_eq!(transcript, kept);
}

/// The bytes that were sent, with every time set to 0: times depend on how often the clock was read. Nothing is read
/// and written again, so that the order of members and every escape is as it was.
fn without_times(line: &str) -> String {
    const NAME: &str = "\"timestamp\":";
    let mut pieces = line.split(NAME);
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.find(|c: char| !c.is_ascii_digit()).unwrap_or(piece.len());
        assert!(digits > 0, "a time is a number: {piece}");
        out += &format!("{NAME}0{}", &piece[digits..]);
    }
    out
}
