//! Everything that a server and a network do wrong, and what the caller is told: the same for every
//! protocol, against a server that really does it.

mod protocol_samples;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use ostler_models::{Model, ModelError, ModelEvent, Timeouts};

use crate::conversation::{CollectedAnswer, read, request, user};
use crate::server::{
    KEY, MisbehavingServer, ServerAction, ServerObservation, chunk, chunked_head, model_of, response,
    stream_head,
};
use protocol_samples::{ProtocolSamples, WIRES};

/// Short enough that a test does not wait, and only where it has to run out.
const SHORT: Duration = Duration::from_millis(30);

async fn answer(wire: &ProtocolSamples, acts: Vec<ServerAction>, timeouts: Timeouts) -> CollectedAnswer {
    let server = MisbehavingServer::start(acts).await;
    ask(&model_of(wire.kind, &server.base_url, timeouts)).await
}

async fn ask(model: &Arc<dyn Model>) -> CollectedAnswer {
    read(model.stream(request(vec![user("hi")], &[]))).await
}

fn send(text: &str) -> ServerAction {
    ServerAction::Send(text.to_owned())
}

/// What a server does wrong in its stream, and the text and the error that come of it.
struct StreamFault {
    name: &'static str,
    acts: Vec<ServerAction>,
    timeouts: Timeouts,
    text: &'static str,
    code: &'static str,
    words: &'static str,
}

fn fault(name: &'static str, acts: Vec<ServerAction>, text: &'static str, code: &'static str) -> StreamFault {
    StreamFault { name, acts, timeouts: Timeouts::default(), text, code, words: "" }
}

fn broken_streams(wire: &ProtocolSamples) -> Vec<StreamFault> {
    let (text, giant) = (wire.text, format!("data: {}\n\n", "x".repeat(9 * 1024 * 1024)));
    vec![
        fault("closed", vec![stream_head(), send(text)], "a", "cut_stream"),
        fault("closed while idle", vec![stream_head(), send(text), send(wire.idle)], "a", "cut_stream"),
        fault("closed in a line", vec![stream_head(), send(text), send("data: {\"ty")], "a", "cut_stream"),
        fault("closed in the transfer", vec![chunked_head(), chunk(text)], "a", "cut_stream"),
        fault(
            "closed in a transfer chunk",
            vec![chunked_head(), chunk(text), send("ff\r\ndata: {")],
            "a",
            "cut_stream",
        ),
        fault("ended too early", vec![chunked_head(), chunk(text), chunk("")], "a", "cut_stream"),
        fault("reset", vec![chunked_head(), ServerAction::Reset], "", "cut_stream"),
        fault("closed at once", vec![], "", "cut_stream"),
        fault("no JSON", vec![stream_head(), send(text), send("data: oops\n\n")], "a", "bad_response"),
        fault("no event stream", vec![response("200 OK", "text/html", "<p>Hi</p>")], "", "bad_response"),
        fault("no answer", vec![response("200 OK", "application/json", "{\"a\":1}")], "", "bad_response"),
        StreamFault {
            words: "8 MiB",
            ..fault("a giant line", vec![stream_head(), send(text), send(&giant)], "a", "bad_response")
        },
        fault(
            "an error",
            vec![stream_head(), send(text), send(wire.overloaded), ServerAction::Stall],
            "a",
            "overloaded",
        ),
        StreamFault {
            words: "without saying anything",
            ..fault("no word", vec![stream_head(), send(wire.last), send(wire.end)], "", "empty_answer")
        },
    ]
}

