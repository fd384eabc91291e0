//! What is sent, byte for byte.

use ostler_models::{ModelRequest, Timeouts};
use ostler_types::{Part, Role};
use serde_json::json;

use crate::conversation::{CollectedAnswer, assistant, call, message, read, request, result, tool, user};
use crate::server::{KEY, MisbehavingServer, chunk, chunked_head, model, response};

const WHOLE: &str = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;

async fn sent(request: ModelRequest) -> (String, String) {
    let mut server = MisbehavingServer::start(vec![response("200 OK", "application/json", WHOLE)]).await;
    let answer = read(server.model(Timeouts::default()).stream(request)).await;
    assert_eq!((answer.text.as_str(), answer.stop()), ("hi", "end_turn"));
    server.request().await
}

#[tokio::test]
async fn the_request_is_exactly_this() {
    let thought = Part::Reasoning { text: "hm".to_owned(), opaque: Some(json!({"signature": "x"})) };
    let asked =
        vec![thought.clone(), Part::text("I look."), call("c1", "shell", json!({"command": "ls", "n": 1}))];
    let messages = vec![
        message(Role::User, vec![Part::text("Look \"here\"\n"), Part::text("ä")]),
        message(Role::Assistant, asked),
        result("c1", "shell", false, "no"),
        message(Role::Assistant, vec![call("c2", "shell", json!(null)), call("c3", "read_file", json!({}))]),
        result("c2", "shell", true, "two"),
        result("c3", "read_file", true, ""),
        message(Role::Assistant, vec![thought]),
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
    assert_eq!(lines[0], "post /v1/chat/completions http/1.1");
    let key = format!("authorization: bearer {KEY}");
    for line in [key.as_str(), "content-type: application/json", "accept: text/event-stream"] {
        assert!(lines.contains(&line), "{line} is not in {head}");
    }
}

const EXPECTED: &str = r#"{"model":"small","messages":[
{"role":"system","content":"You help."},
{"role":"user","content":"Look \"here\"\n\nä"},
{"role":"assistant","content":"I look.","tool_calls":[
{"id":"c1","type":"function","function":{"name":"shell","arguments":"{\"command\":\"ls\",\"n\":1}"}}]},
{"role":"tool","content":"no","tool_call_id":"c1"},
{"role":"assistant","content":null,"tool_calls":[
{"id":"c2","type":"function","function":{"name":"shell","arguments":"{}"}},
{"id":"c3","type":"function","function":{"name":"read_file","arguments":"{}"}}]},
{"role":"tool","content":"two","tool_call_id":"c2"},
{"role":"tool","content":"","tool_call_id":"c3"},
{"role":"assistant","content":"cut of\nf, and on"},
{"role":"user","content":"System: be brief"}],
"tools":[{"type":"function","function":{"name":"shell","description":"Does shell.",
"parameters":{"type":"object","properties":{}}}}],
"stream":true,"stream_options":{"include_usage":true}}"#;

#[tokio::test]
async fn a_request_without_tools_names_none() {
    let (_, body) = sent(request(vec![user("hi")], &[])).await;
    let expected = r#"{"model":"small","messages":[{"role":"user","content":"hi"}],"#;
    assert_eq!(body, format!(r#"{expected}"stream":true,"stream_options":{{"include_usage":true}}}}"#));
}

#[tokio::test]
async fn what_cannot_be_sent_is_told_and_nothing_is_sent() {
    let reference = || "attachments/1".to_owned();
    let mime_type = || "a/b".to_owned();
    let parts = [
        ("the image attachments/1", Part::Image { reference: reference(), mime_type: mime_type() }),
        ("the audio attachments/1", Part::Audio { reference: reference(), mime_type: mime_type() }),
        ("the file attachments/1", Part::File { reference: reference(), mime_type: mime_type() }),
    ];
    for (word, part) in parts {
        // Nothing listens there, so that a request would be another error.
        let model = model("http://127.0.0.1:1/v1", Timeouts::default());
        let messages = vec![message(Role::User, vec![Part::text("look"), part])];
        let answer = read(model.stream(request(messages, &[]))).await;
        assert_eq!(answer.code(), Some("unsupported_part"), "{word}");
        assert!(answer.error.unwrap().message.contains(word));
    }
}

#[tokio::test]
async fn one_connection_serves_several_requests() {
    let (listener, body) = (tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap(), WHOLE);
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    // Accepts a single connection, so a second one would never be answered.
    let server = tokio::spawn(async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (mut stream, _) = listener.accept().await.unwrap();
        drop(listener);
        let mut buffer = vec![0; 64 * 1024];
        for _ in 0..2 {
            let mut text = String::new();
            while !text.ends_with("}}") {
                let count = stream.read(&mut buffer).await.unwrap();
                text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
            }
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            stream.write_all((head + body).as_bytes()).await.unwrap();
        }
    });
    let model = model(&base_url, Timeouts::default());
    for _ in 0..2 {
        assert_eq!(read(model.stream(request(vec![user("hi")], &[]))).await.text, "hi");
    }
    server.await.unwrap();
}

#[tokio::test]
async fn a_stream_arrives_whole_in_transfer_chunks_of_any_size() {
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"Grüße, \"}}]}\n\n\
                data: {\"choices\":[{\"delta\":{\"content\":\"Welt\"},\"finish_reason\":\"stop\"}]}\n\n\
                data: [DONE]\n\n";
    for size in [3, 7, 16, 64, 1024] {
        let characters: Vec<char> = body.chars().collect();
        let pieces = characters.chunks(size).map(|piece| chunk(&piece.iter().collect::<String>()));
        let acts = std::iter::once(chunked_head()).chain(pieces).chain([chunk("")]).collect();
        let server = MisbehavingServer::start(acts).await;
        let answer = read(server.model(Timeouts::default()).stream(request(vec![user("hi")], &[]))).await;
        let (text, stop) = ("Grüße, Welt".to_owned(), Some("end_turn".to_owned()));
        assert_eq!(answer, CollectedAnswer { text, stop, ..CollectedAnswer::default() }, "chunks of {size}");
    }
}
