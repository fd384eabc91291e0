//! Agents besides the native one: their names, and the names of their sessions.

use ostler_types::{NewSession, SessionId};
use serde_json::json;

use super::client::{IdeClient, plain};
use crate::daemon::{DoorTestDaemon, DoorTestOptions};

#[tokio::test]
async fn a_session_is_called_by_what_its_agent_calls_it() {
    let options = DoorTestOptions { more_agents: vec!["claude-code"], ..DoorTestOptions::default() };
    let daemon = DoorTestDaemon::start_as(options).await;
    let mut ide = IdeClient::open(&daemon).await;
    let project = ide.project(&daemon).await;
    let clock = daemon.engine.clock();
    let new = NewSession::new(SessionId::new(clock.uuid()), clock.now(), daemon.workspace(), "test:one");
    let own = Some("abc:1:23".to_owned());
    let new = NewSession { agent: "claude-code".to_owned(), agent_session_id: own, ..new };
    let made = daemon.engine.create(new).await.unwrap();
    let listed = ide.sessions(&project).await;
    assert_eq!(
        (&listed[0]["id"], &listed[0]["cliType"]),
        (&json!("claude-code:abc:1:23"), &json!("claude-code"))
    );
    let name = "claude-code:abc:1:23";
    assert!(ide.history(name).await.is_empty());
    ide.say(name, "hello").await;
    let frames = ide.turn().await;
    assert!(frames.iter().all(|frame| frame["sessionId"] == name), "{frames:?}");
    let by_uuid = format!("claude-code:{}", made.id.uuid());
    assert_eq!(plain(&ide.history(&by_uuid).await), ["user: hello", "assistant: You said: hello"]);
    for wrong in ["claude-code:abc", "ostler:abc:1:23", &format!("ostler:{}", made.id.uuid())] {
        let refused = ide.ask("session:open", json!({"sessionId": wrong})).await;
        assert_eq!(refused["message"], "Could not load session", "{wrong}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn agents_are_told_of_and_reconnected() {
    let options = DoorTestOptions { more_agents: vec!["codex"], ..DoorTestOptions::default() };
    let daemon = DoorTestDaemon::start_as(options).await;
    let mut ide = IdeClient::open(&daemon).await;
    let status =
        |agent: &str, status: &str| json!({"type": "agent:status", "cliType": agent, "status": status});
    // It has no process of its own, so there is nothing to connect to.
    assert_eq!(ide.ask("session:reconnect", json!({"cliType": "codex"})).await, status("codex", "connected"));
    assert_eq!(
        ide.ask("session:reconnect", json!({"cliType": "ostler"})).await,
        status("ostler", "connected")
    );
    let refused = ide.ask("session:reconnect", json!({"cliType": "gemini"})).await;
    assert_eq!(refused, json!({"type": "error", "message": "Could not connect to gemini"}));
    let project = ide.project(&daemon).await;
    let created = ide.ask("session:create", json!({"projectId": project, "cliType": "codex"})).await;
    let name = created["sessionId"].as_str().unwrap().to_owned();
    assert!(name.starts_with("codex:"), "{created}");
    ide.say(&name, "hello").await;
    ide.turn().await;
    assert_eq!(ide.history(&name).await.len(), 2);
    daemon.stop().await;
}
