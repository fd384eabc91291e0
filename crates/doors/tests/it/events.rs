//! A session's event stream: the framing to the byte, cursors, filters, and how a stream ends.

use serde_json::{Value, json};

use crate::daemon::DoorTestDaemon;
use crate::stream::{SseTestStream, data, is_named};

/// A session in which one turn has run to its end.
async fn session_with_turn(daemon: &DoorTestDaemon) -> String {
    let session = daemon.session().await;
    daemon.say(&session, "hellö\u{2028}\u{2029}\r\nthere").await;
    daemon.until(&session, "turn_completed").await;
    session
}

fn events(session: &str, query: &str) -> String {
    format!("/v1/sessions/{session}/events?{query}")
}

/// The SSE frame of a line of the log.
fn framed(line: &str) -> String {
    let record: Value = serde_json::from_str(line).unwrap();
    format!("id: {}\ndata: {line}\n\n", record["seq"])
}

/// The same, for a client that wants the name in a line of its own.
fn named_frame(line: &str) -> String {
    let record: Value = serde_json::from_str(line).unwrap();
    format!("id: {}\nevent: {}\ndata: {line}\n\n", record["seq"], record["type"].as_str().unwrap())
}

#[tokio::test]
async fn history_is_the_log_itself_framed() {
    let daemon = DoorTestDaemon::start().await;
    let session = session_with_turn(&daemon).await;
    let log = daemon.log(&session);
    let names: Vec<Value> =
        log.iter().map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].clone()).collect();
    let expected = [
        "session_created",
        "message_added",
        "turn_started",
        "model_output_completed",
        "usage_recorded",
        "turn_completed",
    ];
    assert_eq!(names, expected);
    let answer = daemon.get(&events(&session, "follow=false")).await;
    assert_eq!(answer.head.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.head.header("x-accel-buffering"), Some("no"));
    assert_eq!(answer.text(), log.iter().map(|line| framed(line)).collect::<String>());
    let named = daemon.get(&events(&session, "follow=false&named=true")).await;
    assert_eq!(named.text(), log.iter().map(|line| named_frame(line)).collect::<String>());
}

#[tokio::test]
async fn as_lines_history_is_the_log_itself() {
    let daemon = DoorTestDaemon::start().await;
    let session = session_with_turn(&daemon).await;
    let expected = daemon.log(&session).join("\n") + "\n";
    for accept in ["application/x-ndjson", "text/html, Application/X-NDJSON;q=0.9, */*"] {
        let request = daemon.request("GET", &events(&session, "follow=false")).add("accept", accept);
        let answer = daemon.send(&request).await;
        assert_eq!(answer.head.header("content-type"), Some("application/x-ndjson"));
        assert_eq!(answer.text(), expected);
    }
    let request =
        daemon.request("GET", &events(&session, "follow=false")).add("accept", "text/event-stream, */*");
    assert_eq!(daemon.send(&request).await.head.header("content-type"), Some("text/event-stream"));
}

#[tokio::test]
async fn a_cursor_goes_on_where_it_says() {
    let daemon = DoorTestDaemon::start().await;
    let session = session_with_turn(&daemon).await;
    let log = daemon.log(&session);
    for after in 0..=log.len() {
        let expected: String = log[after..].iter().map(|line| framed(line)).collect();
        let answer = daemon.get(&events(&session, &format!("follow=false&after={after}"))).await;
        assert_eq!(answer.text(), expected, "after {after}");
        // The header is what a browser sends when it reconnects to the same address, so it is newer.
        let request = daemon.request("GET", &events(&session, "follow=false&after=1"));
        let answer = daemon.send(&request.add("last-event-id", &after.to_string())).await;
        assert_eq!(answer.text(), expected, "last-event-id {after}");
    }
    let request = daemon.request("GET", &events(&session, "follow=false&after=5")).add("last-event-id", "");
    assert_eq!(daemon.send(&request).await.text(), framed(&log[5]));
}

