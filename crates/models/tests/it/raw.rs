//! What is shown of an exchange: everything but secrets.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use ostler_models::{KeyFreshness, ModelRequest, ProviderKey, RawTrafficSink, Secret, Timeouts};
use ostler_types::RawLine;
use serde_json::Value;

use crate::conversation::{CollectedAnswer, read, request, user};
use crate::server::{KEY, MisbehavingServer, ServerAction, model_with, response, stream_head};

/// Collects lines.
fn collector() -> (RawTrafficSink, Arc<Mutex<Vec<RawLine>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let taken = lines.clone();
    (Arc::new(move |line| taken.lock().unwrap().push(line)), lines)
}

async fn record(
    acts: Vec<ServerAction>,
    key: ProviderKey,
    said: &str,
) -> (CollectedAnswer, Vec<RawLine>, MisbehavingServer) {
    let server = MisbehavingServer::start(acts).await;
    let (sink, lines) = collector();
    let request = ModelRequest { raw: Some(sink), ..request(vec![user(said)], &[]) };
    let model = model_with(&server.base_url, key, Timeouts::default());
    let answer = read(model.stream(request)).await;
    let lines = lines.lock().unwrap().clone();
    (answer, lines, server)
}

fn fixed() -> ProviderKey {
    ProviderKey::Fixed(Secret::new(KEY))
}

fn send(text: &str) -> ServerAction {
    ServerAction::Send(text.to_owned())
}

#[tokio::test]
async fn a_stream_is_shown_line_by_line() {
    let events = "event: delta\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let (answer, lines, mut server) = record(vec![stream_head(), send(events)], fixed(), "hi").await;
    assert_eq!((answer.text.as_str(), answer.code()), ("a", None));
    let RawLine::Request { endpoint, payload } = &lines[0] else { panic!("{lines:?}") };
    assert_eq!(*endpoint, format!("{}chat/completions", server.base_url));
    let (_, body) = server.request().await;
    assert_eq!(*payload, serde_json::from_str::<Value>(&body).unwrap());
    assert_eq!(lines[1], RawLine::Response { status: 200, body: String::new() });
    let chunks: Vec<(&str, &str)> = lines[2..]
        .iter()
        .map(|line| match line {
            RawLine::StreamChunk { event, chunk } => (event.as_str(), chunk.as_str()),
            other => panic!("{other:?}"),
        })
        .collect();
    let text = r#"{"choices":[{"delta":{"content":"a"}}]}"#;
    let finish = r#"{"choices":[{"finish_reason":"stop"}]}"#;
    assert_eq!(chunks, [("delta", text), ("", finish), ("", "[DONE]")]);
}

#[tokio::test]
async fn a_body_is_shown_when_it_is_no_stream() {
    let whole = r#"{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}"#;
    let (answer, lines, _server) =
        record(vec![response("200 OK", "application/json", whole)], fixed(), "hi").await;
    assert_eq!(answer.text, "a");
    assert_eq!(lines[1..], [RawLine::Response { status: 200, body: whole.to_owned() }]);
    let error = r#"{"error":{"message":"no"}}"#;
    let (_, lines, _server) =
        record(vec![response("400 Bad", "application/json", error)], fixed(), "hi").await;
    assert_eq!(lines[1..], [RawLine::Response { status: 400, body: error.to_owned() }]);
    let html = response("200 OK", "text/html", "<p>Welcome</p>");
    let (_, lines, _server) = record(vec![html], fixed(), "hi").await;
    assert_eq!(lines[1..], [RawLine::Response { status: 200, body: String::new() }]);
}

