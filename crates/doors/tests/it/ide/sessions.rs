//! The rules of sessions: their names, titles, order, and what is listed.

use serde_json::{Value, json};

use super::client::{IdeClient, plain};
use crate::daemon::{DoorTestDaemon, DoorTestOptions};

fn error(message: &str) -> Value {
    json!({"type": "error", "message": message})
}

#[tokio::test]
async fn a_session_is_made_listed_and_called_by_its_first_message() {
    let daemon = DoorTestDaemon::start().await;
    let mut ide = IdeClient::open(&daemon).await;
    let project = ide.project(&daemon).await;
    assert!(ide.sessions(&project).await.is_empty());
    let session = ide.session(&project).await;
    let uuid = session.strip_prefix("ostler:").unwrap();
    assert_eq!(uuid.len(), 36);
    let listed = ide.sessions(&project).await;
    assert_eq!(listed.len(), 1);
    let item = &listed[0];
    assert_eq!(
        *item,
        json!({"id": session, "title": "New Session", "lastActiveAt": item["lastActiveAt"], "cliType": "ostler"})
    );
    // Its title is derived once, even from a message that is like the title of a new one.
    ide.say(&session, "  New Session ").await;
    let frames = ide.turn().await;
    let titled = frames.iter().filter(|frame| frame["type"] == "session:title-updated").collect::<Vec<_>>();
    assert_eq!(
        titled,
        [&json!({"type": "session:title-updated", "sessionId": session, "title": "New Session"})]
    );
    ide.say(&session, "something else").await;
    let frames = ide.turn().await;
    assert!(frames.iter().all(|frame| frame["type"] != "session:title-updated"), "{frames:?}");
    assert_eq!(ide.sessions(&project).await[0]["title"], "New Session");

    let other = ide.session(&project).await;
    let long = "Please refactor the authentication module so that it is testable";
    ide.say(&other, long).await;
    let title = ide.until("session:title-updated").await["title"].clone();
    assert_eq!(title, "Please refactor the authentication module so that...");
    ide.turn().await;
    daemon.stop().await;
}

#[tokio::test]
async fn the_list_is_ordered_by_what_was_said_last_and_leaves_out_what_is_archived() {
    let daemon = DoorTestDaemon::start().await;
    let mut ide = IdeClient::open(&daemon).await;
    let project = ide.project(&daemon).await;
    let mut made = Vec::new();
    for _ in 0..3 {
        made.push(ide.session(&project).await);
    }
    let ids = |listed: &[Value]| {
        listed.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let order = |indexes: [usize; 3]| indexes.map(|index| made[index].clone()).to_vec();
    assert_eq!(ids(&ide.sessions(&project).await), order([2, 1, 0]));
    ide.say(&made[0], "hello").await;
    ide.turn().await;
    let before = ide.sessions(&project).await;
    assert_eq!(ids(&before), order([0, 2, 1]));
    assert!(ide.history(&made[1]).await.is_empty());
    assert_eq!(ide.sessions(&project).await, before, "opening a session is no activity");

    ide.say(&made[1], "wait").await;
    ide.until("session:chunk").await;
    let sent = ide.sessions(&project).await[0].clone();
    assert_eq!(sent["id"], json!(made[1]), "sending is");
    daemon.gate.add_permits(1);
    ide.turn().await;
    let done = ide.sessions(&project).await[0].clone();
    assert!(done["lastActiveAt"].as_str() > sent["lastActiveAt"].as_str(), "and so is the end of the answer");

    let archived = ide.ask("session:archive", json!({"sessionId": made[0]})).await;
    assert_eq!(archived, json!({"type": "session:archived", "sessionId": made[0]}));
    assert_eq!(ids(&ide.sessions(&project).await), [made[1].clone(), made[2].clone()]);
    assert_eq!(
        plain(&ide.history(&made[0]).await),
        ["user: hello", "assistant: You said: hello"],
        "it is there"
    );
    assert!(
        ide.sessions("0190f3c4-a5b6-7c8d-9e0f-112233445566").await.is_empty(),
        "of a project that is not there"
    );
    daemon.stop().await;
}

#[tokio::test]
async fn sessions_and_their_history_survive_a_restart() {
    let daemon = DoorTestDaemon::start().await;
    let mut ide = IdeClient::open(&daemon).await;
    let project = ide.project(&daemon).await;
    let session = ide.session(&project).await;
    ide.say(&session, "hello").await;
    ide.turn().await;
    let (listed, history) = (ide.sessions(&project).await, ide.history(&session).await);
    let dir = daemon.stop().await;
    let daemon =
        DoorTestDaemon::start_as(DoorTestOptions { dir: Some(dir), ..DoorTestOptions::default() }).await;
    let mut ide = IdeClient::open(&daemon).await;
    assert_eq!(ide.sessions(&project).await, listed);
    assert_eq!(ide.history(&session).await, history);
    ide.say(&session, "again").await;
    ide.turn().await;
    assert_eq!(ide.history(&session).await.len(), 4);
    daemon.stop().await;
}

#[tokio::test]
async fn what_is_not_there_is_refused_in_the_words_of_the_wire() {
    let daemon = DoorTestDaemon::start().await;
    let mut ide = IdeClient::open(&daemon).await;
    let project = ide.project(&daemon).await;
    let session = ide.session(&project).await;
    let recorded = daemon.recorded();
    let uuid = session.strip_prefix("ostler:").unwrap();
    let unknown = ["ostler:0190f3c4-a5b6-7c8d-9e0f-112233445566", "claude:x", "x", "", ":", uuid];
    let misspelt =
        [format!("native:{uuid}"), format!("ostler:{}", uuid.to_uppercase()), session.replace('-', "")];
    for name in unknown.iter().map(|name| (*name).to_owned()).chain(misspelt) {
        assert_eq!(
            ide.ask("session:open", json!({"sessionId": name})).await,
            error("Could not load session"),
            "{name}"
        );
        for kind in ["session:cancel", "session:archive"] {
            assert_eq!(ide.ask(kind, json!({"sessionId": name})).await, error("Session not found"), "{name}");
        }
        let sent = ide.ask("session:send", json!({"sessionId": name, "content": "hi"})).await;
        assert_eq!(sent, error("Session not found"), "{name}");
    }
    let create = json!({"projectId": "none", "cliType": "ostler"});
    assert_eq!(ide.ask("session:create", create).await, error("Project not found"));
    for agent in ["codex", "native", ""] {
        let create = json!({"projectId": project, "cliType": agent});
        let refused = ide.ask("session:create", create).await;
        assert_eq!(refused, error(&format!("Could not start {agent}. Check that it's installed.")));
    }
    assert_eq!(daemon.recorded(), recorded);
    daemon.stop().await;
}
