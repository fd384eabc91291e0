//! Prompts: streamed, queued, canceled, failed; exactly one answer to each.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ostler_door_kit::line_connection::ConnectionEnd;
use serde_json::{Value, json};

use super::client::EditorClient;
use crate::daemon::DoorTestDaemon;

/// The answers to prompts, by their ids.
fn answers(seen: &[Value]) -> Vec<&Value> {
    let is_answer = |line: &&Value| line.get("method").is_none() && line.to_string().contains("stopReason");
    seen.iter().filter(is_answer).map(|line| &line["id"]).collect()
}

#[tokio::test]
async fn text_streams_and_is_told_once() {
    let daemon = DoorTestDaemon::start().await;
    let mut editor = EditorClient::start(&daemon).await;
    let id = editor.session(&daemon).await;
    let prompt = editor.prompt(&id, "wait").await;
    assert_eq!(editor.update("agent_message_chunk").await["content"]["text"], "half of ");
    daemon.gate.add_permits(1);
    assert_eq!(editor.answered(prompt).await.unwrap()["stopReason"], "end_turn");
    assert_eq!(editor.text("agent_message_chunk"), "half of an änswer, and the rest");
    assert_eq!(editor.text("user_message_chunk"), "", "the editor shows what it sent itself");
}

#[tokio::test]
async fn a_prompt_while_a_turn_runs_is_answered_in_its_turn() {
    let daemon = DoorTestDaemon::start().await;
    let mut editor = EditorClient::start(&daemon).await;
    let id = editor.session(&daemon).await;
    let first = editor.prompt(&id, "wait").await;
    editor.update("agent_message_chunk").await;
    let second = editor.prompt(&id, "next").await;
    daemon.gate.add_permits(1);
    assert_eq!(editor.answered(first).await.unwrap()["stopReason"], "end_turn");
    assert_eq!(editor.answered(second).await.unwrap()["stopReason"], "end_turn");
    assert!(editor.text("agent_message_chunk").ends_with("You said: next"));
    assert_eq!(answers(&editor.seen), [&json!(first), &json!(second)]);
}

#[tokio::test]
async fn cancel_ends_what_runs_and_what_waits() {
    let daemon = DoorTestDaemon::start().await;
    let mut editor = EditorClient::start(&daemon).await;
    let id = editor.session(&daemon).await;
    let first = editor.prompt(&id, "wait").await;
    editor.update("agent_message_chunk").await;
    let second = editor.prompt(&id, "next").await;
    editor.notify("session/cancel", json!({"sessionId": id})).await;
    for prompt in [second, first] {
        editor.until(|line| line["id"] == prompt && line["result"]["stopReason"] == "cancelled").await;
    }
    assert!(daemon.log(&id).join("\n").contains("half of an änswer"), "what was written is kept");
    // The session goes on, and a cancel of nothing is nothing.
    editor.notify("session/cancel", json!({"sessionId": id})).await;
    let third = editor.prompt(&id, "again").await;
    assert_eq!(editor.answered(third).await.unwrap()["stopReason"], "end_turn");
    assert_eq!(answers(&editor.seen).len(), 3);
}

#[tokio::test]
async fn a_turn_that_fails_is_an_error_that_says_why() {
    let daemon = DoorTestDaemon::start().await;
    let mut editor = EditorClient::start(&daemon).await;
    let id = editor.session(&daemon).await;
    let prompt = editor.prompt(&id, "fail").await;
    let error = editor.answered(prompt).await.unwrap_err();
    assert_eq!((&error["code"], &error["message"]), (&json!(-32603), &json!("it was asked to fail")));
    assert_eq!(error["data"], json!({"code": "scripted", "hint": "try again"}));
}

#[tokio::test]
async fn a_turn_begun_elsewhere_is_shown() {
    let daemon = DoorTestDaemon::start().await;
    let mut editor = EditorClient::start(&daemon).await;
    let id = editor.session(&daemon).await;
    daemon.say(&id, "from elsewhere").await;
    assert_eq!(editor.update("user_message_chunk").await["content"]["text"], "from elsewhere");
    editor.until(|line| line.to_string().contains("agent_message_chunk")).await;
    // And one begun here is stopped from elsewhere.
    let prompt = editor.prompt(&id, "wait").await;
    editor.until(|line| line.to_string().contains("half of ")).await;
    daemon.post(&format!("/v1/sessions/{id}/cancel"), &json!({})).await;
    assert_eq!(editor.answered(prompt).await.unwrap()["stopReason"], "cancelled");
}