#[tokio::test]
async fn a_cursor_that_is_none_is_refused() {
    let daemon = DoorTestDaemon::start().await;
    let session = session_with_turn(&daemon).await;
    let last = daemon.log(&session).len();
    for after in [last as u64 + 1, u64::MAX] {
        let answer = daemon.get(&events(&session, &format!("after={after}"))).await;
        assert_eq!((answer.status(), answer.code().as_str()), (422, "cursor_ahead"));
        let request =
            daemon.request("GET", &events(&session, "after=0")).add("last-event-id", &after.to_string());
        assert_eq!(daemon.send(&request).await.status(), 422);
    }
    for id in ["x", "-1", "+1", "1.0", "0x1", "1 2", "18446744073709551616"] {
        let request = daemon.request("GET", &events(&session, "")).add("last-event-id", id);
        let answer = daemon.send(&request).await;
        assert_eq!((answer.status(), answer.code().as_str()), (400, "bad_cursor"), "{id}");
    }
}

#[tokio::test]
async fn only_the_named_types_are_shown() {
    let daemon = DoorTestDaemon::start().await;
    let session = session_with_turn(&daemon).await;
    let log = daemon.log(&session);
    let answer =
        daemon.get(&events(&session, "follow=false&types=turn_started,%20turn_completed,nothing")).await;
    assert_eq!(answer.text(), framed(&log[2]) + &framed(&log[5]));
    assert_eq!(daemon.get(&events(&session, "follow=false&types=nothing")).await.text(), "");
}

#[tokio::test]
async fn an_idle_stream_says_at_once_that_it_is_there() {
    let daemon = DoorTestDaemon::start().await;
    let session = session_with_turn(&daemon).await;
    let heartbeat = |seq: u64| {
        let data = json!({"type": "heartbeat", "session_id": session, "data": {"last_seq": seq}});
        format!("data: {data}\n\n")
    };
    let mut stream = daemon.follow(&events(&session, "after=6")).await;
    assert_eq!(stream.frame().await, Some(heartbeat(6)));
    let mut stream = daemon.follow(&events(&session, "after=6&named=true")).await;
    assert_eq!(stream.frame().await, Some(format!("event: heartbeat\n{}", heartbeat(6))));
    // Also when all that there was has been filtered out, and as a line.
    let mut stream = daemon.follow(&events(&session, "types=nothing")).await;
    assert_eq!(stream.frame().await, Some(heartbeat(6)));
    let request = daemon.request("GET", &events(&session, "after=6")).add("accept", "application/x-ndjson");
    let mut stream = SseTestStream::open(daemon.connect().await, &request).await;
    let line: Value = serde_json::from_str(&stream.line().await.unwrap()).unwrap();
    assert_eq!(line, json!({"type": "heartbeat", "session_id": session, "data": {"last_seq": 6}}));
}

#[tokio::test]
async fn history_goes_over_into_what_happens_now() {
    let daemon = DoorTestDaemon::start().await;
    let session = session_with_turn(&daemon).await;
    let request = daemon.request("GET", &events(&session, "after=2"));
    let mut streams = [
        SseTestStream::open(daemon.connect().await, &request).await,
        SseTestStream::open(daemon.connect().await, &request).await,
    ];
    for stream in &mut streams {
        stream.until("turn_completed").await;
    }
    daemon.say(&session, "and again").await;
    let mut seen = Vec::new();
    for stream in &mut streams {
        let mut frames = Vec::new();
        while !frames.last().is_some_and(|frame: &String| is_named(frame, "turn_completed")) {
            frames.push(stream.frame().await.unwrap());
        }
        seen.push(frames);
    }
    let log = daemon.log(&session);
    for frames in &seen {
        let records: Vec<&String> = frames.iter().filter(|frame| frame.starts_with("id: ")).collect();
        let expected: Vec<String> = log[6..].iter().map(|line| framed(line)).collect();
        assert_eq!(records, expected.iter().collect::<Vec<_>>());
        assert!(frames.iter().any(|frame| is_named(frame, "model_output_delta")));
    }
    assert_eq!(seen[0], seen[1], "two who look on see the same");
}