fn silences(wire: &ProtocolSamples) -> Vec<StreamFault> {
    let first_byte = Timeouts { first_byte: SHORT, ..Timeouts::default() };
    let idle = Timeouts { idle: SHORT, ..Timeouts::default() };
    let whole = Timeouts { total: SHORT, ..Timeouts::default() };
    let timeout = |name, acts, timeouts, text, words| StreamFault {
        name,
        acts,
        timeouts,
        text,
        code: "timeout",
        words,
    };
    let begun = || vec![chunked_head(), chunk(wire.text), ServerAction::Stall];
    let endless =
        vec![chunked_head(), chunk(wire.text), ServerAction::Endless("6\r\n: ...\n\r\n".to_owned())];
    vec![
        timeout("no head", vec![ServerAction::Stall], first_byte, "", "did not begin to answer within 30ms"),
        timeout(
            "no body",
            vec![chunked_head(), ServerAction::Stall],
            first_byte,
            "",
            "did not begin to answer within 30ms",
        ),
        timeout("no more", begun(), idle, "a", "did not go on with its answer within 30ms"),
        timeout(
            "only idle",
            vec![chunked_head(), chunk(wire.idle), ServerAction::Stall],
            idle,
            "",
            "did not go on",
        ),
        timeout("no end", begun(), whole, "a", "did not finish its answer within 30ms"),
        timeout(
            "never an end",
            endless,
            Timeouts { total: SHORT * 10, ..whole },
            "a",
            "did not finish its answer",
        ),
    ]
}

#[tokio::test]
async fn a_broken_stream_keeps_its_text_and_is_an_error() {
    for wire in &WIRES {
        for StreamFault { name, acts, timeouts, text, code, words } in
            broken_streams(wire).into_iter().chain(silences(wire))
        {
            let answer = answer(wire, acts, timeouts).await;
            let case = format!("{:?}, {name}: {answer:?}", wire.kind);
            assert_eq!((answer.text.as_str(), answer.code()), (text, Some(code)), "{case}");
            let error = answer.error.unwrap();
            assert!(error.message.contains("`local`") && error.message.contains(words), "{case}");
            assert!(error.hint.is_some(), "{case}");
        }
    }
}

#[tokio::test]
async fn a_break_after_the_last_word_does_no_harm() {
    for wire in &WIRES {
        let cases = [
            ("closed", vec![stream_head(), send(wire.text), send(wire.last)]),
            ("closed in the transfer", vec![chunked_head(), chunk(wire.text), chunk(wire.last)]),
            (
                "left open",
                vec![
                    chunked_head(),
                    chunk(wire.text),
                    chunk(&format!("{}{}", wire.last, wire.end)),
                    ServerAction::Stall,
                ],
            ),
        ];
        for (name, acts) in cases {
            let answer = answer(wire, acts, Timeouts::default()).await;
            let case = format!("{:?}, {name}: {answer:?}", wire.kind);
            assert_eq!(
                (answer.text.as_str(), answer.stop(), answer.code()),
                ("a", "end_turn", None),
                "{case}"
            );
        }
        let timeouts = Timeouts { after_last_word: SHORT, ..Timeouts::default() };
        let open = vec![chunked_head(), chunk(wire.text), chunk(wire.last), ServerAction::Stall];
        let open = answer(wire, open, timeouts).await;
        assert_eq!((open.text.as_str(), open.stop()), ("a", "end_turn"), "{:?}, left open", wire.kind);
    }
}

#[tokio::test]
async fn input_that_is_no_json_is_handed_on_as_it_is() {
    for wire in &WIRES {
        let answer = answer(wire, vec![stream_head(), send(wire.broken_call)], Timeouts::default()).await;
        let call = (Some("c1".to_owned()), "shell".to_owned(), "{\"command\"".to_owned());
        let stop = Some("tool_calls".to_owned());
        assert_eq!(
            answer,
            CollectedAnswer { calls: vec![call], stop, ..CollectedAnswer::default() },
            "{:?}",
            wire.kind
        );
    }
}

