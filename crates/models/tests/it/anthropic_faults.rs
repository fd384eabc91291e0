//! What goes wrong between here and Anthropic, and what the caller is told.

use std::time::Duration;

use futures_util::StreamExt;
use ostler_models::{ModelEvent, ProviderKind, Timeouts};

use crate::conversation::{Answer, read, request, user};
use crate::server::{Act, KEY, Seen, Server, chunk, chunked_head, model_of, response, stream_head};

const TEXT: &str = r#"event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}

"#;
const PING: &str = "event: ping\ndata: {\"type\": \"ping\"}\n\n";
const FINISH: &str = r#"event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}

"#;
const STOP: &str = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

/// Short enough that a test does not wait, and only where it has to run out.
const SHORT: Duration = Duration::from_millis(30);

async fn answer(acts: Vec<Act>, timeouts: Timeouts) -> Answer {
    let server = Server::start(acts).await;
    let model = model_of(ProviderKind::Anthropic, &server.base_url, timeouts);
    read(model.stream(request(vec![user("hi")], &[]))).await
}

fn send(text: &str) -> Act {
    Act::Send(text.to_owned())
}

fn error(kind: &str, message: &str) -> String {
    format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_1"}}"#)
}

#[tokio::test]
async fn statuses_become_codes_and_the_server_is_quoted() {
    let too_long = "prompt is too long: 208310 tokens > 200000 maximum";
    let no_room = "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000";
    let cases = [
        ("400 Bad Request", "invalid_request_error", "the words", "bad_request"),
        ("400 Bad Request", "invalid_request_error", too_long, "context_overflow"),
        ("400 Bad Request", "invalid_request_error", no_room, "context_overflow"),
        ("401 Unauthorized", "authentication_error", "invalid x-api-key", "unauthorized"),
        ("403 Forbidden", "permission_error", "the words", "unauthorized"),
        ("404 Not Found", "not_found_error", "model: small", "not_found"),
        ("413 Too Large", "request_too_large", "the words", "bad_request"),
        ("413 Too Large", "invalid_request_error", "size exceeds model context window", "context_overflow"),
        ("429 Too Many Requests", "rate_limit_error", "the words", "rate_limited"),
        ("500 Oops", "api_error", "the words", "http_error"),
        ("529 Overloaded", "overloaded_error", "Overloaded", "overloaded"),
    ];
    for (status, kind, words, code) in cases {
        let acts = vec![response(status, "application/json", &error(kind, words))];
        let answer = answer(acts, Timeouts::default()).await;
        assert_eq!(answer.code(), Some(code), "{status}");
        let expected = format!("provider `local` answered {}: {words}", &status[..3]);
        assert_eq!(answer.error.unwrap().message, expected);
    }
}

#[tokio::test]
async fn an_error_says_what_to_do() {
    let refused = error("authentication_error", &format!("invalid x-api-key {KEY}"));
    for status in ["401 No", "403 No"] {
        let acts = vec![response(status, "application/json", &refused)];
        let error = answer(acts, Timeouts::default()).await.error.unwrap();
        assert!(error.message.contains("`local`") && !error.message.contains(KEY), "{}", error.message);
        assert!(error.hint.unwrap().contains("the key of [providers.local]"));
    }
    for status in ["429 Slow", "529 Overloaded"] {
        let limited = format!("HTTP/1.1 {status}\r\nretry-after: 17\r\ncontent-length: 0\r\n\r\n");
        let limited = answer(vec![send(&limited)], Timeouts::default()).await;
        assert!(limited.error.unwrap().hint.unwrap().contains("17"), "{status}");
    }
    let long = error("invalid_request_error", "prompt is too long: 2 tokens > 1 maximum");
    let long = answer(vec![response("400 Bad", "application/json", &long)], Timeouts::default()).await;
    assert!(long.error.unwrap().hint.unwrap().contains("shorten"));
    let html = answer(vec![response("200 OK", "text/html", "<p>Welcome</p>")], Timeouts::default()).await;
    assert_eq!(html.code(), Some("bad_response"));
    assert!(html.error.unwrap().hint.unwrap().contains("Anthropic Messages"));
}

