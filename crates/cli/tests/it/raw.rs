//! Raw logs of the real daemon: each session's own traffic and nobody else's, and that one can be answered
//! from again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::StreamExt;
use ostler_api_types::{CreateSession, SendMessage, UpdateSession};
use ostler_client::Client;
use ostler_types::{Event, MessageEvent, Record, SessionId};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::process::DaemonProcess;
use crate::raw_server::{RawServer, RawServerReply};

const PIECES: usize = 200;

fn config(server: &RawServer) -> String {
    format!(
        "[models]\ndefault = \"mock:m\"\n[providers.mock]\nkind = \"openai-chat\"\nbase_url = \"http://{}/v1\"\nmodels = [\"m\"]\n",
        server.address
    )
}

async fn session(client: &Client, work: &Path, raw_log: Option<bool>) -> SessionId {
    let workspace_path = work.to_str().unwrap().to_owned();
    client
        .create_session(&CreateSession { workspace_path, raw_log, ..CreateSession::default() })
        .await
        .unwrap()
}

/// Asks, and follows the turn to its end. Gives what was recorded.
async fn turn(client: &Client, id: SessionId, prompt: &str) -> Vec<Event> {
    let after = client.session(id).await.unwrap().last_seq;
    let mut events = client.events(id, after, true).await.unwrap();
    client.send_message(id, &SendMessage::prompt(prompt)).await.unwrap();
    let mut seen = Vec::new();
    loop {
        let line = events.next().await.unwrap().unwrap();
        if line.seq.is_none() {
            continue;
        }
        let record: Record = serde_json::from_str(&line.raw).unwrap();
        let ended = matches!(line.name.as_str(), "turn_completed" | "turn_failed" | "turn_canceled");
        seen.push(record.event);
        if ended {
            return seen;
        }
    }
}

/// What the model said in a turn, calls included, message by message.
fn said(events: &[Event]) -> Vec<Value> {
    let parts = |event: &Event| match event {
        Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => {
            Some(serde_json::to_value(&message.parts).unwrap())
        }
        _ => None,
    };
    events.iter().filter_map(parts).collect()
}

fn file(data: &Path, id: SessionId) -> PathBuf {
    data.join("sessions").join(id.to_string()).join("raw.jsonl")
}

/// Stops a daemon in order, after which all of its files are written.
fn stop(daemon: DaemonProcess) {
    daemon.signal(Signal::TERM);
    assert!(daemon.wait().success());
}

#[tokio::test]
async fn sessions_that_stream_at_once_keep_only_their_own_traffic() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    // Neither of two answers goes on before the other does.
    let together = Arc::new(Barrier::new(2));
    let server = RawServer::start(move |asked| {
        let word = asked.prompt();
        let pieces: Vec<String> = (0..PIECES).map(|n| format!("{word} {n}. ")).collect();
        let together = (word != "gamma").then(|| together.clone());
        RawServerReply { together, ..RawServerReply::chat(&pieces) }
    })
    .await;
    let daemon = DaemonProcess::serve(&data, &config(&server));
    let client = daemon.tcp_client().await;
    let alpha = session(&client, dir.path(), Some(true)).await;
    let beta = session(&client, dir.path(), Some(true)).await;
    let gamma = session(&client, dir.path(), None).await;
    tokio::join!(turn(&client, alpha, "alpha"), turn(&client, beta, "beta"), turn(&client, gamma, "gamma"));
    // A session that no longer records keeps what it has.
    let change = UpdateSession { raw_log: Some(false), ..UpdateSession::default() };
    client.update(beta, &change).await.unwrap();
    turn(&client, beta, "gamma").await;
    stop(daemon);
    for (id, own, others) in [(alpha, "alpha", ["beta", "gamma"]), (beta, "beta", ["alpha", "gamma"])] {
        let text = std::fs::read_to_string(file(&data, id)).unwrap();
        assert!(others.iter().all(|other| !text.contains(other)), "{own} holds what others said");
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
        let chunks = std::iter::repeat_n("stream_chunk", PIECES + 2);
        assert_eq!(kinds, ["request", "response"].into_iter().chain(chunks).collect::<Vec<_>>());
        for (n, line) in lines[2..PIECES + 2].iter().enumerate() {
            assert!(line["chunk"].to_string().contains(&format!("{own} {n}. ")), "{line}");
        }
    }
    assert!(!file(&data, gamma).exists(), "nobody asked for it");
}

#[tokio::test]
async fn a_recording_answers_the_same_conversation_without_a_server() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("stable.txt"), "three horses\n").unwrap();
    let server = RawServer::start(|asked| {
        let asked_for_file = asked.prompt().contains("file");
        let has_result = asked.body["messages"].as_array().unwrap().last().unwrap()["role"] == "tool";
        match (asked_for_file, has_result) {
            (true, false) => RawServerReply::chat_call("call_7", "read_file", &json!({"path": "stable.txt"})),
            (true, true) => RawServerReply::chat(&["There are ".to_owned(), "three.".to_owned()]),
            (false, _) => RawServerReply::chat(&["You are welcome.".to_owned()]),
        }
    })
    .await;
    let prompts = ["Look into the file.", "Thank you."];
    let (first, recorded) = converse(&dir.path().join("first"), &config(&server), prompts, true).await;
    assert_eq!(first.len(), 3, "{first:?}");
    assert_eq!(first[0][0]["name"], "read_file");
    drop(server);
    let again = format!(
        "[models]\ndefault = \"again:recording\"\n[providers.again]\nkind = \"replay\"\nfile = \"{}\"\n",
        recorded.to_str().unwrap()
    );
    let (second, not_recorded) = converse(&dir.path().join("second"), &again, prompts, false).await;
    assert_eq!(second, first);
    assert!(!not_recorded.exists());
    let beyond = ["Look into the file.", "Thank you.", "And how old are they?"];
    let (third, _) = converse(&dir.path().join("third"), &again, beyond, false).await;
    assert_eq!(third.len(), first.len(), "there is nothing more to answer from");
}

/// Holds a conversation with a daemon of its own. Gives what the model said, and where its traffic is kept.
async fn converse<const N: usize>(
    place: &Path,
    config: &str,
    prompts: [&str; N],
    raw_log: bool,
) -> (Vec<Value>, PathBuf) {
    std::fs::create_dir(place).unwrap();
    let data = place.join("data");
    let daemon = DaemonProcess::serve(&data, config);
    let client = daemon.tcp_client().await;
    let id = session(&client, place.parent().unwrap(), Some(raw_log)).await;
    let mut answers = Vec::new();
    for prompt in prompts {
        answers.extend(said(&turn(&client, id, prompt).await));
    }
    stop(daemon);
    (answers, file(&data, id))
}