#[tokio::test]
async fn statuses_become_codes_and_the_server_is_quoted() {
    let cases = [
        ("302 Found", "http_error"),
        ("400 Bad Request", "bad_request"),
        ("401 Unauthorized", "unauthorized"),
        ("403 Forbidden", "unauthorized"),
        ("404 Not Found", "not_found"),
        ("413 Too Large", "bad_request"),
        ("418 Teapot", "http_error"),
        ("422 Unprocessable", "bad_request"),
        ("429 Too Many Requests", "rate_limited"),
        ("500 Oops", "server_error"),
        ("503 Busy", "overloaded"),
        ("529 Overloaded", "overloaded"),
    ];
    for wire in &WIRES {
        for (status, code) in cases {
            let acts = vec![response(status, "application/json", &wire.error("odd", "the words"))];
            let error = answer(wire, acts, Timeouts::default()).await.error.unwrap();
            assert_eq!(error.code, code, "{:?} {status}", wire.kind);
            let expected = format!("provider `local` answered {}: the words", &status[..3]);
            assert_eq!(error.message, expected, "{:?}", wire.kind);
        }
        let (kind, words) = wire.overflow;
        let acts = vec![response("400 Bad Request", "application/json", &wire.error(kind, words))];
        let error = answer(wire, acts, Timeouts::default()).await.error.unwrap();
        assert_eq!(error.code, "context_overflow", "{:?}", wire.kind);
        assert!(error.hint.unwrap().contains("shorten"), "{:?}", wire.kind);
    }
}

