//! Approvals: what waits, who answers, and that the first answer counts.

use serde_json::{Value, json};

use crate::api_routes::RouteScene;
use crate::daemon::DoorTestDaemon;
use crate::raw_http::RawResponse;
use crate::stream::is_named;

async fn answer(daemon: &DoorTestDaemon, scene: &RouteScene, body: Value) -> RawResponse {
    let mut whole = json!({"turn_id": scene.turn, "tool_call_id": "call_1", "action": "approve"});
    for (name, value) in body.as_object().unwrap() {
        whole[name] = value.clone();
    }
    let request = daemon.request("POST", &format!("/v1/sessions/{}/approve", scene.session));
    daemon.send(&request.add("user-agent", "tester/1").json(&whole)).await
}

#[tokio::test]
async fn what_waits_is_listed_here_and_there() {
    let daemon = DoorTestDaemon::start().await;
    assert_eq!(daemon.get("/v1/approvals").await.json(), json!({"approvals": []}));
    let (one, two) = (RouteScene::new(&daemon).await, RouteScene::new(&daemon).await);
    let all = daemon.get("/v1/approvals").await.json();
    let all = all["approvals"].as_array().unwrap();
    assert_eq!(all.len(), 2);
    for (scene, waiting) in [&one, &two].iter().zip(all) {
        let mut expected = json!({
            "session_id": scene.session, "turn_id": scene.turn, "tool_call_id": "call_1", "tool": "shell",
            "input": {"command": "make test"}, "kind": "exec", "summary": "run `make test`",
            "rule": {
                "tool": "shell", "subject": "make test", "workspace": waiting["rule"]["workspace"],
                "commands": [{"argv": ["make", "test"]}],
            },
        });
        expected["requested_at"] = waiting["requested_at"].clone();
        assert!(waiting["rule"]["workspace"].is_string(), "a rule holds in one workspace");
        assert_eq!(*waiting, expected);
        let view = daemon.get(&format!("/v1/sessions/{}", scene.session)).await.json();
        assert_eq!(view["status"], "waiting_approval");
        assert_eq!(view["pending_approvals"], json!([waiting]));
    }
}

#[tokio::test]
async fn the_first_answer_counts_and_the_second_is_told_of_it() {
    for (action, word) in [("approve", "approved"), ("deny", "denied")] {
        let daemon = DoorTestDaemon::start().await;
        let scene = RouteScene::new(&daemon).await;
        let first = answer(&daemon, &scene, json!({"action": action, "reason": "because"})).await;
        assert_eq!(
            (first.status(), first.json()),
            (200, json!({"tool_call_id": "call_1", "action": action}))
        );
        for second in ["approve", "deny"] {
            let second = answer(&daemon, &scene, json!({"action": second})).await;
            assert_eq!((second.status(), second.code().as_str()), (409, "already_answered"));
            let message = second.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.contains(word) && message.contains("http tester/1"), "{message}");
        }
        let granted = if action == "approve" { "approval_granted" } else { "approval_denied" };
        let event = daemon.until(&scene.session, granted).await;
        let expected = json!({
            "tool_call_id": "call_1", "tool": "shell", "by": "http tester/1", "scope": "once", "reason": "because",
        });
        assert_eq!(event["data"], expected);
        let result = daemon.until(&scene.session, "tool_call_completed").await;
        assert_eq!(result["data"]["tool_result"]["ok"], action == "approve");
        daemon.until(&scene.session, "turn_completed").await;
    }
}

#[tokio::test]
async fn of_two_answers_at_once_one_counts() {
    let daemon = DoorTestDaemon::start().await;
    let scene = RouteScene::new(&daemon).await;
    let (yes, no) =
        tokio::join!(answer(&daemon, &scene, json!({})), answer(&daemon, &scene, json!({"action": "deny"})));
    let mut statuses = [yes.status(), no.status()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
}

#[tokio::test]
async fn an_answer_must_name_what_waits() {
    let daemon = DoorTestDaemon::start().await;
    let (scene, other) = (RouteScene::new(&daemon).await, RouteScene::new(&daemon).await);
    let before = daemon.recorded();
    for (body, status, code) in [
        (json!({"tool_call_id": "call_2"}), 409, "not_waiting"),
        (json!({"tool_call_id": ""}), 409, "not_waiting"),
        (json!({"turn_id": other.turn}), 404, "turn_not_found"),
        (json!({"turn_id": "turn_x"}), 422, "invalid_body"),
        (json!({"action": "maybe"}), 422, "invalid_body"),
        (json!({"action": null}), 422, "invalid_body"),
        (json!({"scope": "forever"}), 422, "invalid_body"),
        (json!({"by": "somebody else"}), 422, "invalid_body"),
        (json!({"reason": "x".repeat(1001)}), 413, "too_large"),
    ] {
        let answer = answer(&daemon, &scene, body.clone()).await;
        assert_eq!((answer.status(), answer.code().as_str()), (status, code), "{body}: {}", answer.text());
    }
    assert_eq!(daemon.recorded(), before);
}

#[tokio::test]
async fn an_answer_without_a_turn_is_for_the_only_pending_call_of_that_id() {
    let daemon = DoorTestDaemon::start().await;
    for turn in [json!(""), Value::Null] {
        let scene = RouteScene::new(&daemon).await;
        let answered = answer(&daemon, &scene, json!({"turn_id": turn})).await;
        assert_eq!(answered.status(), 200, "{turn}: {}", answered.text());
        daemon.until(&scene.session, "approval_granted").await;
        let again = answer(&daemon, &scene, json!({"turn_id": turn})).await;
        assert_eq!((again.status(), again.code().as_str()), (409, "already_answered"), "{}", again.text());
    }
    let scene = RouteScene::new(&daemon).await;
    let unknown = answer(&daemon, &scene, json!({"turn_id": "", "tool_call_id": "call_9"})).await;
    assert_eq!((unknown.status(), unknown.code().as_str()), (409, "not_waiting"), "{}", unknown.text());
}

#[tokio::test]
async fn an_answer_for_the_session_is_not_asked_again() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let (_, turn) = daemon.say(&session, "ask").await;
    daemon.until(&session, "approval_requested").await;
    let body = json!({"turn_id": turn, "tool_call_id": "call_1", "action": "approve", "scope": "session"});
    assert_eq!(daemon.post(&format!("/v1/sessions/{session}/approve"), &body).await.status(), 200);
    daemon.until(&session, "turn_completed").await;
    let mut stream = daemon
        .follow(&format!("/v1/sessions/{session}/events?types=turn_completed,approval_requested"))
        .await;
    stream.until("turn_completed").await;
    daemon.say(&session, "ask").await;
    assert!(is_named(&stream.frame().await.unwrap(), "turn_completed"), "it did not ask");
}
