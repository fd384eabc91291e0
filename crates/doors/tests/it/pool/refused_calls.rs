//! What the pool refuses, and how it says so.

use serde_json::{Value, json};

use super::{agent, call, error, post, raw};
use crate::daemon::DoorTestDaemon;

#[tokio::test]
async fn what_is_no_request_is_refused_with_its_code() {
    let daemon = DoorTestDaemon::start().await;
    let url = agent(&daemon, "a").await;
    let before = daemon.recorded();
    for (body, code, id) in [
        ("{", -32700, json!(null)),
        ("", -32700, json!(null)),
        ("not json", -32700, json!(null)),
        ("[]", -32600, json!(null)),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"list_agents"}]"#, -32600, json!(null)),
        ("5", -32600, json!(null)),
        ("null", -32600, json!(null)),
        ("{}", -32600, json!(null)),
        (r#"{"jsonrpc":"1.0","id":1,"method":"list_agents"}"#, -32600, json!(1)),
        (r#"{"jsonrpc":2.0,"id":1,"method":"list_agents"}"#, -32600, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":""}"#, -32600, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, -32600, json!(1)),
        (r#"{"jsonrpc":"2.0","id":true,"method":"list_agents"}"#, -32600, json!(null)),
        (r#"{"jsonrpc":"2.0","id":{},"method":"list_agents"}"#, -32600, json!(null)),
        (r#"{"jsonrpc":"2.0","id":"x","method":"list_agents","params":[]}"#, -32600, json!("x")),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"list_agents","params":"no"}"#, -32600, json!(1.5)),
    ] {
        for path in ["/rpc", "/", &url] {
            let answer = post(&daemon, path, body.as_bytes()).await;
            let said = answer.json();
            assert_eq!(answer.status(), 400, "{body}: {said}");
            assert_eq!((&said["error"]["code"], &said["id"]), (&json!(code), &id), "{body}: {said}");
            assert_eq!(said["jsonrpc"], "2.0");
        }
    }
    let bad_utf8 = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}";
    assert_eq!(post(&daemon, "/rpc", bad_utf8).await.json()["error"]["code"], -32700);
    for kind in ["text/plain", "application/x-www-form-urlencoded"] {
        let body = call("list_agents", &json!({})).to_string();
        let request = daemon.request("POST", "/rpc").set("content-type", kind).body(body.as_bytes());
        let answer = raw(&daemon, &request).await;
        assert_eq!((answer.status(), &answer.json()["error"]["code"]), (415, &json!(-32600)));
    }
    let large = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "m".repeat(3 << 20));
    assert_eq!(post(&daemon, "/rpc", large.as_bytes()).await.status(), 413);
    assert_eq!(daemon.get("/rpc").await.status(), 405);
    assert_eq!(daemon.get(&url).await.status(), 405);
    let unauthorized =
        daemon.request("POST", "/rpc").remove("authorization").json(&call("list_agents", &json!({})));
    assert_eq!(raw(&daemon, &unauthorized).await.status(), 401);
    assert_eq!(daemon.recorded(), before);
    daemon.stop().await;
}

/// Each of these calls is refused with this code, in words that hold these; nothing is recorded.
async fn assert_refused(daemon: &DoorTestDaemon, path: &str, calls: &[(&str, Value, i64, &str)]) {
    let before = daemon.recorded();
    for (method, params, code, words) in calls {
        let (found, message) = error(daemon, path, method, params.clone()).await;
        assert_eq!(found, *code, "{method} {params}: {message}");
        assert!(message.contains(words), "{method} {params}: {message}");
    }
    assert_eq!(daemon.recorded(), before);
}

#[tokio::test]
async fn parameters_of_the_pool_are_checked_one_by_one() {
    let daemon = DoorTestDaemon::start().await;
    agent(&daemon, "a").await;
    let long = "x".repeat(129);
    let calls = [
        ("no_such_method", json!({}), -32601, "Method not found: no_such_method"),
        ("send", json!({"content": "x"}), -32601, "Method not found: send"),
        ("create_agent", json!({"agent_id": 5}), -32602, ""),
        ("create_agent", json!({"agent_id": ""}), -32602, "a name has 1 to 128"),
        ("create_agent", json!({"agent_id": "../etc"}), -32602, "a name has 1 to 128"),
        ("create_agent", json!({"agent_id": ".hidden"}), -32602, "a name has 1 to 128"),
        ("create_agent", json!({"agent_id": "a/b"}), -32602, "a name has 1 to 128"),
        ("create_agent", json!({"agent_id": long}), -32602, "a name has 1 to 128"),
        ("create_agent", json!({"agent_id": "a"}), -32602, "Agent already exists: a"),
        ("create_agent", json!({"cwd": "relative"}), -32602, "absolute path"),
        ("create_agent", json!({"cwd": "/no/such/place"}), -32602, "no such directory"),
        ("create_agent", json!({"model": "no:model"}), -32602, "there is no model"),
        ("create_agent", json!({"preset": "yolo"}), -32602, "yolo"),
        ("create_agent", json!({"parent_agent_id": "b"}), -32602, "Agent not found: b"),
        ("create_agent", json!({"agent": "b"}), -32602, "unknown field"),
        ("destroy_agent", json!({}), -32602, "Missing required parameter: agent_id"),
        ("destroy_agent", json!({"agent_id": null}), -32602, "Missing required parameter: agent_id"),
        ("destroy_agent", json!({"agent_id": []}), -32602, ""),
        ("list_agents", json!({"all": true}), -32602, "unknown field"),
    ];
    assert_refused(&daemon, "/rpc", &calls).await;
    daemon.stop().await;
}

#[tokio::test]
async fn parameters_of_an_agent_are_checked_one_by_one() {
    let daemon = DoorTestDaemon::start().await;
    let url = agent(&daemon, "a").await;
    let calls = [
        ("create_agent", json!({}), -32601, "Method not found: create_agent"),
        ("send", json!({}), -32602, "Missing required parameter: content"),
        ("send", json!({"content": null}), -32602, "Missing required parameter: content"),
        ("send", json!({"content": 5}), -32602, "content must be string"),
        ("send", json!({"content": ["x"]}), -32602, "content must be string"),
        ("send", json!({"content": "x", "request_id": ""}), -32602, "request_id cannot be empty"),
        ("send", json!({"content": "x", "request_id": true}), -32602, "request_id must be string or integer"),
        ("send", json!({"content": "x", "request_id": 1.5}), -32602, "request_id must be string or integer"),
        ("send", json!({"content": "x", "request_id": {}}), -32602, "request_id must be string or integer"),
        ("send", json!({"content": "x", "stream": true}), -32602, "unknown field"),
        ("cancel", json!({}), -32602, "Missing required parameter: request_id"),
        ("cancel", json!({"request_id": ""}), -32602, "request_id cannot be empty"),
        ("cancel", json!({"request_id": []}), -32602, "request_id must be string or integer"),
        ("get_messages", json!({"offset": -1}), -32602, "offset must be a non-negative integer"),
        ("get_messages", json!({"offset": "0"}), -32602, "offset must be a non-negative integer"),
        ("get_messages", json!({"limit": 0}), -32602, "limit must be an integer between 1 and 2000"),
        ("get_messages", json!({"limit": 2001}), -32602, "limit must be an integer between 1 and 2000"),
        ("get_tokens", json!({"x": 1}), -32602, "unknown field"),
        ("compact", json!({"force": "yes"}), -32602, ""),
        ("shutdown", json!({"now": true}), -32602, "unknown field"),
        ("send", json!({"content": "x", "request_id": "y".repeat(257)}), -32602, "more than 256 bytes"),
    ];
    assert_refused(&daemon, &url, &calls).await;
    daemon.stop().await;
}