#[tokio::test]
async fn deltas_have_no_id_and_can_be_spliced() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let mut early = daemon.follow(&events(&session, "types=model_output_delta,model_output_completed")).await;
    assert!(is_named(&early.frame().await.unwrap(), "heartbeat"));
    let (_, turn) = daemon.say(&session, "wait").await;
    let mut text = String::new();
    while text != "half of an änswer" {
        let frame = early.frame().await.unwrap();
        assert!(frame.starts_with("data: {\"ts\":\""), "{frame}");
        assert_eq!(frame.lines().count(), 2, "{frame}");
        let delta = data(&frame);
        assert_eq!((&delta["session_id"], &delta["turn_id"]), (&json!(session), &json!(turn)));
        assert_eq!(delta["type"], "model_output_delta");
        assert_eq!(delta["data"]["part"], 0);
        assert!(delta.get("seq").is_none() && delta.get("chain").is_none(), "{delta}");
        splice(&mut text, &delta);
    }
    // Who comes late gets what has been said so far in one piece.
    let mut late = daemon.follow(&events(&session, "types=model_output_delta")).await;
    let mut late_text = String::new();
    splice(&mut late_text, &late.until("model_output_delta").await);
    assert_eq!(late_text, text);
    daemon.gate.add_permits(1);
    let whole = early.until("model_output_completed").await;
    let whole = whole["data"]["message"]["parts"][0]["text"].as_str().unwrap().to_owned();
    assert!(whole.starts_with(&text), "{whole}");
    // A finished message is in the log; its deltas are not shown again, and nowhere recorded.
    daemon.until(&session, "turn_completed").await;
    let answer = daemon.get(&events(&session, "follow=false")).await;
    assert!(!answer.text().contains("_delta"));
}

fn splice(text: &mut String, delta: &Value) {
    let offset = usize::try_from(delta["data"]["offset"].as_u64().unwrap()).unwrap();
    text.truncate(offset);
    assert_eq!(text.len(), offset, "a hole before {delta}");
    text.push_str(delta["data"]["text"].as_str().unwrap());
}

#[tokio::test]
async fn follow_false_does_not_wait_for_a_running_turn() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    daemon.say(&session, "wait").await;
    daemon.until(&session, "model_output_delta").await;
    let answer = daemon.get(&events(&session, "follow=false")).await;
    let records: String = daemon.log(&session).iter().map(|line| framed(line)).collect();
    assert!(answer.text().starts_with(&records));
}

#[tokio::test]
async fn a_stopping_daemon_shows_how_the_turn_ended_and_ends_the_stream() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    daemon.say(&session, "wait").await;
    let mut stream = daemon.follow(&events(&session, "")).await;
    let mut all = daemon.follow("/v1/events").await;
    stream.until("model_output_delta").await;
    let socket = daemon.socket();
    let dir = daemon.stop().await;
    let canceled = stream.until("turn_canceled").await;
    assert_eq!(canceled["data"]["by"], "daemon");
    stream.until("session_canceled").await;
    assert_eq!(stream.frame().await, None);
    while all.frame().await.is_some() {}
    assert!(!crate::daemon::exists(&socket));
    drop(dir);
}

#[tokio::test]
async fn a_removed_session_ends_its_streams() {
    let daemon = DoorTestDaemon::start().await;
    let session = session_with_turn(&daemon).await;
    let mut stream = daemon.follow(&events(&session, "after=6")).await;
    assert!(is_named(&stream.frame().await.unwrap(), "heartbeat"));
    assert_eq!(daemon.delete(&format!("/v1/sessions/{session}?purge=true")).await.status(), 200);
    stream.until("session_completed").await;
    assert_eq!(stream.frame().await, None);
}

#[tokio::test]
async fn a_stream_works_on_the_socket_too() {
    let daemon = DoorTestDaemon::start().await;
    let session = session_with_turn(&daemon).await;
    let request = daemon.request("GET", &events(&session, "")).set("host", "localhost");
    let connection = crate::raw_http::RawConnection::unix(&daemon.socket()).await;
    let mut stream = SseTestStream::open(connection, &request).await;
    for line in daemon.log(&session) {
        assert_eq!(stream.frame().await, Some(framed(&line)));
    }
}
