//! Guessing: those who show something wrong wait for their answers, over all doors together, and nobody else does.

use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use futures_util::{FutureExt, future};
use ostler_door_kit::AuthThrottleLimits;
use ostler_doors::gateway::GatewayLimits;
use serde_json::json;

use crate::daemon::{DoorTestDaemon, DoorTestOptions, check_answer};
use crate::gateway::client::{GatewayClient, GatewayReceived};
use crate::raw_http::{RawConnection, RawRequest, RawResponse};

/// Three at once, two that wait for longer than any test does, and no more.
const THROTTLE: AuthThrottleLimits =
    AuthThrottleLimits { burst: 3, interval: Duration::from_secs(600), max_pending: 2 };

async fn throttled_daemon(limits: GatewayLimits) -> DoorTestDaemon {
    DoorTestDaemon::start_as(DoorTestOptions { throttle: THROTTLE, limits, ..DoorTestOptions::default() })
        .await
}

fn wrong_token_request(daemon: &DoorTestDaemon) -> RawRequest {
    daemon.request("GET", "/v1/sessions").set("authorization", "Bearer wrong")
}

fn is_told_to_wait(answer: &RawResponse) {
    assert_eq!((answer.status(), answer.code().as_str()), (429, "too_many_refusals"), "{}", answer.text());
    let after: u64 = answer.head.header("retry-after").unwrap().parse().unwrap();
    assert!((1200..=1801).contains(&after), "{after}");
}

#[tokio::test]
async fn those_who_guess_wait_and_nobody_else_does() {
    let daemon = throttled_daemon(GatewayLimits::default()).await;
    let cookie_name = format!("ostler_session_{}", daemon.address.port());
    let bare = daemon.request("GET", "/v1/sessions").remove("authorization");
    let with_cookie = bare.clone().add("cookie", &format!("{cookie_name}=wrong"));
    let login = daemon.request("POST", "/v1/login").remove("authorization");
    let with_code = login.clone().json(&json!({"code": "wrong"}));
    // The first ones are told at once, whatever it is that is wrong.
    for (request, code) in [
        (wrong_token_request(&daemon), "unauthorized"),
        (with_cookie.clone(), "unauthorized"),
        (with_code.clone(), "bad_code"),
    ] {
        let answer = daemon.send(&request).await;
        assert_eq!((answer.status(), answer.code().as_str()), (401, code));
    }
    // Of three more, two wait, and the third is told that it is one too many.
    let mut guesses: FuturesUnordered<_> =
        (0..3).map(|_| async { daemon.send(&wrong_token_request(&daemon)).await }).collect();
    is_told_to_wait(&guesses.next().await.unwrap());
    for request in [wrong_token_request(&daemon), with_cookie, with_code] {
        is_told_to_wait(&daemon.send(&request).await);
    }
    let on_the_socket = wrong_token_request(&daemon).set("host", "localhost");
    let mut connection = RawConnection::unix(&daemon.socket()).await;
    connection.send(&on_the_socket.bytes()).await;
    let answer = connection.answer().await;
    check_answer(&answer);
    is_told_to_wait(&answer);
    assert!(connection.is_closed().await, "the next guess costs a connection");
    let subprotocol = [("Sec-WebSocket-Protocol", "ostler-ide, ostler-token.wrong")];
    assert_eq!(GatewayClient::connect(daemon.address, "/ws", &subprotocol).await.err().unwrap().0, 429);
    let mut socket = GatewayClient::connect(daemon.gateway_address, "/", &[]).await.unwrap();
    socket.send(&json!({"type": "auth", "token": "wrong"})).await;
    assert_eq!(socket.frame().await["error"], "invalid token");
    assert_eq!(socket.receive().await, GatewayReceived::Close(4401, "unauthorized".to_owned()));

    // The right token, the right code, and a request that shows nothing are answered as ever.
    assert_eq!(daemon.get("/v1/sessions").await.status(), 200);
    assert_eq!(daemon.send(&bare).await.status(), 401);
    assert_eq!(daemon.send(&bare.target("/healthz")).await.status(), 200);
    assert_eq!(daemon.send(&login.json(&json!({"code": daemon.code()}))).await.status(), 204);
    assert_eq!(GatewayClient::open(&daemon).await.ask("health.check", json!({})).await["status"], "ok");
    assert!(future::poll_immediate(guesses.next()).await.is_none(), "the two wait still");
    drop(guesses);
    daemon.stop().await;
}

#[tokio::test]
async fn sockets_that_wait_to_be_refused_keep_nobody_out() {
    let limits = GatewayLimits {
        max_unauthenticated: 1,
        auth_timeout: Duration::from_secs(600),
        ..Default::default()
    };
    let daemon = throttled_daemon(limits).await;
    for _ in 0..3 {
        assert_eq!(daemon.send(&wrong_token_request(&daemon)).await.status(), 401);
    }
    let mut guessing = Vec::new();
    for _ in 0..2 {
        let mut client = connect_when_free(&daemon).await;
        client.send(&json!({"type": "auth", "token": "wrong"})).await;
        guessing.push(client);
    }
    let mut client = connect_when_free(&daemon).await;
    client.send(&json!({"type": "auth", "token": daemon.token()})).await;
    assert_eq!(client.frame().await, json!({"type": "auth", "ok": true}));
    for client in &mut guessing {
        assert!(client.receive().now_or_never().is_none(), "it is told nothing yet");
    }
    drop(guessing);
    daemon.stop().await;
}

/// A socket, as soon as there is room for one.
async fn connect_when_free(daemon: &DoorTestDaemon) -> GatewayClient {
    loop {
        match GatewayClient::connect(daemon.gateway_address, "/", &[]).await {
            Ok(client) => return client,
            Err((status, why)) => assert_eq!(status, 503, "{why}"),
        }
    }
}
