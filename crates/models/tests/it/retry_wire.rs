//! Asking again over a real connection: what headers and bodies lead to.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use ostler_models::{
    Model, ModelError, ModelEvent, ModelRegistry, ModelSettings, ProviderConfig, ProviderKey, ProviderKind,
    RetryPolicy, Secret, Timeouts,
};

use crate::conversation::{request, user};
use crate::server::{KEY, MisbehavingServer, ServerAction, chunk, chunked_head, stream_head};

const TEXT: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
const REST: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// What each attempt came to: the waits' errors, then how it ended.
struct WireRetryOutcome {
    waits: Vec<(Duration, ModelError)>,
    text: String,
    error: Option<ModelError>,
    requests: usize,
}

/// Hardly any wait of our own, so that only those of the server count.
fn model(base_url: &str) -> Arc<dyn Model> {
    let provider = ProviderConfig {
        api_key: ProviderKey::Fixed(Secret::new(KEY)),
        ..ProviderConfig::new("local", ProviderKind::OpenAiChat, base_url)
    };
    let retry = RetryPolicy {
        first_wait: Duration::from_millis(1),
        jitter: Arc::new(|| 0.0),
        ..RetryPolicy::default()
    };
    let timeouts = Timeouts { first_byte: Duration::from_secs(20), ..Timeouts::default() };
    let settings = ModelSettings { retry, timeouts, ..ModelSettings::default() };
    ModelRegistry::with_settings(vec![provider], settings).resolve("local:small").unwrap()
}

async fn ask(scripts: Vec<Vec<ServerAction>>) -> WireRetryOutcome {
    let mut server = MisbehavingServer::start_each(scripts).await;
    let mut stream = model(&server.base_url).stream(request(vec![user("hi")], &[]));
    let mut outcome = WireRetryOutcome { waits: Vec::new(), text: String::new(), error: None, requests: 0 };
    while let Some(event) = stream.next().await {
        match event {
            Ok(ModelEvent::Waiting { wait, error, .. }) => outcome.waits.push((wait, error)),
            Ok(ModelEvent::Text(text)) => outcome.text.push_str(&text),
            Ok(_) => {}
            Err(error) => outcome.error = Some(error),
        }
    }
    while server.seen.try_recv().is_ok() {
        outcome.requests += 1;
    }
    outcome
}

fn refusal(status: &str, headers: &str, body: &str) -> Vec<ServerAction> {
    let length = body.len();
    vec![ServerAction::Send(format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))]
}

fn answer() -> Vec<ServerAction> {
    vec![stream_head(), ServerAction::Send(TEXT.to_owned()), ServerAction::Send(REST.to_owned())]
}

#[tokio::test]
async fn what_passes_is_tried_again_until_there_is_an_answer() {
    let cases = [
        ("closed at once", vec![], "cut_stream"),
        ("reset", vec![chunked_head(), ServerAction::Reset], "cut_stream"),
        ("closed after the head", vec![stream_head()], "cut_stream"),
        ("ended without a word", vec![chunked_head(), chunk("")], "cut_stream"),
        ("429", refusal("429 Slow", "", "slow"), "rate_limited"),
        ("500", refusal("500 Oops", "", "oops"), "server_error"),
        ("503", refusal("503 Busy", "", "busy"), "overloaded"),
        ("529", refusal("529 Busy", "", "busy"), "overloaded"),
        (
            "overloaded inside the stream",
            vec![
                stream_head(),
                ServerAction::Send(
                    "data: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}\n\n".into(),
                ),
            ],
            "overloaded",
        ),
    ];
    for (case, acts, code) in cases {
        let outcome = ask(vec![acts, answer()]).await;
        assert_eq!((outcome.text.as_str(), outcome.error.map(|error| error.code)), ("a", None), "{case}");
        let codes: Vec<&str> = outcome.waits.iter().map(|(_, error)| error.code).collect();
        assert_eq!((codes.as_slice(), outcome.requests), ([code].as_slice(), 2), "{case}");
    }
}

#[tokio::test]
async fn headers_say_how_long_to_wait() {
    let cases = [
        ("retry-after-ms: 40\r\nretry-after: 9\r\n", 40),
        ("retry-after: 0.02\r\n", 20),
        ("x-ratelimit-remaining-requests: 0\r\nx-ratelimit-reset-requests: 30ms\r\n", 30),
    ];
    for (headers, milliseconds) in cases {
        let outcome = ask(vec![refusal("429 Slow", headers, "slow"), answer()]).await;
        let [(wait, error)] = outcome.waits.as_slice() else { panic!("{headers}: {:?}", outcome.waits) };
        assert_eq!(*wait, Duration::from_millis(milliseconds), "{headers}");
        assert_eq!(error.retry_after, Some(*wait));
        assert_eq!(outcome.text, "a");
    }
    let day = "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nretry-after: Mon, 07 Nov 1994 08:49:37 GMT\r\n";
    let outcome = ask(vec![refusal("429 Slow", day, "slow"), answer()]).await;
    let error = outcome.error.unwrap();
    assert_eq!((error.code, outcome.requests), ("rate_limited", 1));
    assert!(error.message.contains("86400s"), "{}", error.message);
}

#[tokio::test]
async fn what_stays_is_not_tried_again() {
    let quota = r#"{"error":{"message":"You exceeded your quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    let credit = r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#;
    let cases = [
        (refusal("429 Slow", "retry-after: 1\r\n", quota), "quota_exhausted"),
        (refusal("400 Bad", "", credit), "quota_exhausted"),
        (refusal("402 Pay", "", "pay"), "quota_exhausted"),
        (refusal("401 No", "", "no"), "unauthorized"),
        (refusal("403 No", "", "no"), "unauthorized"),
        (refusal("404 None", "", "no"), "not_found"),
        (refusal("418 Teapot", "", "no"), "http_error"),
        (refusal("302 Found", "location: http://127.0.0.1:9/\r\n", ""), "http_error"),
        (vec![stream_head(), ServerAction::Send(TEXT.to_owned())], "cut_stream"),
    ];
    for (acts, code) in cases {
        let outcome = ask(vec![acts, answer()]).await;
        let error = outcome.error.unwrap();
        assert_eq!((error.code, outcome.requests, outcome.waits.len()), (code, 1, 0));
        assert!(code != "quota_exhausted" || error.hint.unwrap().contains("credit"));
    }
}
