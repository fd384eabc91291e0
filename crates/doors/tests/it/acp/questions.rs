//! Questions: asked of the editor, answered there or elsewhere, and still there when it comes back.

use serde_json::{Value, json};

use super::client::EditorClient;
use crate::daemon::DoorTestDaemon;

async fn asked(daemon: &DoorTestDaemon) -> (EditorClient, String, i64, Value) {
    let mut editor = EditorClient::start(daemon).await;
    let id = editor.session(daemon).await;
    let prompt = editor.prompt(&id, "ask").await;
    let question = editor.question().await;
    (editor, id, prompt, question)
}

/// How the call ended, as the editor was told.
fn status(editor: &EditorClient) -> Value {
    let mut updates = editor.seen.iter().map(|line| &line["params"]["update"]);
    updates.rfind(|update| update["sessionUpdate"] == "tool_call_update").unwrap()["status"].clone()
}

#[tokio::test]
async fn a_call_waits_for_the_editor_and_runs_or_does_not() {
    let daemon = DoorTestDaemon::start().await;
    for (option, expected) in
        [("once", "completed"), ("session", "completed"), ("deny", "failed"), ("nonsense", "failed")]
    {
        let (mut editor, id, prompt, question) = asked(&daemon).await;
        let params = &question["params"];
        assert_eq!(params["sessionId"], json!(id));
        let kinds: Vec<&Value> =
            params["options"].as_array().unwrap().iter().map(|option| &option["kind"]).collect();
        assert_eq!(kinds, ["allow_once", "allow_always", "allow_always", "reject_once"]);
        // The call was told before, under the same id.
        let mut call = editor.seen.iter().map(|line| &line["params"]["update"]);
        let call = call.rfind(|update| update["sessionUpdate"] == "tool_call").unwrap();
        assert_eq!(call["toolCallId"], params["toolCall"]["toolCallId"]);
        assert_eq!((&call["status"], &call["kind"]), (&Value::Null, &json!("execute")), "{call}");
        editor.answer(&question, option).await;
        assert_eq!(editor.answered(prompt).await.unwrap()["stopReason"], "end_turn");
        assert_eq!(status(&editor), expected, "{option}");
    }
}

#[tokio::test]
async fn what_was_answered_elsewhere_is_taken_back() {
    let daemon = DoorTestDaemon::start().await;
    let (mut editor, id, prompt, question) = asked(&daemon).await;
    let waiting = daemon.get("/v1/approvals").await.json()["approvals"][0].clone();
    let body =
        json!({"turn_id": waiting["turn_id"], "tool_call_id": waiting["tool_call_id"], "action": "approve"});
    assert_eq!(daemon.post(&format!("/v1/sessions/{id}/approve"), &body).await.status(), 200);
    let canceled = editor.until(|line| line["method"] == "$/cancel_request").await;
    assert_eq!(canceled["params"]["requestId"], question["id"]);
    assert_eq!(editor.answered(prompt).await.unwrap()["stopReason"], "end_turn");
    // The editor's own answer comes too late, and harms nothing.
    editor.answer(&question, "deny").await;
    assert_eq!(status(&editor), "completed");
    let next = editor.prompt(&id, "on").await;
    editor.answered(next).await.unwrap();
}

#[tokio::test]
async fn a_canceled_turn_answers_its_prompt_once_whatever_becomes_of_the_question() {
    let daemon = DoorTestDaemon::start().await;
    let (mut editor, id, prompt, question) = asked(&daemon).await;
    editor.notify("session/cancel", json!({"sessionId": id})).await;
    let canceled = json!({"outcome": {"outcome": "cancelled"}});
    editor.write(&json!({"jsonrpc": "2.0", "id": question["id"], "result": canceled}).to_string()).await;
    assert_eq!(editor.answered(prompt).await.unwrap()["stopReason"], "cancelled");
    let log = daemon.log(&id).join("\n");
    assert!(!log.contains("approval_denied") && log.contains("turn_canceled"), "{log}");
}

#[tokio::test]
async fn a_question_outlives_its_editor() {
    let daemon = DoorTestDaemon::start().await;
    let (editor, id, prompt, _) = asked(&daemon).await;
    let (_, seen) = editor.end().await;
    let answer = seen.iter().find(|line| line["id"] == prompt && line.get("error").is_some()).unwrap();
    assert_eq!(answer["error"]["data"]["code"], "connection_ended");
    let mut again = EditorClient::start(&daemon).await;
    let named = json!({"sessionId": id, "cwd": daemon.workspace(), "mcpServers": []});
    again.ask("session/load", named).await.unwrap();
    let question = again.question().await;
    again.answer(&question, "once").await;
    again.until(|line| line.to_string().contains("\"text\":\"done\"")).await;
}

#[tokio::test]
async fn whoever_resumes_is_asked_what_waits() {
    let daemon = DoorTestDaemon::start().await;
    let (mut first, id, prompt, _) = asked(&daemon).await;
    let mut second = EditorClient::start(&daemon).await;
    let named = json!({"sessionId": id, "cwd": daemon.workspace(), "mcpServers": []});
    second.ask("session/resume", named).await.unwrap();
    let question = second.question().await;
    second.answer(&question, "deny").await;
    // The first answer wins, and the other editor is told.
    first.until(|line| line["method"] == "$/cancel_request").await;
    assert_eq!(first.answered(prompt).await.unwrap()["stopReason"], "end_turn");
    assert_eq!(status(&first), "failed");
}
