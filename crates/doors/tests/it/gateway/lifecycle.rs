//! Sessions that sleep, break down, are removed or run side by side while sockets follow them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use ostler_engine::SystemClock;
use ostler_eventlog::RealDisk;
use ostler_types::{Clock, Command, SessionChange, SessionId};
use serde_json::{Value, json};
use uuid::Uuid;

use super::client::GatewayClient;
use crate::daemon::DoorTestDaemon;

/// Reads until this much of a run's text has come.
async fn read_to(client: &mut GatewayClient, whole: &str) {
    let mut text = String::new();
    while text != whole {
        text += client.until("chat.delta").await["text"].as_str().unwrap();
    }
}

#[tokio::test]
async fn a_session_sleeps_when_its_last_socket_has_gone_and_wakes_for_the_next() {
    let daemon = DoorTestDaemon::start_with(Duration::ZERO).await;
    let (mut one, mut two) = (GatewayClient::open(&daemon).await, GatewayClient::open(&daemon).await);
    let key = one.session().await;
    two.ask("chat.history", json!({"sessionKey": key})).await;
    let run = one.say(&key, "hello").await;
    for client in [&mut one, &mut two] {
        assert_eq!(client.run(&run).await.0, "You said: hello");
    }
    drop(one);
    while daemon.gateway.sockets() > 1 {
        tokio::task::yield_now().await;
    }
    assert_eq!(daemon.engine.awake_count(), 1, "one socket still follows it");
    drop(two);
    while daemon.engine.awake_count() > 0 {
        tokio::task::yield_now().await;
    }
    let mut next = GatewayClient::open(&daemon).await;
    next.ask("chat.history", json!({"sessionKey": key})).await;
    let run = next.say(&key, "again").await;
    assert_eq!(next.run(&run).await.0, "You said: again");
    daemon.stop().await;
}

#[tokio::test]
async fn a_removed_session_ends_its_run_and_leaves_the_others() {
    let daemon = DoorTestDaemon::start().await;
    let mut client = GatewayClient::open(&daemon).await;
    let (removed, stays) = (client.session().await, client.session().await);
    let run = client.say(&removed, "wait").await;
    read_to(&mut client, "half of an änswer").await;
    let path = format!("/v1/sessions/sess_{}?purge=true", removed.replace('-', ""));
    assert_eq!(daemon.delete(&path).await.json()["purged"], true);
    let (rest, end) = client.run(&run).await;
    assert_eq!((rest.as_str(), &end["data"]["aborted"]), ("", &json!(true)));
    let gone = client.call("chat.history", json!({"sessionKey": removed})).await;
    assert_eq!(gone["error"]["message"], format!("Session not found: {removed}"));
    let run = client.say(&stays, "hello").await;
    assert_eq!(client.run(&run).await.0, "You said: hello");
    daemon.stop().await;
}

#[tokio::test]
async fn runs_of_two_sessions_come_side_by_side() {
    let daemon = DoorTestDaemon::start().await;
    let mut client = GatewayClient::open(&daemon).await;
    let (one, two) = (client.session().await, client.session().await);
    let first = client.say(&one, "wait").await;
    read_to(&mut client, "half of an änswer").await;
    let second = client.say(&two, "wait").await;
    read_to(&mut client, "half of an änswer").await;
    daemon.gate.add_permits(2);
    let mut ends: Vec<Value> = Vec::new();
    while ends.len() < 2 {
        ends.push(client.until("chat.final").await["runId"].clone());
    }
    assert!(ends.contains(&first) && ends.contains(&second), "{ends:?}");
    for (key, run) in [(&one, &first), (&two, &second)] {
        let session = client.ask("sessions.get", json!({"sessionKey": key})).await;
        assert_eq!(session["lastRun"], json!({"runId": run, "status": "completed"}));
    }
    daemon.stop().await;
}

/// A clock that panics once, when it is told to.
#[derive(Default)]
struct PanicOnceClock(AtomicBool);

impl Clock for PanicOnceClock {
    fn now(&self) -> Timestamp {
        assert!(!self.0.swap(false, Ordering::SeqCst), "the fuse has blown");
        SystemClock.now()
    }

    fn uuid(&self) -> Uuid {
        SystemClock.uuid()
    }
}

#[tokio::test]
async fn a_session_that_breaks_down_is_followed_on_without_repeating_text() {
    let fuse = Arc::new(PanicOnceClock::default());
    let daemon = DoorTestDaemon::start_at(Arc::new(RealDisk), Duration::from_secs(600), fuse.clone()).await;
    let mut client = GatewayClient::open(&daemon).await;
    let key = client.session().await;
    let run = client.say(&key, "wait").await;
    read_to(&mut client, "half of an änswer").await;
    // The first to look at the clock is the actor that records this, and another one takes its place.
    let session = SessionId::new(key.parse().unwrap());
    fuse.0.store(true, Ordering::SeqCst);
    let change = SessionChange { title: Some("renamed".to_owned()), ..SessionChange::default() };
    daemon.engine.submit(session, Command::Update(change)).await.unwrap();
    assert!(!fuse.0.load(Ordering::SeqCst));
    let (rest, end) = client.run(&run).await;
    assert_eq!((rest.as_str(), &end["data"]["runId"]), ("", &run));
    let run = client.say(&key, "hello").await;
    assert_eq!(client.run(&run).await.0, "You said: hello");
    daemon.stop().await;
}
