//! An editor that writes lines itself. Every line that it is told is read by the protocol's own types.

use std::time::Duration;

use agent_client_protocol::v1::schema::{RequestPermissionRequest, SessionNotification};
use ostler_door_kit::line_connection::ConnectionEnd;
use ostler_doors::acp::{AcpDoor, AcpOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::daemon::DoorTestDaemon;

/// How long anything is awaited before a test gives up.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) struct EditorClient {
    input: Option<WriteHalf<DuplexStream>>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    pub(crate) served: JoinHandle<ConnectionEnd>,
    next_id: i64,
    /// All that was told.
    pub(crate) seen: Vec<Value>,
}

impl EditorClient {
    /// An editor that has introduced itself.
    pub(crate) async fn start(daemon: &DoorTestDaemon) -> EditorClient {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(far);
        let door = AcpDoor::new(daemon.context.clone());
        let options = AcpOptions { cwd: daemon.workspace(), ..AcpOptions::default() };
        let served =
            tokio::spawn(async move { door.serve(options, reader, writer, CancellationToken::new()).await });
        let (output, input) = tokio::io::split(near);
        let output = BufReader::new(output).lines();
        let mut editor = EditorClient { input: Some(input), output, served, next_id: 0, seen: Vec::new() };
        let asked = json!({"protocolVersion": 1, "clientCapabilities": {}});
        let told = editor.ask("initialize", asked).await.unwrap();
        assert_eq!(told["protocolVersion"], 1);
        editor
    }

    /// A new session.
    pub(crate) async fn session(&mut self, daemon: &DoorTestDaemon) -> String {
        let asked = json!({"cwd": daemon.workspace(), "mcpServers": []});
        let told = self.ask("session/new", asked).await.unwrap();
        told["sessionId"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn write(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).await.unwrap();
        input.write_all(b"\n").await.unwrap();
    }

    /// Sends a request, and returns its id.
    pub(crate) async fn send(&mut self, method: &str, params: Value) -> i64 {
        self.next_id += 1;
        let id = self.next_id;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string())
            .await;
        id
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()).await;
    }

    pub(crate) async fn prompt(&mut self, session: &str, text: &str) -> i64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.send("session/prompt", json!({"sessionId": session, "prompt": prompt})).await
    }

    /// Answers a question.
    pub(crate) async fn answer(&mut self, question: &Value, option: &str) {
        let result = json!({"outcome": {"outcome": "selected", "optionId": option}});
        self.write(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}).to_string()).await;
    }

    /// Sends a request, and returns what it was answered.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.send(method, params).await;
        self.answered(id).await
    }

    /// The answer to a request.
    pub(crate) async fn answered(&mut self, id: i64) -> Result<Value, Value> {
        let line = self.until(|line| line["id"] == id && line.get("method").is_none()).await;
        match line.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(line["result"].clone()),
        }
    }

    /// The next line that is like this.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.read().await.expect("something more is told");
            if wanted(&line) {
                return line;
            }
        }
    }

    /// The next update of this kind.
    pub(crate) async fn update(&mut self, kind: &str) -> Value {
        self.until(|line| line["params"]["update"]["sessionUpdate"] == kind).await["params"]["update"].take()
    }

    pub(crate) async fn question(&mut self) -> Value {
        self.until(|line| line["method"] == "session/request_permission").await
    }

    pub(crate) async fn read(&mut self) -> Option<Value> {
        let line =
            tokio::time::timeout(TEST_TIMEOUT, self.output.next_line()).await.expect("something is told");
        let line: Value = serde_json::from_str(&line.unwrap()?).unwrap();
        check_line(&line);
        self.seen.push(line.clone());
        Some(line)
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Closes its end, reads to the end, and returns how it came to it.
    pub(crate) async fn end(mut self) -> (ConnectionEnd, Vec<Value>) {
        if let Some(mut input) = self.input.take() {
            input.shutdown().await.unwrap();
        }
        while self.read().await.is_some() {}
        (self.served.await.unwrap(), self.seen)
    }

    /// The text that the agent has told in all.
    pub(crate) fn text(&self, kind: &str) -> String {
        let updates = self.seen.iter().map(|line| &line["params"]["update"]);
        let told = updates.filter(|update| update["sessionUpdate"] == kind);
        told.filter_map(|update| update["content"]["text"].as_str()).collect()
    }
}

/// Every line is one that the protocol knows.
fn check_line(line: &Value) {
    assert_eq!(line["jsonrpc"], "2.0", "{line}");
    let params = line["params"].clone();
    match line["method"].as_str() {
        Some("session/update") => drop(serde_json::from_value::<SessionNotification>(params).unwrap()),
        Some("session/request_permission") => {
            drop(serde_json::from_value::<RequestPermissionRequest>(params).unwrap());
        }
        Some(other) => assert_eq!(other, "$/cancel_request"),
        None => assert!(line.get("result").is_some() != line.get("error").is_some(), "{line}"),
    }
}
