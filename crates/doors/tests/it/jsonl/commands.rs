//! The commands, one by one, and what is said to those that make no sense.

use serde_json::{Value, json};

use super::client::{JsonlClient, options};
use crate::daemon::DoorTestDaemon;

#[tokio::test]
async fn commands_go_to_the_active_session() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    rpc.send(json!({"type": "start_session", "model": "test:two"})).await;
    let second = rpc.until("session_started").await;
    assert_eq!(second["model"]["id"], "two");
    let second = second["session_id"].as_str().unwrap().to_owned();
    // It is not active before it is made so.
    rpc.ask("to the first").await;
    rpc.send(json!({"type": "set_active_session", "session_id": second})).await;
    assert_eq!(rpc.next().await, json!({"type": "active_session", "session_id": second}));
    rpc.send(json!({"type": "prompt", "text": "to the second"})).await;
    rpc.event(&second, "agent_end").await;
    // A third has the model of the active one, and becomes active when asked to.
    rpc.send(json!({"type": "start_session", "set_active": true})).await;
    let third = rpc.until("session_started").await;
    assert_eq!(third["model"]["id"], "two");
    assert_eq!(rpc.next().await, json!({"type": "active_session", "session_id": third["session_id"]}));
    rpc.send(json!({"type": "list_running_sessions"})).await;
    let running = rpc.until("running_sessions").await;
    let ids: Vec<&Value> =
        running["sessions"].as_array().unwrap().iter().map(|one| &one["session_id"]).collect();
    assert_eq!(ids, [&json!(rpc.primary), &json!(second), &third["session_id"]]);
    assert_eq!((&running["sessions"][0]["is_streaming"], &running["error"]), (&json!(false), &Value::Null));
}

#[tokio::test]
async fn closing_the_active_session_makes_the_primary_one_active_and_none_when_none_is_left() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let primary = rpc.primary.clone();
    rpc.send(json!({"type": "start_session", "set_active": true})).await;
    let second = rpc.until("session_started").await["session_id"].clone();
    rpc.until("active_session").await;
    rpc.send(json!({"type": "close_session", "session_id": second})).await;
    assert_eq!(rpc.next().await, json!({"type": "session_closed", "session_id": second, "reason": "normal"}));
    assert_eq!(rpc.next().await, json!({"type": "active_session", "session_id": primary}));
    // It is on disk, closed, and can no longer be talked to here.
    let shown = daemon.get(&format!("/v1/sessions/{}", second.as_str().unwrap())).await;
    assert_eq!(shown.json()["status"], "completed");
    rpc.send(json!({"type": "prompt", "session_id": second, "text": "hi"})).await;
    let error = rpc.next().await;
    assert_eq!((&error["message"], &error["session_id"]), (&json!("not_found"), &second));
    rpc.send(json!({"type": "close_session"})).await;
    assert_eq!(rpc.next().await["type"], "session_closed");
    assert_eq!(rpc.next().await, json!({"type": "active_session", "session_id": null}));
    rpc.send(json!({"type": "prompt", "text": "hi"})).await;
    assert_eq!(rpc.next().await["message"], "no active session");
    // The next one that is started is active, since there is no other.
    rpc.send(json!({"type": "start_session"})).await;
    let third = rpc.until("session_started").await["session_id"].clone();
    assert_eq!(rpc.next().await, json!({"type": "active_session", "session_id": third}));
}

#[tokio::test]
async fn a_session_closed_elsewhere_is_closed_here() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let primary = rpc.primary.clone();
    assert_eq!(daemon.delete(&format!("/v1/sessions/{primary}?purge=true")).await.status(), 200);
    let closed = rpc.until("session_closed").await;
    assert_eq!((&closed["session_id"], &closed["reason"]), (&json!(primary), &json!("normal")));
    assert_eq!(rpc.next().await["session_id"], Value::Null);
}

