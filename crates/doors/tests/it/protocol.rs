//! HTTP itself: limits on headers and connections, and the corners of the protocol that clients use.

use serde_json::json;

use crate::daemon::{DoorTestDaemon, check_answer};
use crate::raw_http::RawConnection;

#[tokio::test]
async fn too_many_bytes_of_headers_end_the_connection() {
    let daemon = DoorTestDaemon::start().await;
    for request in [
        daemon.request("GET", "/healthz").add("x-long", &"x".repeat(100 * 1024)),
        (0..1000).fold(daemon.request("GET", "/healthz"), |request, i| {
            request.add(&format!("x-{i}"), &"x".repeat(100))
        }),
        (0..200).fold(daemon.request("GET", "/healthz"), |request, i| request.add(&format!("x-{i}"), "")),
    ] {
        let mut connection = daemon.connect().await;
        connection.send(&request.bytes()).await;
        let answer = connection.answer().await;
        assert!([400, 431].contains(&answer.status()), "{}", answer.status());
        assert!(connection.is_closed().await);
    }
    let request = daemon.request("GET", &format!("/{}", "x".repeat(100 * 1024)));
    let mut connection = daemon.connect().await;
    connection.send(&request.bytes()).await;
    assert!([400, 414, 431].contains(&connection.answer().await.status()));
    assert!(connection.is_closed().await);
    assert_eq!(daemon.get("/healthz").await.status(), 200);
}

#[tokio::test]
async fn what_is_not_http_ends_the_connection() {
    let daemon = DoorTestDaemon::start().await;
    for garbage in [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"hello\r\n\r\n".to_vec(),
        b"GET /healthz HTTP/1.1\r\nhost : x\r\n\r\n".to_vec(),
        b"GET /healthz HTTP/1.1\r\n\x00: x\r\n\r\n".to_vec(),
        b"GET /heal thz HTTP/1.1\r\nhost: x\r\n\r\n".to_vec(),
        b"GET /healthz HTTP/3.7\r\nhost: x\r\n\r\n".to_vec(),
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n".to_vec(),
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n".to_vec(),
    ] {
        let mut connection = daemon.connect().await;
        connection.send(&garbage).await;
        let answer = connection.answer().await;
        assert_eq!(answer.status(), 400, "{}", String::from_utf8_lossy(&garbage));
        assert!(connection.is_closed().await);
    }
    let mut connection = daemon.connect().await;
    connection.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    assert!(connection.is_closed().await, "another protocol gets no answer at all");
    assert_eq!(daemon.get("/healthz").await.status(), 200);
}

/// A length beside chunks is how one request is smuggled in another: at most one may be seen.
#[tokio::test]
async fn a_length_beside_chunks_smuggles_nothing() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let hidden = daemon.request("POST", &format!("/v1/sessions/{session}/cancel")).bytes();
    let mut body = b"0\r\n\r\n".to_vec();
    body.extend(&hidden);
    let request = daemon
        .request("POST", "/v1/sessions")
        .add("content-type", "application/json")
        .body(&body)
        .add("transfer-encoding", "chunked");
    let mut connection = daemon.connect().await;
    connection.send(&request.bytes()).await;
    let first = connection.answer().await;
    assert_eq!(first.status(), 400);
    // Either the connection ends here, or what follows is a request in its own right with its own token.
    if !connection.is_closed().await {
        let second = connection.answer().await;
        check_answer(&second);
    }
    assert_eq!(daemon.log(&session).len(), 1);
}

#[tokio::test]
async fn idle_connections_do_not_keep_others_out() {
    let daemon = DoorTestDaemon::start().await;
    let mut idle: Vec<RawConnection> = Vec::new();
    for i in 0..200 {
        let mut connection = daemon.connect().await;
        if i % 2 == 0 {
            connection.send(b"GET /healthz HTTP/1.1\r\nho").await;
        }
        idle.push(connection);
    }
    assert_eq!(daemon.get("/healthz").await.status(), 200);
    // One that began slowly is still served.
    idle[0].send(format!("st: {}\r\n\r\n", daemon.address).as_bytes()).await;
    assert_eq!(idle[0].answer().await.status(), 200);
}

