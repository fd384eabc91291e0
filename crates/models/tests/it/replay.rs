//! Recordings: what was recorded over a real connection answers the same again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::StreamExt;
use jiff::Timestamp;
use ostler_models::{Model, ModelError, ModelEvent, ModelRequest, ProviderKind, ReplayModel, Timeouts};
use ostler_recorder::RawWriter;
use ostler_types::{Clock, Message, Part, Role};
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;

use crate::conversation::{assistant, call, message, read, request, result, user};
use crate::server::{KEY, MisbehavingServer, ServerAction, model_of, response, stream_head};

type Piece = Result<ModelEvent, ModelError>;

fn send(text: &str) -> ServerAction {
    ServerAction::Send(text.to_owned())
}

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn uuid(&self) -> Uuid {
        unreachable!("nothing here needs an id")
    }
}

/// A session's folder with its recording.
struct Session(TempDir);

impl Session {
    fn new() -> Session {
        Session(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("raw.jsonl")
    }

    /// Asks a server, and adds what goes over the wire to the recording.
    async fn record(
        &self,
        kind: ProviderKind,
        acts: Vec<ServerAction>,
        messages: &[Arc<Message>],
    ) -> Vec<Piece> {
        let server = MisbehavingServer::start(acts).await;
        let writer = RawWriter::open(self.file(), Arc::new(FixedClock)).unwrap();
        let system = Some("Be brief.".to_owned());
        let request =
            ModelRequest { raw: Some(writer.sink()), system, ..request(messages.to_vec(), &["ls"]) };
        model_of(kind, &server.base_url, Timeouts::default()).stream(request).collect().await
    }

    fn replay(&self) -> ReplayModel {
        ReplayModel::load(&self.file()).unwrap()
    }
}

async fn ask(replay: &ReplayModel, messages: &[Arc<Message>]) -> Vec<Piece> {
    replay.stream(request(messages.to_vec(), &[])).collect().await
}

/// The same but for what depends on the provider: its name, and what can be done about its key.
fn placeless(pieces: Vec<Piece>) -> Vec<Piece> {
    let words = |text: String| text.replace("`replay`", "`local`");
    let place = |error: ModelError| ModelError { message: words(error.message), hint: None, ..error };
    pieces.into_iter().map(|piece| piece.map_err(place)).collect()
}

fn stream_of(kind: ProviderKind, text: &str, call: bool) -> String {
    match kind {
        ProviderKind::OpenAiChat => {
            let call = if call {
                r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"ls","arguments":"{}"}}]}}]}"#
            } else {
                ": none"
            };
            let reason = if call.starts_with("data") { "tool_calls" } else { "stop" };
            format!(
                "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n{call}\n\n\
                 data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\ndata: [DONE]\n\n"
            )
        }
        ProviderKind::OpenAiResponses => {
            let call = if call {
                r#"data: {"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"f","call_id":"c1","name":"ls","arguments":"{}","status":"completed"}}"#
            } else {
                ": none"
            };
            format!(
                "data: {{\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"delta\":\"{text}\"}}\n\n{call}\n\n\
                 data: {{\"type\":\"response.completed\",\"response\":{{\"status\":\"completed\",\"output\":[]}}}}\n\n"
            )
        }
        ProviderKind::Anthropic => {
            let (call, reason) = if call {
                let call = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"ls\",\"input\":{}}}\n\n\
                            event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}";
                (call, "tool_use")
            } else {
                (": none", "end_turn")
            };
            format!(
                "event: content_block_start\ndata: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"text\",\"text\":\"\"}}}}\n\n\
                 event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}\n\n\
                 event: content_block_stop\ndata: {{\"type\":\"content_block_stop\",\"index\":0}}\n\n{call}\n\n\
                 event: message_delta\ndata: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"{reason}\"}}}}\n\n\
                 event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n"
            )
        }
        ProviderKind::Replay => unreachable!("a recording speaks one of the others"),
    }
}

