//! All doors at once, with one session behind them: whoever is asked to do something there does it in the words of one
//! door, and all of them look on.

use ostler_api_types::SendMessage;
use ostler_types::SessionId;
use serde_json::{Value, json};

use super::facts::{of_record, only};
use super::observers::{GatewayObserver, RecordObserver, RpcObserver};
use super::socket::GatewayClient;
use super::sse::SseConnection;
use crate::process::binary;
use crate::rpc::child::RpcChild;
use crate::scenario::export;
use crate::scripted::{ScriptedDaemon, prompt};

/// The name of the session at the pool.
const AGENT: &str = "shared";

/// A door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DoorKind {
    Http,
    Gateway,
    Lines,
    Pool,
}

/// Those at which a question can be answered.
pub(super) const ANSWERING: [DoorKind; 3] = [DoorKind::Http, DoorKind::Gateway, DoorKind::Lines];
/// All of them.
pub(super) const ALL: [DoorKind; 4] = [DoorKind::Http, DoorKind::Gateway, DoorKind::Lines, DoorKind::Pool];

/// One client at each door. The pool's looks on while its own request is answered.
pub(super) struct DoorClients {
    pub(super) session: SessionId,
    pub(super) http: RecordObserver,
    pub(super) gateway: GatewayObserver,
    pub(super) lines: RpcObserver,
    pub(super) pool: Option<RecordObserver>,
    /// How many requests the pool has had.
    requests: u64,
    /// The run that was last asked for at the gateway.
    pub(super) run: Value,
}

impl DoorClients {
    /// Makes a session, and goes in everywhere.
    pub(super) async fn open(stage: &ScriptedDaemon) -> DoorClients {
        let made =
            pool_call(stage, "/rpc", "create_agent", json!({"agent_id": AGENT, "cwd": stage.work})).await;
        assert_eq!(made["result"]["agent_id"], AGENT, "{made}");
        let agents = pool_call(stage, "/rpc", "list_agents", json!({})).await;
        let session = agents["result"]["agents"][0]["session_id"].as_str().unwrap().parse().unwrap();
        DoorClients {
            session,
            http: http(stage, session, None).await,
            gateway: gateway(stage, session).await.0,
            lines: lines(stage, session).await,
            pool: None,
            requests: 0,
            run: Value::Null,
        }
    }

    /// Says something at a door, to be played by the model.
    pub(super) async fn prompt(&mut self, stage: &ScriptedDaemon, door: DoorKind, steps: &[Value]) {
        let text = prompt(steps);
        match door {
            DoorKind::Http => {
                let message = SendMessage::prompt(text);
                stage.client.send_message(self.session, &message).await.unwrap();
            }
            DoorKind::Gateway => {
                let params = json!({"sessionKey": self.session.uuid(), "message": text});
                self.run = self.gateway.client.ask("chat.send", params).await["runId"].clone();
            }
            DoorKind::Lines => self.lines.child.send(&json!({"type": "prompt", "text": text})).await,
            DoorKind::Pool => {
                self.requests += 1;
                self.pool = Some(pool_send(stage, &text, &self.request_id()).await);
            }
        }
    }

    /// The newest request of the pool.
    pub(super) fn request_id(&self) -> String {
        format!("request-{}", self.requests)
    }

    /// Waits until everybody has been told something.
    pub(super) async fn until(&mut self, wanted: &str) {
        self.http.until(wanted).await;
        self.gateway.until(wanted).await;
        self.lines.until(wanted).await;
        if let Some(pool) = &mut self.pool {
            pool.until(wanted).await;
        }
    }

    /// Waits until everybody has been told how a turn ended.
    pub(super) async fn until_end(&mut self, how: &str) {
        self.http.until(&format!("end {how}")).await;
        self.gateway.until(&format!("end {how}")).await;
        self.lines.until("end").await;
        if let Some(pool) = &mut self.pool {
            pool.until(&format!("end {how}")).await;
        }
    }

    /// Waits until everybody has been asked.
    pub(super) async fn until_asked(&mut self) {
        self.http.until("asked").await;
        self.gateway.until("asked").await;
        self.lines.until("asked").await;
        if let Some(pool) = &mut self.pool {
            pool.until("asked").await;
        }
    }

    /// Answers the newest question at a door, and waits until all others have been told.
    pub(super) async fn answer(&mut self, stage: &ScriptedDaemon, door: DoorKind, approve: bool) {
        let told = if approve { "granted" } else { "denied" };
        let by = match door {
            DoorKind::Http => {
                let action = if approve { "approve" } else { "deny" };
                let (status, body) = stage.answer(&self.http.asked, json!({"action": action})).await;
                assert_eq!(status, 200, "{body}");
                "http"
            }
            DoorKind::Gateway => {
                let method = if approve { "exec.approve" } else { "exec.deny" };
                let params = json!({"approvalId": self.gateway.asked});
                assert_eq!(self.gateway.client.ask(method, params).await, json!({"ok": true}));
                "gateway"
            }
            DoorKind::Lines => {
                let result = if approve { "once" } else { "deny" };
                let answer =
                    json!({"type": "ui_response", "id": self.lines.asked, "result": result, "error": null});
                self.lines.child.send(&answer).await;
                "jsonl"
            }
            DoorKind::Pool => panic!("nobody is asked there"),
        };
        let told = format!("{told} by {by}");
        self.http.until(&told).await;
        self.gateway.until(&told).await;
        if let Some(pool) = &mut self.pool {
            pool.until(&told).await;
        }
        if door != DoorKind::Lines {
            self.lines.until(&told).await;
        }
    }