#[tokio::test]
async fn no_secret_is_shown_wherever_the_server_puts_it() {
    let escaped: String = KEY.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let echo = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-echo: {KEY}\r\nconnection: close\r\n\r\n\
         event: {KEY}\ndata: {{\"choices\":[{{\"delta\":{{\"content\":\"{KEY} {escaped}\"}}}}],\"{KEY}\":1}}\n\n\
         data: {{\"error\":{{\"message\":\"bad key {KEY} {escaped}\"}}}}\n\n"
    );
    let words = format!("{{\"error\":{{\"message\":\"bad key {KEY}, {escaped}\"}}}}");
    let long = format!("{}{KEY}", "x".repeat(1024 * 1024 - 5));
    let found = ProviderKey::Found(Arc::new(|_| std::future::ready(Ok(Secret::new(KEY))).boxed()));
    for key in [fixed(), found] {
        let cases = [
            vec![send(&echo)],
            vec![response("401 No", "application/json", &words)],
            vec![response("500 Oops", "text/plain", &format!("{KEY} is {KEY}"))],
            vec![response("200 OK", "application/json", &words)],
            vec![response("200 OK", "application/json", &format!("{{\"a\":\"{long}\"}}"))],
        ];
        for acts in cases {
            let (answer, lines, _server) = record(acts, key.clone(), &format!("my key is {KEY}")).await;
            let error = answer.error.expect("every case ends in an error");
            let shown = format!("{lines:?} {error:?}");
            assert!(lines.len() >= 2 && !shown.contains(KEY), "{shown}");
            assert!(!shown.contains(&KEY[..12]), "a part of the key is left");
            assert!(shown.contains("my key is [secret]"));
        }
    }
}

#[tokio::test]
async fn a_refused_key_is_looked_for_once_more() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let source = |keys: [&'static str; 2]| {
        let asked = asked.clone();
        ProviderKey::Found(Arc::new(move |fresh: KeyFreshness| {
            let key = keys[usize::from(fresh != KeyFreshness::Any)];
            asked.lock().unwrap().push(fresh);
            std::future::ready(Ok(Secret::new(key))).boxed()
        }))
    };
    let refusal = || vec![response("401 No", "text/plain", "neither sk-old nor sk-new")];
    let (answer, lines, mut server) = record(refusal(), source(["sk-old", "sk-new"]), "hi").await;
    assert_eq!(answer.code(), Some("unauthorized"));
    assert!(answer.error.unwrap().message.ends_with("neither [secret] nor [secret]"));
    assert!(server.request().await.0.contains("authorization: Bearer sk-old"));
    assert!(server.request().await.0.contains("authorization: Bearer sk-new"));
    assert!(server.seen.try_recv().is_err(), "once more, not more");
    assert_eq!(*asked.lock().unwrap(), [KeyFreshness::Any, KeyFreshness::Replacing(Secret::new("sk-old"))]);
    assert_eq!(lines.len(), 4, "both attempts are shown");

    let (answer, _, mut server) = record(refusal(), source(["sk-old", "sk-old"]), "hi").await;
    assert_eq!(answer.code(), Some("unauthorized"));
    server.request().await;
    assert!(server.seen.try_recv().is_err(), "the same key is not sent again");

    let forbidden = vec![response("403 No", "text/plain", "no")];
    let (answer, _, mut server) = record(forbidden, source(["sk-old", "sk-new"]), "hi").await;
    assert!(answer.error.unwrap().hint.unwrap().contains("right"));
    server.request().await;
    assert!(server.seen.try_recv().is_err(), "another key of the same user may do no more");
}

#[tokio::test]
async fn a_key_that_cannot_be_had_is_told_before_anything_is_sent() {
    let missing = ProviderKey::Found(Arc::new(|_| {
        let error = ostler_models::ModelError::new("unauthorized", "set MY_KEY").hint("export it");
        std::future::ready(Err(error)).boxed()
    }));
    let (answer, lines, mut server) = record(vec![], missing, "hi").await;
    assert_eq!(answer.error.unwrap().message, "set MY_KEY");
    assert!(lines.is_empty() && server.seen.try_recv().is_err());
    let odd = ProviderKey::Fixed(Secret::new("a\nb"));
    let (answer, _, mut server) = record(vec![], odd, "hi").await;
    assert_eq!(answer.code(), Some("unauthorized"));
    assert!(server.seen.try_recv().is_err());
    let (answer, _, mut server) =
        record(vec![response("401 No", "text/plain", "no")], ProviderKey::None, "hi").await;
    assert!(!server.request().await.0.contains("authorization"));
    assert!(answer.error.unwrap().hint.unwrap().contains("no key is set for provider `local`"));
}
