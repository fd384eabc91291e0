//! Sessions and chat: the life of a run, from whichever door it was begun.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::client::{GatewayClient, GatewayReceived};
use crate::daemon::{DoorTestDaemon, DoorTestOptions};

#[tokio::test]
async fn a_conversation_is_kept_over_a_restart() {
    let daemon = DoorTestDaemon::start().await;
    let mut client = GatewayClient::open(&daemon).await;
    let agents = client.ask("agents.list", json!({})).await;
    assert_eq!(agents["agents"][0]["id"], "assistant");
    assert_eq!(agents["agents"][0]["model"], "test:one");
    let key = client.session().await;
    let long = format!("Hello,  my name is Alice.\n{}", "And so on. ".repeat(10));
    let run = client.say(&key, &long).await;
    let (text, end) = client.run(&run).await;
    assert_eq!(text, format!("You said: {long}"));
    let usage = json!({"inputTokens": 3, "outputTokens": 5});
    assert_eq!(end, json!({"event": "chat.final", "data": {"runId": run, "usage": usage}}));
    let second = client.say(&key, "What is my name?").await;
    client.run(&second).await;
    let history = client.ask("chat.history", json!({"sessionKey": key})).await;
    check_history(&history["messages"], &[("user", &long, &run), ("assistant", &text, &run)]);
    let last = client.ask("chat.history", json!({"sessionKey": key, "limit": 1})).await;
    assert_eq!(last["messages"].as_array().unwrap().len(), 1);
    assert_eq!(last["messages"][0]["content"], "You said: What is my name?");
    let empty = client.session().await;

    let dir = daemon.stop().await;
    assert_eq!(client.receive().await, GatewayReceived::Close(1001, "the daemon is stopping".to_owned()));
    let daemon =
        DoorTestDaemon::start_as(DoorTestOptions { dir: Some(dir), ..DoorTestOptions::default() }).await;
    let mut client = GatewayClient::open(&daemon).await;
    let list = client.ask("sessions.list", json!({})).await;
    let keys: Vec<&Value> = list["sessions"].as_array().unwrap().iter().map(|meta| &meta["key"]).collect();
    assert_eq!(keys, [&json!(empty), &json!(key)], "newest first");
    let meta = &list["sessions"][1];
    assert_eq!(meta["label"], "Hello, my name is Alice. And so on. And so on. And so o…");
    assert_eq!(meta["agentId"], "assistant");
    assert!(meta["createdAt"].as_i64() <= meta["updatedAt"].as_i64());
    assert!(list["sessions"][0].get("label").is_none());
    let session = client.ask("sessions.get", json!({"sessionKey": key})).await;
    assert_eq!(session["session"]["key"], key);
    assert_eq!(session["lastRun"], json!({"runId": second, "status": "completed"}));
    assert_eq!(session["messages"].as_array().unwrap().len(), 4);
    check_history(&session["messages"], &[("user", &long, &run), ("assistant", &text, &run)]);
    daemon.stop().await;
}

fn check_history(messages: &Value, expected: &[(&str, &str, &Value)]) {
    for (message, (role, content, run)) in messages.as_array().unwrap().iter().zip(expected) {
        assert_eq!((&message["role"], &message["content"]), (&json!(role), &json!(content)));
        assert_eq!(&message["runId"], *run);
        assert!(message["timestamp"].as_i64().unwrap() > 1_700_000_000_000);
    }
}

#[tokio::test]
async fn agents_are_described_by_the_workspace_and_their_sessions_are_theirs() {
    let daemon = DoorTestDaemon::start().await;
    let text = "# Agents\n## critic\nModel: test/two\nDescription: finds faults\n\nBe strict.\n\n## broken\nModel: no/such\n";
    std::fs::write(format!("{}/AGENTS.md", daemon.workspace()), text).unwrap();
    let mut client = GatewayClient::open(&daemon).await;
    let agents = client.ask("agents.list", json!({})).await;
    let ids: Vec<&Value> = agents["agents"].as_array().unwrap().iter().map(|agent| &agent["id"]).collect();
    assert_eq!(ids, ["assistant", "critic", "broken"]);
    let critic =
        json!({"id": "critic", "name": "critic", "model": "test/two", "description": "finds faults"});
    assert_eq!(agents["agents"][1], critic);
    let key = client.ask("sessions.create", json!({"agentId": "critic"})).await["sessionKey"].clone();
    let session = client.ask("sessions.get", json!({"sessionKey": key})).await;
    assert_eq!(session["session"]["agentId"], "critic");
    let id = format!("sess_{}", key.as_str().unwrap().replace('-', ""));
    let shown = daemon.get(&format!("/v1/sessions/{id}")).await.json();
    assert_eq!(shown["model"], "test:two");
    assert!(shown["system_prompt"].as_str().unwrap().contains("Be strict."));
    assert_eq!(shown["workspace_path"], std::fs::canonicalize(daemon.workspace()).unwrap().to_str().unwrap());
    let refused = client.call("sessions.create", json!({"agentId": "broken"})).await;
    assert_eq!(refused["error"]["code"], -32603);
    assert!(refused["error"]["message"].as_str().unwrap().contains("no:such"), "{refused}");
    daemon.stop().await;
}

