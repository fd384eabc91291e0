//! Questions and answers: asked here, answered anywhere, alive after everything.

use serde_json::{Value, json};

use super::client::GatewayClient;
use crate::daemon::{DoorTestDaemon, DoorTestOptions};

async fn session_with_approval(client: &mut GatewayClient) -> (String, Value, Value) {
    let key = client.session().await;
    let run = client.say(&key, "ask").await;
    let request = client.until("exec.approval_request").await;
    assert_eq!(request["toolName"], "bash");
    assert_eq!(request["details"], json!({"command": "make test"}));
    assert!(request["summary"].as_str().unwrap().contains("make test"));
    (key, run, request)
}

#[tokio::test]
async fn a_question_is_answered_once_and_everybody_is_told() {
    let daemon = DoorTestDaemon::start().await;
    let mut client = GatewayClient::open(&daemon).await;
    let (key, run, request) = session_with_approval(&mut client).await;
    let id = &request["approvalId"];
    let mut other = GatewayClient::open(&daemon).await;
    let list = other.ask("approvals.list", json!({})).await;
    assert_eq!(list["approvals"][0]["approvalId"], *id);
    assert_eq!(list["approvals"][0]["sessionKey"], key);
    assert_eq!(list["approvals"][0]["runId"], run);
    // Whoever comes later is asked, too.
    other.ask("sessions.get", json!({"sessionKey": key})).await;
    assert_eq!(other.until("exec.approval_request").await, request);
    assert_eq!(other.ask("exec.approve", json!({"approvalId": id})).await, json!({"ok": true}));
    for client in [&mut client, &mut other] {
        let resolved = client.until("exec.approval_resolved").await;
        assert_eq!(resolved, json!({"approvalId": id, "approved": true, "by": "gateway"}));
        let result = client.until("chat.tool_result").await;
        assert_eq!(result, json!({"runId": run, "tool": "bash", "output": "ok"}));
        let (text, end) = client.run(&run).await;
        assert_eq!(
            (text.as_str(), &end["event"]),
            ("done", &json!("chat.final")),
            "one final, after the tools"
        );
    }
    let again = client.call("exec.deny", json!({"approvalId": id})).await;
    assert_eq!(again["error"], json!({"code": -32602, "message": "Approval not found or already resolved"}));
    let history = client.ask("chat.history", json!({"sessionKey": key})).await;
    let roles: Vec<&Value> =
        history["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "tool_result", "assistant"]);
    assert_eq!(history["messages"][1]["toolName"], "bash");
    daemon.stop().await;
}

#[tokio::test]
async fn an_answer_may_come_in_by_another_door_and_may_be_no() {
    let daemon = DoorTestDaemon::start().await;
    let mut client = GatewayClient::open(&daemon).await;
    let (key, run, request) = session_with_approval(&mut client).await;
    let session = format!("sess_{}", key.replace('-', ""));
    let turn = format!("turn_{}", run.as_str().unwrap().replace('-', ""));
    let body = json!({"turn_id": turn, "tool_call_id": "call_1", "action": "deny", "reason": "too slow"});
    assert_eq!(daemon.post(&format!("/v1/sessions/{session}/approve"), &body).await.status(), 200);
    let resolved = client.until("exec.approval_resolved").await;
    assert_eq!(resolved["approvalId"], request["approvalId"]);
    assert_eq!((&resolved["approved"], &resolved["reason"]), (&json!(false), &json!("too slow")));
    assert!(resolved["by"].as_str().unwrap().starts_with("http"));
    assert_eq!(client.run(&run).await.1["event"], "chat.final", "the run goes on after a no");
    let (_, run, request) = session_with_approval(&mut client).await;
    let deny = json!({"approvalId": request["approvalId"], "reason": "no"});
    client.ask("exec.deny", deny).await;
    let resolved = client.until("exec.approval_resolved").await;
    assert_eq!((&resolved["approved"], &resolved["reason"]), (&json!(false), &json!("no")));
    client.run(&run).await;
    assert_eq!(client.ask("approvals.list", json!({})).await, json!({"approvals": []}));
    daemon.stop().await;
}

#[tokio::test]
async fn a_question_is_still_there_after_a_restart_under_the_same_name() {
    let daemon = DoorTestDaemon::start().await;
    let mut client = GatewayClient::open(&daemon).await;
    let (key, run, request) = session_with_approval(&mut client).await;
    let dir = daemon.stop().await;
    let daemon =
        DoorTestDaemon::start_as(DoorTestOptions { dir: Some(dir), ..DoorTestOptions::default() }).await;
    let mut client = GatewayClient::open(&daemon).await;
    let session = client.ask("sessions.get", json!({"sessionKey": key})).await;
    assert_eq!(session["lastRun"], json!({"runId": run, "status": "running"}));
    assert_eq!(client.until("exec.approval_request").await, request);
    client.ask("exec.approve", json!({"approvalId": request["approvalId"]})).await;
    assert_eq!(client.run(&run).await.0, "done");
    daemon.stop().await;
}
