//! Bodies and queries that are not what was expected: refused with a reason, and nothing recorded.

use serde_json::{Value, json};

use crate::api_routes::{ApiRoute, RouteScene, routes};
use crate::daemon::DoorTestDaemon;
use crate::raw_http::{RawConnection, RawRequest};

fn routes_with_body() -> impl Iterator<Item = ApiRoute> {
    let takes_json = |route: &ApiRoute| {
        let body = route.operation.get("requestBody");
        body.is_some_and(|body| body["content"].get("application/json").is_some())
    };
    routes().into_iter().filter(takes_json)
}

/// Those whose limit and type are the usual ones. Files have their own.
fn routes_with_plain_body() -> impl Iterator<Item = ApiRoute> {
    routes_with_body().filter(|route| route.name() != "attach_file")
}

/// Sends each of these bodies, with its status and code, to every route that takes one.
async fn assert_refused(daemon: &DoorTestDaemon, kind: &str, bodies: &[(Vec<u8>, u16, &str)]) {
    let scene = RouteScene::new(daemon).await;
    let before = daemon.recorded();
    for route in routes_with_body().filter(|route| !route.takes(kind)) {
        for (body, status, code) in bodies.iter().filter(|(body, ..)| route.needs_body() || !body.is_empty())
        {
            let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
            let request = route.request(daemon, &scene).set("content-type", kind).body(body);
            let answer = daemon.send(&request).await;
            let expected = (*status, (*code).to_owned());
            assert_eq!(
                (answer.status(), answer.code()),
                expected,
                "{} {shown:?}: {}",
                route.name(),
                answer.text()
            );
        }
    }
    assert_eq!(daemon.recorded(), before);
}

