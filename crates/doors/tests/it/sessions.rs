//! Sessions: make, list, show, change, close, remove.

use std::fs;

use serde_json::{Value, json};

use crate::api_routes::RouteScene;
use crate::daemon::{DoorTestDaemon, exists};
use crate::raw_http::RawResponse;

async fn create(daemon: &DoorTestDaemon, body: Value) -> String {
    let answer = daemon.post("/v1/sessions", &body).await;
    assert_eq!(answer.status(), 201, "{}", answer.text());
    answer.json()["session_id"].as_str().unwrap().to_owned()
}

async fn patch(daemon: &DoorTestDaemon, path: &str, body: &Value) -> RawResponse {
    daemon.send(&daemon.request("PATCH", path).json(body)).await
}

fn history(daemon: &DoorTestDaemon, id: &str) -> Vec<Value> {
    daemon.log(id).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn listed(daemon: &DoorTestDaemon, query: &str) -> Vec<String> {
    let answer = daemon.get(&format!("/v1/sessions?{query}")).await;
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let sessions = answer.json()["sessions"].clone();
    sessions.as_array().unwrap().iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_new_session_is_on_disk_when_it_is_answered() {
    let daemon = DoorTestDaemon::start().await;
    let answer = daemon.post("/v1/sessions", &json!({"workspace_path": daemon.workspace()})).await;
    assert_eq!(answer.status(), 201);
    let body = answer.json();
    assert_eq!(body.as_object().unwrap().len(), 1);
    let id = body["session_id"].as_str().unwrap();
    assert!(id.len() == 37 && id.starts_with("sess_"), "{id}");
    assert_eq!(daemon.log(id).len(), 2, "the session, and how it came by its model");
    let file = fs::read(daemon.data().join("sessions").join(id).join("session.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&file).unwrap()["id"], id);
}

#[tokio::test]
async fn a_session_is_what_it_was_asked_to_be() {
    let daemon = DoorTestDaemon::start().await;
    let parent = daemon.session().await;
    let asked = json!({
        "workspace_path": format!("{}/./", daemon.workspace()), "system_prompt": "be brief", "auto_run": false,
        "agent": "native", "model": "test:two", "title": "ä title", "parent_session_id": parent, "mode": "repl",
        "policy": {"approval": {"require_for_kinds": ["exec"]}}, "idempotency_key": null,
    });
    let id = create(&daemon, asked.clone()).await;
    let shown = daemon.get(&format!("/v1/sessions/{id}")).await.json();
    for name in ["system_prompt", "auto_run", "agent", "model", "title", "parent_session_id", "mode"] {
        assert_eq!(shown[name], asked[name], "{name}");
    }
    assert_eq!(shown["workspace_path"], daemon.workspace().as_str(), "the path is tidied");
    assert_eq!(shown["policy"]["approval"]["require_for_kinds"], json!(["exec"]));
    assert_eq!(shown["policy"]["verify"]["auto"], true, "what is not said has its default");
    assert_eq!(shown["log_dir"], daemon.data().join("sessions").join(&id).display().to_string());
    for (name, value) in [
        ("status", json!("active")),
        ("archived", json!(false)),
        ("last_turn_id", Value::Null),
        ("running_turn_id", Value::Null),
        ("turns", json!([])),
        ("pending_approvals", json!([])),
        ("queue", json!([])),
        ("last_seq", json!(1)),
        ("context", json!({"tokens": null, "window": null})),
    ] {
        assert_eq!(shown[name], value, "{name}");
    }
}

#[tokio::test]
async fn a_chat_is_a_session_like_any_other_and_a_specification_is_refused() {
    let daemon = DoorTestDaemon::start().await;
    let asked = json!({
        "workspace_path": daemon.workspace(), "system_prompt": "", "mode": "chat", "spec_path": "",
    });
    let id = create(&daemon, asked.clone()).await;
    assert_eq!(daemon.get(&format!("/v1/sessions/{id}")).await.json()["mode"], "serve");
    let mut spec = asked;
    spec["spec_path"] = json!("specs/one.md");
    let refused = daemon.post("/v1/sessions", &spec).await;
    assert_eq!((refused.status(), refused.code().as_str()), (422, "unsupported"), "{}", refused.text());
}

#[tokio::test]
async fn a_session_brings_its_newest_messages_along_when_asked_to() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    daemon.say(&session, "hello").await;
    daemon.until(&session, "turn_completed").await;
    let path = format!("/v1/sessions/{session}");
    assert_eq!(daemon.get(&path).await.json().get("messages"), None);
    let shown = daemon.get(&format!("{path}?include=messages")).await.json();
    let listed = daemon.get(&format!("{path}/messages")).await.json();
    assert_eq!(shown["messages"], listed["messages"]);
    assert_eq!(shown["messages"].as_array().unwrap().len(), 2);
    assert_eq!(daemon.get(&format!("{path}?include=all")).await.status(), 400);
}

#[tokio::test]
async fn a_workspace_must_be_an_absolute_path_of_a_directory() {
    let daemon = DoorTestDaemon::start().await;
    let workspace = daemon.workspace();
    let file = format!("{workspace}/file");
    fs::write(&file, "").unwrap();
    let before = daemon.recorded();
    for path in [
        "",
        ".",
        "relative",
        "./relative",
        "~",
        &format!("{workspace}/missing"),
        &file,
        &format!("{workspace}/.."),
        &format!("{workspace}/../workspace"),
        &format!("{file}/below"),
        "/\0",
        &format!("/{}", "x".repeat(5000)),
        &workspace[1..],
    ] {
        let answer = daemon.post("/v1/sessions", &json!({"workspace_path": path})).await;
        assert_eq!((answer.status(), answer.code().as_str()), (422, "bad_workspace"), "{path:?}");
    }
    assert_eq!(daemon.recorded(), before);
}

#[tokio::test]
async fn what_a_session_names_must_exist() {
    let daemon = DoorTestDaemon::start().await;
    let before = daemon.recorded();
    for (name, value, status, code) in [
        ("agent", json!("nobody"), 422, "unknown_agent"),
        ("model", json!("nobody:none"), 422, "unknown_model"),
        ("model", json!(""), 422, "unknown_model"),
        ("parent_session_id", json!("sess_0190f3c4a5b67c8d9e0f112233445566"), 422, "unknown_parent"),
        ("parent_session_id", json!("sess_../../etc"), 422, "invalid_body"),
        ("mode", json!("other"), 422, "invalid_body"),
        ("title", json!("x".repeat(1001)), 413, "too_large"),
        ("idempotency_key", json!("x".repeat(1001)), 413, "too_large"),
        ("system_prompt", json!("x".repeat((1 << 20) + 1)), 413, "too_large"),
        ("policy", json!({"approvals": {}}), 422, "invalid_body"),
    ] {
        let body = json!({"workspace_path": daemon.workspace(), name: value});
        let answer = daemon.post("/v1/sessions", &body).await;
        assert_eq!((answer.status(), answer.code().as_str()), (status, code), "{name}: {}", answer.text());
    }
    assert_eq!(daemon.recorded(), before);
}

#[tokio::test]
async fn one_key_makes_one_session() {
    let daemon = DoorTestDaemon::start().await;
    let body = json!({"workspace_path": daemon.workspace(), "idempotency_key": "k"});
    let ids =
        tokio::join!(create(&daemon, body.clone()), create(&daemon, body.clone()), create(&daemon, body));
    assert!(ids.0 == ids.1 && ids.1 == ids.2, "{ids:?}");
    let other = create(&daemon, json!({"workspace_path": daemon.workspace(), "idempotency_key": "l"})).await;
    assert_ne!(other, ids.0);
    assert_eq!(daemon.recorded().len(), 2);
}

#[tokio::test]
async fn the_list_is_filtered_and_paged() {
    let daemon = DoorTestDaemon::start().await;
    let mut ids = Vec::new();
    for i in 0..5 {
        let title = if i == 2 { "needle" } else { "hay" };
        ids.push(create(&daemon, json!({"workspace_path": daemon.workspace(), "title": title})).await);
    }
    let newest_first: Vec<String> = ids.iter().rev().cloned().collect();
    assert_eq!(listed(&daemon, "").await, newest_first);
    assert_eq!(listed(&daemon, "q=needle").await, [ids[2].clone()]);
    assert_eq!(listed(&daemon, "status=failed").await, Vec::<String>::new());
    assert_eq!(listed(&daemon, "status=active&archived=false").await, newest_first);
    assert_eq!(listed(&daemon, "workspace=/nowhere").await, Vec::<String>::new());
    assert_eq!(listed(&daemon, &format!("workspace={}", daemon.workspace())).await, newest_first);
    daemon
        .send(&daemon.request("PATCH", &format!("/v1/sessions/{}", ids[0])).json(&json!({"archived": true})))
        .await;
    assert_eq!(listed(&daemon, "archived=true").await, [ids[0].clone()]);
    patch(&daemon, &format!("/v1/sessions/{}", ids[1]), &json!({"pinned": true})).await;
    assert_eq!(listed(&daemon, "pinned=true").await, [ids[1].clone()]);
    assert_eq!(listed(&daemon, "pinned=true&archived=true").await, Vec::<String>::new());
    let others = listed(&daemon, "pinned=false").await;
    assert!(others.len() == 4 && !others.contains(&ids[1]), "{others:?}");
    let mut pages = Vec::new();
    let mut query = "limit=2".to_owned();
    loop {
        let page = daemon.get(&format!("/v1/sessions?{query}")).await.json();
        assert!(page["sessions"].as_array().unwrap().len() <= 2);
        pages.extend(page["sessions"].as_array().unwrap().iter().map(|session| session["id"].clone()));
        match page["next_cursor"].as_str() {
            Some(cursor) => query = format!("limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(pages.len(), 5);
    assert!(ids.iter().all(|id| pages.contains(&json!(id))));
}

#[tokio::test]
async fn the_list_tells_which_turn_runs() {
    let daemon = DoorTestDaemon::start().await;
    let (idle, scene) = (daemon.session().await, RouteScene::new(&daemon).await);
    let running = |list: Value, id: &str| {
        let sessions = list["sessions"].as_array().unwrap().clone();
        sessions.into_iter().find(|session| session["id"] == id).unwrap()["running_turn_id"].clone()
    };
    let list = daemon.get("/v1/sessions").await.json();
    assert_eq!(running(list.clone(), &scene.session), json!(scene.turn));
    assert_eq!(running(list, &idle), Value::Null);
    daemon.post(&format!("/v1/sessions/{}/cancel", scene.session), &json!({})).await;
    // The message that waited may run by now.
    assert_ne!(running(daemon.get("/v1/sessions").await.json(), &scene.session), json!(scene.turn));
}

#[tokio::test]
async fn limits_and_cursors_are_checked() {
    let daemon = DoorTestDaemon::start().await;
    for _ in 0..3 {
        daemon.session().await;
    }
    for limit in ["0", "201", "4294967296"] {
        let answer = daemon.get(&format!("/v1/sessions?limit={limit}")).await;
        assert_eq!((answer.status(), answer.code().as_str()), (400, "bad_query"), "{limit}");
    }
    let cursor = daemon.get("/v1/sessions?limit=1").await.json()["next_cursor"].as_str().unwrap().to_owned();
    assert_eq!(daemon.get(&format!("/v1/sessions?limit=1&cursor={cursor}")).await.status(), 200);
    let half = &cursor[..cursor.len() / 2];
    for wrong in ["", "x", "%00", "..", half, &format!("{cursor}x"), &format!("x{cursor}"), &"9".repeat(5000)]
    {
        let answer = daemon.get(&format!("/v1/sessions?cursor={wrong}")).await;
        assert_eq!((answer.status(), answer.code().as_str()), (400, "bad_cursor"), "{wrong}");
    }
}

#[tokio::test]
async fn a_search_takes_any_text() {
    let daemon = DoorTestDaemon::start().await;
    daemon.session().await;
    for q in [
        "%22",
        "a%20AND",
        "*",
        "NEAR(",
        "%27%3B--",
        "%00",
        "-",
        "title:x",
        "%F0%9F%90%B4",
        &"a%20".repeat(2000),
    ] {
        let answer = daemon.get(&format!("/v1/sessions?q={q}")).await;
        assert!([200, 400, 422].contains(&answer.status()), "{q}: {}", answer.text());
    }
}

#[tokio::test]
async fn a_change_is_shown_and_recorded_once() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let patch = |body: Value| daemon.request("PATCH", &format!("/v1/sessions/{session}")).json(&body);
    let change = json!({"title": "new", "archived": true, "model": "test:two", "policy": {"verify": {"max_rounds": 7}}});
    let shown = daemon.send(&patch(change.clone())).await.json();
    assert_eq!(
        (&shown["title"], &shown["archived"], &shown["model"]),
        (&json!("new"), &json!(true), &json!("test:two"))
    );
    assert_eq!(shown["policy"]["verify"]["max_rounds"], 7);
    assert_eq!(
        shown["policy"]["approval"]["require_for_kinds"],
        json!(["write", "exec", "network"]),
        "the rest stays"
    );
    assert_eq!(shown["last_seq"], 2);
    assert_eq!(daemon.send(&patch(change)).await.json()["last_seq"], 2, "the same again changes nothing");
    assert_eq!(daemon.send(&patch(json!({}))).await.json()["last_seq"], 2);
    assert_eq!(daemon.send(&patch(json!({"title": ""}))).await.json()["title"], Value::Null);
    let review = json!({"patch_review": {"mode": "request"}, "verify": {"require_clean": true}});
    let shown = daemon.send(&patch(json!({"policy": review}))).await.json();
    assert_eq!(shown["policy"]["patch_review"]["mode"], "request");
    assert_eq!(shown["policy"]["verify"]["require_clean"], true);
    for wrong in [
        json!([]),
        json!({"approval": []}),
        json!({"verify": [true]}),
        json!({"approval": {"rules": [["shell", "ls"]]}}),
    ] {
        assert_eq!(
            daemon.send(&patch(json!({"policy": wrong}))).await.status(),
            422,
            "an array is no object"
        );
    }
    let answer = daemon.send(&patch(json!({"model": "nobody:none", "title": "x"}))).await;
    assert_eq!((answer.status(), answer.code().as_str()), (422, "unknown_model"));
    assert_eq!(daemon.send(&patch(json!({"title": "x".repeat(1001)}))).await.status(), 413);
    assert_eq!(daemon.send(&patch(json!({"workspace_path": "/"}))).await.status(), 422);
    assert_eq!(daemon.log(&session).len(), 4);
}

#[tokio::test]
async fn a_closed_session_can_be_read_but_not_continued() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let path = format!("/v1/sessions/{session}");
    for _ in 0..2 {
        let answer = daemon.delete(&path).await;
        assert_eq!(answer.json(), json!({"session_id": session, "purged": false}));
        assert_eq!(daemon.log(&session).len(), 2, "closing twice closes once");
    }
    assert_eq!(daemon.get(&path).await.json()["status"], "completed");
    let answer = daemon.post(&format!("{path}/messages"), &crate::daemon::message_body("hello")).await;
    assert_eq!((answer.status(), answer.code().as_str()), (409, "session_closed"));
    let answer = daemon.send(&daemon.request("POST", &format!("{path}/run"))).await;
    assert_eq!(answer.status(), 409);
    assert_eq!(daemon.delete(&format!("{path}?purge=false")).await.json()["purged"], false);
}

#[tokio::test]
async fn a_removed_session_is_gone_from_everywhere() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let stays = daemon.session().await;
    daemon.say(&session, "wait").await;
    let dir = daemon.data().join("sessions").join(&session);
    assert!(exists(&dir));
    let answer = daemon.delete(&format!("/v1/sessions/{session}?purge=true")).await;
    assert_eq!(answer.json(), json!({"session_id": session, "purged": true}));
    assert!(!exists(&dir));
    for route in crate::api_routes::routes().into_iter().filter(|route| route.path.contains("{session_id}")) {
        let path = route.path.replace("{session_id}", &session);
        let path = path.replace("{turn_id}", "turn_0190f3c4a5b67c8d9e0f112233445566");
        let path = path.replace("{message_id}", "msg_0190f3c4a5b67c8d9e0f112233445566");
        let mut request = daemon.request(&route.method, &path);
        request = match route.name() {
            "send_message" => request.json(&crate::daemon::message_body("hello")),
            "update_session" => request.json(&json!({"title": "x"})),
            "change_queued" => request.json(&json!({"before": null})),
            "undo" => request.json(&json!({"turn_id": "turn_0190f3c4a5b67c8d9e0f112233445566"})),
            "attach_file" => request.json(&json!({"name": "a.txt", "data": "aGVsbG8="})),
            "run_subtasks" => request.json(&json!({"subtasks": [{"id": "a", "prompt": "x"}]})),
            "answer_approval" => request.json(&json!({
                "turn_id": "turn_0190f3c4a5b67c8d9e0f112233445566", "tool_call_id": "c", "action": "deny",
            })),
            _ => request,
        };
        let answer = daemon.send(&request).await;
        assert_eq!((answer.status(), answer.code().as_str()), (404, "session_not_found"), "{}", route.name());
    }
    assert!(!exists(&dir), "asking for it does not bring it back");
    assert_eq!(listed(&daemon, "").await, [stays]);
}

#[tokio::test]
async fn a_session_that_nobody_follows_any_more_goes_to_sleep() {
    let daemon = DoorTestDaemon::start_with(std::time::Duration::ZERO).await;
    let session = daemon.session().await;
    let mut stream = daemon.follow(&format!("/v1/sessions/{session}/events")).await;
    stream.frame().await.unwrap();
    assert_eq!(daemon.engine.awake_count(), 1);
    drop(stream);
    // It could not sleep while the client that has gone was still subscribed.
    while daemon.engine.awake_count() > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(daemon.get(&format!("/v1/sessions/{session}")).await.json()["last_seq"], 1, "asking wakes it");
}

#[tokio::test]
async fn a_session_without_a_model_gets_one_and_is_told_why() {
    let daemon = DoorTestDaemon::start().await;
    let id = create(&daemon, json!({"workspace_path": daemon.workspace()})).await;
    let events = history(&daemon, &id);
    let resolved = events.iter().find(|event| event["type"] == "model_resolved").expect("it is recorded");
    assert_eq!(resolved["seq"], 2);
    assert_eq!(resolved["data"]["model"], "test:one");
    assert_eq!(resolved["data"]["reason"], "configured");
    let named = create(&daemon, json!({"workspace_path": daemon.workspace(), "model": "test:two"})).await;
    assert!(history(&daemon, &named).iter().all(|event| event["type"] != "model_resolved"));
}

#[tokio::test]
async fn the_model_policy_decides_when_nobody_does() {
    let daemon = DoorTestDaemon::start().await;
    let sees = json!({"workspace_path": daemon.workspace(), "policy": {"model": {"require": ["vision"]}}});
    let id = create(&daemon, sees).await;
    let shown = daemon.get(&format!("/v1/sessions/{id}")).await;
    assert_eq!(shown.json()["model"], "test:two");
    let none = json!({"workspace_path": daemon.workspace(), "policy": {"model": {"require": ["files"]}}});
    let refused = daemon.post("/v1/sessions", &none).await;
    assert_eq!((refused.status(), refused.json()["error"]["code"].as_str()), (422, Some("no_model")));
    for policy in [json!({"max_input_price": -1}), json!({"require": ["magic"]}), json!({"cost": 1})] {
        let body = json!({"workspace_path": daemon.workspace(), "policy": {"model": policy}});
        assert_eq!(daemon.post("/v1/sessions", &body).await.status(), 422, "{body}");
    }
}

#[tokio::test]
async fn model_effort_and_fallbacks_change_between_turns() {
    let daemon = DoorTestDaemon::start().await;
    let body = json!({"workspace_path": daemon.workspace(), "model": "test:one", "effort": "low"});
    let id = create(&daemon, body).await;
    let path = format!("/v1/sessions/{id}");
    let change =
        json!({"model": "test:two", "effort": "max", "fallback_models": ["test:one"], "raw_log": true});
    let shown = patch(&daemon, &path, &change).await.json();
    assert_eq!((&shown["model"], &shown["effort"]), (&json!("test:two"), &json!("max")));
    assert_eq!((&shown["fallback_models"], &shown["raw_log"]), (&json!(["test:one"]), &json!(true)));
    let shown = patch(&daemon, &path, &json!({"title": "other"})).await.json();
    assert_eq!(shown["effort"], "max", "what is absent stays");
    let shown = patch(&daemon, &path, &json!({"effort": null})).await.json();
    assert_eq!(shown["effort"], Value::Null);
    for wrong in [json!({"effort": "huge"}), json!({"fallback_models": ["nobody:x"]})] {
        assert_eq!(patch(&daemon, &path, &wrong).await.status(), 422, "{wrong}");
    }
}

#[tokio::test]
async fn the_models_are_listed_with_what_is_known_of_them() {
    let daemon = DoorTestDaemon::start().await;
    let listed = daemon.get("/v1/models?refresh=true").await.json();
    assert_eq!(listed["default"]["model"], "test:one");
    assert_eq!(listed["models"][1]["name"], "test:two");
    assert_eq!(listed["models"][1]["abilities"], json!(["vision"]));
    assert_eq!(listed["models"][0]["abilities"], Value::Null);
}

#[tokio::test]
async fn trust_is_asked_for_by_workspace_and_shown_with_the_session() {
    let daemon = DoorTestDaemon::start().await;
    let id = daemon.session().await;
    let shown = |answer: RawResponse| answer.json()["trusted"].clone();
    assert_eq!(shown(daemon.get(&format!("/v1/sessions/{id}")).await), false);
    let put = |trusted: bool| {
        let body = json!({"workspace_path": daemon.workspace(), "trusted": trusted});
        daemon.request("PUT", "/v1/trust").json(&body)
    };
    assert_eq!(shown(daemon.send(&put(true)).await), true);
    assert_eq!(shown(daemon.get(&format!("/v1/sessions/{id}")).await), true);
    let asked = daemon.get(&format!("/v1/trust?workspace_path={}/.", daemon.workspace())).await;
    assert_eq!(shown(asked), true, "the path is tidied");
    assert_eq!(shown(daemon.send(&put(false)).await), false);
    let nowhere = json!({"workspace_path": "/does/not/exist", "trusted": true});
    assert_eq!(daemon.send(&daemon.request("PUT", "/v1/trust").json(&nowhere)).await.status(), 422);
}
