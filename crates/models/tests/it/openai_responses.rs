//! What is sent to OpenAI's Responses, byte for byte, and that an answer can be sent back.

use std::sync::Arc;

use ostler_models::{Model, ModelRequest, ProviderKind, Timeouts};
use ostler_types::{Message, Part, Role};
use serde_json::{Value, json};

use crate::conversation::{CollectedAnswer, assistant, call, message, read, request, result, tool, user};
use crate::server::{KEY, MisbehavingServer, ServerAction, chunk, chunked_head, model_of, stream_head};

const TEXT: &str = "event: response.output_text.delta\n\
    data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"Grüße\"}\n\n";
const COMPLETED: &str = "event: response.completed\n\
    data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n";

fn model(base_url: &str, timeouts: Timeouts) -> Arc<dyn Model> {
    model_of(ProviderKind::OpenAiResponses, base_url, timeouts)
}

async fn answer(acts: Vec<ServerAction>, timeouts: Timeouts) -> CollectedAnswer {
    let server = MisbehavingServer::start(acts).await;
    read(model(&server.base_url, timeouts).stream(request(vec![user("hi")], &[]))).await
}

fn send(text: &str) -> ServerAction {
    ServerAction::Send(text.to_owned())
}

async fn sent(request: ModelRequest) -> (String, String) {
    let mut server = MisbehavingServer::start(vec![stream_head(), send(TEXT), send(COMPLETED)]).await;
    let answer = read(model(&server.base_url, Timeouts::default()).stream(request)).await;
    assert_eq!((answer.text.as_str(), answer.stop()), ("Grüße", "end_turn"));
    server.request().await
}

fn reasoning(id: &str, before: Option<&str>) -> Part {
    let item = json!({"id": id, "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gAAA="});
    let mut opaque = json!({"provider": "openai-responses", "item": item});
    if let Some(call) = before {
        opaque["before"] = call.into();
    }
    Part::Reasoning { text: "hm".to_owned(), opaque: Some(opaque) }
}

fn foreign(opaque: Option<Value>) -> Part {
    Part::Reasoning { text: "hm".to_owned(), opaque }
}

#[tokio::test]
async fn the_request_is_exactly_this() {
    let looks = vec![
        reasoning("rs_1", None),
        Part::text("I look."),
        foreign(Some(json!({"provider": "anthropic", "item": {"type": "reasoning"}}))),
        Part::text("Now."),
        call("c1", "shell", json!({"command": "ls", "n": 1})),
    ];
    let messages = vec![
        message(Role::User, vec![Part::text("Look \"here\"\n"), Part::text("ä")]),
        message(Role::Assistant, looks),
        result("c1", "shell", false, "no"),
        message(
            Role::Assistant,
            vec![
                foreign(None),
                reasoning("rs_2", None),
                call("c2", "shell", json!(null)),
                call("c3", "shell", json!({})),
            ],
        ),
        result("c2", "shell", true, "two"),
        result("c3", "shell", true, ""),
        assistant("cut of"),
        assistant("f, and on"),
        message(Role::System, vec![Part::text("be brief")]),
    ];
    let tools = [tool("shell")];
    let request = ModelRequest {
        system: Some("You help.".to_owned()),
        tools: tools.into(),
        ..ModelRequest::new(messages)
    };
    let (head, body) = sent(request).await;
    assert_eq!(body, EXPECTED.replace("\n", ""));
    let head = head.to_ascii_lowercase();
    let lines: Vec<&str> = head.lines().collect();
    assert_eq!(lines[0], "post /v1/responses http/1.1");
    let key = format!("authorization: bearer {KEY}");
    for line in [key.as_str(), "content-type: application/json", "accept: text/event-stream"] {
        assert!(lines.contains(&line), "{line} is not in {head}");
    }
}

const EXPECTED: &str = r#"{"model":"small","instructions":"You help.","input":[
{"type":"message","role":"user","content":[
{"type":"input_text","text":"Look \"here\"\n"},{"type":"input_text","text":"ä"}]},
{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAA="},
{"type":"message","role":"assistant","content":[
{"type":"output_text","text":"I look."},{"type":"output_text","text":"Now."}]},
{"type":"function_call","call_id":"c1","name":"shell","arguments":"{\"command\":\"ls\",\"n\":1}"},
{"type":"function_call_output","call_id":"c1","output":"no"},
{"id":"rs_2","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAA="},
{"type":"function_call","call_id":"c2","name":"shell","arguments":"{}"},
{"type":"function_call","call_id":"c3","name":"shell","arguments":"{}"},
{"type":"function_call_output","call_id":"c2","output":"two"},
{"type":"function_call_output","call_id":"c3","output":""},
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"cut of"}]},
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"f, and on"}]},
{"type":"message","role":"developer","content":[{"type":"input_text","text":"be brief"}]}],
"tools":[{"type":"function","name":"shell","description":"Does shell.",
"parameters":{"type":"object","properties":{}},"strict":false}],
"parallel_tool_calls":true,
"include":["reasoning.encrypted_content"],"store":false,"stream":true}"#;