#[tokio::test]
async fn unknown_sessions_are_not_found_and_the_door_lives_on() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let absent = "sess_0190f3c4a5b67c8d9e0f112233445566";
    for id in [absent, "sess-123", "", "../../etc"] {
        for kind in ["prompt", "stats", "abort", "reset", "save", "set_active_session"] {
            rpc.send(json!({"type": kind, "text": "x", "session_id": id})).await;
            let error = rpc.next().await;
            assert_eq!((&error["type"], &error["message"]), (&json!("error"), &json!("not_found")), "{kind}");
            assert_eq!(error["session_id"], id);
        }
        rpc.send(json!({"type": "close_session", "session_id": id})).await;
        assert_eq!(
            rpc.next().await,
            json!({"type": "session_closed", "session_id": id, "reason": "not_found"})
        );
    }
    rpc.ask("still there").await;
}

#[tokio::test]
async fn bad_lines_are_told_and_record_nothing() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let before = daemon.recorded();
    for (line, message) in [
        ("hello", "the line is not JSON"),
        ("{\"type\":\"prompt\",", "the line is not JSON"),
        ("[1]", "the line is not a JSON object"),
        ("{}", "`type` is missing"),
        ("{\"type\":7}", "`type` must be a string"),
        ("{\"type\":\"dance\"}", "unknown command"),
        ("{\"type\":\"prompt\"}", "`text` is missing"),
        ("{\"type\":\"prompt\",\"text\":null}", "`text` must be a string"),
        ("{\"type\":\"prompt\",\"text\":\"\"}", "`text` is empty"),
        ("{\"type\":\"prompt\",\"text\":\"x\",\"delivery\":\"soon\"}", "`delivery` must be"),
        ("{\"type\":\"prompt\",\"text\":\"x\",\"session_id\":1}", "`session_id` must be a string"),
        ("{\"type\":\"start_session\",\"set_active\":1}", "`set_active` must be"),
        (
            "{\"type\":\"start_session\",\"cwd\":\"/nonexistent\"}",
            "failed to start session: `/nonexistent` cannot be used",
        ),
        ("{\"type\":\"start_session\",\"model\":\"test:three\"}", "failed to start session: invalid model: "),
        (
            "{\"type\":\"start_session\",\"parent_session\":\"sess_1\"}",
            "failed to start session: there is no session",
        ),
        ("{\"type\":\"set_active_session\"}", "session_id required for set_active_session"),
        ("{\"type\":\"ui_response\",\"result\":true}", "`id` is missing"),
        ("{\"type\":\"ui_response\",\"id\":\"ui_7\"}", "there is no question `ui_7`"),
    ] {
        rpc.write(format!("{line}\n").as_bytes()).await;
        let error = rpc.next().await;
        assert_eq!(error["type"], "error", "{line}");
        assert!(error["message"].as_str().unwrap().starts_with(message), "{line}: {error}");
    }
    let data = std::fs::canonicalize(daemon.data()).unwrap();
    rpc.send(json!({"type": "start_session", "cwd": data})).await;
    assert!(rpc.next().await["message"].as_str().unwrap().contains("own data directory"));
    assert_eq!(daemon.recorded(), before);
    rpc.ask("still there").await;
}

#[tokio::test]
async fn stats_have_real_figures() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let primary = rpc.primary.clone();
    let stats = async |rpc: &mut JsonlClient| {
        rpc.send(json!({"type": "stats"})).await;
        let stats = rpc.until("stats").await;
        assert_eq!((&stats["session_id"], &stats["stats"]["session_id"]), (&json!(primary), &json!(primary)));
        stats["stats"].clone()
    };
    let fresh = stats(&mut rpc).await;
    assert_eq!((&fresh["message_count"], &fresh["turn_count"]), (&json!(0), &json!(0)));
    assert_eq!((&fresh["is_streaming"], &fresh["thinking_level"]), (&json!(false), &Value::Null));
    rpc.ask("one").await;
    rpc.ask("pay").await;
    let after = stats(&mut rpc).await;
    assert_eq!((&after["message_count"], &after["turn_count"]), (&json!(4), &json!(2)));
    assert_eq!(after["usage"]["cache_read"], 30);
    assert_eq!(after["usage"]["cost"]["total"], 0.25);
    rpc.send(json!({"type": "prompt", "text": "wait"})).await;
    rpc.send(json!({"type": "prompt", "text": "queued"})).await;
    let busy = stats(&mut rpc).await;
    assert_eq!((&busy["is_streaming"], &busy["queued"]), (&json!(true), &json!(1)));
}

