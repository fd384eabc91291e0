//! A client of the jsonl door, in this process: two pipes of bytes.

use std::time::Duration;

use ostler_door_kit::line_connection::ConnectionEnd;
use ostler_doors::jsonl::{JsonlDoor, JsonlOptions, schema};
use ostler_types::Refusal;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::schema::check;
use crate::daemon::DoorTestDaemon;

/// How long anything is awaited before a test gives up.
const TEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes that a pipe holds.
pub(crate) const PIPE: usize = 64 * 1024;

pub(crate) struct JsonlClient {
    input: Option<DuplexStream>,
    output: Lines<BufReader<DuplexStream>>,
    served: JoinHandle<Result<ConnectionEnd, Refusal>>,
    pub(crate) stop: CancellationToken,
    schema: Value,
    /// What has been read so far.
    pub(crate) seen: Vec<Value>,
    /// The same, byte for byte.
    pub(crate) lines: Vec<String>,
    pub(crate) primary: String,
}

pub(crate) fn options(daemon: &DoorTestDaemon) -> JsonlOptions {
    JsonlOptions { cwd: daemon.workspace(), linger: Duration::ZERO, ..JsonlOptions::default() }
}

impl JsonlClient {
    /// A client that has read `ready`.
    pub(crate) async fn start(daemon: &DoorTestDaemon) -> JsonlClient {
        JsonlClient::start_with(daemon, options(daemon)).await
    }

    pub(crate) async fn start_with(daemon: &DoorTestDaemon, options: JsonlOptions) -> JsonlClient {
        let mut rpc = JsonlClient::open(daemon, options, PIPE);
        let ready = rpc.next().await;
        assert_eq!(ready["type"], "ready", "{ready}");
        rpc.primary = ready["primary_session_id"].as_str().unwrap().to_owned();
        rpc
    }

    /// A client that has read nothing.
    pub(crate) fn open(daemon: &DoorTestDaemon, options: JsonlOptions, pipe: usize) -> JsonlClient {
        let (input, door_input) = tokio::io::duplex(PIPE);
        let (door_output, output) = tokio::io::duplex(pipe);
        let (door, stop) = (JsonlDoor::new(daemon.context.clone()), CancellationToken::new());
        let token = stop.clone();
        let served = tokio::spawn(async move { door.serve(options, door_input, door_output, token).await });
        let output = BufReader::new(output).lines();
        let (seen, lines, primary) = (Vec::new(), Vec::new(), String::new());
        JsonlClient { input: Some(input), output, served, stop, schema: schema(), seen, lines, primary }
    }

    pub(crate) async fn send(&mut self, frame: Value) {
        check(&self.schema, "ClientFrame", &frame).unwrap();
        self.write(format!("{frame}\n").as_bytes()).await;
    }

    /// Sends bytes as they are.
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().expect("the input is open").write_all(bytes).await.unwrap();
    }

    /// Closes the input; the output stays open.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// The next line; none when there are no more.
    pub(crate) async fn read(&mut self) -> Option<Value> {
        let line = tokio::time::timeout(TEST_TIMEOUT, self.output.next_line())
            .await
            .expect("something is said")
            .unwrap()?;
        let frame: Value = serde_json::from_str(&line).unwrap();
        if let Err(error) = check(&self.schema, "ServerFrame", &frame) {
            panic!("{frame} is not in the schema: {error}");
        }
        self.seen.push(frame.clone());
        self.lines.push(line);
        Some(frame)
    }

    pub(crate) async fn next(&mut self) -> Value {
        self.read().await.expect("the door goes on")
    }

    /// The next line of this type. Errors are not passed over.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.next().await;
            if frame["type"] == kind {
                return frame;
            }
            assert_ne!(frame["type"], "error", "instead of {kind}: {frame}");
        }
    }

    /// The next event of this name in a session.
    pub(crate) async fn event(&mut self, session: &str, name: &str) -> Value {
        loop {
            let frame = self.until("event").await;
            if frame["session_id"] == session && frame["event"]["type"] == name {
                return frame["event"].clone();
            }
        }
    }

    /// Says something in the active session, and waits for the end of the turn.
    pub(crate) async fn ask(&mut self, text: &str) -> Value {
        self.send(json!({"type": "prompt", "text": text})).await;
        let primary = self.primary.clone();
        self.event(&primary, "agent_end").await
    }

    /// The events of a session that have been read.
    pub(crate) fn events(&self, session: &str) -> Vec<Value> {
        let of_session = |frame: &&Value| frame["type"] == "event" && frame["session_id"] == session;
        self.seen.iter().filter(of_session).cloned().collect()
    }

    /// Their names, those of updates left out: how many pieces make one depends on the time.
    pub(crate) fn names(&self, session: &str) -> Vec<String> {
        let name = |frame: Value| frame["event"]["type"].as_str().unwrap().to_owned();
        self.events(session).into_iter().map(name).filter(|name| name != "message_update").collect()
    }

    /// Reads to the end, and returns how it came to it.
    pub(crate) async fn end(&mut self) -> Result<ConnectionEnd, Refusal> {
        while self.read().await.is_some() {}
        (&mut self.served).await.unwrap()
    }

    /// Closes both ends without reading on.
    pub(crate) async fn hang_up(self) -> Result<ConnectionEnd, Refusal> {
        let JsonlClient { input, output, served, .. } = self;
        drop((input, output));
        served.await.unwrap()
    }
}

/// The text of a message.
pub(crate) fn text(message: &Value) -> String {
    let blocks = message["content"].as_array().unwrap().iter();
    blocks.filter_map(|block| block["text"].as_str()).collect()
}
