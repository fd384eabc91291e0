//! What is sent to Anthropic, byte for byte, and that an answer can be sent back.

use std::sync::Arc;

use futures_util::StreamExt;
use ostler_models::{Model, ModelEvent, ModelRequest, ProviderKind, Timeouts};
use ostler_types::{Part, Role};
use serde_json::{Value, json};

use crate::conversation::{CollectedAnswer, assistant, call, message, read, request, result, tool, user};
use crate::server::{KEY, MisbehavingServer, chunk, chunked_head, model_of, response, stream_head};

const WHOLE: &str = r#"{"type":"message","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}"#;

fn model(base_url: &str) -> Arc<dyn Model> {
    model_of(ProviderKind::Anthropic, base_url, Timeouts::default())
}

async fn sent(request: ModelRequest) -> (String, String) {
    let mut server = MisbehavingServer::start(vec![response("200 OK", "application/json", WHOLE)]).await;
    let answer = read(model(&server.base_url).stream(request)).await;
    assert_eq!((answer.text.as_str(), answer.stop()), ("hi", "end_turn"));
    server.request().await
}

/// The messages of the body that is sent for a conversation.
async fn sent_messages(request: ModelRequest) -> String {
    let (_, body) = sent(request).await;
    let (_, messages) = body.split_once("\"messages\":").unwrap();
    messages.strip_suffix('}').unwrap().to_owned()
}

fn thought(text: &str, provider: &str, block: &Value) -> Part {
    let opaque = Some(json!({"provider": provider, "block": block}));
    Part::Reasoning { text: text.to_owned(), opaque }
}

#[tokio::test]
async fn the_request_is_exactly_this() {
    let signed =
        thought("hm", "anthropic", &json!({"type": "thinking", "thinking": "hm", "signature": "s=="}));
    let hidden = thought("", "anthropic", &json!({"type": "redacted_thinking", "data": "d"}));
    let foreign = thought("so", "openai-responses", &json!({"type": "reasoning", "id": "rs_1"}));
    let unsigned = Part::Reasoning { text: "well".to_owned(), opaque: None };
    let first =
        vec![signed, hidden, Part::text("I look."), call("c1", "shell", json!({"command": "ls", "n": 1}))];
    let parallel = vec![
        foreign,
        unsigned,
        call("c2", "shell", json!(null)),
        call("functions.shell:0", "read_file", json!("{\"pat")),
    ];
    let messages = vec![
        message(Role::User, vec![Part::text("Look \"here\"\n"), Part::text(" \n"), Part::text("ä")]),
        message(Role::Assistant, first),
        result("c1", "shell", false, "no"),
        message(Role::Assistant, parallel),
        result("c2", "shell", true, "two"),
        user("and be quick"),
        result("functions.shell:0", "read_file", true, ""),
        message(Role::System, vec![Part::text("be brief")]),
        assistant("cut of"),
        assistant("f"),
        user("on"),
    ];
    let tools = [tool("shell"), tool("read_file")];
    let request = ModelRequest {
        system: Some("You help.".to_owned()),
        tools: tools.into(),
        ..ModelRequest::new(messages)
    };
    let (head, body) = sent(request).await;
    assert_eq!(body, EXPECTED.replace("\n", ""));
    let head = head.to_ascii_lowercase();
    let lines: Vec<&str> = head.lines().collect();
    assert_eq!(lines[0], "post /v1/messages http/1.1");
    let key = format!("x-api-key: {KEY}");
    let wanted = [
        key.as_str(),
        "anthropic-version: 2023-06-01",
        "content-type: application/json",
        "accept: text/event-stream",
    ];
    for line in wanted {
        assert!(lines.contains(&line), "{line} is not in {head}");
    }
    assert!(!head.contains("authorization"));
}

