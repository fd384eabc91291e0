//! The pool door, byte for byte: agents that are made, spoken to, canceled, found again after a restart, and
//! everything that is refused.

mod refused_calls;

use std::time::Duration;

use serde_json::{Value, json};

use crate::daemon::{DoorTestDaemon, DoorTestOptions, check_headers};
use crate::gateway::client::GatewayClient;
use crate::raw_http::{RawRequest, RawResponse};
use crate::stream::{SseTestStream, data};

/// Sends a body as it is, and returns the answer.
async fn post(daemon: &DoorTestDaemon, path: &str, body: &[u8]) -> RawResponse {
    let request = daemon.request("POST", path).set("content-type", "application/json").body(body);
    raw(daemon, &request).await
}

async fn raw(daemon: &DoorTestDaemon, request: &RawRequest) -> RawResponse {
    let answer = daemon.connect().await.exchange(&request.clone().set("connection", "close").bytes()).await;
    check_headers(&answer.head);
    answer
}

fn call(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

/// Calls a method, and returns its result.
async fn result(daemon: &DoorTestDaemon, path: &str, method: &str, params: Value) -> Value {
    let answer = post(daemon, path, call(method, &params).to_string().as_bytes()).await;
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let answer = answer.json();
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(7)), "{answer}");
    assert!(answer.get("error").is_none(), "{answer}");
    answer["result"].clone()
}

