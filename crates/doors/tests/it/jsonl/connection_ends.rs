//! How a connection ends: `quit`, the end of the input, a reader that has gone, a daemon that stops. Nothing is
//! lost, and nothing that the client had begun goes on.

use std::time::Duration;

use ostler_door_kit::line_connection::ConnectionEnd;
use ostler_doors::jsonl::JsonlOptions;
use serde_json::{Value, json};

use super::client::{JsonlClient, options, text};
use crate::daemon::DoorTestDaemon;

async fn status(daemon: &DoorTestDaemon, session: &str) -> Value {
    daemon.get(&format!("/v1/sessions/{session}")).await.json()
}

/// How often each terminal is in a session's log.
fn terminals(daemon: &DoorTestDaemon, session: &str) -> Vec<String> {
    let name =
        |line: &String| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_owned();
    let names = daemon.log(session).iter().map(name).collect::<Vec<_>>();
    names.into_iter().filter(|name| name.starts_with("turn_c") || name == "turn_failed").collect()
}

#[tokio::test]
async fn quit_ends_turns_and_keeps_what_was_said() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let primary = rpc.primary.clone();
    rpc.send(json!({"type": "start_session"})).await;
    let second = rpc.until("session_started").await["session_id"].as_str().unwrap().to_owned();
    for session in [&primary, &second] {
        rpc.send(json!({"type": "prompt", "text": "wait", "session_id": session})).await;
        rpc.event(session, "message_update").await;
    }
    rpc.send(json!({"type": "prompt", "text": "never"})).await;
    rpc.send(json!({"type": "quit"})).await;
    assert_eq!(rpc.end().await, Ok(ConnectionEnd::Quit));
    for session in [&primary, &second] {
        let end = rpc.events(session).last().unwrap()["event"].clone();
        assert_eq!(end["type"], "agent_end", "its end was told");
        let last = end["data"][0].as_array().unwrap().last().unwrap().clone();
        assert_eq!((text(&last).as_str(), &last["stop_reason"]), ("half of an änswer", &json!("aborted")));
        assert_eq!(terminals(&daemon, session), ["turn_canceled"]);
        // It can be gone on with, here or at another door.
        assert_eq!(status(&daemon, session).await["status"], "canceled");
    }
    assert_eq!(status(&daemon, &primary).await["queue"], json!([]));
    daemon.say(&primary, "go on").await;
    daemon.until(&primary, "turn_completed").await;
}

#[tokio::test]
async fn the_end_of_the_input_lets_a_turn_finish() {
    let daemon = DoorTestDaemon::start().await;
    let linger = Duration::from_secs(600);
    let mut rpc = JsonlClient::start_with(&daemon, JsonlOptions { linger, ..options(&daemon) }).await;
    let primary = rpc.primary.clone();
    rpc.send(json!({"type": "prompt", "text": "wait"})).await;
    // The last line has no end, and counts.
    rpc.write(b"{\"type\":\"prompt\",\"text\":\"and more\"}").await;
    rpc.close_input();
    rpc.event(&primary, "message_update").await;
    daemon.gate.add_permits(1);
    assert_eq!(rpc.end().await, Ok(ConnectionEnd::EndOfInput));
    assert_eq!(terminals(&daemon, &primary), ["turn_completed", "turn_completed"]);
    assert_eq!(rpc.names(&primary).iter().filter(|name| *name == "agent_end").count(), 2);
}

#[tokio::test]
async fn the_end_of_the_input_in_mid_turn_cancels_it_after_a_while() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let primary = rpc.primary.clone();
    rpc.send(json!({"type": "prompt", "text": "wait"})).await;
    rpc.event(&primary, "message_update").await;
    rpc.close_input();
    assert_eq!(rpc.end().await, Ok(ConnectionEnd::EndOfInput));
    assert_eq!(terminals(&daemon, &primary), ["turn_canceled"]);
    assert!(daemon.log(&primary).join("\n").contains("half of an änswer"));
}

#[tokio::test]
async fn a_client_that_hangs_up_leaves_nothing_running() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let primary = rpc.primary.clone();
    rpc.send(json!({"type": "prompt", "text": "wait"})).await;
    rpc.event(&primary, "message_update").await;
    let ended = rpc.hang_up().await.unwrap();
    assert!(matches!(ended, ConnectionEnd::EndOfInput | ConnectionEnd::ClientGone), "{ended:?}");
    assert_eq!(terminals(&daemon, &primary), ["turn_canceled"]);
}

#[tokio::test]
async fn turns_that_others_have_asked_for_go_on() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let primary = rpc.primary.clone();
    daemon.say(&primary, "wait").await;
    rpc.event(&primary, "message_update").await;
    rpc.send(json!({"type": "quit"})).await;
    assert_eq!(rpc.end().await, Ok(ConnectionEnd::Quit));
    daemon.gate.add_permits(1);
    daemon.until(&primary, "turn_completed").await;
}

#[tokio::test]
async fn being_stopped_is_like_quit() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let primary = rpc.primary.clone();
    rpc.send(json!({"type": "prompt", "text": "wait"})).await;
    rpc.event(&primary, "message_update").await;
    rpc.stop.cancel();
    assert_eq!(rpc.end().await, Ok(ConnectionEnd::Stopped));
    assert_eq!(terminals(&daemon, &primary), ["turn_canceled"]);
}

#[tokio::test]
async fn a_daemon_that_stops_says_so_after_all_else() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let primary = rpc.primary.clone();
    rpc.send(json!({"type": "prompt", "text": "wait"})).await;
    rpc.event(&primary, "message_update").await;
    let dir = daemon.stop().await;
    assert_eq!(rpc.end().await, Ok(ConnectionEnd::Stopped));
    let last = rpc.seen.last().unwrap();
    assert_eq!(last["message"], "the daemon is shutting down");
    assert_eq!(rpc.events(&primary).last().unwrap()["event"]["type"], "agent_end");
    drop(dir);
}

#[tokio::test]
async fn a_first_session_that_cannot_be_is_told_and_ends_it() {
    let daemon = DoorTestDaemon::start().await;
    let wrong = JsonlOptions { model: Some("test:three".to_owned()), ..options(&daemon) };
    let mut rpc = JsonlClient::open(&daemon, wrong, 1024);
    let error = rpc.next().await;
    assert!(error["message"].as_str().unwrap().contains("invalid model"), "{error}");
    assert!(rpc.end().await.is_err());
}
