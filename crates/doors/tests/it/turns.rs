//! Turns: cancel and retry, and what is recorded of who asked.

use serde_json::{Value, json};

use crate::daemon::DoorTestDaemon;

async fn post(daemon: &DoorTestDaemon, session: &str, rest: &str) -> crate::raw_http::RawResponse {
    daemon.send(&daemon.request("POST", &format!("/v1/sessions/{session}/{rest}"))).await
}

#[tokio::test]
async fn canceling_an_idle_session_records_nothing() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let answer = post(&daemon, &session, "cancel").await;
    assert_eq!((answer.status(), answer.json()), (200, json!({"canceled": false})));
    daemon.say(&session, "hello").await;
    daemon.until(&session, "turn_completed").await;
    assert_eq!(post(&daemon, &session, "cancel").await.json(), json!({"canceled": false}));
    assert_eq!(daemon.log(&session).len(), 6);
}

#[tokio::test]
async fn a_canceled_turn_keeps_its_text_and_says_by_whom() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let (_, turn) = daemon.say(&session, "wait").await;
    daemon.until(&session, "model_output_delta").await;
    let request = daemon
        .request("POST", &format!("/v1/sessions/{session}/cancel"))
        .add("user-agent", "curl/8.5 and more")
        .json(&json!({"reason": "enough"}));
    let answer = daemon.send(&request).await;
    assert_eq!((answer.status(), answer.json()), (200, json!({"canceled": true})));
    let canceled = daemon.until(&session, "turn_canceled").await;
    assert_eq!(canceled["turn_id"], turn.as_str());
    assert_eq!(canceled["data"], json!({"by": "http curl/8.5", "reason": "enough"}));
    let partial = daemon.until(&session, "model_output_completed").await;
    assert_eq!(partial["data"]["message"]["parts"][0]["text"], "half of an änswer");
    let view = daemon.get(&format!("/v1/sessions/{session}")).await.json();
    assert_eq!((&view["status"], &view["running_turn_id"]), (&json!("canceled"), &Value::Null));
    assert_eq!(post(&daemon, &session, "cancel").await.json(), json!({"canceled": false}));
}

#[tokio::test]
async fn a_body_is_welcome_but_not_needed_to_cancel() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    for body in ["", " \n", "{}", r#"{"reason":null}"#] {
        let request = daemon.request("POST", &format!("/v1/sessions/{session}/cancel"));
        let request = request.add("content-type", "application/json").body(body.as_bytes());
        assert_eq!(daemon.send(&request).await.status(), 200, "{body:?}");
    }
}

#[tokio::test]
async fn only_the_last_turn_can_be_retried_and_only_if_it_did_not_complete() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let (failed_message, failed) = daemon.say(&session, "fail").await;
    let error = daemon.until(&session, "turn_failed").await;
    assert_eq!(error["data"]["error"]["code"], "scripted");
    assert_eq!(daemon.get(&format!("/v1/sessions/{session}")).await.json()["status"], "failed");
    let answer = post(&daemon, &session, &format!("turns/{failed}/retry")).await;
    assert_eq!(answer.status(), 202);
    let again = answer.json()["turn_id"].as_str().unwrap().to_owned();
    assert_ne!(again, failed);
    let retried = daemon.until(&session, "turn_retried").await;
    assert_eq!((&retried["turn_id"], &retried["data"]["retry_of"]), (&json!(again), &json!(failed)));
    let mut starts =
        daemon.follow(&format!("/v1/sessions/{session}/events?types=turn_started,turn_failed")).await;
    starts.until("turn_failed").await;
    assert_eq!(starts.until("turn_started").await["data"]["message_ids"], json!([failed_message]));
    starts.until("turn_failed").await;

    let (_, completed) = daemon.say(&session, "hello").await;
    daemon.until(&session, "turn_completed").await;
    let answer = post(&daemon, &session, &format!("turns/{completed}/retry")).await;
    assert_eq!((answer.status(), answer.code().as_str()), (409, "turn_not_failed"));
    let answer = post(&daemon, &session, &format!("turns/{again}/retry")).await;
    assert_eq!((answer.status(), answer.code().as_str()), (409, "turn_not_last"));
    let (_, running) = daemon.say(&session, "wait").await;
    let answer = post(&daemon, &session, &format!("turns/{running}/retry")).await;
    assert_eq!((answer.status(), answer.code().as_str()), (409, "turn_running"));
    assert_eq!(post(&daemon, &session, "run").await.code(), "turn_running");
    post(&daemon, &session, "cancel").await;
    assert_eq!(post(&daemon, &session, &format!("turns/{running}/retry")).await.status(), 202);
}

#[tokio::test]
async fn a_turn_of_another_session_is_unknown() {
    let daemon = DoorTestDaemon::start().await;
    let (one, other) = (daemon.session().await, daemon.session().await);
    let (_, turn) = daemon.say(&one, "fail").await;
    daemon.until(&one, "turn_failed").await;
    let answer = post(&daemon, &other, &format!("turns/{turn}/retry")).await;
    assert_eq!((answer.status(), answer.code().as_str()), (404, "turn_not_found"));
    assert_eq!(daemon.log(&other).len(), 1);
}

#[tokio::test]
async fn a_program_s_name_is_cut_to_a_word() {
    let daemon = DoorTestDaemon::start().await;
    for (agent, by) in
        [("x".repeat(200), format!("http {}", "x".repeat(64))), (String::new(), "http".to_owned())]
    {
        let session = daemon.session().await;
        let request = daemon.request("DELETE", &format!("/v1/sessions/{session}")).add("user-agent", &agent);
        daemon.send(&request).await;
        assert_eq!(daemon.until(&session, "session_completed").await["data"]["by"], by.as_str());
    }
}

#[tokio::test]
async fn what_our_own_page_does_is_said_to_be_its_doing() {
    let daemon = DoorTestDaemon::start().await;
    let origin = format!("http://{}", daemon.address);
    for (name, value) in [("origin", origin.as_str()), ("sec-fetch-site", "same-origin")] {
        let session = daemon.session().await;
        let request = daemon.request("DELETE", &format!("/v1/sessions/{session}"));
        daemon.send(&request.add("user-agent", "Mozilla/5.0 (X11)").add(name, value)).await;
        assert_eq!(daemon.until(&session, "session_completed").await["data"]["by"], "page", "{name}");
    }
}