const EXPECTED: &str = r#"{"model":"small","max_tokens":8192,"stream":true,
"system":[{"type":"text","text":"You help.","cache_control":{"type":"ephemeral"}}],
"tools":[
{"name":"shell","description":"Does shell.","input_schema":{"type":"object","properties":{}}},
{"name":"read_file","description":"Does read_file.","input_schema":{"type":"object","properties":{}},
"cache_control":{"type":"ephemeral"}}],
"messages":[
{"role":"user","content":[{"type":"text","text":"Look \"here\"\n"},{"type":"text","text":"ä"}]},
{"role":"assistant","content":[
{"type":"thinking","thinking":"hm","signature":"s=="},
{"type":"redacted_thinking","data":"d"},
{"type":"text","text":"I look."},
{"type":"tool_use","id":"c1","name":"shell","input":{"command":"ls","n":1}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"no","is_error":true}]},
{"role":"assistant","content":[
{"type":"tool_use","id":"c2","name":"shell","input":{}},
{"type":"tool_use","id":"call_94905e79dfdfefb8","name":"read_file","input":{"_raw":"{\"pat"}}]},
{"role":"user","content":[
{"type":"tool_result","tool_use_id":"c2","content":"two"},
{"type":"tool_result","tool_use_id":"call_94905e79dfdfefb8"},
{"type":"text","text":"and be quick"},
{"type":"text","text":"System: be brief","cache_control":{"type":"ephemeral"}}]},
{"role":"assistant","content":[{"type":"text","text":"cut of"},{"type":"text","text":"f"}]},
{"role":"user","content":[{"type":"text","text":"on","cache_control":{"type":"ephemeral"}}]}]}"#;

#[tokio::test]
async fn a_request_without_tools_or_system_names_none() {
    let (_, body) = sent(request(vec![user("hi")], &[])).await;
    let expected = r#"{"model":"small","max_tokens":8192,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]}"#;
    assert_eq!(body, expected);
    let blank = ModelRequest { system: Some(" \n".to_owned()), ..request(vec![user("hi")], &[]) };
    assert_eq!(sent(blank).await.1, expected);
}

#[tokio::test]
async fn the_cache_ends_with_the_conversation() {
    let messages = vec![
        user("go"),
        message(Role::Assistant, vec![call("c1", "a", json!({})), call("c2", "a", json!([1]))]),
        result("c1", "a", true, "one"),
        result("c2", "a", true, "two"),
    ];
    let expected = r#"[{"role":"user","content":[{"type":"text","text":"go","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"a","input":{}},{"type":"tool_use","id":"c2","name":"a","input":{"_raw":[1]}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"one"},{"type":"tool_result","tool_use_id":"c2","content":"two","cache_control":{"type":"ephemeral"}}]}]"#;
    assert_eq!(sent_messages(request(messages, &[])).await, expected);
}

#[tokio::test]
async fn a_conversation_that_ends_with_the_model_is_asked_to_go_on() {
    let expected = r#"[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"text","text":"cut of "}]},{"role":"user","content":[{"type":"text","text":"Continue.","cache_control":{"type":"ephemeral"}}]}]"#;
    assert_eq!(sent_messages(request(vec![user("hi"), assistant("cut of ")], &[])).await, expected);
    // An answer that was cut in its reasoning leaves nothing to go on from.
    let unsigned = Part::Reasoning { text: "hm".to_owned(), opaque: None };
    let messages = vec![user("hi"), message(Role::Assistant, vec![unsigned, Part::text("")])];
    let expected =
        r#"[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]"#;
    assert_eq!(sent_messages(request(messages, &[])).await, expected);
}