#[tokio::test]
async fn what_is_not_json_is_malformed() {
    let daemon = DoorTestDaemon::start().await;
    let deep = [b"[".repeat(10_000), b"]".repeat(10_000)].concat();
    let deep_object = [br#"{"reason":"#.repeat(10_000), b"1".to_vec(), b"}".repeat(10_000)].concat();
    let bodies = [
        b"{".to_vec(),
        b"not json".to_vec(),
        b"{\"reason\":\"\xff\xfe\"}".to_vec(),
        b"{\"reason\":\"\\ud800\"}".to_vec(),
        b"{\"reason\":1} trailing".to_vec(),
        b"{'reason':1}".to_vec(),
        b"{\"reason\":NaN}".to_vec(),
        b"\xef\xbb\xbf{}".to_vec(),
        b"{\"reason\": \"a\nb\"}".to_vec(),
        b"\0".to_vec(),
        b"[".repeat(10_000),
        Vec::new(),
    ];
    let scene = RouteScene::new(&daemon).await;
    let before = daemon.recorded();
    for route in routes_with_body() {
        for body in bodies.iter().filter(|body| route.needs_body() || !body.is_empty()) {
            let request = route.request(&daemon, &scene).set("content-type", "application/json").body(body);
            let answer = daemon.send(&request).await;
            // Where the shape is wrong before the syntax is, the shape is what is told.
            assert!([400, 422].contains(&answer.status()), "{}: {}", route.name(), answer.text());
        }
        for body in [&deep, &deep_object] {
            let answer = daemon.send(&route.request(&daemon, &scene).body(body)).await;
            assert!([400, 422].contains(&answer.status()), "{}: {}", route.name(), answer.text());
        }
    }
    assert_eq!(daemon.recorded(), before);
    assert_refused(&daemon, "application/json", &[(b"{".to_vec(), 400, "malformed_json")]).await;
}

#[tokio::test]
async fn json_of_the_wrong_shape_is_invalid() {
    let daemon = DoorTestDaemon::start().await;
    let wrong = [
        json!([]),
        json!("text"),
        json!(1),
        json!(null),
        json!({"surprise": 1}),
        json!({"reason": 1, "title": 1, "role": 1, "workspace_path": 1, "turn_id": 1}),
    ];
    let wrong = wrong.map(|body| (body.to_string().into_bytes(), 422, "invalid_body"));
    assert_refused(&daemon, "application/json; charset=utf-8", &wrong).await;
}

#[tokio::test]
async fn every_field_is_checked_for_its_type_and_its_name() {
    let daemon = DoorTestDaemon::start().await;
    let scene = RouteScene::new(&daemon).await;
    let before = daemon.recorded();
    for route in routes_with_body() {
        let good = route.body(&scene).unwrap();
        for field in good.as_object().unwrap().keys() {
            for value in [json!(1.5), json!({"a": []}), json!([[]]), json!(true)] {
                if value.is_boolean() && good[field].is_boolean() {
                    continue;
                }
                let mut body = good.clone();
                body[field] = value;
                let answer = daemon.send(&route.request(&daemon, &scene).json(&body)).await;
                assert_eq!((answer.status(), answer.code().as_str()), (422, "invalid_body"), "{body}");
            }
        }
        let mut body = good.clone();
        body["surprise"] = json!(1);
        let answer = daemon.send(&route.request(&daemon, &scene).json(&body)).await;
        assert_eq!(answer.status(), 422, "{body}");
        assert!(answer.text().contains("surprise"), "the error names the field: {}", answer.text());
        let twice = good.to_string().replacen('{', &format!("{{{},", first_member(&good)), 1);
        let answer = daemon.send(&route.request(&daemon, &scene).body(twice.as_bytes())).await;
        assert_eq!(answer.status(), 422, "a field twice: {twice}");
    }
    assert_eq!(daemon.recorded(), before);
}

fn first_member(object: &Value) -> String {
    let (name, value) = object.as_object().unwrap().iter().next().unwrap();
    format!("{}:{value}", json!(name))
}

#[tokio::test]
async fn other_types_of_content_are_refused() {
    let daemon = DoorTestDaemon::start().await;
    let unsupported = |body: &str| [(body.as_bytes().to_vec(), 415, "unsupported_media_type")];
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "json"]
    {
        assert_refused(&daemon, kind, &unsupported(r#"{"reason":"x"}"#)).await;
    }
    let scene = RouteScene::new(&daemon).await;
    for route in routes_with_body() {
        let answer = daemon.send(&route.request(&daemon, &scene).remove("content-type")).await;
        assert_eq!(answer.status(), 415, "{}", route.name());
    }
}

#[tokio::test]
async fn a_large_body_is_refused_before_it_is_read() {
    let daemon = DoorTestDaemon::start().await;
    let scene = RouteScene::new(&daemon).await;
    let before = daemon.recorded();
    for route in routes_with_plain_body() {
        // Only the length is told; not a byte of the body is sent.
        let request = route.request(&daemon, &scene).body(b"").set("content-length", "10485760");
        let answer = daemon.send(&request).await;
        assert_eq!((answer.status(), answer.code().as_str()), (413, "too_large"), "{}", route.name());
    }
    assert_eq!(daemon.recorded(), before);
}

#[tokio::test]
async fn a_large_body_of_unknown_length_is_cut_off() {
    let daemon = DoorTestDaemon::start().await;
    let scene = RouteScene::new(&daemon).await;
    let before = daemon.recorded();
    for route in routes_with_plain_body() {
        let head = route
            .request(&daemon, &scene)
            .body(b"")
            .remove("content-length")
            .add("transfer-encoding", "chunked");
        let mut bytes = head.bytes();
        let mebibyte = format!("100000\r\n{}\r\n", " ".repeat(1 << 20));
        bytes.extend(mebibyte.repeat(3).into_bytes());
        // The end never comes: the answer must come without it.
        let answer = daemon.connect().await.exchange(&bytes).await;
        assert_eq!((answer.status(), answer.code().as_str()), (413, "too_large"), "{}", route.name());
    }
    assert_eq!(daemon.recorded(), before);
}

#[tokio::test]
async fn ten_mebibytes_are_answered_however_they_are_sent() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let target = format!("/v1/sessions/{session}/messages");
    let body = json!({"role": "user", "parts": [{"type": "text", "text": "x".repeat(10 << 20)}]});
    assert_eq!(daemon.post(&target, &body).await.status(), 413);
    // Within the limit of a body, but not within that of a message.
    let body = json!({"role": "user", "parts": [{"type": "text", "text": "x".repeat(3 << 19)}]});
    let answer = daemon.post(&target, &body).await;
    assert_eq!((answer.status(), answer.code().as_str()), (413, "too_large"));
    assert_eq!(daemon.log(&session).len(), 1);
}

#[tokio::test]
async fn an_unknown_or_wrong_query_is_refused() {
    let daemon = DoorTestDaemon::start().await;
    let scene = RouteScene::new(&daemon).await;
    let before = daemon.recorded();
    for route in routes().into_iter().filter(|route| !route.params("query").is_empty()) {
        let target = route.target(&scene);
        let mut queries = vec!["surprise=1".to_owned(), "token=x".to_owned(), "=".to_owned()];
        for param in
            route.operation["parameters"].as_array().unwrap().iter().filter(|param| param["in"] == "query")
        {
            let name = param["name"].as_str().unwrap();
            queries.push(format!("{name}=1&{name}=2"));
            if param["schema"]["type"] != "string" || param["schema"].get("enum").is_some() {
                let below_zero = param["schema"]["minimum"].as_i64().is_some_and(|minimum| minimum < 0);
                let wrong = ["", "x", "-1", "1.5", "%00", "18446744073709551616"];
                let wrong = wrong.iter().filter(|value| !below_zero || **value != "-1");
                queries.extend(wrong.map(|value| format!("{name}={value}")));
            }
        }
        for query in queries {
            let request = daemon.request(&route.method, &format!("{target}?{query}"));
            let answer = daemon.send(&request).await;
            assert_eq!(
                (answer.status(), answer.code().as_str()),
                (400, "bad_query"),
                "{} {query}",
                route.name()
            );
        }
    }
    assert_eq!(daemon.recorded(), before);
}

#[tokio::test]
async fn a_body_cut_short_changes_nothing() {
    let daemon = DoorTestDaemon::start().await;
    let scene = RouteScene::new(&daemon).await;
    let before = daemon.recorded();
    for route in routes_with_body() {
        let request: RawRequest = route.request(&daemon, &scene);
        let bytes = request.bytes();
        let mut connection: RawConnection = daemon.connect().await;
        connection.send(&bytes[..bytes.len() - 1]).await;
        drop(connection);
    }
    // The daemon has seen the ends of those connections by the time that it has answered another.
    assert_eq!(daemon.get("/healthz").await.status(), 200);
    assert_eq!(daemon.recorded(), before);
}
