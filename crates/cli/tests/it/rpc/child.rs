//! `ostler rpc` as a child process. Every line that it says is checked against the schema.

use std::process::Stdio;
use std::time::Duration;

use ostler_doors::jsonl::schema;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use super::schema::check;

/// How long anything is awaited before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// The process, killed when dropped.
pub(crate) struct RpcChild {
    child: tokio::process::Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    log: ChildStderr,
    schema: Value,
}

impl RpcChild {
    pub(crate) fn start(command: std::process::Command) -> RpcChild {
        let mut command = Command::from(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let (input, log) = (child.stdin.take(), child.stderr.take().unwrap());
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        RpcChild { child, input, output, log, schema: schema() }
    }

    pub(crate) async fn send(&mut self, frame: &Value) {
        check(&self.schema, "ClientFrame", frame).unwrap();
        self.write(format!("{frame}\n").as_bytes()).await;
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).await.unwrap();
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed())).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// The next line; none when there are no more.
    pub(crate) async fn read(&mut self) -> Option<Value> {
        let line = tokio::time::timeout(PATIENCE, self.output.next_line()).await.expect("something is said");
        let line = line.unwrap()?;
        let frame = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
        if let Err(error) = check(&self.schema, "ServerFrame", &frame) {
            panic!("{frame} is not in the schema: {error}");
        }
        Some(frame)
    }

    pub(crate) async fn next(&mut self) -> Value {
        match self.read().await {
            Some(frame) => frame,
            None => panic!("it ended: {:?}", self.end().await),
        }
    }

    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.next().await;
            if frame["type"] == kind {
                return frame;
            }
            assert_ne!(frame["type"], "error", "instead of {kind}: {frame}");
        }
    }

    pub(crate) async fn event(&mut self, session: &str, name: &str) -> Value {
        loop {
            let frame = self.until("event").await;
            if frame["session_id"] == session && frame["event"]["type"] == name {
                return frame["event"].clone();
            }
        }
    }

    /// Waits for its end; gives its exit code and its log.
    pub(crate) async fn end(&mut self) -> (Option<i32>, String) {
        let ending = async {
            while self.read().await.is_some() {}
            let mut log = String::new();
            self.log.read_to_string(&mut log).await.unwrap();
            (self.child.wait().await.unwrap().code(), log)
        };
        tokio::time::timeout(PATIENCE, ending).await.expect("it ends")
    }
}

/// The text of a message.
pub(crate) fn text(message: &Value) -> String {
    let blocks = message["content"].as_array().unwrap().iter();
    blocks.filter_map(|block| block["text"].as_str()).collect()
}