const KINDS: [ProviderKind; 3] =
    [ProviderKind::OpenAiChat, ProviderKind::OpenAiResponses, ProviderKind::Anthropic];

#[tokio::test]
async fn a_session_answers_the_same_again_by_every_protocol() {
    for kind in KINDS {
        let session = Session::new();
        let first = vec![user("look  around"), user("please")];
        let calls = message(Role::Assistant, vec![Part::text("I look"), call("c1", "ls", json!({}))]);
        let second = [first.clone(), vec![calls, result("c1", "ls", true, "here")]].concat();
        let third = [second.clone(), vec![assistant("done"), user("again")]].concat();
        let asked = [(&first, "I look", true), (&second, "done", false), (&third, "more", false)];
        let mut answers = Vec::new();
        for (messages, text, call) in asked {
            let acts = vec![stream_head(), send(&stream_of(kind, text, call))];
            let pieces = session.record(kind, acts, messages).await;
            assert!(pieces.iter().all(Result::is_ok) && pieces.len() >= 2, "{kind:?}: {pieces:?}");
            answers.push(pieces);
        }
        let replay = session.replay();
        // In any order and as often as wanted, as nothing is kept between two requests.
        for (messages, answer) in [(&third, 2), (&first, 0), (&second, 1), (&first, 0)] {
            assert_eq!(ask(&replay, messages).await, answers[answer], "{kind:?}");
        }
        let elsewhere = [&first[..], &[assistant("I look"), result("c1", "ls", false, "gone")]].concat();
        assert_eq!(ask(&replay, &elsewhere).await, answers[1], "what tools say may differ");
        let reworded = vec![user("something else")];
        assert_eq!(ask(&replay, &reworded).await, answers[0], "by place, where nothing else fits");
    }
}

#[tokio::test]
async fn errors_are_what_they_were() {
    let error = r#"{"type":"error","error":{"type":"x","message":"the words"}}"#;
    let bodies = [
        response("400 Bad", "application/json", error),
        response("401 No", "application/json", error),
        response("429 Slow", "application/json", error),
        response("500 Oops", "text/plain", "oops"),
        response("200 OK", "application/json", error),
        response("200 OK", "application/json", "{}"),
        response("200 OK", "text/event-stream", ""),
        response("200 OK", "text/event-stream", "data: oops\n\n"),
    ];
    for kind in KINDS {
        let whole = stream_of(kind, "a", true);
        let cut = whole.rfind("\n\ndata: ").or(whole.rfind("\n\nevent: ")).unwrap();
        let cut = &whole[..whole[..cut].rfind("\n\n").unwrap() + 2];
        let streams = [vec![stream_head(), send(cut)], vec![]];
        for acts in bodies.iter().map(|body| vec![body.clone()]).chain(streams) {
            let session = Session::new();
            let said = [user("hi")];
            let pieces = session.record(kind, acts.clone(), &said).await;
            assert!(pieces.last().unwrap().is_err(), "{kind:?} {acts:?}: {pieces:?}");
            let again = ask(&session.replay(), &said).await;
            assert_eq!(codes(&again), codes(&pieces), "{kind:?} {acts:?}");
            let is_cut = codes(&pieces).last().is_some_and(|code| code == "cut_stream");
            if !is_cut {
                assert_eq!(placeless(again), placeless(pieces), "{kind:?} {acts:?}");
            }
        }
    }
}

/// The events, and the code of the error.
fn codes(pieces: &[Piece]) -> Vec<String> {
    let brief = |piece: &Piece| match piece {
        Ok(event) => format!("{event:?}"),
        Err(error) => error.code.to_owned(),
    };
    pieces.iter().map(brief).collect()
}