/// Servers put their words in many places.
#[tokio::test]
async fn a_server_is_quoted_wherever_it_puts_its_words() {
    let cases = [
        (r#"{"error":"the words"}"#, "the words"),
        (r#"{"detail":"the words"}"#, "the words"),
        (r#"{"message":"the words"}"#, "the words"),
        ("<h1>the words</h1>", "<h1>the words</h1>"),
        (r#"{"error":{"odd":1}}"#, r#"{"odd":1}"#),
    ];
    for (body, words) in cases {
        let acts = vec![response("400 Bad", "application/json", body)];
        let error = answer(&WIRES[0], acts, Timeouts::default()).await.error.unwrap();
        assert_eq!(error.message, format!("provider `local` answered 400: {words}"));
    }
    let empty = answer(&WIRES[0], vec![response("400 Bad", "text/plain", "")], Timeouts::default()).await;
    assert_eq!(empty.error.unwrap().message, "provider `local` answered 400");
    let half = vec![send("HTTP/1.1 500 Oops\r\ncontent-length: 99\r\n\r\nhalf"), ServerAction::Stall];
    let half = answer(&WIRES[0], half, Timeouts { idle: SHORT, ..Timeouts::default() }).await;
    assert_eq!(half.error.unwrap().message, "provider `local` answered 500: half");
}

#[tokio::test]
async fn an_error_says_what_to_do() {
    for wire in &WIRES {
        for status in ["401 No", "403 No"] {
            let refused = wire.error("authentication_error", &format!("wrong key {KEY}"));
            let acts = vec![response(status, "application/json", &refused)];
            let error = answer(wire, acts, Timeouts::default()).await.error.unwrap();
            assert!(error.message.ends_with("wrong key [secret]"), "{}", error.message);
            assert!(error.hint.unwrap().contains("local"), "{:?} {status}", wire.kind);
        }
        for status in ["429 Slow", "529 Overloaded"] {
            let limited = format!("HTTP/1.1 {status}\r\nretry-after: 17\r\ncontent-length: 0\r\n\r\n");
            let error = answer(wire, vec![send(&limited)], Timeouts::default()).await.error.unwrap();
            assert_eq!(error.retry_after, Some(Duration::from_secs(17)), "{:?} {status}", wire.kind);
            assert!(error.hint.unwrap().contains("17"), "{:?} {status}", wire.kind);
        }
        let html = vec![response("200 OK", "text/html", "<p>Welcome</p>")];
        let hint = answer(wire, html, Timeouts::default()).await.error.unwrap().hint.unwrap();
        assert!(hint.contains("base_url"), "{:?}: {hint}", wire.kind);
    }
}

#[tokio::test]
async fn a_servers_words_are_cut_and_hold_no_key() {
    let body = format!("wrong key {KEY}\r\n\u{7} {}", "x".repeat(100_000));
    for wire in &WIRES {
        let acts = vec![response("400 Bad", "text/plain", &body)];
        let message = answer(wire, acts, Timeouts::default()).await.error.unwrap().message;
        assert!(message.contains("wrong key [secret]") && !message.contains(KEY), "{message}");
        assert!(message.chars().count() <= 501 && !message.contains(char::is_control), "{message}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    for wire in &WIRES {
        let mut elsewhere = MisbehavingServer::start(vec![]).await;
        let head =
            format!("HTTP/1.1 307 Go\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", elsewhere.base_url);
        let answer = answer(wire, vec![send(&head)], Timeouts::default()).await;
        assert_eq!(answer.code(), Some("http_error"));
        let hint = answer.error.unwrap().hint.unwrap();
        assert!(hint.contains("base_url") && hint.ends_with("which is on 127.0.0.1"), "{hint}");
        assert!(elsewhere.seen.try_recv().is_err(), "the key was sent to another host");
    }
}

#[tokio::test]
async fn nobody_listening_is_told_with_the_address() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    for wire in &WIRES {
        let answer = ask(&model_of(wire.kind, &base_url, Timeouts::default())).await;
        assert_eq!(answer.code(), Some("unreachable"));
        assert!(answer.error.unwrap().message.contains(&base_url));
    }
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    for wire in &WIRES {
        let mut server =
            MisbehavingServer::start(vec![chunked_head(), chunk(wire.text), ServerAction::Stall]).await;
        let model = model_of(wire.kind, &server.base_url, Timeouts::default());
        let mut stream = model.stream(request(vec![user("hi")], &[]));
        let mut next = stream.next().await;
        if matches!(next, Some(Ok(ModelEvent::Usage(_)))) {
            next = stream.next().await;
        }
        assert_eq!(next, Some(Ok(ModelEvent::Text("a".to_owned()))));
        server.request().await;
        drop(stream);
        assert!(matches!(server.seen.recv().await, Some(ServerObservation::Closed)));
    }
}

#[tokio::test]
async fn nothing_is_sent_before_the_stream_is_polled() {
    for wire in &WIRES {
        let mut server = MisbehavingServer::start(vec![]).await;
        let model = model_of(wire.kind, &server.base_url, Timeouts::default());
        drop(model.stream(request(vec![user("hi")], &[])));
        assert!(server.seen.try_recv().is_err());
    }
}

/// The usages that a stream of these acts tells, and what came last.
async fn usages(
    wire: &ProtocolSamples,
    acts: Vec<ServerAction>,
) -> (Vec<(u64, u64)>, Result<ModelEvent, ModelError>) {
    let server = MisbehavingServer::start(acts).await;
    let model = model_of(wire.kind, &server.base_url, Timeouts::default());
    let mut events: Vec<_> = model.stream(request(vec![user("hi")], &[])).collect().await;
    let last = events.pop().unwrap();
    let usages = events.iter().filter_map(|event| match event {
        Ok(ModelEvent::Usage(usage)) => Some((usage.input_tokens, usage.output_tokens)),
        _ => None,
    });
    (usages.collect(), last)
}

#[tokio::test]
async fn usage_is_told_when_it_comes_and_the_last_is_the_whole() {
    for wire in &WIRES {
        let acts = vec![stream_head(), send(wire.text), send(wire.last), send(wire.end)];
        let (told, end) = usages(wire, acts).await;
        assert_eq!((told.last(), end.is_ok()), (Some(&(3, 1)), true), "{:?}", wire.kind);
    }
    let cut = usages(&WIRES[2], vec![stream_head(), send(WIRES[2].text)]).await;
    assert_eq!((cut.0, cut.1.unwrap_err().code), (vec![(3, 0)], "cut_stream"), "what a cut answer cost");
}
