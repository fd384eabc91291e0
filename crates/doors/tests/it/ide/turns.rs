//! What is told while a turn runs: to the one who sent, to others, to those who come later or read slowly.

use serde_json::{Value, json};

use super::client::{IdeClient, folded, plain};
use crate::daemon::DoorTestDaemon;

async fn scene() -> (DoorTestDaemon, IdeClient, String) {
    let daemon = DoorTestDaemon::start().await;
    let mut ide = IdeClient::open(&daemon).await;
    let project = ide.project(&daemon).await;
    let session = ide.session(&project).await;
    (daemon, ide, session)
}

fn ends(frames: &[Value]) -> Vec<&Value> {
    let is_end = |frame: &&Value| frame["type"] == "session:complete" || frame["type"] == "session:cancelled";
    frames.iter().filter(is_end).collect()
}

#[tokio::test]
async fn an_answer_streams_into_an_entry_and_ends_once() {
    let (daemon, mut ide, session) = scene().await;
    ide.say(&session, "hello").await;
    let frames = ide.turn().await;
    assert!(frames.iter().all(|frame| frame["sessionId"] == json!(session)));
    let update = frames.iter().position(|frame| frame["type"] == "session:update").unwrap();
    let chunk = frames.iter().position(|frame| frame["type"] == "session:chunk").unwrap();
    assert!(update < chunk, "an entry is there before its text");
    assert_eq!(frames[update]["entry"]["content"], "");
    let entries = folded(&frames);
    assert_eq!(plain(&entries), ["assistant: You said: hello"], "who sends shows that by itself");
    assert_eq!(frames.last().unwrap()["entryId"], entries[0]["entryId"]);
    let history = ide.history(&session).await;
    assert_eq!(plain(&history), ["user: hello", "assistant: You said: hello"]);
    assert_eq!(history[1]["entryId"], entries[0]["entryId"], "live and read back they are the same");
    daemon.stop().await;
}

#[tokio::test]
async fn canceling_keeps_the_partial_text_and_nothing_is_said_where_nothing_runs() {
    let (daemon, mut ide, session) = scene().await;
    ide.tell("session:cancel", json!({"sessionId": session})).await;
    ide.say(&session, "wait").await;
    let mut frames = Vec::new();
    while !plain(&folded(&frames)).contains(&"assistant: half of an änswer".to_owned()) {
        frames.push(ide.frame().await);
    }
    assert!(ends(&frames).is_empty(), "{frames:?}");
    ide.tell("session:cancel", json!({"sessionId": session})).await;
    frames.extend(ide.turn().await);
    assert_eq!(frames.last().unwrap()["type"], "session:cancelled");
    assert_eq!(ends(&frames).len(), 1);
    let entries = folded(&frames);
    assert_eq!(plain(&entries), ["assistant: half of an änswer"]);
    assert_eq!(frames.last().unwrap()["entryId"], entries[0]["entryId"]);
    assert_eq!(plain(&ide.history(&session).await), ["user: wait", "assistant: half of an änswer"]);
    ide.say(&session, "go on").await;
    assert_eq!(plain(&folded(&ide.turn().await)), ["assistant: You said: go on"]);
    daemon.stop().await;
}

#[tokio::test]
async fn a_call_is_one_entry_from_its_beginning_to_its_end() {
    let (daemon, mut ide, session) = scene().await;
    ide.say(&session, "ask").await;
    let running = loop {
        let frame = ide.until("session:update").await;
        if frame["entry"]["type"] == "tool-call" {
            break frame["entry"].clone();
        }
    };
    assert_eq!((&running["name"], &running["status"]), (&json!("shell"), &json!("running")));
    let id = format!("sess_{}", session.strip_prefix("ostler:").unwrap().replace('-', ""));
    daemon.until(&id, "approval_requested").await;
    let waiting = daemon.get(&format!("/v1/sessions/{id}")).await.json()["pending_approvals"][0].clone();
    let answer = json!({"turn_id": waiting["turn_id"], "tool_call_id": "call_1", "action": "approve"});
    assert_eq!(daemon.post(&format!("/v1/sessions/{id}/approve"), &answer).await.status(), 200);
    let frames = ide.turn().await;
    let entries = folded(&frames);
    assert_eq!(plain(&entries), ["shell complete: ok", "assistant: done"]);
    assert_eq!(entries[0]["entryId"], running["entryId"]);
    assert_eq!(frames.last().unwrap()["entryId"], entries[1]["entryId"], "the end is that of the text");
    assert_eq!(plain(&ide.history(&session).await), ["user: ask", "shell complete: ok", "assistant: done"]);
    daemon.stop().await;
}