#[tokio::test]
async fn what_was_asked_again_answers_as_it_did_at_last() {
    let (session, kind, said) = (Session::new(), ProviderKind::Anthropic, [user("hi")]);
    session.record(kind, vec![response("529 Busy", "text/plain", "busy")], &said).await;
    session.record(kind, vec![response("503 Busy", "text/plain", "busy")], &said).await;
    let answer = session.record(kind, vec![stream_head(), send(&stream_of(kind, "a", false))], &said).await;
    let next = [user("hi"), assistant("a"), user("more")];
    let more = session.record(kind, vec![stream_head(), send(&stream_of(kind, "b", false))], &next).await;
    let replay = session.replay();
    assert_eq!(ask(&replay, &said).await, answer);
    assert_eq!(
        ask(&replay, &[user("other"), assistant("words"), user("here")]).await,
        more,
        "attempts count once"
    );
    let exhausted =
        read(replay.stream(request([&next[..], &[assistant("b"), user("on")]].concat(), &[]))).await;
    let error = exhausted.error.unwrap();
    assert_eq!(error.code, "replay_exhausted");
    assert!(error.message.contains("2 answers") && error.message.contains("`on`"), "{}", error.message);
    assert!(error.message.contains("4 exchanges"), "{}", error.message);
}

#[test]
fn a_recording_that_cannot_be_used_says_why() {
    let cases = [
        ("oops\n", "line 1"),
        ("\n{\"type\":\"response\",\"status\":200,\"body\":\"\"}\n", "line 2"),
        ("{\"type\":\"request\",\"endpoint\":\"x\",\"payload\":{}}\n{\"type\":\"new\"}\n", "line 2"),
        (
            "{\"type\":\"request\",\"endpoint\":\"x\",\"payload\":{}}\n{\"type\":\"response\",\"status\":7,\"body\":\"\"}\n",
            "line 2",
        ),
    ];
    for (text, words) in cases {
        let error = ReplayModel::parse(text).err().unwrap();
        assert_eq!(error.code, "bad_recording");
        assert!(error.message.contains(words), "{text}: {}", error.message);
    }
    let error = ReplayModel::load(Path::new("/nowhere/raw.jsonl")).err().unwrap();
    assert!(error.message.contains("/nowhere/raw.jsonl"));
}

#[tokio::test]
async fn an_answer_with_holes_is_no_answer() {
    for line in [r#"{"type":"dropped","count":3}"#, r#"{"type":"stopped","reason":"full"}"#] {
        let text = format!(
            "{{\"type\":\"request\",\"endpoint\":\"x\",\"payload\":{{}}}}\n{{\"type\":\"response\",\"status\":200,\"body\":\"\"}}\n{line}\n"
        );
        let answer = read(ReplayModel::parse(&text).unwrap().stream(request(vec![user("hi")], &[]))).await;
        assert_eq!(answer.code(), Some("bad_recording"));
    }
}

/// No byte of a key may reach the disk, whatever the server does with it.
#[tokio::test]
async fn a_recording_holds_no_key() {
    let escaped: String = KEY.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let echo = format!(
        "HTTP/1.1 200 OK\r\nx-echo: {KEY}\r\nset-cookie: {KEY}\r\nconnection: close\r\n\r\n\
         event: {KEY}\ndata: {{\"choices\":[{{\"delta\":{{\"content\":\"{KEY} {escaped}\"}}}}]}}\n\ndata: {KEY}\n\n"
    );
    let error = format!("{{\"error\":{{\"message\":\"{KEY} and {escaped}\"}}}}");
    let session = Session::new();
    for acts in [vec![send(&echo)], vec![response("401 No", "application/json", &error)]] {
        session.record(ProviderKind::OpenAiChat, acts, &[user(&format!("my key is {KEY}"))]).await;
    }
    let text = std::fs::read_to_string(session.file()).unwrap();
    assert_eq!(text.lines().count(), 6, "{text}");
    assert!(!text.contains(KEY) && !text.contains(&escaped), "{text}");
    for line in text.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        assert!(!value.to_string().contains(&KEY[..10]), "{line}");
    }
}
