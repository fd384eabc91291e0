//! Who is let in: Host, Origin, the first frame, and how many may wait.

use std::time::Duration;

use ostler_door_kit::AuthThrottleLimits;
use ostler_doors::gateway::GatewayLimits;
use serde_json::json;

use super::client::{GatewayClient, GatewayReceived, masked};
use crate::daemon::{DoorTestDaemon, DoorTestOptions};

async fn assert_rejected(client: &mut GatewayClient, why: &str) {
    assert_eq!(client.frame().await, json!({"type": "auth", "ok": false, "error": why}));
    assert_eq!(client.receive().await, GatewayReceived::Close(4401, "unauthorized".to_owned()));
    assert_eq!(client.receive().await, GatewayReceived::End);
}

#[tokio::test]
async fn the_first_frame_must_show_the_token() {
    let daemon = DoorTestDaemon::start().await;
    for (frame, why) in [
        (json!({"id": "1", "method": "health.check", "params": {}}), "First message must be auth"),
        (json!({"type": "hello"}), "First message must be auth"),
        (json!([]), "First message must be auth"),
        (json!("auth"), "First message must be auth"),
        (json!({"type": "auth"}), "invalid token"),
        (json!({"type": "auth", "token": "wrong"}), "invalid token"),
        (json!({"type": "auth", "token": ""}), "invalid token"),
        (json!({"type": "auth", "token": 7}), "invalid token"),
        (json!({"type": "auth", "token": [daemon.token()]}), "invalid token"),
        (json!({"type": "auth", "token": format!("{}0", daemon.token()), "role": "admin"}), "invalid token"),
    ] {
        let mut client = GatewayClient::connect(daemon.gateway_address, "/", &[]).await.unwrap();
        client.send_text(&frame.to_string()).await;
        assert_rejected(&mut client, why).await;
    }
    // What is not even JSON is answered, and the client may try again, but not for ever.
    let mut client = GatewayClient::connect(daemon.gateway_address, "/any/path?at=all", &[]).await.unwrap();
    for bad in ["{", "nonsense", ""] {
        client.send_text(bad).await;
        let answer = client.frame().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(null), &json!(-32700)));
    }
    client.send_raw(&masked(0x89, b"there?")).await;
    assert_eq!(client.receive().await, GatewayReceived::Pong(b"there?".to_vec()));
    client.send(&json!({"type": "auth", "token": daemon.token()})).await;
    assert_eq!(client.frame().await, json!({"type": "auth", "ok": true}));
    assert_eq!(client.ask("health.check", json!({})).await["status"], "ok");
    let again = client.call("health.check", json!({})).await;
    assert_eq!(again["result"]["status"], "ok");
    client.send(&json!({"type": "auth", "token": daemon.token()})).await;
    assert_eq!(client.frame().await["error"]["code"], -32600, "once is enough");

    let mut babbler = GatewayClient::connect(daemon.gateway_address, "/", &[]).await.unwrap();
    for _ in 0..8 {
        babbler.send_text("{").await;
        assert_eq!(babbler.frame().await["error"]["code"], -32700);
    }
    assert_rejected(&mut babbler, "First message must be auth").await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_page_from_elsewhere_is_refused_before_there_is_a_socket() {
    let daemon = DoorTestDaemon::start().await;
    let port = daemon.gateway_address.port();
    for (address, path) in [(daemon.gateway_address, "/"), (daemon.address, "/gateway")] {
        for origin in [
            "http://evil.example",
            "null",
            "file://",
            "http://localhost.evil.example",
            "https://127.0.0.1.evil.example:18789",
        ] {
            let refused = GatewayClient::connect(address, path, &[("Origin", origin)]).await.err().unwrap();
            assert_eq!(refused.0, 403, "{origin} at {path}");
        }
        for host in ["evil.example", "evil.example:80", "127.0.0.1:1", ""] {
            let refused = GatewayClient::connect(address, path, &[("Host", host)]).await.err().unwrap();
            assert!(matches!(refused.0, 400 | 403), "{host} at {path}: {refused:?}");
        }
        for origin in [&format!("http://localhost:{port}"), "http://127.0.0.1:5173", "https://[::1]"] {
            let mut client = GatewayClient::connect(address, path, &[("Origin", origin)]).await.unwrap();
            client.send(&json!({"type": "auth", "token": daemon.token()})).await;
            assert_eq!(client.frame().await, json!({"type": "auth", "ok": true}), "{origin} at {path}");
        }
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_handshake_is_checked_and_plain_requests_are_answered() {
    let daemon = DoorTestDaemon::start().await;
    let address = daemon.gateway_address;
    for (header, status) in [
        (("Sec-WebSocket-Version", "8"), 426),
        (("Sec-WebSocket-Version", ""), 426),
        (("Sec-WebSocket-Key", "short"), 400),
        (("Sec-WebSocket-Key", ""), 400),
        (("Connection", "close"), 400),
    ] {
        let refused = GatewayClient::connect(address, "/", &[header]).await.err().unwrap();
        assert_eq!(refused.0, status, "{header:?}: {}", refused.1);
    }
    let plain = [("Upgrade", ""), ("Connection", "close")];
    let (status, body) = GatewayClient::connect(address, "/health", &plain).await.err().unwrap();
    let health: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &health["status"]), (200, &json!("ok")));
    assert!(health["uptime"].is_u64());
    let (status, body) = GatewayClient::connect(address, "/nothing", &plain).await.err().unwrap();
    assert_eq!((status, body.as_str()), (404, r#"{"error":"not found"}"#));
    let (status, _) = GatewayClient::connect(daemon.address, "/gateway", &plain).await.err().unwrap();
    assert_eq!(status, 426);
    daemon.stop().await;
}

#[tokio::test]
async fn sockets_without_a_token_are_few_and_have_little_time() {
    let limits = GatewayLimits {
        max_sockets: 3,
        max_unauthenticated: 2,
        auth_timeout: Duration::from_millis(300),
        ..GatewayLimits::default()
    };
    let daemon = DoorTestDaemon::start_as(DoorTestOptions { limits, ..DoorTestOptions::default() }).await;
    let mut crowd = Vec::new();
    for _ in 0..4 {
        crowd.push(GatewayClient::connect(daemon.gateway_address, "/", &[]).await.unwrap());
    }
    // The limit is two; the older two have given way, the younger have little time.
    for client in &mut crowd {
        assert_eq!(client.receive().await, GatewayReceived::End);
    }
    let mut inside = Vec::new();
    for _ in 0..3 {
        inside.push(GatewayClient::open(&daemon).await);
    }
    let refused = GatewayClient::connect(daemon.gateway_address, "/", &[]).await.err().unwrap();
    assert_eq!(refused.0, 503, "{}", refused.1);
    assert_eq!(inside[0].ask("health.check", json!({})).await["status"], "ok");
    daemon.stop().await;
}

#[tokio::test]
async fn a_crowd_without_a_token_does_not_keep_the_owner_out() {
    let limits = GatewayLimits {
        max_sockets: 4,
        max_unauthenticated: 4,
        auth_timeout: Duration::from_secs(600),
        ..GatewayLimits::default()
    };
    let daemon = DoorTestDaemon::start_as(DoorTestOptions { limits, ..DoorTestOptions::default() }).await;
    for (address, path) in [(daemon.gateway_address, "/"), (daemon.address, "/gateway")] {
        let mut crowd = Vec::new();
        for _ in 0..20 {
            crowd.push(GatewayClient::connect(address, path, &[]).await.unwrap());
        }
        let mut owner = GatewayClient::connect(address, path, &[]).await.unwrap();
        owner.send(&json!({"type": "auth", "token": daemon.token()})).await;
        assert_eq!(owner.frame().await, json!({"type": "auth", "ok": true}));
        for _ in 0..20 {
            crowd.push(GatewayClient::connect(address, path, &[]).await.unwrap());
        }
        assert_eq!(owner.ask("health.check", json!({})).await["status"], "ok");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_token_that_was_replaced_opens_nothing_any_more() {
    let daemon = DoorTestDaemon::start().await;
    let mut client = GatewayClient::open(&daemon).await;
    let path = daemon.data().join("token");
    std::fs::remove_file(&path).unwrap();
    ostler_door_kit::DaemonToken::open(&path).unwrap();
    client.send(&json!({"id": "1", "method": "health.check"})).await;
    assert_eq!(client.receive().await, GatewayReceived::Close(4401, "unauthorized".to_owned()));
    GatewayClient::open(&daemon).await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_client_that_does_not_answer_a_ping_is_gone() {
    let limits = GatewayLimits { ping_every: Duration::from_millis(100), ..GatewayLimits::default() };
    let daemon = DoorTestDaemon::start_as(DoorTestOptions { limits, ..DoorTestOptions::default() }).await;
    let mut client = GatewayClient::open(&daemon).await;
    for _ in 0..3 {
        assert_eq!(client.receive().await, GatewayReceived::Ping);
        client.send_raw(&masked(0x8a, b"")).await;
    }
    assert_eq!(client.receive().await, GatewayReceived::Ping);
    assert_eq!(client.receive().await, GatewayReceived::Close(1001, "no answer to a ping".to_owned()));
    daemon.stop().await;
}

#[tokio::test]
async fn wrong_tokens_are_answered_slowly_and_the_right_one_at_once() {
    let pace = AuthThrottleLimits::default();
    let daemon =
        DoorTestDaemon::start_as(DoorTestOptions { throttle: pace, ..DoorTestOptions::default() }).await;
    let start = tokio::time::Instant::now();
    let guesses: Vec<_> = (0..26)
        .map(|number| {
            let address = daemon.gateway_address;
            tokio::spawn(async move {
                let mut client = GatewayClient::connect(address, "/", &[]).await.unwrap();
                client.send(&json!({"type": "auth", "token": format!("guess {number}")})).await;
                let told = client.frame().await;
                assert_eq!(told, json!({"type": "auth", "ok": false, "error": "invalid token"}));
            })
        })
        .collect();
    for guess in guesses {
        // Whoever has the token does not wait for those who guess.
        drop(GatewayClient::open(&daemon).await);
        guess.await.unwrap();
    }
    // Twenty are answered at once, then five a second, whichever sockets they come from.
    assert!(start.elapsed() >= std::time::Duration::from_millis(1000), "{:?}", start.elapsed());
    daemon.stop().await;
}