#[tokio::test]
async fn a_turn_that_fails_says_why_and_ends_once() {
    let (daemon, mut ide, session) = scene().await;
    let failed = ide.ask("session:send", json!({"sessionId": session, "content": "fail"})).await;
    assert_eq!((&failed["type"], &failed["sessionId"]), (&json!("error"), &json!(session)));
    assert!(!failed["message"].as_str().unwrap().is_empty());
    let frames = ide.turn().await;
    assert_eq!(frames.last().unwrap()["type"], "session:complete");
    ide.say(&session, "hello").await;
    assert_eq!(plain(&folded(&ide.turn().await)), ["assistant: You said: hello"], "and the session goes on");
    daemon.stop().await;
}

#[tokio::test]
async fn others_see_all_of_it_and_who_comes_late_sees_the_text_so_far() {
    let (daemon, mut ide, session) = scene().await;
    let mut other = IdeClient::open(&daemon).await;
    assert!(other.history(&session).await.is_empty());
    ide.say(&session, "wait").await;
    let mut seen = Vec::new();
    while !plain(&folded(&seen)).contains(&"assistant: half of an änswer".to_owned()) {
        seen.push(other.frame().await);
    }
    let mut late = IdeClient::open(&daemon).await;
    let history = late.ask("session:open", json!({"sessionId": session})).await;
    let mut late_seen = vec![history];
    late_seen.push(late.until("session:update").await);
    // Opening it once more begins anew, and says nothing twice.
    seen.push(other.ask("session:open", json!({"sessionId": session})).await);
    daemon.gate.add_permits(1);
    seen.extend(other.turn().await);
    late_seen.extend(late.turn().await);
    ide.turn().await;
    let whole = ["user: wait", "assistant: half of an änswer, and the rest"];
    assert_eq!(plain(&folded(&late_seen)), whole);
    assert_eq!(plain(&folded(&seen)), whole);
    assert_eq!(ends(&seen).len(), 1);
    let last = |frames: &[Value]| frames.last().unwrap()["entryId"].clone();
    assert_eq!(last(&seen), last(&late_seen));

    // A message that comes in at another door is told to all.
    let id = format!("sess_{}", session.strip_prefix("ostler:").unwrap().replace('-', ""));
    daemon.say(&id, "from elsewhere").await;
    for socket in [&mut ide, &mut other, &mut late] {
        let told = folded(&socket.turn().await);
        assert_eq!(plain(&told), ["user: from elsewhere", "assistant: You said: from elsewhere"]);
    }
    let archived = json!({"type": "session:archived", "sessionId": session});
    ide.ask("session:archive", json!({"sessionId": session})).await;
    assert_eq!(other.until("session:archived").await, archived);
    daemon.stop().await;
}

#[tokio::test]
async fn a_client_that_reads_slowly_misses_nothing() {
    let (daemon, mut ide, session) = scene().await;
    let text = |number: usize| format!("{number} {}", "x".repeat(100_000));
    for number in 0..24 {
        ide.say(&session, &text(number)).await;
    }
    // Another client sees the last answer, and only then the first begins to read.
    let mut other = IdeClient::open(&daemon).await;
    let last = format!("assistant: You said: {}", text(23));
    let mut seen = vec![other.ask("session:open", json!({"sessionId": session})).await];
    while !plain(&folded(&seen)).contains(&last) {
        seen.push(other.frame().await);
    }
    let mut frames = Vec::new();
    for _ in 0..24 {
        frames.extend(ide.turn().await);
    }
    let wanted: Vec<String> =
        (0..24).map(|number| format!("assistant: You said: {}", text(number))).collect();
    assert!(plain(&folded(&frames)) == wanted, "something was lost, doubled or in another order");
    assert_eq!(ends(&frames).len(), 24);
    daemon.stop().await;
}
