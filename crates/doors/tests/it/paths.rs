//! Paths: ids that are none, tricks that try to leave the data directory, methods that there are not.

use serde_json::Value;

use crate::api_routes::{ApiRoute, RouteScene, routes};
use crate::daemon::DoorTestDaemon;

const API_HINT: &str = "/openapi.json lists what there is";
const UNKNOWN: &str = "0190f3c4a5b67c8d9e0f112233445566";

fn tricks(prefix: &str) -> Vec<String> {
    let mut tricks: Vec<String> = [
        "..",
        ".",
        "%2e%2e",
        "%2E%2E",
        "..%2f..%2f..%2fetc%2fpasswd",
        "..%5c..%5cetc",
        "%2f",
        "%2fetc%2fpasswd",
        "%00",
        "%252e%252e",
        "%252f",
        "%ff%fe",
        "%c0%ae%c0%ae",
        "%u002e",
        "%",
        "%zz",
        "~",
        "*",
        "null",
        "0",
        "-1",
        "{session_id}",
        "'%20or%201=1--",
        "sess_",
        "turn_",
    ]
    .map(str::to_owned)
    .to_vec();
    tricks.push(format!("{prefix}{}", UNKNOWN.to_uppercase()));
    tricks.push(format!("{}{UNKNOWN}", prefix.to_uppercase()));
    tricks.push(format!("{prefix}{UNKNOWN}0"));
    tricks.push(format!("{prefix}{}", &UNKNOWN[1..]));
    tricks.push(format!("{prefix}{UNKNOWN}%00"));
    tricks.push(format!("{prefix}{UNKNOWN}%20"));
    tricks.push(format!("%20{prefix}{UNKNOWN}"));
    tricks.push(format!("{prefix}{UNKNOWN}%2f.."));
    tricks.push(format!("{prefix}0190f3c4-a5b6-7c8d-9e0f-112233445566"));
    tricks.push(UNKNOWN.to_owned());
    tricks.push("a".repeat(10 * 1024));
    tricks.push(format!("{prefix}{}", "0".repeat(10 * 1024)));
    tricks
}

/// The path of a route in the scene, but for one of its parameters.
fn with(route: &ApiRoute, scene: &RouteScene, param: &str, value: &str) -> String {
    let own = format!("{{{param}}}");
    let path = route.path.replace(&own, "\n");
    ApiRoute { path, method: String::new(), operation: Value::Null }.target(scene).replace('\n', value)
}

fn prefix(param: &str) -> &'static str {
    match param {
        "session_id" => "sess_",
        "turn_id" => "turn_",
        "message_id" => "msg_",
        "file" | "project_id" | "agent" | "tool_call_id" => "",
        other => panic!("say what the ids of {other} look like"),
    }
}

#[tokio::test]
async fn what_cannot_be_an_id_names_nothing() {
    let daemon = DoorTestDaemon::start().await;
    let scene = RouteScene::new(&daemon).await;
    let before = daemon.recorded();
    for route in routes() {
        for param in route.params("path") {
            for trick in tricks(prefix(&param)) {
                let target = with(&route, &scene, &param, &trick) + &route.query(&scene);
                let answer = daemon.send(&route.request(&daemon, &scene).target(&target)).await;
                assert_eq!(answer.status(), 404, "{} {target}: {}", route.method, answer.text());
                assert!(answer.body.len() < 1024, "the answer repeats the question");
            }
        }
    }
    assert_eq!(daemon.recorded(), before);
}

#[tokio::test]
async fn unknown_ids_are_not_found() {
    let daemon = DoorTestDaemon::start().await;
    let scene = RouteScene::new(&daemon).await;
    let before = daemon.recorded();
    for route in routes() {
        for param in route.params("path") {
            let unknown = format!("{}{UNKNOWN}", prefix(&param));
            let target = with(&route, &scene, &param, &unknown) + &route.query(&scene);
            let answer = daemon.send(&route.request(&daemon, &scene).target(&target)).await;
            let code = match param.as_str() {
                "session_id" => "session_not_found",
                "turn_id" => "turn_not_found",
                "project_id" => "project_not_found",
                "agent" => "unknown_agent",
                "tool_call_id" => "tool_call_not_found",
                "file" if route.path.contains("/artifacts/") => "artifact_not_found",
                "file" => "attachment_not_found",
                _ => "message_not_queued",
            };
            assert_eq!((answer.status(), answer.code().as_str()), (404, code), "{} {target}", route.method);
        }
    }
    assert_eq!(daemon.recorded(), before);
}

#[tokio::test]
async fn paths_are_taken_as_they_are() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    for target in [
        format!("/v1/sessions/{session}/"),
        format!("/v1/sessions//{session}"),
        format!("//v1/sessions/{session}"),
        format!("/v1/sessions/./{session}"),
        format!("/v1/x/../sessions/{session}"),
        format!("/v1%2fsessions%2f{session}"),
        format!("/V1/sessions/{session}"),
        format!("/v1/sessions/{session};a=b"),
        format!("/v1/sessions/{session}/../../../token"),
        format!("/v1/sessions/{session}/events.ndjson"),
        "/v1/sessions/".to_owned(),
        "/token".to_owned(),
        "/../token".to_owned(),
    ] {
        let answer = daemon.get(&target).await;
        assert_eq!((answer.status(), answer.code().as_str()), (404, "not_found"), "{target}");
    }
    assert_eq!(daemon.get(&format!("/v1/sessions/{session}")).await.status(), 200);
    let escaped = session.replace('s', "%73");
    let answer = daemon.get(&format!("/v1/sessions/{escaped}")).await;
    assert_eq!(answer.json()["id"], session.as_str(), "an escaped letter is that letter");
}

#[tokio::test]
async fn methods_that_there_are_not_are_told_apart_from_paths() {
    let daemon = DoorTestDaemon::start().await;
    let scene = RouteScene::new(&daemon).await;
    let before = daemon.recorded();
    let routes = routes();
    for route in &routes {
        let known: Vec<&str> = routes
            .iter()
            .filter(|other| other.path == route.path)
            .map(|other| other.method.as_str())
            .collect();
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW", "get"] {
            if known.contains(&method) {
                continue;
            }
            let answer = daemon.send(&daemon.request(method, &route.target(&scene))).await;
            let error = (answer.status(), answer.code());
            assert_eq!(error, (405, "method_not_allowed".to_owned()), "{method} {}", route.path);
            let allowed = answer.head.header("allow").unwrap();
            assert!(known.iter().all(|known| allowed.contains(known)), "{}: {allowed}", route.path);
            assert_eq!(answer.json()["error"]["hint"], API_HINT, "{method} {}", route.path);
        }
    }
    assert_eq!(daemon.get("/nothing").await.json()["error"]["hint"], API_HINT);
    let pool = daemon.get("/rpc").await;
    assert_eq!((pool.status(), pool.code().as_str()), (405, "method_not_allowed"));
    assert_eq!(pool.json()["error"]["hint"], Value::Null, "a pool client has no use for our routes");
    assert_eq!(daemon.recorded(), before);
}
