//! A client of the ide door.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};

use crate::daemon::DoorTestDaemon;
use crate::gateway::client::{GatewayClient, GatewayReceived};

/// How long anything is awaited before a test gives up.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// One socket.
pub(crate) struct IdeClient {
    pub(crate) socket: GatewayClient,
    /// What came while something else was awaited.
    kept: VecDeque<Value>,
    requests: u64,
}

impl IdeClient {
    /// A socket that was let in and has been told of the native agent.
    pub(crate) async fn open(daemon: &DoorTestDaemon) -> IdeClient {
        let bearer = format!("Bearer {}", daemon.token());
        let socket =
            GatewayClient::connect(daemon.address, "/ws", &[("Authorization", &bearer)]).await.unwrap();
        let mut ide = IdeClient { socket, kept: VecDeque::new(), requests: 0 };
        let status = json!({"type": "agent:status", "cliType": "ostler", "status": "connected"});
        while ide.frame().await != status {}
        ide
    }

    /// Sends a request of this type without an id.
    pub(crate) async fn tell(&mut self, kind: &str, mut fields: Value) {
        fields["type"] = json!(kind);
        self.socket.send_text(&fields.to_string()).await;
    }

    /// Sends a request, and returns the frame that has its id. What comes before is kept.
    pub(crate) async fn ask(&mut self, kind: &str, mut fields: Value) -> Value {
        self.requests += 1;
        let id = json!(format!("r{}", self.requests));
        fields["requestId"] = id.clone();
        self.tell(kind, fields).await;
        loop {
            let mut frame = self.receive().await;
            if frame["requestId"] == id {
                frame.as_object_mut().unwrap().remove("requestId");
                return frame;
            }
            self.kept.push_back(frame);
        }
    }

    /// The next frame.
    pub(crate) async fn frame(&mut self) -> Value {
        match self.kept.pop_front() {
            Some(frame) => frame,
            None => self.receive().await,
        }
    }

    /// The next frame of this type. Skips the others.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.frame().await;
            if frame["type"] == kind {
                return frame;
            }
        }
    }

    /// All frames up to the end of a turn.
    pub(crate) async fn turn(&mut self) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let frame = self.frame().await;
            let is_end = frame["type"] == "session:complete" || frame["type"] == "session:cancelled";
            frames.push(frame);
            if is_end {
                return frames;
            }
        }
    }

    /// A project in the daemon's workspace.
    pub(crate) async fn project(&mut self, daemon: &DoorTestDaemon) -> String {
        let added = self.ask("project:add", json!({"path": daemon.workspace()})).await;
        assert_eq!(added["type"], "project:added", "{added}");
        added["project"]["id"].as_str().unwrap().to_owned()
    }

    /// A session in a project.
    pub(crate) async fn session(&mut self, project: &str) -> String {
        let created = self.ask("session:create", json!({"projectId": project, "cliType": "ostler"})).await;
        assert_eq!(created["type"], "session:created", "{created}");
        created["sessionId"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn say(&mut self, session: &str, content: &str) {
        self.tell("session:send", json!({"sessionId": session, "content": content})).await;
    }

    /// The sessions of a project.
    pub(crate) async fn sessions(&mut self, project: &str) -> Vec<Value> {
        let list = self.ask("session:list", json!({"projectId": project})).await;
        assert_eq!(list["projectId"], project);
        list["sessions"].as_array().unwrap().clone()
    }

    /// A session's history.
    pub(crate) async fn history(&mut self, session: &str) -> Vec<Value> {
        let history = self.ask("session:open", json!({"sessionId": session})).await;
        assert_eq!((&history["type"], &history["sessionId"]), (&json!("session:history"), &json!(session)));
        history["entries"].as_array().unwrap().clone()
    }

    async fn receive(&mut self) -> Value {
        match tokio::time::timeout(TEST_TIMEOUT, self.socket.read()).await.expect("something comes") {
            GatewayReceived::Frame(frame) => frame,
            other => panic!("no frame: {other:?}"),
        }
    }
}

/// The entries that a client has after these frames, in order.
pub(crate) fn folded(frames: &[Value]) -> Vec<Value> {
    let mut entries: Vec<Value> = Vec::new();
    for frame in frames {
        match frame["type"].as_str().unwrap() {
            "session:history" => entries.clone_from(frame["entries"].as_array().unwrap()),
            "session:update" => {
                let entry = frame["entry"].clone();
                match entries.iter_mut().find(|known| known["entryId"] == entry["entryId"]) {
                    Some(known) => *known = entry,
                    None => entries.push(entry),
                }
            }
            "session:chunk" => {
                let known = entries.iter_mut().find(|known| known["entryId"] == frame["entryId"]);
                let known = known.expect("text is added to an entry that is there");
                let content = known["content"].as_str().unwrap().to_owned();
                known["content"] = json!(content + frame["content"].as_str().unwrap());
            }
            _ => {}
        }
    }
    entries
}

/// What entries say, without ids and times.
pub(crate) fn plain(entries: &[Value]) -> Vec<String> {
    let plain = |entry: &Value| {
        let kind = entry["type"].as_str().unwrap();
        match kind {
            "tool-call" => {
                let said = entry.get("result").or(entry.get("error")).and_then(Value::as_str).unwrap_or("");
                format!("{} {}: {said}", entry["name"].as_str().unwrap(), entry["status"].as_str().unwrap())
            }
            _ => format!("{kind}: {}", entry["content"].as_str().unwrap()),
        }
    };
    entries.iter().map(plain).collect()
}
