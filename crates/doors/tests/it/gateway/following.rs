//! What a socket sees that comes late, reads slowly or falls behind: all of it, and nothing twice.

use std::sync::Arc;

use ostler_agent::Agent;
use ostler_testing::agent::{ScriptedAgent, done, finish, stream};
use ostler_types::Part;
use serde_json::json;
use tokio::sync::Semaphore;

use super::client::GatewayClient;
use crate::daemon::{DoorTestDaemon, DoorTestOptions};

/// A daemon whose agent streams these texts, each after the gate was opened once.
async fn streaming(texts: Vec<String>, turns: usize) -> (DoorTestDaemon, Arc<Semaphore>) {
    let (agent, gate) = (ScriptedAgent::new(), Arc::new(Semaphore::new(0)));
    for _ in 0..turns {
        let (texts, gate) = (texts.clone(), gate.clone());
        agent.push(move |turn| async move {
            let (id, mut offset) = (turn.message_id(), 0);
            for text in &texts {
                gate.acquire().await.unwrap().forget();
                stream(&turn, id, offset, text);
                offset += text.len();
            }
            gate.acquire().await.unwrap().forget();
            finish(&turn, id, vec![Part::text(texts.concat())]).await?;
            done()
        });
    }
    let agent: Arc<dyn Agent> = agent;
    let daemon =
        DoorTestDaemon::start_as(DoorTestOptions { agent: Some(agent), ..DoorTestOptions::default() }).await;
    (daemon, gate)
}

#[tokio::test]
async fn who_comes_in_the_middle_gets_the_text_so_far_and_then_the_rest() {
    let texts: Vec<String> = (0..6).map(|number| format!("piece {number}, ")).collect();
    let whole = texts.concat();
    let (daemon, gate) = streaming(texts, 1).await;
    let mut first = GatewayClient::open(&daemon).await;
    let key = first.session().await;
    let run = first.say(&key, "go").await;
    let mut seen = String::new();
    let mut late = Vec::new();
    for number in 0..6 {
        gate.add_permits(1);
        while !seen.contains(&format!("piece {number}, ")) {
            seen += first.until("chat.delta").await["text"].as_str().unwrap();
        }
        let mut client = GatewayClient::open(&daemon).await;
        let named = ["sessions.get", "chat.history"][number % 2];
        let answer = client.ask(named, json!({"sessionKey": key})).await;
        assert_eq!(answer["messages"].as_array().unwrap().len(), 1, "the answer is not whole yet");
        let mut so_far = String::new();
        while so_far.len() < seen.len() {
            so_far += client.until("chat.delta").await["text"].as_str().unwrap();
        }
        assert_eq!(so_far, seen);
        late.push((client, seen.clone()));
    }
    gate.add_permits(1);
    for (client, seen) in &mut late {
        let (rest, _) = client.run(&run).await;
        assert_eq!(format!("{seen}{rest}"), whole);
    }
    assert_eq!(first.run(&run).await.0, "");
    // Naming it again brings nothing twice.
    first.ask("sessions.get", json!({"sessionKey": key})).await;
    first.ask("health.check", json!({})).await;
    drop((first, late));
    while daemon.gateway.sockets() > 0 {
        tokio::task::yield_now().await;
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_socket_that_does_not_read_misses_nothing_and_holds_nobody_up() {
    // Far more than a subscription's queue holds, and all turns together more than the kernel takes.
    let texts: Vec<String> = (0..150).map(|number| format!("{number:09} {}", "x".repeat(20_000))).collect();
    let whole = texts.concat();
    let count = texts.len();
    let (daemon, gate) = streaming(texts, 6).await;
    let (mut reader, mut sleeper) = (GatewayClient::open(&daemon).await, GatewayClient::open(&daemon).await);
    let key = sleeper.session().await;
    reader.ask("chat.history", json!({"sessionKey": key})).await;
    let mut runs = Vec::new();
    for turn in 0..6 {
        let run = reader.say(&key, "go").await;
        gate.add_permits(count + 1);
        let (text, _) = reader.run(&run).await;
        assert!(text == whole, "turn {turn}: the reader has {} of {} bytes", text.len(), whole.len());
        runs.push(run);
    }
    // Only now does the other one read.
    for (turn, run) in runs.iter().enumerate() {
        let (text, end) = sleeper.run(run).await;
        assert!(text == whole, "turn {turn}: the sleeper has {} of {} bytes", text.len(), whole.len());
        assert_eq!(end["event"], "chat.final");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn sockets_that_go_leave_the_others_undisturbed() {
    let texts: Vec<String> = (0..8).map(|number| format!("piece {number}, ")).collect();
    let whole = texts.concat();
    let (daemon, gate) = streaming(texts, 1).await;
    let mut first = GatewayClient::open(&daemon).await;
    let key = first.session().await;
    let mut others = Vec::new();
    for _ in 0..8 {
        let mut client = GatewayClient::open(&daemon).await;
        client.ask("chat.history", json!({"sessionKey": key})).await;
        others.push((client, String::new()));
    }
    let run = first.say(&key, "go").await;
    drop(first);
    for number in 0..8 {
        gate.add_permits(1);
        for (client, seen) in &mut others {
            while !seen.contains(&format!("piece {number}, ")) {
                *seen += client.until("chat.delta").await["text"].as_str().unwrap();
            }
        }
        if others.len() > 1 {
            others.remove(0);
        }
    }
    gate.add_permits(1);
    let (client, seen) = &mut others[0];
    assert_eq!(client.run(&run).await.0, "");
    assert_eq!(*seen, whole);
    daemon.stop().await;
}

#[tokio::test]
async fn a_message_that_never_streamed_is_shown_when_it_is_there() {
    let agent = ScriptedAgent::new();
    agent.push(|turn| async move {
        let id = turn.message_id();
        finish(&turn, id, vec![Part::text("all"), Part::text("at once")]).await?;
        done()
    });
    let agent: Arc<dyn Agent> = agent;
    let daemon =
        DoorTestDaemon::start_as(DoorTestOptions { agent: Some(agent), ..DoorTestOptions::default() }).await;
    let mut client = GatewayClient::open(&daemon).await;
    let key = client.session().await;
    let run = client.say(&key, "go").await;
    assert_eq!(client.run(&run).await.0, "all\nat once");
    let history = client.ask("chat.history", json!({"sessionKey": key})).await;
    assert_eq!(history["messages"][1]["content"], "all\nat once");
    daemon.stop().await;
}

#[tokio::test]
async fn a_socket_is_told_when_it_follows_too_many_sessions() {
    let (daemon, gate) = streaming(vec!["all the same".to_owned()], 2).await;
    let (mut client, mut other) = (GatewayClient::open(&daemon).await, GatewayClient::open(&daemon).await);
    let first = client.session().await;
    other.ask("chat.history", json!({"sessionKey": first})).await;
    let mut last = String::new();
    for _ in 0..256 {
        last = client.session().await;
    }
    assert_eq!(client.until("sessions.released").await, json!({"sessionKey": first}));
    gate.add_permits(4);
    let run = other.say(&first, "go").await;
    assert_eq!(other.run(&run).await.0, "all the same");
    client.send(&json!({"id": "next", "method": "health.check"})).await;
    assert_eq!(client.frame().await["id"], "next", "it hears nothing of the session that was released");
    let run = client.say(&last, "go").await;
    assert_eq!(client.run(&run).await.0, "all the same");
    daemon.stop().await;
}
