//! A client that does not read: it holds up itself and nobody else, and has missed nothing when it reads again.

use serde_json::json;

use super::client::{JsonlClient, options, text};
use crate::daemon::DoorTestDaemon;

/// Turns of so many bytes: far more than all queues between the engine and the client hold.
const TURNS: usize = 40;
const BYTES: usize = 100_000;

#[tokio::test]
async fn a_client_that_does_not_read_misses_nothing() {
    let daemon = DoorTestDaemon::start().await;
    // A pipe that holds hardly anything.
    let mut rpc = JsonlClient::open(&daemon, options(&daemon), 1024);
    let primary = rpc.next().await["primary_session_id"].as_str().unwrap().to_owned();
    for number in 0..TURNS {
        daemon.say(&primary, &format!("{number} {}", "x".repeat(BYTES))).await;
    }
    // All turns end, though nobody reads here.
    let mut other = daemon.follow(&format!("/v1/sessions/{primary}/events?types=turn_completed")).await;
    for _ in 0..TURNS {
        other.until("turn_completed").await;
    }
    for number in 0..TURNS {
        let end = rpc.event(&primary, "agent_end").await;
        let said = text(end["data"][0].as_array().unwrap().last().unwrap());
        assert!(said.starts_with(&format!("You said: {number} x")), "{}", &said[..40]);
        assert_eq!(said.len(), format!("You said: {number} ").len() + BYTES);
    }
    for (number, event) in rpc.events(&primary).iter().enumerate() {
        assert_eq!(event["event_seq"], number);
    }
    rpc.send(json!({"type": "quit"})).await;
    rpc.end().await.unwrap();
}

#[tokio::test]
async fn a_client_that_does_not_read_can_still_stop_a_turn() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::open(&daemon, options(&daemon), 64);
    let primary = rpc.next().await["primary_session_id"].as_str().unwrap().to_owned();
    for _ in 0..30 {
        daemon.say(&primary, &"y".repeat(BYTES)).await;
    }
    rpc.send(json!({"type": "prompt", "text": "wait"})).await;
    daemon.until(&primary, "model_output_delta").await;
    let mut other = daemon.follow(&format!("/v1/sessions/{primary}/events?types=model_output_delta")).await;
    loop {
        let delta = other.until("model_output_delta").await;
        if delta["data"]["text"].as_str().unwrap().contains("änswer") {
            break;
        }
    }
    rpc.send(json!({"type": "abort"})).await;
    daemon.until(&primary, "turn_canceled").await;
}
