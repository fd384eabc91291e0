//! Forks, plans, compaction, what the model is shown, and what a new session may be told.

use serde_json::{Value, json};

use crate::daemon::DoorTestDaemon;

async fn said(daemon: &DoorTestDaemon, texts: &[&str]) -> (String, Vec<String>) {
    let session = daemon.session().await;
    let mut turns = Vec::new();
    for text in texts {
        let (_, turn) = daemon.say(&session, text).await;
        daemon.until_over(&session, &turn).await;
        turns.push(turn);
    }
    (session, turns)
}

async fn texts(daemon: &DoorTestDaemon, session: &str) -> Vec<String> {
    let page = daemon.get(&format!("/v1/sessions/{session}/messages")).await.json();
    let text = |message: &Value| message["parts"][0]["text"].as_str().unwrap().to_owned();
    page["messages"].as_array().unwrap().iter().map(text).collect()
}

#[tokio::test]
async fn a_fork_shares_what_was_said_up_to_a_turn() {
    let daemon = DoorTestDaemon::start().await;
    let (session, turns) = said(&daemon, &["one", "two", "three"]).await;
    let fork = |body: Value| {
        let (daemon, path) = (&daemon, format!("/v1/sessions/{session}/fork"));
        async move { daemon.post(&path, &body).await }
    };
    let forked = fork(json!({"turn_id": turns[1]})).await;
    assert_eq!(forked.status(), 201, "{}", forked.text());
    let forked = forked.json()["session_id"].as_str().unwrap().to_owned();
    assert_eq!(texts(&daemon, &forked).await, ["one", "You said: one", "two", "You said: two"]);
    let view = daemon.get(&format!("/v1/sessions/{forked}")).await.json();
    assert_eq!(view["forked_from"], json!({"session_id": session, "turn_id": turns[1]}));
    daemon.say(&forked, "else").await;
    daemon.until(&forked, "turn_completed").await;
    assert_eq!(texts(&daemon, &session).await.len(), 6);
    let whole = fork(json!({})).await.json()["session_id"].as_str().unwrap().to_owned();
    assert_eq!(texts(&daemon, &whole).await.len(), 6);
    let unknown = fork(json!({"turn_id": "turn_0190f3c4a5b67c8d9e0f112233445566"})).await;
    assert_eq!(unknown.status(), 404, "{}", unknown.text());
    assert_eq!(fork(json!({"turn": turns[0]})).await.code(), "invalid_body");
    daemon.stop().await;
}

#[tokio::test]
async fn a_compaction_and_a_plan_are_turns_of_their_own() {
    let daemon = DoorTestDaemon::start().await;
    let (session, _) = said(&daemon, &["one", "two"]).await;
    let path = |end: &str| format!("/v1/sessions/{session}/{end}");
    let compacted = daemon.send(&daemon.request("POST", &path("compact"))).await;
    assert_eq!(compacted.status(), 202, "{}", compacted.text());
    let turn = compacted.json()["turn_id"].as_str().unwrap().to_owned();
    let event = daemon.until(&session, "context_compacted").await;
    assert_eq!((&event["turn_id"], &event["data"]["tokens_after"]), (&json!(turn), &json!(40)));
    daemon.until_over(&session, &turn).await;
    let context = daemon.get(&path("context")).await.json();
    assert_eq!(context["messages"], 2, "{context}");

    let plan =
        json!({"subtasks": [{"id": "a", "prompt": "x"}, {"id": "b", "prompt": "y", "depends_on": ["a"]}]});
    let answer = daemon.post(&path("subtasks"), &plan).await;
    assert_eq!(answer.status(), 202, "{}", answer.text());
    let turn = answer.json()["turn_id"].as_str().unwrap().to_owned();
    daemon.until_over(&session, &turn).await;
    assert_eq!(texts(&daemon, &session).await.last().unwrap(), "2 subtasks");
    for (bad, status, code) in [
        (json!({"subtasks": []}), 422, "bad_plan"),
        (json!({"subtasks": [{"id": "a", "prompt": " "}]}), 422, "bad_plan"),
        (json!({"subtasks": [{"id": "a", "prompt": "x", "depends_on": ["a"]}]}), 422, "bad_plan"),
        (json!({"subtasks": [{"id": "a", "prompt": "x", "model": "no:model"}]}), 422, "unknown_model"),
        (json!({"subtasks": [{"id": "a"}]}), 422, "invalid_body"),
        (json!({"subtasks": [["a", "x"]]}), 422, "invalid_body"),
        (json!({"subtasks": [{"id": "a", "prompt": "x", "budget": []}]}), 422, "invalid_body"),
        (json!({"subtasks": "all"}), 422, "invalid_body"),
    ] {
        let answer = daemon.post(&path("subtasks"), &bad).await;
        assert_eq!((answer.status(), answer.code()), (status, code.to_owned()), "{bad}");
    }
    daemon.say(&session, "wait").await;
    let running = daemon.send(&daemon.request("POST", &path("compact"))).await;
    assert_eq!((running.status(), running.code()), (409, "turn_running".to_owned()));
    daemon.stop().await;
}

