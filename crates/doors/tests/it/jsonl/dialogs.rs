//! Questions: asked here, answered here or elsewhere, or asked of nobody.

use ostler_doors::jsonl::JsonlOptions;
use serde_json::{Value, json};

use super::client::{JsonlClient, options};
use crate::daemon::DoorTestDaemon;

/// Asks for something that needs an approval, and returns the question.
async fn ask_for_approval(rpc: &mut JsonlClient) -> Value {
    rpc.send(json!({"type": "prompt", "text": "ask"})).await;
    rpc.until("ui_request").await
}

async fn answer(rpc: &mut JsonlClient, id: &Value, result: Value, error: Value) -> Vec<Value> {
    rpc.send(json!({"type": "ui_response", "id": id, "result": result, "error": error})).await;
    let primary = rpc.primary.clone();
    rpc.event(&primary, "agent_end").await["data"][0].as_array().unwrap().clone()
}

fn tool_result(messages: &[Value]) -> &Value {
    messages.iter().find(|message| message["role"] == "tool_result").unwrap()
}

#[tokio::test]
async fn a_question_says_what_it_is_about_and_what_can_be_answered() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let question = ask_for_approval(&mut rpc).await;
    assert_eq!((&question["id"], &question["session_id"]), (&json!("ui_1"), &json!(rpc.primary)));
    assert_eq!(
        (&question["method"], &question["params"]["title"]),
        (&json!("select"), &json!("run `make test`"))
    );
    let options = question["params"]["options"].as_array().unwrap();
    let values: Vec<&Value> = options.iter().map(|option| &option["value"]).collect();
    assert_eq!(values, ["once", "session", "always", "deny"]);
    assert_eq!(question["params"]["opts"], json!({}));
    let messages = answer(&mut rpc, &question["id"], json!("once"), Value::Null).await;
    assert_eq!(tool_result(&messages)["is_error"], false);
}

#[tokio::test]
async fn no_answer_and_an_error_are_a_no() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    for (result, error) in [
        (json!("deny"), Value::Null),
        (Value::Null, Value::Null),
        // An error beats a result.
        (json!("always"), json!("the window was closed")),
    ] {
        let question = ask_for_approval(&mut rpc).await;
        let messages = answer(&mut rpc, &question["id"], result, error).await;
        assert_eq!(tool_result(&messages)["is_error"], true);
    }
    let log = daemon.log(&rpc.primary).join("\n");
    assert!(log.contains("the window was closed") && log.contains("\"by\":\"jsonl\""), "{log}");
}

#[tokio::test]
async fn a_wrong_answer_leaves_the_question_open() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let question = ask_for_approval(&mut rpc).await;
    for wrong in [json!("perhaps"), json!(1), json!({"value": "once"})] {
        rpc.send(json!({"type": "ui_response", "id": question["id"], "result": wrong, "error": null})).await;
        let error = rpc.next().await;
        assert_eq!((&error["type"], &error["session_id"]), (&json!("error"), &json!(rpc.primary)));
    }
    answer(&mut rpc, &question["id"], json!(true), Value::Null).await;
    // What is over can be answered again without harm.
    rpc.send(json!({"type": "ui_response", "id": question["id"], "result": "once", "error": null})).await;
    rpc.send(json!({"type": "ping"})).await;
    assert_eq!(rpc.next().await["type"], "pong");
}

#[tokio::test]
async fn what_was_answered_elsewhere_is_settled_here() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let question = ask_for_approval(&mut rpc).await;
    let waiting = daemon.get("/v1/approvals").await.json()["approvals"][0].clone();
    let body =
        json!({"turn_id": waiting["turn_id"], "tool_call_id": waiting["tool_call_id"], "action": "approve"});
    let answered = daemon.post(&format!("/v1/sessions/{}/approve", rpc.primary), &body).await;
    assert_eq!(answered.status(), 200);
    let settled = rpc.until("ui_settled").await;
    assert_eq!((&settled["id"], &settled["outcome"]), (&question["id"], &json!("approved")));
    assert!(settled["by"].as_str().unwrap().starts_with("http"), "{settled}");
    let primary = rpc.primary.clone();
    rpc.event(&primary, "agent_end").await;
}

#[tokio::test]
async fn a_question_of_a_turn_that_was_stopped_is_withdrawn() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let question = ask_for_approval(&mut rpc).await;
    rpc.send(json!({"type": "abort"})).await;
    let settled = rpc.until("ui_settled").await;
    assert_eq!((&settled["id"], &settled["outcome"]), (&question["id"], &json!("withdrawn")));
}

#[tokio::test]
async fn questions_of_many_sessions_are_answered_by_their_ids() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let mut questions = Vec::new();
    for _ in 0..3 {
        rpc.send(json!({"type": "start_session", "set_active": true})).await;
        let session = rpc.until("session_started").await["session_id"].clone();
        rpc.until("active_session").await;
        let question = ask_for_approval(&mut rpc).await;
        assert_eq!(question["session_id"], session);
        questions.push(question);
    }
    for (question, (result, failed)) in
        questions.iter().rev().zip([("deny", true), ("once", false), ("deny", true)])
    {
        rpc.send(json!({"type": "ui_response", "id": question["id"], "result": result, "error": null})).await;
        let session = question["session_id"].as_str().unwrap().to_owned();
        let end = rpc.event(&session, "agent_end").await;
        assert_eq!(tool_result(end["data"][0].as_array().unwrap())["is_error"], failed);
    }
}

#[tokio::test]
async fn without_anybody_to_ask_the_answer_is_no() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start_with(&daemon, JsonlOptions { ui: false, ..options(&daemon) }).await;
    assert_eq!(rpc.seen[0]["ui"], false);
    let end = rpc.ask("ask").await;
    assert_eq!(tool_result(end["data"][0].as_array().unwrap())["is_error"], true);
    assert!(rpc.seen.iter().all(|frame| frame["type"] != "ui_request"));
    assert!(daemon.log(&rpc.primary).join("\n").contains("nobody is there to ask"));
    // A turn that somebody else has asked for is theirs to answer.
    let primary = rpc.primary.clone();
    let mut other = daemon.follow(&format!("/v1/sessions/{primary}/events?types=approval_requested")).await;
    other.until("approval_requested").await;
    daemon.say(&primary, "ask").await;
    other.until("approval_requested").await;
    rpc.send(json!({"type": "stats"})).await;
    assert_eq!(rpc.until("stats").await["stats"]["pending_approvals"], 1);
}

#[tokio::test]
async fn a_question_outlives_its_client() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    ask_for_approval(&mut rpc).await;
    rpc.send(json!({"type": "quit"})).await;
    rpc.end().await.unwrap();
    assert_eq!(daemon.get("/v1/approvals").await.json()["approvals"].as_array().unwrap().len(), 1);
    let path = daemon.data().join("sessions").join(&rpc.primary).join("events.ndjson");
    let session_file = Some(path.display().to_string());
    let mut again = JsonlClient::start_with(&daemon, JsonlOptions { session_file, ..options(&daemon) }).await;
    assert_eq!(again.primary, rpc.primary);
    let question = again.until("ui_request").await;
    let messages = answer(&mut again, &question["id"], json!("once"), Value::Null).await;
    assert_eq!(tool_result(&messages)["is_error"], false);
}