#[tokio::test]
async fn a_workspace_that_is_not_trusted_can_only_wish_for_a_model_that_there_is() {
    let daemon = DoorTestDaemon::start().await;
    let mut client = GatewayClient::open(&daemon).await;
    let file = format!("{}/AGENTS.md", daemon.workspace());
    let workspace = std::fs::canonicalize(daemon.workspace()).unwrap().to_str().unwrap().to_owned();
    // Nobody has asked for this agent, so its wishes are no error.
    for wish in ["http://127.0.0.1:1/v1", "no/such", "test/hidden", "file:///bin/sh", "../../etc/passwd"] {
        std::fs::write(&file, format!("## assistant\nModel: {wish}\n")).unwrap();
        assert_eq!(create_session(&daemon, &mut client, json!({})).await["model"], "test:one", "{wish}");
        let named = client.call("sessions.create", json!({"agentId": "assistant"})).await;
        assert_eq!(named["error"]["code"], -32603, "{wish}: {named}");
    }
    std::fs::write(&file, "## assistant\nModel: test/two\nBase URL: http://127.0.0.1:1\nCommand: sh\n")
        .unwrap();
    let session = create_session(&daemon, &mut client, json!({})).await;
    assert_eq!((&session["model"], &session["agent"]), (&json!("test:two"), &json!("native")));
    // A model that can be named but is not offered is for those who are trusted.
    std::fs::write(&file, "## assistant\nModel: test/hidden\n").unwrap();
    daemon.engine.trust(workspace, true).await.unwrap();
    assert_eq!(create_session(&daemon, &mut client, json!({})).await["model"], "test:hidden");
    daemon.stop().await;
}

/// A session that is made with these params, as the http door shows it.
async fn create_session(daemon: &DoorTestDaemon, client: &mut GatewayClient, params: Value) -> Value {
    let made = client.ask("sessions.create", params).await;
    let id = made["sessionKey"].as_str().unwrap().replace('-', "");
    daemon.get(&format!("/v1/sessions/sess_{id}")).await.json()
}

#[tokio::test]
async fn every_socket_that_has_named_a_session_sees_it_whatever_door_it_comes_in_by() {
    let daemon = DoorTestDaemon::start().await;
    let (mut one, mut two, mut other) = (
        GatewayClient::open(&daemon).await,
        GatewayClient::open(&daemon).await,
        GatewayClient::open(&daemon).await,
    );
    let key = one.session().await;
    two.ask("chat.history", json!({"sessionKey": key})).await;
    other.session().await;
    let run = one.say(&key, "hello").await;
    for client in [&mut one, &mut two] {
        let (text, end) = client.run(&run).await;
        assert_eq!((text.as_str(), &end["event"]), ("You said: hello", &json!("chat.final")));
    }
    // A turn that was begun at the http door.
    let id = format!("sess_{}", key.replace('-', ""));
    let (_, turn) = daemon.say(&id, "from elsewhere").await;
    let run = uuid(&turn);
    for client in [&mut one, &mut two] {
        assert_eq!(client.run(&json!(run)).await.0, "You said: from elsewhere");
    }
    // A session that was made there.
    let made = daemon.session().await;
    let made_key = uuid(&made);
    let list = two.ask("sessions.list", json!({})).await;
    assert!(list["sessions"].as_array().unwrap().iter().any(|meta| meta["key"] == made_key));
    let run = two.say(&made_key, "good morning").await;
    assert_eq!(two.run(&run).await.0, "You said: good morning");
    // Whoever has named neither has heard nothing.
    other.send(&json!({"id": "x", "method": "health.check"})).await;
    assert_eq!(other.frame().await["id"], "x");
    daemon.stop().await;
}