/// Calls a method, and returns the code and the message of its error.
async fn error(daemon: &DoorTestDaemon, path: &str, method: &str, params: Value) -> (i64, String) {
    let answer = post(daemon, path, call(method, &params).to_string().as_bytes()).await;
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let error = &answer.json()["error"];
    (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
}

async fn agent(daemon: &DoorTestDaemon, name: &str) -> String {
    let made = result(daemon, "/rpc", "create_agent", json!({"agent_id": name, "model": "test:one"})).await;
    assert_eq!(made, json!({"agent_id": name, "url": format!("/agent/{name}")}));
    format!("/agent/{name}")
}

/// The session behind an agent.
async fn session_of(daemon: &DoorTestDaemon, name: &str) -> String {
    let agents = result(daemon, "/rpc", "list_agents", json!({})).await["agents"].clone();
    let agents = agents.as_array().unwrap();
    let agent = agents.iter().find(|agent| agent["agent_id"] == name).unwrap();
    agent["session_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_agent_is_made_answers_and_is_ended() {
    let daemon = DoorTestDaemon::start().await;
    let url = agent(&daemon, "worker-1").await;
    let answer = result(&daemon, &url, "send", json!({"content": "hello", "request_id": "r1"})).await;
    assert_eq!(answer, json!({"content": "You said: hello", "request_id": "r1"}));
    let answer = result(&daemon, &url, "send", json!({"content": "again", "request_id": 5})).await;
    assert_eq!(answer, json!({"content": "You said: again", "request_id": 5}));
    let answer = result(&daemon, &url, "send", json!({"content": "more"})).await;
    assert_eq!(answer["content"], "You said: more");
    assert_eq!(answer["request_id"].as_str().unwrap().len(), 16);
    let context = result(&daemon, &url, "get_context", json!({})).await;
    assert_eq!(context, json!({"message_count": 6, "system_prompt": false}));
    let list = result(&daemon, "/", "list_agents", json!({})).await;
    let row = &list["agents"][0];
    assert_eq!((&row["agent_id"], &row["message_count"]), (&json!("worker-1"), &json!(6)), "{list}");
    assert_eq!((&row["should_shutdown"], &row["cwd"]), (&json!(false), &json!(daemon.workspace())));
    assert!(row["created_at"].as_str().unwrap().ends_with('Z'), "{row}");
    let ended = result(&daemon, "/rpc", "destroy_agent", json!({"agent_id": "worker-1"})).await;
    assert_eq!(ended, json!({"success": true, "agent_id": "worker-1"}));
    let ended = result(&daemon, "/rpc", "destroy_agent", json!({"agent_id": "worker-1"})).await;
    assert_eq!(ended, json!({"success": false, "agent_id": "worker-1"}));
    let gone = post(&daemon, &url, call("send", &json!({"content": "x"})).to_string().as_bytes()).await;
    assert_eq!((gone.status(), gone.json()), (404, json!({"error": "Agent not found: worker-1"})));
    assert_eq!(result(&daemon, "/rpc", "list_agents", json!({})).await, json!({"agents": []}));
    // The name is free again.
    agent(&daemon, "worker-1").await;
    daemon.stop().await;
}

#[tokio::test]
async fn an_agent_without_a_name_gets_eight_digits_and_shutdown_ends_it() {
    let daemon = DoorTestDaemon::start().await;
    let made = result(&daemon, "/", "create_agent", json!({"system_prompt": "be brief"})).await;
    let name = made["agent_id"].as_str().unwrap().to_owned();
    assert!(name.len() == 8 && name.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
    let url = made["url"].as_str().unwrap().to_owned();
    let context = result(&daemon, &url, "get_context", json!({})).await;
    assert_eq!(context, json!({"message_count": 0, "system_prompt": true}));
    assert_eq!(result(&daemon, &url, "shutdown", json!({})).await, json!({"success": true}));
    assert_eq!(
        post(&daemon, &url, call("get_tokens", &json!({})).to_string().as_bytes()).await.status(),
        404
    );
    daemon.stop().await;
}

#[tokio::test]
async fn a_child_has_at_most_the_rights_of_its_parent_and_works_where_it_does() {
    let daemon = DoorTestDaemon::start().await;
    let params = json!({"agent_id": "boss", "preset": "sandboxed"});
    result(&daemon, "/rpc", "create_agent", params).await;
    let params = json!({"agent_id": "helper", "parent_agent_id": "boss", "preset": "trusted"});
    result(&daemon, "/rpc", "create_agent", params).await;
    let id = session_of(&daemon, "helper").await;
    let session = daemon.get(&format!("/v1/sessions/{id}")).await.json();
    let boss = session_of(&daemon, "boss").await;
    assert_eq!(session["parent_session_id"], boss);
    assert_eq!(
        (&session["depth"], &session["mode"], &session["name"]),
        (&json!(1), &json!("agent"), &json!("helper"))
    );
    assert_eq!(session["policy"]["approval"]["safe_commands"], false);
    assert_eq!(session["policy"]["approval"]["require_for_kinds"], json!(["write", "exec", "network"]));
    // People who list their sessions see the boss; the helper when they ask for it.
    let listed = daemon.get("/v1/sessions").await.json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "{listed}");
    let listed = daemon.get(&format!("/v1/sessions?parent={boss}")).await.json();
    assert_eq!(listed["sessions"][0]["id"], id);
    let rows = result(&daemon, "/rpc", "list_agents", json!({})).await;
    assert_eq!(rows["agents"][0]["child_count"], 1);
    assert_eq!(rows["agents"][1]["parent_agent_id"], "boss");
    let mut parent = "helper".to_owned();
    for depth in 2..=5 {
        let name = format!("deep-{depth}");
        let params = json!({"agent_id": name, "parent_agent_id": parent});
        result(&daemon, "/rpc", "create_agent", params).await;
        parent = name;
    }
    let refused = error(&daemon, "/rpc", "create_agent", json!({"parent_agent_id": parent})).await;
    assert_eq!(refused.0, -32000, "{}", refused.1);
    daemon.stop().await;
}

#[tokio::test]
async fn a_request_is_canceled_by_its_id_while_it_runs_and_while_it_waits() {
    let daemon = DoorTestDaemon::start().await;
    let url = agent(&daemon, "a").await;
    let id = session_of(&daemon, "a").await;
    let first =
        async { result(&daemon, &url, "send", json!({"content": "wait", "request_id": "one"})).await };
    let second = async {
        daemon.until(&id, "turn_started").await;
        result(&daemon, &url, "send", json!({"content": "later", "request_id": "two"})).await
    };
    let cancels = async {
        daemon.until(&id, "message_queued").await;
        let cancel = |request_id: &str| json!({"request_id": request_id});
        let canceled = result(&daemon, &url, "cancel", cancel("two")).await;
        assert_eq!(canceled, json!({"cancelled": true, "request_id": "two"}));
        let canceled = result(&daemon, &url, "cancel", cancel("one")).await;
        assert_eq!(canceled, json!({"cancelled": true, "request_id": "one"}));
        for over in [json!("one"), json!("two"), json!("three"), json!(1)] {
            let canceled = result(&daemon, &url, "cancel", json!({"request_id": over})).await;
            let expected =
                json!({"cancelled": false, "request_id": over, "reason": "not_found_or_completed"});
            assert_eq!(canceled, expected);
        }
    };
    let (first, second, ()) = tokio::join!(first, second, cancels);
    assert_eq!(first, json!({"cancelled": true, "request_id": "one"}));
    assert_eq!(second, json!({"cancelled": true, "request_id": "two"}));
    // What had been written of the answer is kept.
    let messages = result(&daemon, &url, "get_messages", json!({})).await;
    assert_eq!(messages["messages"][1]["content"], "half of an änswer");
    daemon.stop().await;
}

#[tokio::test]
async fn a_client_that_hangs_up_stops_nothing_and_may_ask_again() {
    let daemon = DoorTestDaemon::start().await;
    let url = agent(&daemon, "a").await;
    let id = session_of(&daemon, "a").await;
    let params = json!({"content": "wait", "request_id": "kept"});
    let mut connection = daemon.connect().await;
    connection.send(&daemon.request("POST", &url).json(&call("send", &params)).bytes()).await;
    daemon.until(&id, "turn_started").await;
    drop(connection);
    let again = async { result(&daemon, &url, "send", params.clone()).await };
    let gate = async {
        daemon.until(&id, "turn_started").await;
        daemon.gate.add_permits(1);
    };
    let (again, ()) = tokio::join!(again, gate);
    let expected = json!({"content": "half of an änswer, and the rest", "request_id": "kept"});
    assert_eq!(again, expected);
    // It is over, and answered as it was.
    assert_eq!(result(&daemon, &url, "send", params).await, expected);
    let context = result(&daemon, &url, "get_context", json!({})).await;
    assert_eq!(context["message_count"], 2);
    daemon.stop().await;
}

#[tokio::test]
async fn agents_and_requests_outlive_the_daemon() {
    let daemon = DoorTestDaemon::start().await;
    let url = agent(&daemon, "keeper").await;
    result(&daemon, &url, "send", json!({"content": "remember", "request_id": "r1"})).await;
    let id = session_of(&daemon, "keeper").await;
    let asking = json!({"content": "ask", "request_id": "r2"});
    let mut connection = daemon.connect().await;
    connection.send(&daemon.request("POST", &url).json(&call("send", &asking)).bytes()).await;
    daemon.until(&id, "approval_requested").await;
    let dir = daemon.stop().await;
    // The request is told, and the turn waits for the next daemon.
    let told = connection.answer().await.json();
    assert_eq!(told["error"]["code"], -32000, "{told}");
    assert_eq!(told["error"]["data"]["request_id"], "r2");

    let daemon =
        DoorTestDaemon::start_as(DoorTestOptions { dir: Some(dir), ..DoorTestOptions::default() }).await;
    let params = json!({"agent_id": "keeper"});
    assert_eq!(error(&daemon, "/rpc", "create_agent", params).await.0, -32602);
    let answer = result(&daemon, &url, "send", json!({"content": "remember", "request_id": "r1"})).await;
    assert_eq!(answer, json!({"content": "You said: remember", "request_id": "r1"}));
    let again = async { result(&daemon, &url, "send", asking).await };
    let approve = async {
        let turn = daemon.until(&id, "approval_requested").await["turn_id"].clone();
        let answer = json!({"turn_id": turn, "tool_call_id": "call_1", "action": "approve"});
        let answer = daemon.post(&format!("/v1/sessions/{id}/approve"), &answer).await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
    };
    let (again, ()) = tokio::join!(again, approve);
    assert_eq!(again, json!({"content": "done", "request_id": "r2"}));
    daemon.stop().await;
}

#[tokio::test]
async fn a_failed_turn_is_an_error_that_says_why() {
    let daemon = DoorTestDaemon::start().await;
    let url = agent(&daemon, "a").await;
    let body = call("send", &json!({"content": "fail", "request_id": "r"}));
    let answer = post(&daemon, &url, body.to_string().as_bytes()).await.json();
    assert_eq!(answer["error"]["code"], -32000, "{answer}");
    assert_eq!(answer["error"]["data"]["request_id"], "r");
    assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
    // The agent goes on.
    assert_eq!(result(&daemon, &url, "send", json!({"content": "x"})).await["content"], "You said: x");
    daemon.stop().await;
}

#[tokio::test]
async fn send_streams_the_sessions_events_and_then_the_result() {
    let daemon = DoorTestDaemon::start().await;
    let url = agent(&daemon, "a").await;
    let body = call("send", &json!({"content": "hello", "request_id": "r"}));
    let request = daemon.request("POST", &url).add("accept", "text/event-stream").json(&body);
    let mut stream = SseTestStream::open(daemon.connect().await, &request).await;
    assert_eq!(stream.head.header("content-type"), Some("text/event-stream"));
    let (mut names, mut text) = (Vec::new(), String::new());
    let last = loop {
        let frame = stream.frame().await.unwrap();
        let name = frame.lines().find_map(|line| line.strip_prefix("event: ")).unwrap().to_owned();
        if name == "model_output_delta" {
            text += data(&frame)["data"]["text"].as_str().unwrap();
        }
        if name == "result" {
            break data(&frame);
        }
        names.push(name);
    };
    assert_eq!(stream.frame().await, None);
    let response =
        json!({"jsonrpc": "2.0", "id": 7, "result": {"content": "You said: hello", "request_id": "r"}});
    assert_eq!(last, response);
    assert_eq!(text, "You said: hello");
    for name in ["message_added", "turn_started", "model_output_completed", "turn_completed"] {
        assert!(names.iter().any(|known| known == name), "{name} is not in {names:?}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn what_an_agent_asks_is_shown_in_its_stream_and_answered_at_another_door() {
    let daemon = DoorTestDaemon::start().await;
    let url = agent(&daemon, "a").await;
    let body = call("send", &json!({"content": "ask", "request_id": "r"}));
    let request = daemon.request("POST", &url).add("accept", "text/event-stream").json(&body);
    let mut stream = SseTestStream::open(daemon.connect().await, &request).await;
    let mut names = Vec::new();
    let last = loop {
        let frame = stream.frame().await.unwrap();
        let name = frame.lines().find_map(|line| line.strip_prefix("event: ")).unwrap().to_owned();
        match name.as_str() {
            "approval_requested" => {
                assert_eq!(data(&frame)["data"]["tool_call"]["input"], json!({"command": "make test"}));
                let mut socket = GatewayClient::connect(daemon.gateway_address, "/", &[]).await.unwrap();
                socket.send(&json!({"type": "auth", "token": daemon.token()})).await;
                socket.frame().await;
                let list = socket.ask("approvals.list", json!({})).await;
                let id = &list["approvals"][0]["approvalId"];
                let told = socket.ask("exec.approve", json!({"approvalId": id})).await;
                assert_eq!(told, json!({"ok": true}));
            }
            "approval_granted" => assert_eq!(data(&frame)["data"]["by"], "gateway"),
            "result" => break data(&frame),
            _ => {}
        }
        names.push(name);
    };
    assert_eq!(last["result"], json!({"content": "done", "request_id": "r"}));
    for name in ["approval_requested", "approval_granted", "tool_call_completed", "turn_completed"] {
        assert_eq!(names.iter().filter(|known| *known == name).count(), 1, "{name} in {names:?}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_notification_gets_an_empty_body_and_is_carried_out() {
    let daemon = DoorTestDaemon::start().await;
    let url = agent(&daemon, "a").await;
    let notify = |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
    for (path, body) in [
        (url.as_str(), notify("send", json!({"content": "hello", "request_id": "quiet"}))),
        (&url, notify("no_such_method", json!({}))),
        (&url, notify("send", json!({"content": 5}))),
        ("/rpc", notify("create_agent", json!({"agent_id": "silent"}))),
    ] {
        let answer = post(&daemon, path, body.to_string().as_bytes()).await;
        assert_eq!((answer.status(), answer.text()), (200, ""), "{body}");
    }
    // An id that is null is an id.
    let body = json!({"jsonrpc": "2.0", "id": null, "method": "list_agents"});
    let answer = post(&daemon, "/rpc", body.to_string().as_bytes()).await.json();
    assert_eq!((&answer["id"], answer["result"]["agents"].as_array().unwrap().len()), (&Value::Null, 2));
    let answer = result(&daemon, &url, "send", json!({"content": "hello", "request_id": "quiet"})).await;
    assert_eq!(answer["content"], "You said: hello");
    daemon.stop().await;
}

#[tokio::test]
async fn tokens_messages_and_compaction() {
    let daemon = DoorTestDaemon::start().await;
    let url = agent(&daemon, "a").await;
    for text in ["one", "two"] {
        result(&daemon, &url, "send", json!({"content": text})).await;
    }
    let tokens = result(&daemon, &url, "get_tokens", json!({})).await;
    let total = "one".len() + "two".len() + "You said: one".len() + "You said: two".len();
    let expected = json!({
        "system": 0, "tools": 0, "messages": total, "total": total, "budget": 1000, "available": 750,
    });
    assert_eq!(tokens, expected);
    let page = result(&daemon, &url, "get_messages", json!({"offset": 1, "limit": 2})).await;
    assert_eq!((&page["agent_id"], &page["total"]), (&json!("a"), &json!(4)));
    assert_eq!((&page["offset"], &page["limit"]), (&json!(1), &json!(2)));
    let rows = json!([
        {"index": 1, "role": "assistant", "content": "You said: one", "tool_call_id": null},
        {"index": 2, "role": "user", "content": "two", "tool_call_id": null},
    ]);
    assert_eq!(page["messages"], rows);
    let compacted = result(&daemon, &url, "compact", json!({"force": true})).await;
    let expected = json!({"compacted": true, "tokens_before": 100, "tokens_after": 40, "tokens_saved": 60});
    assert_eq!(compacted, expected);
    let context = result(&daemon, &url, "get_context", json!({})).await;
    assert_eq!(context["message_count"], 2);
    let compacted = result(&daemon, &url, "compact", json!({})).await;
    assert_eq!(compacted, json!({"compacted": false, "reason": "nothing to compact"}));
    daemon.stop().await;
}

#[tokio::test]
async fn a_compaction_waits_for_the_turn_that_runs() {
    let daemon = DoorTestDaemon::start().await;
    let url = agent(&daemon, "a").await;
    let id = session_of(&daemon, "a").await;
    for text in ["one", "two"] {
        result(&daemon, &url, "send", json!({"content": text})).await;
    }
    let waiting = async { result(&daemon, &url, "send", json!({"content": "wait"})).await };
    let compacting = async {
        daemon.until(&id, "model_output_delta").await;
        let compacting = result(&daemon, &url, "compact", json!({}));
        let gate = async { daemon.gate.add_permits(1) };
        tokio::join!(compacting, gate).0
    };
    let (_, compacted) = tokio::join!(waiting, compacting);
    assert_eq!(compacted["compacted"], true, "{compacted}");
    daemon.stop().await;
}

#[tokio::test]
async fn a_tool_call_and_its_answer_are_rows() {
    let daemon = DoorTestDaemon::start().await;
    let url = agent(&daemon, "a").await;
    let id = session_of(&daemon, "a").await;
    let send = async { result(&daemon, &url, "send", json!({"content": "ask"})).await };
    let deny = async {
        let turn = daemon.until(&id, "approval_requested").await["turn_id"].clone();
        let answer = json!({"turn_id": turn, "tool_call_id": "call_1", "action": "approve"});
        daemon.post(&format!("/v1/sessions/{id}/approve"), &answer).await;
    };
    tokio::join!(send, deny);
    let page = result(&daemon, &url, "get_messages", json!({})).await;
    let calls = json!([{"id": "call_1", "name": "shell", "arguments": {"command": "make test"}}]);
    assert_eq!(page["messages"][1]["tool_calls"], calls);
    let row = &page["messages"][2];
    assert_eq!(
        (&row["role"], &row["content"], &row["tool_call_id"]),
        (&json!("tool"), &json!("ok"), &json!("call_1"))
    );
    daemon.stop().await;
}

/// Each request waits for its own turn, and none for another's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_agents_answer_at_once() {
    const AGENTS: usize = 1000;
    let daemon = DoorTestDaemon::start_with(Duration::from_secs(600)).await;
    let body = |method: &str, params: Value| call(method, &params).to_string().into_bytes();
    for chunk in (0..AGENTS).collect::<Vec<_>>().chunks(50) {
        let made = chunk.iter().map(|n| {
            let body = body("create_agent", json!({"agent_id": format!("agent-{n}"), "model": "test:one"}));
            let daemon = &daemon;
            async move { post(daemon, "/rpc", &body).await.json()["result"]["agent_id"].clone() }
        });
        let made = futures_util::future::join_all(made).await;
        assert!(made.iter().all(Value::is_string), "{made:?}");
    }
    // All wait in their turns at the same time before the first may go on.
    let sends = (0..AGENTS).map(|n| {
        let body = body("send", json!({"content": "wait", "request_id": n}));
        let daemon = &daemon;
        async move { post(daemon, &format!("/agent/agent-{n}"), &body).await.json()["result"].clone() }
    });
    let gate = async {
        let mut running = 0;
        let mut feed = daemon.follow("/v1/events?after=start&types=turn_started").await;
        while running < AGENTS {
            feed.until("turn_started").await;
            running += 1;
        }
        daemon.gate.add_permits(AGENTS);
    };
    let (answers, ()) = tokio::join!(futures_util::future::join_all(sends), gate);
    for (n, answer) in answers.iter().enumerate() {
        assert_eq!(*answer, json!({"content": "half of an änswer, and the rest", "request_id": n}));
    }
    let list = result(&daemon, "/rpc", "list_agents", json!({})).await;
    assert_eq!(list["agents"].as_array().unwrap().len(), AGENTS);
    assert!(list["agents"].as_array().unwrap().iter().all(|agent| agent["message_count"] == 2));
}
