//! History plus live while a turn streams: clients that come, go and come back, and one that sleeps.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::StreamExt;
use ostler_api_types::{CreateSession, SendMessage};
use ostler_client::{Client, EventLine};
use ostler_types::SessionId;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::process::DaemonProcess;
use crate::provider::{AnswerPiece, GatedProvider};
use crate::scenario::export;

const CLIENTS: usize = 50;
const PIECES: usize = 400;

async fn session(client: &Client, work: &std::path::Path) -> SessionId {
    let workspace_path = work.to_str().unwrap().to_owned();
    client.create_session(&CreateSession { workspace_path, ..CreateSession::default() }).await.unwrap()
}

/// What one client has of a session: its records by seq, and the text of each message spliced.
#[derive(Default)]
struct ClientScreen {
    records: BTreeMap<u64, String>,
    texts: BTreeMap<String, String>,
}

impl ClientScreen {
    /// Takes one event, and fails on a gap, on a record twice, or on a hole in a text.
    fn take(&mut self, line: &EventLine) {
        if let Some(seq) = line.seq {
            assert_eq!(seq, self.records.len() as u64 + 1, "a gap or a duplicate");
            self.records.insert(seq, line.raw.clone());
        }
        let event: Value = serde_json::from_str(&line.raw).unwrap();
        if line.name == "model_output_delta" {
            let text =
                self.texts.entry(event["data"]["message_id"].as_str().unwrap().to_owned()).or_default();
            let offset = usize::try_from(event["data"]["offset"].as_u64().unwrap()).unwrap();
            assert!(offset <= text.len(), "a hole in the text");
            let more = event["data"]["text"].as_str().unwrap();
            let end = (offset + more.len()).min(text.len());
            assert_eq!(&text[offset..end], &more[..end - offset], "the text changed");
            text.truncate(offset);
            text.push_str(more);
        }
        if line.name == "model_output_completed" {
            let message = &event["data"]["message"];
            let whole = message["parts"][0]["text"].as_str().unwrap();
            let shown = self.texts.entry(message["id"].as_str().unwrap().to_owned()).or_default();
            assert!(whole.starts_with(shown.as_str()), "what was shown is not what was said");
            whole.clone_into(shown);
        }
    }
}

#[tokio::test]
async fn fifty_clients_come_and_go_and_miss_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let provider = GatedProvider::start().await;
    let answer: Vec<AnswerPiece> =
        (0..PIECES).flat_map(|n| [AnswerPiece::Gate, AnswerPiece::Text(format!("piece {n} é\n"))]).collect();
    provider.answer(answer);
    let daemon = DaemonProcess::serve(&dir.path().join("data"), &provider.config());
    let client = daemon.tcp_client().await;
    let id = session(&client, dir.path()).await;
    client.send_message(id, &SendMessage::prompt("go")).await.unwrap();
    // Each client lets some of the answer through as it goes, so that all of them overlap with it.
    let watchers: Vec<_> = (0..CLIENTS)
        .map(|n| tokio::spawn(watch(client.clone(), id, n as u64 + 1, provider.gate.clone())))
        .collect();
    let mut screens = Vec::new();
    for watcher in watchers {
        screens.push(watcher.await.unwrap());
    }
    let records = export(&client, id).await;
    let expected: String = (0..PIECES).map(|n| format!("piece {n} é\n")).collect();
    for screen in screens {
        assert_eq!(screen.records.into_values().collect::<Vec<_>>(), records);
        assert_eq!(screen.texts.into_values().collect::<Vec<_>>(), std::slice::from_ref(&expected));
    }
}

/// Follows a session to the end of its turn, dropping the connection at random places.
async fn watch(client: Client, id: SessionId, seed: u64, gate: Arc<Semaphore>) -> ClientScreen {
    let mut screen = ClientScreen::default();
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    loop {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        gate.add_permits(2);
        let mut events = client.events(id, screen.records.len() as u64, true).await.unwrap();
        for _ in 0..1 + random % 40 {
            let line = events.next().await.unwrap().unwrap();
            screen.take(&line);
            gate.add_permits(1);
            if line.name == "turn_completed" {
                return screen;
            }
        }
    }
}

#[tokio::test]
async fn a_client_that_stops_reading_catches_up_and_costs_little() {
    const TURNS: u64 = 60;
    /// Turns after which the allocator has what it needs.
    const WARM: u64 = 10;
    const OUTPUT: u64 = 1_000_000;
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let daemon = DaemonProcess::serve(&data, "[approval]\nrequire_for_kinds = []\n");
    let client = daemon.tcp_client().await;
    let id = session(&client, dir.path()).await;
    let sleeper = raw_events(&daemon, &data, id).await;
    let mut turns = client.events(id, 0, true).await.unwrap();
    let mut before = 0;
    for turn in 0..TURNS {
        let prompt = format!("run `yes | head -c {OUTPUT}`");
        client.send_message(id, &SendMessage::prompt(prompt)).await.unwrap();
        while turns.next().await.unwrap().unwrap().name != "turn_completed" {}
        if turn == WARM - 1 {
            before = daemon.memory();
        }
    }
    let grown = daemon.memory().saturating_sub(before);
    let streamed = (TURNS - WARM) * OUTPUT;
    assert!(
        grown < streamed / 2,
        "the daemon grew by {grown} bytes while {streamed} went past a client that slept"
    );
    let last = export(&client, id).await.len() as u64;
    let seen = read_up_to(sleeper, last).await;
    assert_eq!(seen, (1..=last).collect::<Vec<_>>(), "no gap and no duplicate after the sleep");
}

/// Reads a stream up to a record, and returns the ids that it saw.
async fn read_up_to(mut stream: TcpStream, last: u64) -> Vec<u64> {
    let (mut ids, mut rest, mut chunk) = (Vec::new(), Vec::new(), vec![0; 1 << 16]);
    while ids.last() != Some(&last) {
        let read = stream.read(&mut chunk).await.unwrap();
        assert!(read > 0, "the stream ended");
        rest.extend_from_slice(&chunk[..read]);
        let whole = rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let text = String::from_utf8(rest.drain(..whole).collect()).unwrap();
        ids.extend(text.lines().filter_map(|line| line.strip_prefix("id: ")?.trim().parse::<u64>().ok()));
    }
    ids
}

/// A connection that asks for events and does not read them until told to.
async fn raw_events(daemon: &DaemonProcess, data: &std::path::Path, id: SessionId) -> TcpStream {
    let address = daemon.address.unwrap();
    let token = std::fs::read_to_string(data.join("token")).unwrap();
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(8192).unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let request = format!(
        "GET /v1/sessions/{id}/events HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\n\r\n",
        token.trim()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}
