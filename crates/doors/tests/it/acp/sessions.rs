//! Sessions of an editor: made, listed, loaded with their past, resumed without, chosen of, and closed.

use serde_json::{Value, json};

use super::client::EditorClient;
use crate::daemon::DoorTestDaemon;

#[tokio::test]
async fn a_new_session_says_what_can_be_chosen() {
    let daemon = DoorTestDaemon::start().await;
    let mut editor = EditorClient::start(&daemon).await;
    let servers = json!([{"name": "x", "command": "/bin/false", "args": [], "env": []}]);
    let asked = json!({"cwd": daemon.workspace(), "mcpServers": servers});
    let told = editor.ask("session/new", asked).await.unwrap();
    assert!(told["sessionId"].as_str().unwrap().starts_with("sess_"));
    assert_eq!(told["modes"]["currentModeId"], "default");
    let servers = &told["_meta"]["ostler.mcpServers"];
    assert_eq!((&servers["used"], &servers["not_used"][0]["name"]), (&json!([]), &json!("x")), "{told}");
    let options = told["configOptions"].as_array().unwrap();
    let of = |id: &str| options.iter().find(|option| option["id"] == id).unwrap();
    assert_eq!(of("model")["currentValue"], "test:one");
    assert_eq!(of("model")["options"].as_array().unwrap().len(), 2);
    // Chosen here, told here and true everywhere.
    let id = told["sessionId"].clone();
    let mode = json!({"sessionId": id, "modeId": "accept_edits"});
    editor.ask("session/set_mode", mode).await.unwrap();
    let model = json!({"sessionId": id, "configId": "model", "value": "test:two"});
    let told = editor.ask("session/set_config_option", model).await.unwrap();
    assert!(told["configOptions"].to_string().contains("\"currentValue\":\"test:two\""), "{told}");
    let session = daemon.get(&format!("/v1/sessions/{}", id.as_str().unwrap())).await.json();
    assert_eq!(session["model"], "test:two");
    assert_eq!(session["policy"]["approval"]["require_for_kinds"], json!(["exec", "network"]));
    editor.ask("authenticate", json!({"methodId": "provider-key"})).await.unwrap();
    assert_eq!(editor.ask("authenticate", json!({"methodId": "magic"})).await.unwrap_err()["code"], -32602);
    let wrong = json!({"sessionId": id, "modeId": "reckless"});
    assert_eq!(editor.ask("session/set_mode", wrong).await.unwrap_err()["code"], -32602);
}

#[tokio::test]
async fn what_was_changed_elsewhere_is_told() {
    let daemon = DoorTestDaemon::start().await;
    let mut editor = EditorClient::start(&daemon).await;
    let id = editor.session(&daemon).await;
    let body = json!({"title": "from elsewhere", "model": "test:two"});
    let request = daemon.request("PATCH", &format!("/v1/sessions/{id}")).json(&body);
    assert_eq!(daemon.send(&request).await.status(), 200);
    assert_eq!(editor.update("session_info_update").await["title"], "from elsewhere");
    let told = editor.update("config_option_update").await;
    assert!(told.to_string().contains("\"currentValue\":\"test:two\""), "{told}");
}