#[tokio::test]
async fn a_request_without_tools_names_none() {
    let (_, body) = sent(request(vec![user("hi")], &[])).await;
    let expected = r#"{"model":"small","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}],"#;
    let rest = r#""include":["reasoning.encrypted_content"],"store":false,"stream":true}"#;
    assert_eq!(body, format!("{expected}{rest}"));
}

/// The items of a request, each by its id, its call's id or its text.
async fn order(parts: Vec<Part>) -> Vec<String> {
    let messages: Vec<Arc<Message>> = vec![message(Role::Assistant, parts), user("go on")];
    let body: Value = serde_json::from_str(&sent(request(messages, &[])).await.1).unwrap();
    let names = body["input"].as_array().unwrap().iter().map(|item| {
        let name = [&item["id"], &item["call_id"], &item["content"][0]["text"]];
        name.into_iter().find_map(Value::as_str).unwrap().to_owned()
    });
    names.collect()
}

#[tokio::test]
async fn reasoning_stands_before_what_it_led_to() {
    let calls = || [call("c1", "shell", json!({})), call("c2", "shell", json!({}))];
    let parts =
        [reasoning("rs_1", Some("c1")), reasoning("rs_2", Some("c2"))].into_iter().chain(calls()).collect();
    assert_eq!(order(parts).await, ["rs_1", "c1", "rs_2", "c2", "go on"]);
    let parts = [reasoning("rs_1", None), reasoning("rs_2", Some("c2")), Part::text("text")];
    let parts = parts.into_iter().chain(calls()).collect();
    assert_eq!(order(parts).await, ["rs_1", "text", "c1", "rs_2", "c2", "go on"]);
    let unknown = [reasoning("rs_1", Some("c9"))].into_iter().chain(calls()).collect();
    assert_eq!(order(unknown).await, ["rs_1", "c1", "c2", "go on"], "a call that got another id");
    let dangling = vec![reasoning("rs_1", None), Part::text("text"), reasoning("rs_2", None)];
    assert_eq!(order(dangling).await, ["rs_1", "text", "go on"], "reasoning that led to nothing");
}

#[tokio::test]
async fn what_cannot_be_sent_is_told_and_nothing_is_sent() {
    let (reference, mime_type) = (|| "attachments/1".to_owned(), || "a/b".to_owned());
    let parts = [
        (
            "the image attachments/1",
            Role::User,
            Part::Image { reference: reference(), mime_type: mime_type() },
        ),
        (
            "the audio attachments/1",
            Role::User,
            Part::Audio { reference: reference(), mime_type: mime_type() },
        ),
        ("the file attachments/1", Role::User, Part::File { reference: reference(), mime_type: mime_type() }),
        ("`tool`", Role::Tool, Part::text("no result")),
        ("`user`", Role::User, call("c1", "shell", json!({}))),
    ];
    for (word, role, part) in parts {
        // Nothing listens there, so that a request would be another error.
        let model = model("http://127.0.0.1:1/v1", Timeouts::default());
        let answer = read(model.stream(request(vec![message(role, vec![part])], &[]))).await;
        assert_eq!(answer.code(), Some("unsupported_part"), "{word}");
        assert!(answer.error.unwrap().message.contains(word), "{word}");
    }
}

#[tokio::test]
async fn a_sealed_item_goes_back_as_it_came() {
    let item =
        r#"{"id":"rs_1","type":"reasoning","summary":[],"new_field":1.50,"encrypted_content":"gAAA="}"#;
    let sealed =
        format!("data: {{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{item}}}\n\n");
    let mut received =
        answer(vec![stream_head(), send(&sealed), send(TEXT), send(COMPLETED)], Timeouts::default()).await;
    let thought = Part::Reasoning { text: String::new(), opaque: received.opaque.pop() };
    let answered = message(Role::Assistant, vec![thought, Part::text(received.text)]);
    let (_, body) = sent(request(vec![answered, user("go on")], &[])).await;
    assert!(body.contains(&item.replace("1.50", "1.5")), "{body}");
}

#[tokio::test]
async fn a_stream_arrives_whole_in_transfer_chunks_of_any_size() {
    let body = TEXT.to_owned() + TEXT + COMPLETED;
    for size in [3, 7, 16, 64, 1024] {
        let characters: Vec<char> = body.chars().collect();
        let pieces = characters.chunks(size).map(|piece| chunk(&piece.iter().collect::<String>()));
        let acts = std::iter::once(chunked_head()).chain(pieces).chain([chunk("")]).collect();
        let (text, stop) = ("GrüßeGrüße".to_owned(), Some("end_turn".to_owned()));
        let expected = CollectedAnswer { text, stop, ..CollectedAnswer::default() };
        assert_eq!(answer(acts, Timeouts::default()).await, expected, "chunks of {size}");
    }
}
