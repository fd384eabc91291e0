//! The stream of all sessions: one connection, one cursor.

use serde_json::Value;

use crate::daemon::DoorTestDaemon;
use crate::stream::{SseTestStream, data, is_named};

/// The frames up to an event of this name, that one included.
async fn frames_until(stream: &mut SseTestStream, name: &str) -> Vec<String> {
    let mut frames = Vec::new();
    loop {
        let frame = stream.frame().await.unwrap();
        let last = is_named(&frame, name);
        frames.push(frame);
        if last {
            return frames;
        }
    }
}

fn cursor(frame: &str) -> &str {
    frame.lines().next().unwrap().strip_prefix("id: ").unwrap()
}

fn records(frames: &[String]) -> Vec<&String> {
    frames.iter().filter(|frame| frame.starts_with("id: ")).collect()
}

#[tokio::test]
async fn everything_from_the_start_in_the_order_in_which_it_happened() {
    let daemon = DoorTestDaemon::start().await;
    let (one, two) = (daemon.session().await, daemon.session().await);
    for session in [&one, &two, &one] {
        daemon.say(session, "hello").await;
        daemon.until(session, "turn_completed").await;
    }
    daemon.delete(&format!("/v1/sessions/{two}")).await;
    let mut stream = daemon.follow("/v1/events?after=start").await;
    let frames = frames_until(&mut stream, "session_completed").await;
    for session in [&one, &two] {
        let shown: Vec<String> = records(&frames)
            .iter()
            .filter(|frame| data(frame)["session_id"] == session.as_str())
            .map(|frame| frame.lines().nth(1).unwrap().strip_prefix("data: ").unwrap().to_owned())
            .collect();
        assert_eq!(shown, daemon.log(session), "the lines are those on disk");
    }
    // From each cursor on, exactly the rest.
    for (at, frame) in records(&frames).iter().enumerate() {
        let rest: Vec<String> = records(&frames)[at + 1..].iter().map(|frame| (*frame).clone()).collect();
        let request = daemon.request("GET", "/v1/events?after=start").add("last-event-id", cursor(frame));
        let mut stream = SseTestStream::open(daemon.connect().await, &request).await;
        let mut again = Vec::new();
        while again.len() < rest.len() {
            again.push(stream.frame().await.unwrap());
        }
        assert_eq!(again, rest, "after {}", cursor(frame));
    }
}

#[tokio::test]
async fn without_a_cursor_only_what_is_to_come() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let mut stream = daemon.follow("/v1/events").await;
    let heartbeat = stream.frame().await.unwrap();
    assert!(heartbeat.starts_with("data: {\"type\":\"heartbeat\",\"data\":{\"cursor\":\""), "{heartbeat}");
    daemon.say(&session, "wait").await;
    // Deltas are shown here too, but not always before the record that makes them superfluous.
    let mut frames = frames_until(&mut stream, "model_output_delta").await;
    daemon.gate.add_permits(1);
    frames.extend(frames_until(&mut stream, "turn_completed").await);
    let first = data(records(&frames)[0]);
    assert_eq!(first["type"], "message_added", "what was before is not shown");
    // The heartbeat's cursor is as good as an event's.
    let after = data(&heartbeat)["data"]["cursor"].as_str().unwrap().to_owned();
    let mut again = daemon.follow(&format!("/v1/events?after={after}")).await;
    let again = frames_until(&mut again, "turn_completed").await;
    assert_eq!(records(&again), records(&frames));
}

#[tokio::test]
async fn types_and_lines_as_for_one_session() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    daemon.say(&session, "hello").await;
    daemon.until(&session, "turn_completed").await;
    let request = daemon.request("GET", "/v1/events?after=start&types=turn_started,turn_completed");
    let mut stream =
        SseTestStream::open(daemon.connect().await, &request.add("accept", "application/x-ndjson")).await;
    assert_eq!(stream.head.header("content-type"), Some("application/x-ndjson"));
    let log = daemon.log(&session);
    assert_eq!(stream.line().await.unwrap(), format!("{}\n", log[2]));
    assert_eq!(stream.line().await.unwrap(), format!("{}\n", log[5]));
}

#[tokio::test]
async fn a_cursor_that_is_none_is_refused() {
    let daemon = DoorTestDaemon::start().await;
    daemon.session().await;
    for after in ["x", "-1", "", "%2B1", "1e3", "START", "18446744073709551616"] {
        let answer = daemon.get(&format!("/v1/events?after={after}")).await;
        assert_eq!((answer.status(), answer.code().as_str()), (400, "bad_cursor"), "{after}");
    }
    for after in ["2", "1000000", "18446744073709551615"] {
        let answer = daemon.get(&format!("/v1/events?after={after}")).await;
        assert_eq!((answer.status(), answer.code().as_str()), (422, "cursor_ahead"), "{after}");
    }
}

#[tokio::test]
async fn a_removed_session_leaves_no_hole() {
    let daemon = DoorTestDaemon::start().await;
    let gone = daemon.session().await;
    daemon.delete(&format!("/v1/sessions/{gone}?purge=true")).await;
    let stays = daemon.session().await;
    let mut stream = daemon.follow("/v1/events?after=start&types=session_created").await;
    let first: Value = data(&stream.frame().await.unwrap());
    assert_eq!(first["session_id"], stays.as_str());
}