    /// Stops the turn that the pool has asked for.
    pub(super) async fn cancel(&mut self, stage: &ScriptedDaemon, door: DoorKind) {
        match door {
            DoorKind::Http => assert!(stage.client.cancel(self.session).await.unwrap()),
            DoorKind::Gateway => {
                let key = json!({"sessionKey": self.session.uuid()});
                let run = self.gateway.client.ask("sessions.get", key).await["lastRun"]["runId"].clone();
                let done = self.gateway.client.ask("chat.abort", json!({"runId": run})).await;
                assert_eq!(done, json!({"ok": true}));
                let again = self.gateway.client.call("chat.abort", json!({"runId": run})).await;
                assert_eq!(again["error"]["code"], -32603, "{again}");
            }
            DoorKind::Lines => self.lines.child.send(&json!({"type": "abort"})).await,
            DoorKind::Pool => {
                let params = json!({"request_id": self.request_id()});
                let done = pool_call(stage, &format!("/agent/{AGENT}"), "cancel", params.clone()).await;
                assert_eq!(done["result"]["cancelled"], true, "{done}");
                let again = pool_call(stage, &format!("/agent/{AGENT}"), "cancel", params).await;
                assert_eq!(again["result"]["cancelled"], false, "{again}");
            }
        }
    }

    /// Checks that everybody was told all of what the log says, in its order, and once.
    pub(super) async fn compare(&self, stage: &ScriptedDaemon) {
        let facts = log(stage, self.session).await;
        let texts_and_calls = ["text", "completed", "end"];
        let all = ["user", "text", "started", "completed", "asked", "granted", "denied", "end"];
        assert_eq!(self.http.facts.only(&all), facts, "the http door");
        let without_user = only(&facts, &all[1..]);
        assert_eq!(self.gateway.facts.only(&all), without_user, "the gateway");
        let how = |fact: String| if fact.starts_with("end") { "end".to_owned() } else { fact };
        let expected: Vec<String> =
            only(&facts, &["user", "text", "completed", "end"]).into_iter().map(how).collect();
        assert_eq!(self.lines.facts.only(&["user", "text", "completed", "end"]), expected, "JSON lines");
        let (begun, ended) = (self.lines.facts.only(&["begin"]).len(), only(&facts, &["end"]).len());
        assert_eq!(begun, ended, "each run has a beginning and an end");
        assert_eq!(self.lines.facts.only(&["asked"]).len(), only(&facts, &["asked"]).len());
        if let Some(pool) = &self.pool {
            let told = pool.facts.only(&texts_and_calls);
            assert!(only(&facts, &texts_and_calls).ends_with(&told), "{told:?} at the pool");
        }
    }
}

/// What the log of a session says.
pub(super) async fn log(stage: &ScriptedDaemon, session: SessionId) -> Vec<String> {
    let records = export(&stage.client, session).await;
    records.iter().filter_map(|line| of_record(&serde_json::from_str(line).unwrap())).collect()
}

/// Follows a session at the http door, after the last record that was seen.
pub(super) async fn http(stage: &ScriptedDaemon, session: SessionId, last: Option<u64>) -> RecordObserver {
    let after = last.unwrap_or(0);
    let path = format!("GET /v1/sessions/{session}/events?after={after}");
    RecordObserver::new(SseConnection::open(stage.address(), &stage.token(), &path, "").await, Some(after))
}

/// Goes in at the gateway, and asks for a session. Gives what is said of it, too.
pub(super) async fn gateway(stage: &ScriptedDaemon, session: SessionId) -> (GatewayObserver, Value) {
    let mut client = GatewayClient::connect(stage.address(), "/gateway", &[]).await.unwrap();
    client.send(&json!({"type": "auth", "token": stage.token()})).await;
    assert_eq!(client.frame().await, json!({"type": "auth", "ok": true}));
    let shown = client.ask("sessions.get", json!({"sessionKey": session.uuid()})).await;
    (GatewayObserver::new(client), shown)
}

/// Starts `ostler rpc` on a session.
pub(super) async fn lines(stage: &ScriptedDaemon, session: SessionId) -> RpcObserver {
    let mut command = binary();
    command.arg("rpc").arg("--config").arg(stage.data.with_file_name("config.toml"));
    command.arg("--data-dir").arg(&stage.data).arg("--cwd").arg(&stage.work);
    command.arg("--session-file").arg(stage.data.join(format!("sessions/{session}/events.ndjson")));
    let mut child = RpcChild::start(command);
    assert_eq!(child.until("ready").await["primary_session_id"], session.to_string());
    RpcObserver::new(child, session.to_string())
}

/// Sends something to the pool, and looks on.
pub(super) async fn pool_send(stage: &ScriptedDaemon, text: &str, request_id: &str) -> RecordObserver {
    let params = json!({"content": text, "request_id": request_id});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "send", "params": params}).to_string();
    let events =
        SseConnection::open(stage.address(), &stage.token(), &format!("POST /agent/{AGENT}"), &body).await;
    RecordObserver::new(events, None)
}

async fn pool_call(stage: &ScriptedDaemon, path: &str, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    stage.request("POST", path, &body).await.1
}