#[tokio::test]
async fn a_session_is_listed_and_loaded_with_its_past_and_resumed_without() {
    let daemon = DoorTestDaemon::start().await;
    let mut first = EditorClient::start(&daemon).await;
    let id = first.session(&daemon).await;
    for text in ["one", "ask"] {
        let prompt = first.prompt(&id, text).await;
        if text == "ask" {
            let question = first.question().await;
            first.answer(&question, "once").await;
        }
        assert_eq!(first.answered(prompt).await.unwrap()["stopReason"], "end_turn");
    }
    let mut second = EditorClient::start(&daemon).await;
    let listed = second.ask("session/list", json!({"cwd": daemon.workspace()})).await.unwrap();
    assert_eq!(listed["sessions"][0]["sessionId"], json!(id), "{listed}");
    let elsewhere = second.ask("session/list", json!({"cwd": "/nowhere"})).await.unwrap();
    assert_eq!(elsewhere["sessions"], json!([]));

    let named = json!({"sessionId": id, "cwd": daemon.workspace(), "mcpServers": []});
    let told = second.ask("session/load", named.clone()).await.unwrap();
    assert_eq!(told["modes"]["currentModeId"], "default");
    assert_eq!(second.text("user_message_chunk"), "oneask");
    assert_eq!(second.text("agent_message_chunk"), "You said: onedone");
    assert!(second.seen.iter().all(|line| line["method"] != "session/request_permission"), "it is over");
    let last = |kind: &str| {
        let told = second.seen.iter().map(|line| &line["params"]["update"]);
        told.filter(|update| update["sessionUpdate"] == kind).cloned().next_back().unwrap()
    };
    assert_eq!(last("tool_call_update")["status"], "completed");
    assert_eq!(last("tool_call")["title"], "make test");

    let mut third = EditorClient::start(&daemon).await;
    third.ask("session/resume", named).await.unwrap();
    let prompt = third.prompt(&id, "two").await;
    third.answered(prompt).await.unwrap();
    assert_eq!(third.text("user_message_chunk"), "", "nothing of the past, nor what it said itself");
    assert_eq!(third.text("agent_message_chunk"), "You said: two");
    // The others have seen it, with what was said.
    second.until(|line| line.to_string().contains("You said: ")).await;
    assert_eq!(second.text("user_message_chunk"), "oneasktwo");
    // Loaded again, all is told again.
    let again = json!({"sessionId": id, "cwd": daemon.workspace(), "mcpServers": []});
    third.ask("session/load", again).await.unwrap();
    assert_eq!(third.text("user_message_chunk"), "oneasktwo");
}

#[tokio::test]
async fn what_is_wrong_is_refused_and_the_connection_lives_on() {
    let daemon = DoorTestDaemon::start().await;
    let mut editor = EditorClient::start(&daemon).await;
    for (line, code) in [
        ("nonsense", -32700),
        ("[1]", -32600),
        (r#"{"jsonrpc":"2.0","id":"x","method":"session/dance"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":"x","method":"session/new","params":{"cwd":7}}"#, -32602),
        (
            r#"{"jsonrpc":"2.0","id":"x","method":"session/new","params":{"cwd":"/nowhere","mcpServers":[]}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"x","method":"session/prompt","params":{"sessionId":"sess_0","prompt":[]}}"#,
            -32002,
        ),
    ] {
        editor.write(line).await;
        let told = editor.read().await.unwrap();
        assert_eq!(told["error"]["code"], code, "{told}");
        assert!(!told["error"]["message"].as_str().unwrap().is_empty());
    }
    editor.notify("session/cancel", json!({"sessionId": "sess_0"})).await;
    editor.notify("$/whatever", Value::Null).await;
    let id = editor.session(&daemon).await;
    let before = daemon.log(&id);
    let empty = json!({"sessionId": id, "prompt": []});
    assert_eq!(editor.ask("session/prompt", empty).await.unwrap_err()["code"], -32602);
    assert_eq!(daemon.log(&id), before, "nothing is recorded of it");
}

#[tokio::test]
async fn a_closed_session_is_told_of_no_longer_and_can_be_loaded() {
    let daemon = DoorTestDaemon::start().await;
    let mut editor = EditorClient::start(&daemon).await;
    let id = editor.session(&daemon).await;
    let prompt = editor.prompt(&id, "wait").await;
    editor.update("agent_message_chunk").await;
    let close = editor.send("session/close", json!({"sessionId": id})).await;
    assert_eq!(editor.answered(prompt).await.unwrap()["stopReason"], "cancelled");
    editor.answered(close).await.unwrap();
    let named = json!({"sessionId": id, "cwd": daemon.workspace(), "mcpServers": []});
    editor.ask("session/load", named).await.unwrap();
    assert_eq!(editor.text("user_message_chunk"), "wait");
}