/// An id of the http door as this wire writes it.
fn uuid(id: &str) -> String {
    let digits = id.split_once('_').unwrap().1;
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

#[tokio::test]
async fn an_aborted_run_ends_once_and_keeps_what_it_had_written() {
    let daemon = DoorTestDaemon::start().await;
    let mut client = GatewayClient::open(&daemon).await;
    let key = client.session().await;
    let run = client.say(&key, "wait").await;
    let mut text = String::new();
    while text != "half of an änswer" {
        text += client.until("chat.delta").await["text"].as_str().unwrap();
    }
    // Said while a run is on: it waits, and is in the history.
    let waiting = client.say(&key, "later").await;
    let gone = client.say(&key, "never").await;
    let history = client.ask("chat.history", json!({"sessionKey": key})).await;
    let said: Vec<&Value> =
        history["messages"].as_array().unwrap().iter().map(|message| &message["content"]).collect();
    assert_eq!(said, ["wait", "later", "never"]);
    assert_eq!(client.ask("chat.abort", json!({"runId": gone})).await, json!({"ok": true}));
    let end = client.until("chat.final").await;
    assert_eq!((&end["runId"], &end["aborted"]), (&gone, &json!(true)), "it never begins");
    assert_eq!(client.ask("chat.abort", json!({"runId": run})).await, json!({"ok": true}));
    let mut ends = HashMap::new();
    let (_, end) = client.run(&run).await;
    assert_eq!(end["data"]["aborted"], true);
    ends.insert(run.to_string(), 1);
    let (text, end) = client.run(&waiting).await;
    assert_eq!((text.as_str(), end["data"].get("aborted")), ("You said: later", None));
    let again = client.call("chat.abort", json!({"runId": run})).await;
    assert_eq!(again["error"]["code"], -32603);
    let session = client.ask("sessions.get", json!({"sessionKey": key})).await;
    let said: Vec<&Value> =
        session["messages"].as_array().unwrap().iter().map(|message| &message["content"]).collect();
    assert_eq!(said, ["wait", "half of an änswer", "later", "You said: later"]);
    assert_eq!(session["messages"][1]["runId"], run);
    daemon.stop().await;
}

#[tokio::test]
async fn a_run_that_fails_ends_in_an_error_and_nothing_else() {
    let daemon = DoorTestDaemon::start().await;
    let mut client = GatewayClient::open(&daemon).await;
    let key = client.session().await;
    let run = client.say(&key, "fail").await;
    let (_, end) = client.run(&run).await;
    let expected = json!({"runId": run, "message": "it was asked to fail (try again)"});
    assert_eq!(end, json!({"event": "chat.error", "data": expected}));
    let session = client.ask("sessions.get", json!({"sessionKey": key})).await;
    let last = json!({"runId": run, "status": "failed", "message": "it was asked to fail"});
    assert_eq!(session["lastRun"], last);
    let next = client.say(&key, "and now").await;
    let event = client.event().await;
    assert_eq!(event["data"]["runId"], next, "nothing more came of the first: {event}");
    daemon.stop().await;
}

#[tokio::test]
async fn a_daemon_that_stops_says_how_the_run_ended() {
    let daemon = DoorTestDaemon::start().await;
    let mut client = GatewayClient::open(&daemon).await;
    let key = client.session().await;
    let run = client.say(&key, "wait").await;
    client.until("chat.delta").await;
    let dir = daemon.stop().await;
    let (_, end) = client.run(&run).await;
    assert_eq!(end["data"]["aborted"], true);
    assert_eq!(client.receive().await, GatewayReceived::Close(1001, "the daemon is stopping".to_owned()));
    let daemon =
        DoorTestDaemon::start_as(DoorTestOptions { dir: Some(dir), ..DoorTestOptions::default() }).await;
    let mut client = GatewayClient::open(&daemon).await;
    let session = client.ask("sessions.get", json!({"sessionKey": key})).await;
    assert_eq!(session["lastRun"]["status"], "aborted");
    assert!(session["messages"][1]["content"].as_str().unwrap().starts_with("half of "));
    daemon.stop().await;
}