#[tokio::test]
async fn lists_tell_what_there_is() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start_with(
        &daemon,
        ostler_doors::jsonl::JsonlOptions { debug: true, ..options(&daemon) },
    )
    .await;
    assert_eq!(rpc.next().await["type"], "debug");
    rpc.send(json!({"type": "ping"})).await;
    assert_eq!(rpc.next().await["message"], "got ping");
    assert_eq!(rpc.next().await, json!({"type": "pong"}));
    rpc.send(json!({"type": "list_models"})).await;
    let models = rpc.until("models_list").await;
    let two = json!([{"id": "one", "name": "test:one"}, {"id": "two", "name": "test:two"}]);
    assert_eq!(models["providers"], json!([{"id": "test", "models": two}]));
    rpc.ask("hello").await;
    rpc.send(json!({"type": "start_session"})).await;
    let second = rpc.until("session_started").await["session_id"].as_str().unwrap().to_owned();
    rpc.send(json!({"type": "prompt", "session_id": second, "text": "later"})).await;
    rpc.event(&second, "agent_end").await;
    rpc.send(json!({"type": "list_sessions"})).await;
    let list = rpc.until("sessions_list").await;
    let sessions = list["sessions"].as_array().unwrap();
    let ids: Vec<&Value> = sessions.iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [&json!(second), &json!(rpc.primary)], "the newest first");
    for saved in sessions {
        assert!(std::path::Path::new(saved["path"].as_str().unwrap()).is_file());
        assert!(saved["timestamp"].as_i64().unwrap() > 1_600_000_000_000);
    }
    rpc.send(json!({"type": "close_session", "session_id": second})).await;
    rpc.until("session_closed").await;
    rpc.send(json!({"type": "list_sessions"})).await;
    let list = rpc.until("sessions_list").await;
    let ids: Vec<&Value> = list["sessions"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [&json!(rpc.primary)], "a closed session cannot be resumed");
    rpc.send(json!({"type": "debug"})).await;
    rpc.until("debug").await;
    assert!(rpc.next().await["message"].as_str().unwrap().contains("1 sessions of this client"));
    rpc.send(json!({"type": "save"})).await;
    let saved = rpc.until("save_result").await;
    assert_eq!((&saved["ok"], &saved["session_id"]), (&json!(true), &json!(rpc.primary)));
    assert!(std::path::Path::new(saved["path"].as_str().unwrap()).is_file());
}

#[tokio::test]
async fn a_child_has_its_parents_policy() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let policy = json!({"policy": {"approval": {"require_for_kinds": ["network"]}}});
    let changed =
        daemon.send(&daemon.request("PATCH", &format!("/v1/sessions/{}", rpc.primary)).json(&policy)).await;
    assert_eq!(changed.status(), 200);
    rpc.send(json!({"type": "start_session", "parent_session": rpc.primary, "system_prompt": "Be brief."}))
        .await;
    let child = rpc.until("session_started").await["session_id"].as_str().unwrap().to_owned();
    let child = daemon.get(&format!("/v1/sessions/{child}")).await.json();
    assert_eq!(
        (&child["parent_session_id"], &child["system_prompt"]),
        (&json!(rpc.primary), &json!("Be brief."))
    );
    assert_eq!(child["policy"]["approval"]["require_for_kinds"], json!(["network"]));
}