#[tokio::test]
async fn an_error_within_the_stream_keeps_its_text() {
    let overloaded = format!("event: error\ndata: {}\n\n", error("overloaded_error", "Overloaded"));
    let answer = answer(vec![stream_head(), send(TEXT), send(&overloaded), Act::Stall], Timeouts::default());
    let answer = answer.await;
    assert_eq!((answer.text.as_str(), answer.code()), ("a", Some("overloaded")));
    assert_eq!(answer.error.unwrap().message, "provider `local`: the server reported an error: Overloaded");
}

#[tokio::test]
async fn a_stream_that_breaks_off_keeps_its_text_and_is_an_error() {
    let cases = [
        ("closed", vec![stream_head(), send(TEXT)]),
        ("closed after a ping", vec![stream_head(), send(TEXT), send(PING)]),
        ("closed within a line", vec![stream_head(), send(TEXT), send("event: message_stop\ndata: {\"ty")]),
        ("closed within a transfer", vec![chunked_head(), chunk(TEXT)]),
        ("closed within a transfer chunk", vec![chunked_head(), chunk(TEXT), send("ff\r\ndata: {")]),
        ("ended", vec![chunked_head(), chunk(TEXT), chunk("")]),
    ];
    for (case, acts) in cases {
        let answer = answer(acts, Timeouts::default()).await;
        assert_eq!((answer.text.as_str(), answer.code()), ("a", Some("cut_stream")), "{case}");
    }
    let reset = answer(vec![chunked_head(), Act::Reset], Timeouts::default()).await;
    assert_eq!(reset.code(), Some("cut_stream"));
}

#[tokio::test]
async fn a_break_after_the_last_word_does_no_harm() {
    let cases = [
        ("closed", vec![stream_head(), send(TEXT), send(FINISH)]),
        ("closed within the transfer", vec![chunked_head(), chunk(TEXT), chunk(FINISH)]),
        ("left open", vec![chunked_head(), chunk(TEXT), chunk(FINISH), chunk(STOP), Act::Stall]),
    ];
    for (case, acts) in cases {
        let answer = answer(acts, Timeouts::default()).await;
        assert_eq!((answer.text.as_str(), answer.stop(), answer.code()), ("a", "end_turn", None), "{case}");
    }
    let timeouts = Timeouts { tail: SHORT, ..Timeouts::default() };
    let open = answer(vec![chunked_head(), chunk(TEXT), chunk(FINISH), Act::Stall], timeouts).await;
    assert_eq!((open.text.as_str(), open.stop()), ("a", "end_turn"), "left open without a stop");
}

#[tokio::test]
async fn silence_is_an_error() {
    let first = Timeouts { first_byte: SHORT, ..Timeouts::default() };
    let idle = Timeouts { idle: SHORT, ..Timeouts::default() };
    let whole = Timeouts { whole: SHORT, ..Timeouts::default() };
    let cases = [
        ("no head", vec![Act::Stall], first, "", "did not begin to answer"),
        ("no more", vec![chunked_head(), chunk(TEXT), Act::Stall], idle, "a", "did not go on"),
        ("only pings", vec![chunked_head(), chunk(PING), Act::Stall], idle, "", "did not go on"),
        ("no end", vec![chunked_head(), chunk(TEXT), Act::Stall], whole, "a", "did not finish its answer"),
    ];
    for (case, acts, timeouts, text, words) in cases {
        let answer = answer(acts, timeouts).await;
        assert_eq!((answer.text.as_str(), answer.code()), (text, Some("timeout")), "{case}");
        assert!(answer.error.unwrap().message.contains(words), "{case}");
    }
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let mut server = Server::start(vec![chunked_head(), chunk(TEXT), Act::Stall]).await;
    let model = model_of(ProviderKind::Anthropic, &server.base_url, Timeouts::default());
    let mut stream = model.stream(request(vec![user("hi")], &[]));
    assert_eq!(stream.next().await, Some(Ok(ModelEvent::Text("a".to_owned()))));
    server.request().await;
    drop(stream);
    assert!(matches!(server.seen.recv().await, Some(Seen::Closed)));
}
