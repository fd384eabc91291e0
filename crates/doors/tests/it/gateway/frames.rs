//! Bad input: each gets an error that says what was wrong, nothing is recorded, and the socket lives on.

use ostler_doors::gateway::GatewayLimits;
use serde_json::{Value, json};

use super::client::{GatewayClient, GatewayReceived, masked};
use super::schema;
use crate::daemon::{DoorTestDaemon, DoorTestOptions};

const UNKNOWN: &str = "0190f3c4-a5b6-7c8d-9e0f-112233445566";

#[tokio::test]
async fn params_of_every_wrong_kind_are_refused() {
    let daemon = DoorTestDaemon::start().await;
    let mut client = GatewayClient::open(&daemon).await;
    let key = client.session().await;
    let before = daemon.recorded();
    for (method, params) in wrong_params(&key) {
        let answer = client.call(method, params.clone()).await;
        assert_eq!(answer["error"]["code"], -32602, "{method} {params}: {answer}");
        let told = answer["error"]["message"].as_str().unwrap();
        let expected =
            told.contains("expected") || told.contains("must be") || told.contains("Approval not found");
        assert!(expected && told.len() < 300, "{told}");
    }
    assert_eq!(daemon.recorded(), before, "nothing is recorded");
    // The longest message that is allowed, and numbers that are whole though they do not look so.
    client.say(&key, &"ü".repeat(32_000)).await;
    client.ask("chat.history", json!({"sessionKey": key, "limit": 2.0, "unknown": 1})).await;
    client.ask("sessions.create", json!({"agentId": null})).await;
    daemon.stop().await;
}