#[tokio::test]
async fn requests_in_a_row_are_answered_in_a_row() {
    let daemon = DoorTestDaemon::start().await;
    let mut connection = daemon.connect().await;
    let agents = daemon.request("GET", "/v1/agents");
    let mut bytes = daemon.request("GET", "/healthz").bytes();
    bytes.extend(agents.bytes());
    bytes.extend(agents.clone().remove("authorization").bytes());
    bytes.extend(agents.clone().set("host", "evil.example").bytes());
    bytes.extend(daemon.request("GET", "/nowhere").bytes());
    bytes.extend(agents.bytes());
    connection.send(&bytes).await;
    for status in [200, 200, 401, 403, 404, 200] {
        let answer = connection.answer().await;
        check_answer(&answer);
        assert_eq!(answer.status(), status);
    }
}

#[tokio::test]
async fn http_1_0_is_spoken_too() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let old = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replacen("HTTP/1.1", "HTTP/1.0", 1);
    let mut connection = daemon.connect().await;
    connection.send(old(daemon.request("GET", "/healthz").bytes()).as_bytes()).await;
    assert_eq!(connection.answer().await.json()["status"], "ok");
    assert!(connection.is_closed().await);
    let mut connection = daemon.connect().await;
    connection.send(b"GET /healthz HTTP/1.0\r\n\r\n").await;
    assert_eq!(connection.answer().await.status(), 403, "a host must be named all the same");
    // A stream cannot come in chunks then: it ends with the connection.
    let mut connection = daemon.connect().await;
    let request = daemon.request("GET", &format!("/v1/sessions/{session}/events?follow=false"));
    connection.send(old(request.bytes()).as_bytes()).await;
    let answer = connection.answer().await;
    assert!(answer.head.header("transfer-encoding").is_none());
    assert!(answer.text().starts_with("id: 1\ndata: {"));
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    for target in ["/healthz".to_owned(), "/v1/sessions".to_owned(), format!("/v1/sessions/{session}/events")]
    {
        let mut connection = daemon.connect().await;
        connection.send(&daemon.request("HEAD", &target).bytes()).await;
        let head = connection.head().await;
        assert_eq!(head.status, 200, "{target}");
        crate::daemon::check_headers(&head);
        // What comes next on the connection is the next answer, so there was no body.
        connection.send(&daemon.request("GET", "/healthz").bytes()).await;
        assert_eq!(connection.answer().await.json()["status"], "ok");
    }
    let mut connection = daemon.connect().await;
    connection.send(&daemon.request("HEAD", "/v1/sessions").remove("authorization").bytes()).await;
    assert_eq!(connection.head().await.status, 401);
}

#[tokio::test]
async fn a_body_may_come_in_chunks() {
    let daemon = DoorTestDaemon::start().await;
    let body = json!({"workspace_path": daemon.workspace(), "model": "test:one"}).to_string();
    let request = daemon
        .request("POST", "/v1/sessions")
        .add("content-type", "application/json")
        .add("transfer-encoding", "chunked");
    let mut connection = daemon.connect().await;
    connection.send(&request.bytes()).await;
    for byte in body.bytes() {
        connection.send(format!("1\r\n{}\r\n", char::from(byte)).as_bytes()).await;
    }
    connection.send(b"0\r\n\r\n").await;
    let answer = connection.answer().await;
    check_answer(&answer);
    assert_eq!(answer.status(), 201);
}

#[tokio::test]
async fn a_client_may_ask_before_it_sends_its_body() {
    let daemon = DoorTestDaemon::start().await;
    let body = json!({"workspace_path": daemon.workspace(), "model": "test:one"}).to_string();
    let request = daemon
        .request("POST", "/v1/sessions")
        .add("content-type", "application/json")
        .add("expect", "100-continue")
        .add("content-length", &body.len().to_string());
    let mut connection = daemon.connect().await;
    connection.send(&request.bytes()).await;
    assert_eq!(connection.head().await.status, 100);
    connection.send(body.as_bytes()).await;
    assert_eq!(connection.answer().await.status(), 201);
    // Who is not let in is told so instead.
    let mut connection = daemon.connect().await;
    connection.send(&request.clone().remove("authorization").bytes()).await;
    assert_eq!(connection.answer().await.status(), 401);
    let mut connection = daemon.connect().await;
    connection.send(&request.set("content-length", "10000000").bytes()).await;
    assert_eq!(connection.answer().await.status(), 413);
}

#[tokio::test]
async fn an_upgrade_that_is_not_offered_is_not_made() {
    let daemon = DoorTestDaemon::start().await;
    let request = daemon
        .request("GET", "/healthz")
        .add("connection", "Upgrade, HTTP2-Settings")
        .add("upgrade", "h2c")
        .add("http2-settings", "AAMAAABkAAQAAP__");
    let mut connection = daemon.connect().await;
    connection.send(&request.bytes()).await;
    assert_eq!(connection.answer().await.status(), 200);
}