#[tokio::test]
async fn both_spellings_of_the_address_lead_to_the_same_place() {
    for (path, expected) in [
        ("", "POST /v1/messages HTTP/1.1"),
        ("/", "POST /v1/messages HTTP/1.1"),
        ("/v1", "POST /v1/messages HTTP/1.1"),
        ("/v1/", "POST /v1/messages HTTP/1.1"),
        ("/proxy/anthropic", "POST /proxy/anthropic/v1/messages HTTP/1.1"),
    ] {
        let mut server = MisbehavingServer::start(vec![response("200 OK", "application/json", WHOLE)]).await;
        let base_url = server.base_url.replace("/v1/", path);
        assert_eq!(read(model(&base_url).stream(request(vec![user("hi")], &[]))).await.text, "hi");
        let (head, _) = server.request().await;
        assert_eq!(head.lines().next(), Some(expected), "{path}");
    }
}

#[tokio::test]
async fn what_cannot_be_sent_is_told_and_nothing_is_sent() {
    let (reference, mime_type) = ("attachments/1".to_owned(), "a/b".to_owned());
    let parts = [
        (
            "the image attachments/1",
            Part::Image { reference: reference.clone(), mime_type: mime_type.clone() },
        ),
        (
            "the audio attachments/1",
            Part::Audio { reference: reference.clone(), mime_type: mime_type.clone() },
        ),
        ("the file attachments/1", Part::File { reference, mime_type }),
        ("role `user`", call("c1", "a", json!({}))),
    ];
    for (word, part) in parts {
        // Nothing listens there, so that a request would be another error.
        let messages = vec![message(Role::User, vec![Part::text("look"), part])];
        let answer = read(model("http://127.0.0.1:1").stream(request(messages, &[]))).await;
        assert_eq!(answer.code(), Some("unsupported_part"), "{word}");
        assert!(answer.error.unwrap().message.contains(word));
    }
}

const THINKING: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"small","stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Grüße …"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCg/+=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"shell","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"command\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":" \"ls\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":15}}

event: message_stop
data: {"type":"message_stop"}

"#;

#[tokio::test]
async fn a_stream_arrives_whole_in_transfer_chunks_of_any_size() {
    let block = json!({"type": "thinking", "thinking": "Grüße …", "signature": "EqQBCg/+=="});
    let expected = CollectedAnswer {
        reasoning: "Grüße …".to_owned(),
        opaque: vec![json!({"provider": "anthropic", "block": block, "name": "local", "model": "small"})],
        calls: vec![(Some("toolu_1".to_owned()), "shell".to_owned(), r#"{"command": "ls"}"#.to_owned())],
        stop: Some("tool_calls".to_owned()),
        ..CollectedAnswer::default()
    };
    let characters: Vec<char> = THINKING.chars().collect();
    for size in [3, 7, 64, 1024] {
        let pieces = characters.chunks(size).map(|piece| chunk(&piece.iter().collect::<String>()));
        let acts = std::iter::once(chunked_head()).chain(pieces).chain([chunk("")]).collect();
        let server = MisbehavingServer::start(acts).await;
        let answer = read(model(&server.base_url).stream(request(vec![user("hi")], &[]))).await;
        assert_eq!(answer, expected, "chunks of {size}");
    }
}

#[tokio::test]
async fn what_was_wanted_back_goes_back_as_it_came() {
    let acts = vec![stream_head(), crate::server::ServerAction::Send(THINKING.to_owned())];
    let server = MisbehavingServer::start(acts).await;
    let events: Vec<ModelEvent> =
        model(&server.base_url).stream(request(vec![user("hi")], &[])).map(Result::unwrap).collect().await;
    let opaque = events.iter().find_map(|event| match event {
        ModelEvent::ReasoningOpaque(value) => Some(value.clone()),
        _ => None,
    });
    let parts = vec![
        Part::Reasoning { text: "Grüße …".to_owned(), opaque },
        call("toolu_1", "shell", json!({"command": "ls"})),
    ];
    let messages = vec![user("hi"), message(Role::Assistant, parts), result("toolu_1", "shell", true, "ok")];
    let messages = sent_messages(request(messages, &[])).await;
    let block = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Grüße …","signature":"EqQBCg/+=="},{"type":"tool_use""#;
    assert!(messages.contains(block), "{messages}");
}
