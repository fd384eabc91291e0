//! The event stream: framing, and coming back after a break without a gap or a duplicate.

use std::time::Duration;

use futures_util::StreamExt;
use ostler_client::{Backoff, ClientError, EventLine, EventStream};
use ostler_types::SessionId;

use crate::canned_server::{CannedServer, json, ndjson, ndjson_cut};

const SESSION: &str = "sess_0190f3c4a5b67c8d9e0f112233445566";
const DELTA: &str = r#"{"seq":null,"type":"model_output_delta","data":{"offset":0,"text":"é"}}"#;
const HEARTBEAT: &str = r#"{"type":"heartbeat","data":{}}"#;

fn session_id() -> SessionId {
    SESSION.parse().unwrap()
}

fn record(seq: u64) -> String {
    format!("{{\"seq\":{seq},\"type\":\"turn_started\",\"data\":{{\"text\":\"ü\u{2028}😀\"}}}}")
}

fn body(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| [*line, "\n"]).collect()
}

fn quick(tries: u32) -> Backoff {
    Backoff { first: Duration::from_millis(1), longest: Duration::from_millis(1), tries }
}

async fn collect(stream: EventStream) -> Vec<Result<EventLine, ClientError>> {
    stream.collect().await
}

/// The seqs up to the first error, and that error.
async fn seqs_and_error(stream: EventStream) -> (Vec<Option<u64>>, Option<ClientError>) {
    let (mut seqs, mut error) = (Vec::new(), None);
    for line in collect(stream).await {
        match line {
            Ok(line) => seqs.push(line.seq),
            Err(failure) => error = Some(failure),
        }
    }
    (seqs, error)
}

#[tokio::test]
async fn lines_are_whole_wherever_the_stream_is_cut() {
    let (one, two) = (record(1), record(2));
    let stream = body(&[&one, DELTA, HEARTBEAT, "", &two]);
    // Without its LF the last line still counts.
    let stream = stream.trim_end_matches('\n');
    let answers = (1..=stream.len()).map(|size| ndjson(stream, size)).collect::<Vec<_>>();
    let sizes = answers.len();
    let server = CannedServer::tcp(answers).await;
    let client = server.client(None).await;
    for size in 1..=sizes {
        let lines = collect(client.events(session_id(), 0, false).await.unwrap()).await;
        let raw: Vec<String> = lines.into_iter().map(|line| line.unwrap().raw).collect();
        assert_eq!(raw, [one.as_str(), DELTA, two.as_str()], "chunks of {size} bytes");
    }
}

#[tokio::test]
async fn an_export_asks_for_the_history_as_lines() {
    let server = CannedServer::unix(vec![ndjson(&body(&[&record(1)]), 7)]).await;
    let lines = collect(server.client(Some("t")).await.export(session_id()).await.unwrap()).await;
    let line = lines[0].as_ref().unwrap();
    assert_eq!((line.seq, line.name.as_str()), (Some(1), "turn_started"));
    let request = server.requests().await.remove(0);
    assert!(
        request.starts_with(&format!("GET /v1/sessions/{SESSION}/events?after=0&follow=false HTTP/1.1\r\n"))
    );
    assert!(request.contains("\r\naccept: application/x-ndjson\r\n"), "{request}");
}

#[tokio::test]
async fn a_break_is_bridged_with_the_cursor_and_nothing_comes_twice() {
    let [one, two, three, four] = [1, 2, 3, 4].map(record);
    let half = body(&[&one, &two, DELTA]) + &three[..10];
    let gone =
        json("404 Not Found", r#"{"error":{"code":"session_not_found","message":"gone","hint":null}}"#);
    let busy =
        json("503 Service Unavailable", r#"{"error":{"code":"stopping","message":"stopping","hint":null}}"#);
    let server = CannedServer::tcp(vec![
        ndjson_cut(&half, 11),
        busy,
        ndjson(&body(&[&two, DELTA, &three, HEARTBEAT]), 5),
        ndjson(&body(&[&four]), 1000),
        gone,
    ])
    .await;
    let client = server.client(None).await.with_backoff(quick(3));

    let (seqs, error) = seqs_and_error(client.events_resuming(session_id(), 0).await.unwrap()).await;
    assert_eq!(seqs, [Some(1), Some(2), None, None, Some(3), Some(4)]);
    assert!(matches!(error, Some(ClientError::Refused { status: 404, .. })), "{error:?}");

    let cursors: Vec<String> = server
        .requests()
        .await
        .iter()
        .map(|request| request.split_once("?after=").unwrap().1.split(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(
        cursors,
        ["0&follow=true", "2&follow=true", "2&follow=true", "3&follow=true", "4&follow=true"]
    );
}

#[tokio::test]
async fn a_stream_that_ends_within_a_line_is_a_break_and_not_an_event() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\n\r\n";
    let cut = format!("{head}{}\n{}", record(1), &record(2)[..12]).into_bytes();
    let server = CannedServer::tcp(vec![cut.clone()]).await;
    let (seqs, error) =
        seqs_and_error(server.client(None).await.events(session_id(), 0, true).await.unwrap()).await;
    assert_eq!(seqs, [Some(1)]);
    assert!(matches!(error, Some(ClientError::Unreachable { .. })), "{error:?}");
}

#[tokio::test]
async fn a_daemon_that_stays_away_is_given_up_with_a_clear_text() {
    let server = CannedServer::tcp(vec![ndjson(&body(&[&record(6)]), 9)]).await;
    let client = server.client(None).await.with_backoff(quick(4));
    let (seqs, error) = seqs_and_error(client.events_resuming(session_id(), 5).await.unwrap()).await;
    assert_eq!(seqs, [Some(6)]);
    let text = error.unwrap().to_string();
    assert!(text.contains("gave up after 4 tries") && text.contains("ostler serve"), "{text}");
}

#[tokio::test]
async fn a_hole_in_the_records_is_reported() {
    let server = CannedServer::tcp(vec![ndjson(&body(&[&record(1), &record(3)]), 100)]).await;
    let (seqs, error) =
        seqs_and_error(server.client(None).await.events_resuming(session_id(), 0).await.unwrap()).await;
    assert_eq!(seqs, [Some(1)]);
    assert_eq!(error, Some(ClientError::Protocol("record 3 came where record 2 should be".to_owned())));
}

#[tokio::test]
async fn what_is_not_an_event_stream_is_refused() {
    let html = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi".to_vec();
    let server = CannedServer::tcp(vec![html, ndjson("not json\n", 100)]).await;
    let client = server.client(None).await;
    let error = client.events(session_id(), 0, true).await.err();
    assert!(matches!(error, Some(ClientError::Protocol(_))), "{error:?}");
    let (_, error) = seqs_and_error(client.events(session_id(), 0, true).await.unwrap()).await;
    assert!(matches!(error, Some(ClientError::Protocol(_))), "{error:?}");
}