/// Every method with parameters that it cannot take.
fn wrong_params(key: &str) -> Vec<(&'static str, Value)> {
    let keys = [
        json!(null),
        json!(7),
        json!(true),
        json!([key]),
        json!({}),
        json!("x"),
        json!(""),
        json!(key.replace('-', "")),
        json!(format!("sess_{}", key.replace('-', ""))),
        json!(format!("{key}0")),
    ];
    let mut table: Vec<(&'static str, Value)> = Vec::new();
    for method in ["sessions.get", "chat.history"] {
        table.push((method, json!({})));
        table.extend(keys.iter().map(|key| (method, json!({"sessionKey": key}))));
    }
    for wrong in &keys {
        table.push(("chat.send", json!({"sessionKey": wrong, "message": "hi"})));
        table.push(("chat.abort", json!({"runId": wrong})));
        table.push(("exec.approve", json!({"approvalId": wrong})));
        table.push(("exec.deny", json!({"approvalId": wrong})));
    }
    for message in
        [json!(null), json!(7), json!(true), json!(["hi"]), json!({}), json!(""), json!("x".repeat(32_001))]
    {
        table.push(("chat.send", json!({"sessionKey": key, "message": message})));
    }
    table.push(("chat.send", json!({"sessionKey": key})));
    table.push(("chat.send", json!({"message": "hi"})));
    for limit in [
        json!(0),
        json!(501),
        json!(-1),
        json!(1.5),
        json!("10"),
        json!([1]),
        json!({}),
        json!(true),
        json!(1e30),
    ] {
        table.push(("chat.history", json!({"sessionKey": key, "limit": limit})));
    }
    for agent in [json!(7), json!(true), json!(["assistant"]), json!({}), json!("nobody")] {
        table.push(("sessions.create", json!({"agentId": agent})));
    }
    table.push(("exec.deny", json!({"approvalId": UNKNOWN, "reason": 7})));
    table.push(("exec.deny", json!({"approvalId": UNKNOWN, "reason": "x".repeat(1001)})));
    table.push(("exec.deny", json!({"approvalId": UNKNOWN})));
    for params in [json!([]), json!("x"), json!(7), json!(true)] {
        table.push(("health.check", params));
    }
    table
}

#[tokio::test]
async fn what_is_no_request_is_told_so() {
    let daemon = DoorTestDaemon::start().await;
    let mut client = GatewayClient::open(&daemon).await;
    for (text, id, code) in [
        ("{", json!(null), -32700),
        ("", json!(null), -32700),
        ("{}{}", json!(null), -32700),
        ("[]", json!(null), -32600),
        ("7", json!(null), -32600),
        (r#"{"method":"health.check"}"#, json!(null), -32600),
        (r#"{"id":"","method":"health.check"}"#, json!(null), -32600),
        (r#"{"id":0,"method":"health.check"}"#, json!(null), -32600),
        (r#"{"id":null,"method":"health.check"}"#, json!(null), -32600),
        (r#"{"id":{},"method":"health.check"}"#, json!(null), -32600),
        (r#"{"id":"a"}"#, json!("a"), -32600),
        (r#"{"id":"a","method":7}"#, json!("a"), -32600),
        (r#"{"id":"a","method":""}"#, json!("a"), -32600),
        (r#"{"id":"a","method":"no.such.method"}"#, json!("a"), -32601),
        (r#"{"id":"a","method":"Health.check"}"#, json!("a"), -32601),
        (r#"{"id":5,"method":"memory.search","params":{}}"#, json!(5), -32601),
    ] {
        client.send_text(text).await;
        let answer = client.frame().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{text}: {answer}");
    }
    client.send(&json!({"id": 5, "method": "health.check"})).await;
    assert_eq!(client.frame().await["id"], 5);
    let unknown = client.call("sessions.get", json!({"sessionKey": UNKNOWN})).await;
    assert_eq!(unknown["error"], json!({"code": -32603, "message": format!("Session not found: {UNKNOWN}")}));
    for method in ["chat.history", "chat.send"] {
        let unknown = client.call(method, json!({"sessionKey": UNKNOWN, "message": "hi"})).await;
        assert_eq!(unknown["error"]["message"], format!("Session not found: {UNKNOWN}"));
    }
    let unknown = client.call("chat.abort", json!({"runId": UNKNOWN})).await;
    let told = format!("Run not found or already completed: {UNKNOWN}");
    assert_eq!(unknown["error"], json!({"code": -32603, "message": told}));
    let unknown = client.call("exec.approve", json!({"approvalId": UNKNOWN})).await;
    assert_eq!(
        unknown["error"],
        json!({"code": -32602, "message": "Approval not found or already resolved"})
    );
    daemon.stop().await;
}

#[tokio::test]
async fn frames_of_any_shape_are_read_and_large_ones_are_passed_over() {
    let limits = GatewayLimits { max_frame_bytes: 64 << 10, ..GatewayLimits::default() };
    let daemon = DoorTestDaemon::start_as(DoorTestOptions { limits, ..DoorTestOptions::default() }).await;
    let mut client = GatewayClient::open(&daemon).await;
    let large =
        json!({"id": "large", "method": "health.check", "params": {"x": "x".repeat(70 << 10)}}).to_string();
    client.send_text(&large).await;
    let answer = client.frame().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(null), &json!(-32600)));
    assert!(answer["error"]["message"].as_str().unwrap().contains("65536"), "{answer}");
    client.send_raw(&masked(0x82, b"\xff\xfe")).await;
    assert_eq!(client.frame().await["error"]["code"], -32700);
    let request = br#"{"id":"a","method":"health.check"}"#;
    client.send_raw(&masked(0x82, request)).await;
    assert_eq!(client.frame().await["id"], "a", "binary will do");
    for (first, piece) in
        [(0x01, &request[..5]), (0x89, &b"in between"[..]), (0x00, &request[5..20]), (0x80, &request[20..])]
    {
        for byte in masked(first, piece) {
            client.send_raw(&[byte]).await;
        }
    }
    assert_eq!(client.receive().await, GatewayReceived::Pong(b"in between".to_vec()));
    assert_eq!(client.frame().await["id"], "a");
    client.send_raw(&masked(0x88, &1000_u16.to_be_bytes())).await;
    assert_eq!(client.receive().await, GatewayReceived::Close(1000, String::new()));
    assert_eq!(client.receive().await, GatewayReceived::End);
    let mut broken = GatewayClient::open(&daemon).await;
    broken.send_raw(b"\x81\x02{}").await;
    assert!(matches!(broken.receive().await, GatewayReceived::Close(1002, _)));
    daemon.stop().await;
}

#[tokio::test]
async fn requests_are_answered_in_order_however_many_come_at_once() {
    let daemon = DoorTestDaemon::start().await;
    let mut client = GatewayClient::open(&daemon).await;
    let key = client.session().await;
    let mut burst = Vec::new();
    for number in 0..80 {
        let params = json!({"sessionKey": key, "message": format!("message {number}")});
        let request = json!({"id": format!("s{number}"), "method": "chat.send", "params": params});
        burst.extend(masked(0x81, request.to_string().as_bytes()));
    }
    client.send_raw(&burst).await;
    let mut runs = Vec::new();
    for number in 0..80 {
        runs.push(client.answer(&format!("s{number}")).await["result"]["runId"].clone());
    }
    let mut ended = Vec::new();
    while ended.len() < runs.len() {
        ended.push(client.until("chat.final").await["runId"].clone());
    }
    assert_eq!(ended, runs, "what is said first is answered first");
    daemon.stop().await;
}

#[test]
fn the_schema_knows_what_is_wrong() {
    let wrong = json!({"event": "chat.delta", "data": {"runId": UNKNOWN}});
    assert!(schema::check("ServerFrame", &wrong).is_err());
    let wrong = json!({"id": "1", "method": "chat.send", "params": {"sessionKey": "x", "message": "hi"}});
    assert!(schema::check("ClientFrame", &wrong).is_err());
    let right = json!({"event": "chat.delta", "data": {"runId": UNKNOWN, "text": "hi"}});
    assert_eq!(schema::check("ServerFrame", &right), Ok(()));
}