#[tokio::test]
async fn the_context_is_measured_piece_by_piece() {
    let daemon = DoorTestDaemon::start().await;
    let body =
        json!({"workspace_path": daemon.workspace(), "model": "test:one", "system_prompt": "be brief"});
    let session = daemon.post("/v1/sessions", &body).await.json()["session_id"].as_str().unwrap().to_owned();
    daemon.say(&session, "hello").await;
    daemon.until(&session, "turn_completed").await;
    let context = daemon.get(&format!("/v1/sessions/{session}/context")).await.json();
    let section = |kind: &str, name: &str, messages: u64, tokens: u64, percent: f64| json!({"kind": kind, "name": name, "messages": messages, "tokens": tokens, "percent": percent});
    let expected = json!([
        section("system_prompt", "own", 0, 8, 28.6),
        section("user", "user", 1, 5, 17.9),
        section("assistant", "assistant", 1, 15, 53.6),
    ]);
    assert_eq!(context["sections"], expected);
    assert_eq!((&context["model"], &context["window"]), (&json!("test:one"), &json!(1000)));
    let view = daemon.get(&format!("/v1/sessions/{session}")).await.json();
    assert_eq!(view["context"]["window"], 1000);
    assert_eq!(view["context"]["tokens"], view["context_tokens"]);
    let body = json!({"workspace_path": daemon.workspace(), "model": "test:two"});
    let other = daemon.post("/v1/sessions", &body).await.json()["session_id"].as_str().unwrap().to_owned();
    let context = daemon.get(&format!("/v1/sessions/{other}/context")).await.json();
    assert_eq!(
        (&context["window"], &context["percent"], &context["tokens"]),
        (&Value::Null, &Value::Null, &json!(0))
    );
    daemon.stop().await;
}

#[tokio::test]
async fn a_session_is_made_with_a_name_a_budget_and_a_place_for_its_files() {
    let daemon = DoorTestDaemon::start().await;
    let logs = std::path::Path::new(&daemon.workspace()).join("made/logs");
    let body = json!({
        "workspace_path": daemon.workspace(), "name": "nightly", "verbose_log": true, "log_dir": logs,
        "budget": {"max_steps": 3, "max_tokens": 1000},
    });
    let answer = daemon.post("/v1/sessions", &body).await;
    assert_eq!(answer.status(), 201, "{}", answer.text());
    let id = answer.json()["session_id"].as_str().unwrap().to_owned();
    let view = daemon.get(&format!("/v1/sessions/{id}")).await.json();
    assert_eq!((&view["name"], &view["verbose_log"]), (&json!("nightly"), &json!(true)));
    assert_eq!(view["budget"]["max_steps"], 3);
    assert!(view["log_dir"].as_str().unwrap().starts_with(logs.to_str().unwrap()), "{view}");
    assert!(logs.is_dir());
    let again = daemon.post("/v1/sessions", &body).await;
    assert_eq!((again.status(), again.code()), (409, "name_taken".to_owned()));
    let answer = daemon
        .send(&daemon.request("PATCH", &format!("/v1/sessions/{id}")).json(&json!({"verbose_log": false})))
        .await;
    assert_eq!(answer.json().get("verbose_log"), None);
    let file = std::path::Path::new(&daemon.workspace()).join("file");
    std::fs::write(&file, "").unwrap();
    for (field, value, code) in [
        ("name", json!("a b"), "bad_name"),
        ("name", json!(".."), "bad_name"),
        ("log_dir", json!("relative"), "bad_log_dir"),
        ("log_dir", json!("/tmp/../etc"), "bad_log_dir"),
        ("log_dir", json!(file), "bad_log_dir"),
        ("log_dir", json!(daemon.data().join("sessions")), "bad_log_dir"),
        ("budget", json!([]), "invalid_body"),
        ("budget", json!({"max_step": 1}), "invalid_body"),
    ] {
        let mut body = json!({"workspace_path": daemon.workspace()});
        body[field] = value.clone();
        let answer = daemon.post("/v1/sessions", &body).await;
        assert_eq!((answer.status(), answer.code()), (422, code.to_owned()), "{field} {value}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn sessions_that_others_started_are_listed_when_asked_for() {
    let daemon = DoorTestDaemon::start().await;
    let parent = daemon.session().await;
    let body = json!({"workspace_path": daemon.workspace(), "parent_session_id": parent});
    let child = daemon.post("/v1/sessions", &body).await.json()["session_id"].as_str().unwrap().to_owned();
    let ids = |query: String| {
        let daemon = &daemon;
        async move {
            let list = daemon.get(&format!("/v1/sessions{query}")).await.json();
            let id = |entry: &Value| entry["id"].as_str().unwrap().to_owned();
            list["sessions"].as_array().unwrap().iter().map(id).collect::<Vec<_>>()
        }
    };
    assert_eq!(ids(String::new()).await, std::slice::from_ref(&parent));
    assert_eq!(ids("?children=false".to_owned()).await, std::slice::from_ref(&parent));
    assert_eq!(ids("?children=true".to_owned()).await, [child.clone(), parent.clone()]);
    assert_eq!(ids(format!("?parent={parent}")).await, std::slice::from_ref(&child));
    assert_eq!(ids(format!("?parent={child}")).await, Vec::<String>::new());
    assert_eq!(daemon.get("/v1/sessions?parent=nobody").await.code(), "bad_query");
    daemon.stop().await;
}