#[tokio::test]
async fn pictures_and_files_are_kept_beside_the_log() {
    let daemon = DoorTestDaemon::start().await;
    let mut editor = EditorClient::start(&daemon).await;
    let id = editor.session(&daemon).await;
    let picture = STANDARD.encode(b"\x89PNG\r\n\x1a\n and some more");
    let prompt = json!([
        {"type": "text", "text": "look at"},
        {"type": "image", "mimeType": "image/png", "data": picture},
        {"type": "resource", "resource": {"uri": "file:///w/a.rs", "text": "fn main() {}", "mimeType": "text/rust"}},
        {"type": "resource_link", "name": "b.rs", "uri": "file:///w/b.rs"},
    ]);
    editor.ask("session/prompt", json!({"sessionId": id, "prompt": prompt})).await.unwrap();
    let messages = daemon.get(&format!("/v1/sessions/{id}/messages")).await.json();
    let parts = messages["messages"][0]["parts"].as_array().unwrap().clone();
    assert_eq!((&parts[0]["text"], &parts[1]["type"]), (&json!("look at"), &json!("image")));
    assert_eq!(parts[2]["text"], "file:///w/a.rs:\n```\nfn main() {}\n```");
    assert_eq!(parts[3]["text"], "[@b.rs](file:///w/b.rs)");
    assert!(daemon.data().join("sessions").join(&id).join(parts[1]["ref"].as_str().unwrap()).exists());
}

#[tokio::test]
async fn an_editor_that_goes_takes_its_turns_along() {
    let daemon = DoorTestDaemon::start().await;
    let mut editor = EditorClient::start(&daemon).await;
    let id = editor.session(&daemon).await;
    let prompt = editor.prompt(&id, "wait").await;
    editor.update("agent_message_chunk").await;
    let (ended, seen) = editor.end().await;
    assert_eq!(ended, ConnectionEnd::EndOfInput);
    let answer = seen.iter().find(|line| line["id"] == prompt && line.get("result").is_some()).unwrap();
    assert_eq!(answer["result"]["stopReason"], "cancelled");
    assert!(daemon.log(&id).join("\n").contains("its editor has gone"));
}

#[tokio::test]
async fn a_daemon_that_stops_answers_what_it_was_asked() {
    let daemon = DoorTestDaemon::start().await;
    let mut editor = EditorClient::start(&daemon).await;
    let id = editor.session(&daemon).await;
    let prompt = editor.prompt(&id, "wait").await;
    editor.update("agent_message_chunk").await;
    daemon.stop().await;
    editor.close_input();
    assert!(editor.answered(prompt).await.is_ok_and(|answer| answer["stopReason"] == "cancelled"));
    while editor.read().await.is_some() {}
    assert_eq!(editor.served.await.unwrap(), ConnectionEnd::Stopped);
}

#[tokio::test]
async fn an_editor_that_does_not_read_loses_nothing_and_holds_up_nobody() {
    let daemon = DoorTestDaemon::start().await;
    let mut editor = EditorClient::start(&daemon).await;
    let id = editor.session(&daemon).await;
    let long = "ä long word ".repeat(40_000);
    // Nobody reads anything, and yet all turns come to their end.
    for _ in 0..4 {
        let (_, turn) = daemon.say(&id, &long).await;
        daemon.until_over(&id, &turn).await;
    }
    let prompt = editor.prompt(&id, "last").await;
    assert_eq!(editor.answered(prompt).await.unwrap()["stopReason"], "end_turn");
    let said = format!("You said: {long}").repeat(4);
    assert_eq!(editor.text("user_message_chunk"), long.repeat(4));
    assert_eq!(editor.text("agent_message_chunk"), format!("{said}You said: last"));
}

#[tokio::test]
async fn a_request_that_is_taken_back_stops_its_turn_and_no_other() {
    let daemon = DoorTestDaemon::start().await;
    let mut editor = EditorClient::start(&daemon).await;
    let id = editor.session(&daemon).await;
    let first = editor.prompt(&id, "wait").await;
    editor.update("agent_message_chunk").await;
    let second = editor.prompt(&id, "next").await;
    editor.notify("$/cancel_request", json!({"requestId": second})).await;
    assert_eq!(editor.answered(second).await.unwrap()["stopReason"], "cancelled");
    editor.notify("$/cancel_request", json!({"requestId": first})).await;
    assert_eq!(editor.answered(first).await.unwrap()["stopReason"], "cancelled");
}

#[tokio::test]
async fn closing_a_session_leaves_the_turns_of_others() {
    let daemon = DoorTestDaemon::start().await;
    let mut editor = EditorClient::start(&daemon).await;
    let id = editor.session(&daemon).await;
    let (_, turn) = daemon.say(&id, "wait").await;
    editor.update("agent_message_chunk").await;
    editor.ask("session/close", json!({"sessionId": id})).await.unwrap();
    daemon.gate.add_permits(1);
    daemon.until_over(&id, &turn).await;
    assert!(daemon.log(&id).join("\n").contains("turn_completed"));
}
