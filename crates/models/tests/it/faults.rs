//! Everything that a server and a network do wrong, and what the caller is told.

use std::time::Duration;

use futures_util::StreamExt;
use ostler_models::{ModelEvent, Timeouts};

use crate::conversation::{Answer, read, request, user};
use crate::server::{Act, KEY, Seen, Server, chunk, chunked_head, model, response, stream_head};

const TEXT: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
const FINISH: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const USAGE: &str = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n";
const DONE: &str = "data: [DONE]\n\n";

/// Short enough that a test does not wait, and only where it has to run out.
const SHORT: Duration = Duration::from_millis(30);

async fn answer(acts: Vec<Act>, timeouts: Timeouts) -> Answer {
    let server = Server::start(acts).await;
    read(server.model(timeouts).stream(request(vec![user("hi")], &[]))).await
}

fn send(text: &str) -> Act {
    Act::Send(text.to_owned())
}

#[tokio::test]
async fn statuses_become_codes_and_the_server_is_quoted() {
    let json = r#"{"error":{"message":"the words","type":"x"}}"#;
    let cases = [
        ("400 Bad Request", json, "bad_request", "answered 400: the words"),
        ("401 Unauthorized", json, "unauthorized", "answered 401: the words"),
        ("403 Forbidden", r#"{"error":"the words"}"#, "unauthorized", "answered 403: the words"),
        ("404 Not Found", r#"{"detail":"the words"}"#, "not_found", "answered 404: the words"),
        ("413 Too Large", "", "bad_request", "answered 413"),
        ("422 Unprocessable", r#"{"message":"the words"}"#, "bad_request", "answered 422: the words"),
        ("429 Too Many Requests", json, "rate_limited", "answered 429: the words"),
        ("500 Oops", "<h1>the words</h1>", "http_error", "answered 500: <h1>the words</h1>"),
        ("503 Busy", json, "overloaded", "answered 503: the words"),
        ("529 Overloaded", json, "overloaded", "answered 529: the words"),
        ("418 Teapot", r#"{"error":{"odd":1}}"#, "http_error", r#"answered 418: {"odd":1}"#),
        ("302 Found", "", "http_error", "answered 302"),
    ];
    for (status, body, code, words) in cases {
        let answer = answer(vec![response(status, "application/json", body)], Timeouts::default()).await;
        assert_eq!(answer.code(), Some(code), "{status}");
        assert_eq!(answer.error.unwrap().message, format!("provider `local` {words}"), "{status}");
    }
}

#[tokio::test]
async fn an_error_says_what_to_do() {
    let unauthorized = answer(vec![response("401 No", "text/plain", "no")], Timeouts::default()).await;
    assert!(unauthorized.error.unwrap().hint.unwrap().contains("[providers.local]"));
    let limited = "HTTP/1.1 429 Slow\r\nretry-after: 17\r\ncontent-length: 0\r\n\r\n";
    let limited = answer(vec![send(limited)], Timeouts::default()).await;
    assert!(limited.error.unwrap().hint.unwrap().contains("17"));
}

#[tokio::test]
async fn a_servers_words_are_cut_and_hold_no_key() {
    let body = format!("wrong key {KEY}\r\n\u{7} {}", "x".repeat(100_000));
    let answer = answer(vec![response("400 Bad", "text/plain", &body)], Timeouts::default()).await;
    let message = answer.error.unwrap().message;
    assert!(message.contains("wrong key [secret]") && !message.contains(KEY), "{message}");
    assert!(message.chars().count() <= 501 && !message.contains(char::is_control), "{message}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let mut elsewhere = Server::start(vec![]).await;
    let head = format!("HTTP/1.1 307 Go\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", elsewhere.base_url);
    let answer = answer(vec![send(&head)], Timeouts::default()).await;
    assert_eq!(answer.code(), Some("http_error"));
    assert!(answer.error.unwrap().hint.unwrap().contains("base_url"));
    assert!(elsewhere.seen.try_recv().is_err(), "the key was sent to another host");
}

#[tokio::test]
async fn a_stream_that_breaks_off_keeps_its_text_and_is_an_error() {
    let cases = [
        ("closed", vec![stream_head(), send(TEXT)]),
        ("closed within a line", vec![stream_head(), send(TEXT), send("data: {\"cho")]),
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
    let closed_at_once = answer(vec![], Timeouts::default()).await;
    assert_eq!(closed_at_once.code(), Some("cut_stream"));
}

#[tokio::test]
async fn a_break_after_the_last_word_does_no_harm() {
    let cases = [
        ("closed", vec![stream_head(), send(TEXT), send(FINISH)]),
        ("closed within the transfer", vec![chunked_head(), chunk(TEXT), chunk(FINISH)]),
        ("done", vec![chunked_head(), chunk(TEXT), chunk(FINISH), chunk(DONE), Act::Stall]),
    ];
    for (case, acts) in cases {
        let answer = answer(acts, Timeouts::default()).await;
        assert_eq!((answer.text.as_str(), answer.stop(), answer.code()), ("a", "end_turn", None), "{case}");
    }
    let timeouts = Timeouts { tail: SHORT, ..Timeouts::default() };
    let open = answer(vec![chunked_head(), chunk(TEXT), chunk(FINISH), Act::Stall], timeouts).await;
    assert_eq!((open.text.as_str(), open.stop()), ("a", "end_turn"), "left open");
}

#[tokio::test]
async fn silence_is_an_error() {
    let first = Timeouts { first_byte: SHORT, ..Timeouts::default() };
    let idle = Timeouts { idle: SHORT, ..Timeouts::default() };
    let whole = Timeouts { whole: SHORT, ..Timeouts::default() };
    let cases = [
        ("no head", vec![Act::Stall], first, "", "did not begin to answer"),
        ("no body", vec![chunked_head(), Act::Stall], first, "", "did not begin to answer"),
        (
            "no more",
            vec![chunked_head(), chunk(TEXT), Act::Stall],
            idle,
            "a",
            "did not go on with its answer",
        ),
        ("only comments", vec![chunked_head(), chunk(": wait\n\n"), Act::Stall], idle, "", "did not go on"),
        ("no end", vec![chunked_head(), chunk(TEXT), Act::Stall], whole, "a", "did not finish its answer"),
    ];
    for (case, acts, timeouts, text, words) in cases {
        let answer = answer(acts, timeouts).await;
        assert_eq!((answer.text.as_str(), answer.code()), (text, Some("timeout")), "{case}");
        let message = answer.error.unwrap().message;
        assert!(message.contains(words) && message.contains("30ms"), "{case}: {message}");
    }
    let refused = vec![send("HTTP/1.1 500 Oops\r\ncontent-length: 99\r\n\r\nhalf"), Act::Stall];
    let refused = answer(refused, idle).await;
    assert_eq!(refused.error.unwrap().message, "provider `local` answered 500: half");
}

#[tokio::test]
async fn nobody_listening_is_told_with_the_address() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let answer = read(model(&base_url, Timeouts::default()).stream(request(vec![user("hi")], &[]))).await;
    assert_eq!(answer.code(), Some("unreachable"));
    assert!(answer.error.unwrap().message.contains(&base_url));
}

#[tokio::test]
async fn what_is_no_stream_is_told() {
    let html = answer(vec![response("200 OK", "text/html", "<p>Welcome</p>")], Timeouts::default()).await;
    assert_eq!(html.code(), Some("bad_response"));
    let huge = format!("data: {}\n\n", "x".repeat(9 * 1024 * 1024));
    let huge = answer(vec![stream_head(), send(TEXT), send(&huge)], Timeouts::default()).await;
    assert_eq!((huge.text.as_str(), huge.code()), ("a", Some("bad_response")));
    assert!(huge.error.unwrap().message.contains("8 MiB"));
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let mut server = Server::start(vec![chunked_head(), chunk(TEXT), Act::Stall]).await;
    let mut stream = server.model(Timeouts::default()).stream(request(vec![user("hi")], &[]));
    assert_eq!(stream.next().await, Some(Ok(ModelEvent::Text("a".to_owned()))));
    server.request().await;
    drop(stream);
    assert!(matches!(server.seen.recv().await, Some(Seen::Closed)));
}

#[tokio::test]
async fn nothing_is_sent_before_the_stream_is_polled() {
    let mut server = Server::start(vec![]).await;
    drop(server.model(Timeouts::default()).stream(request(vec![user("hi")], &[])));
    assert!(server.seen.try_recv().is_err());
}

#[tokio::test]
async fn usage_comes_right_before_the_stop() {
    let acts = vec![stream_head(), send(TEXT), send(FINISH), send(USAGE), send(DONE)];
    let server = Server::start(acts).await;
    let stream = server.model(Timeouts::default()).stream(request(vec![user("hi")], &[]));
    let events: Vec<ModelEvent> = stream.map(Result::unwrap).collect().await;
    let [ModelEvent::Text(_), ModelEvent::Usage(usage), ModelEvent::Stop(_)] = events.as_slice() else {
        panic!("{events:?}")
    };
    assert_eq!((usage.input_tokens, usage.output_tokens), (3, 1));
}
