//! A daemon whose model does what the prompt says: a prompt holds a script, step by step, of calls and words.
//! The provider remembers nothing but what it was asked, so a script goes on after a restart, and each
//! session plays its own.

mod model;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use ostler_api_types::{CreateSession, SendMessage};
use ostler_client::{Client, DaemonEndpoint, EventStream};
use ostler_types::{Policy, SessionId, TurnId};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use self::model::next_step;
pub(crate) use self::model::prompt;
use crate::process::binary;
use crate::raw_server::{RawServer, RawServerReply, RawServerRequest};

/// The key of the provider, which the daemon has in its environment.
pub(crate) const CANARY: &str = "canary-4f1d0c77b2";
/// How long anything is awaited before a test gives up.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A daemon, its scripted provider and a workspace.
pub(crate) struct ScriptedDaemon {
    pub(crate) data: PathBuf,
    pub(crate) work: PathBuf,
    /// A directory that no session works in.
    pub(crate) outside: PathBuf,
    pub(crate) client: Client,
    daemon: ScriptedDaemonProcess,
    config: String,
    environment: Vec<(String, String)>,
    asked: Arc<Mutex<Vec<Value>>>,
    _provider: RawServer,
    _dir: TempDir,
}

impl ScriptedDaemon {
    pub(crate) async fn new(config: &str) -> ScriptedDaemon {
        ScriptedDaemon::with(config, &[]).await
    }

    /// With variables in the daemon's environment.
    pub(crate) async fn with(config: &str, environment: &[(&str, &str)]) -> ScriptedDaemon {
        ScriptedDaemon::directed(config, environment, |_| None).await
    }

    /// With a model that is told what to answer before it looks for a script.
    pub(crate) async fn directed(
        config: &str,
        environment: &[(&str, &str)],
        director: impl Fn(&RawServerRequest) -> Option<RawServerReply> + Send + Sync + 'static,
    ) -> ScriptedDaemon {
        // Not in `/tmp`, which a confined program has for itself anyway.
        let dir = tempfile::tempdir_in(crate::place::beside_tmp(env!("CARGO_TARGET_TMPDIR"))).unwrap();
        let [data, work, outside] = ["data", "work", "outside"].map(|name| dir.path().join(name));
        std::fs::create_dir(&work).unwrap();
        std::fs::create_dir(&outside).unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        let provider = RawServer::start(move |request| {
            assert!(request.head.contains(CANARY), "the provider gets its key");
            kept.lock().unwrap().push(request.body.clone());
            director(request).unwrap_or_else(|| next_step(request))
        })
        .await;
        let address = provider.address;
        let config = format!(
            "[models]\ndefault = \"mock:m\"\n[loop]\nmax_steps = 100\n[providers.mock]\nkind = \"openai-chat\"\n\
             base_url = \"http://{address}/v1\"\napi_key_env = \"STAGE_KEY\"\nmodels = [\"m\", \"blind\"]\n\
             [models.info.\"mock:m\"]\nabilities = [\"tools\", \"vision\"]\n\
             [models.info.\"mock:blind\"]\nabilities = [\"tools\"]\n{config}"
        );
        let environment: Vec<(String, String)> =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (daemon, client) = ScriptedDaemonProcess::start(&data, &config, &environment).await;
        ScriptedDaemon {
            data,
            work,
            outside,
            client,
            daemon,
            config,
            environment,
            asked,
            _provider: provider,
            _dir: dir,
        }
    }

    pub(crate) async fn session(&self, policy: Policy) -> SessionId {
        self.session_in(&self.work, policy, None).await
    }

    pub(crate) async fn session_in(&self, work: &Path, policy: Policy, model: Option<&str>) -> SessionId {
        let workspace_path = work.to_str().unwrap().to_owned();
        let (policy, model) = (Some(policy.into()), model.map(str::to_owned));
        let new = CreateSession { workspace_path, policy, model, ..CreateSession::default() };
        self.client.create_session(&new).await.unwrap()
    }

    /// Starts a turn whose model plays these steps, and then says that it is done.
    pub(crate) async fn start(&self, session: SessionId, steps: &[Value]) -> ScriptedTurn {
        let after = self.client.session(session).await.unwrap().last_seq;
        let events = self.client.events(session, after, true).await.unwrap();
        let sent = self.client.send_message(session, &SendMessage::prompt(prompt(steps))).await.unwrap();
        ScriptedTurn { session, id: sent.turn_id.unwrap(), events, records: Vec::new() }
    }

    /// The same, to its end.
    pub(crate) async fn play(&self, session: SessionId, steps: &[Value]) -> ScriptedTurn {
        let mut turn = self.start(session, steps).await;
        turn.finish().await;
        turn
    }

    /// Goes on with a turn that was left, from the beginning of its session.
    pub(crate) async fn follow(&self, session: SessionId, id: TurnId) -> ScriptedTurn {
        let events = self.client.events(session, 0, true).await.unwrap();
        ScriptedTurn { session, id, events, records: Vec::new() }
    }

    /// Goes on with a turn from the record after this one.
    pub(crate) async fn follow_after(&self, session: SessionId, id: TurnId, after: u64) -> ScriptedTurn {
        let events = self.client.events(session, after, true).await.unwrap();
        ScriptedTurn { session, id, events, records: Vec::new() }
    }

    /// Answers the approval that a record asks for.
    pub(crate) async fn answer(&self, asked: &Value, answer: Value) -> (u16, Value) {
        let mut body = json!({"turn_id": asked["turn_id"], "tool_call_id": asked["data"]["tool_call"]["id"]});
        body.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        let path = format!("/v1/sessions/{}/approve", asked["session_id"].as_str().unwrap());
        self.request("POST", &path, &body).await
    }

    /// Asks the daemon for anything, and gives the status and the body.
    pub(crate) async fn request(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (address, token, length) = (self.address(), self.token(), body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
             user-agent: stage\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    /// Everything that the model was asked, in order.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }

    /// Forgets what the model was asked so far.
    pub(crate) fn forget_asked(&self) {
        self.asked.lock().unwrap().clear();
    }

    /// What the model was last asked, as text.
    pub(crate) fn last_asked(&self) -> String {
        self.asked.lock().unwrap().last().expect("the model was asked")["messages"].to_string()
    }

    /// The names of the tools that the model was last offered.
    pub(crate) fn offered(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        let tools = asked.last().unwrap()["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Where the daemon listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.daemon.address
    }

    /// What lets a client in.
    pub(crate) fn token(&self) -> String {
        std::fs::read_to_string(self.data.join("token")).unwrap().trim().to_owned()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.daemon.child.id()
    }

    /// Kills the daemon at once and starts it again.
    pub(crate) async fn crash(&mut self) {
        self.kill();
        self.restart().await;
    }

    /// Kills the daemon at once.
    pub(crate) fn kill(&mut self) {
        self.daemon.child.kill().unwrap();
        self.daemon.child.wait().unwrap();
    }

    /// Starts a daemon in the place of one that has ended.
    pub(crate) async fn restart(&mut self) {
        (self.daemon, self.client) =
            ScriptedDaemonProcess::start(&self.data, &self.config, &self.environment).await;
    }

    /// Ends the daemon in order.
    pub(crate) fn stop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.daemon.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.daemon.child.wait().unwrap().success());
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.work.join(path)).unwrap()
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.work.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Makes a git repository of the workspace, with all that is in it.
    pub(crate) fn commit(&self) {
        for arguments in [
            vec!["init", "--quiet", "-b", "main"],
            vec!["add", "-A"],
            vec!["commit", "--quiet", "-m", "first"],
        ] {
            let mut git = std::process::Command::new("git");
            git.arg("-C")
                .arg(&self.work)
                .args(["-c", "user.name=t", "-c", "user.email=t@t"])
                .args(&arguments);
            git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
            assert!(git.status().unwrap().success(), "{arguments:?}");
        }
    }
}

/// A turn as a client sees it.
pub(crate) struct ScriptedTurn {
    pub(crate) session: SessionId,
    pub(crate) id: TurnId,
    events: EventStream,
    /// Its records so far.
    pub(crate) records: Vec<Value>,
}

impl ScriptedTurn {
    /// Waits for the next record of this name. That the turn ends before is a failure.
    pub(crate) async fn until(&mut self, name: &str) -> Value {
        loop {
            let record = self.next().await;
            if record["type"] == name {
                return record;
            }
            assert!(!is_end(&record), "no {name} before the end: {record}");
        }
    }

    /// Waits for the end, and gives it.
    pub(crate) async fn finish(&mut self) -> Value {
        loop {
            let record = self.next().await;
            assert_ne!(record["type"], "approval_requested", "nobody answers: {record}");
            if is_end(&record) {
                return record;
            }
        }
    }

    /// Its next record, whatever that is.
    pub(crate) async fn next(&mut self) -> Value {
        loop {
            let event = self.event().await;
            if event["seq"].is_u64() && event["turn_id"] == self.id.to_string() {
                self.records.push(event.clone());
                return event;
            }
        }
    }

    /// Waits until a tool prints something.
    pub(crate) async fn until_output(&mut self) {
        while self.event().await["type"] != "tool_output_delta" {}
    }

    /// Waits until an answer that streams has this text.
    pub(crate) async fn until_text(&mut self, text: &str) {
        let mut seen = String::new();
        while !seen.contains(text) {
            let event = self.event().await;
            if event["type"] == "model_output_delta" {
                seen.push_str(event["data"]["text"].as_str().unwrap());
            }
        }
    }

    async fn event(&mut self) -> Value {
        let next = tokio::time::timeout(TIMEOUT, self.events.next()).await;
        let line = next.expect("something happens").expect("the daemon lives").unwrap();
        serde_json::from_str(&line.raw).unwrap()
    }

    /// The data of its records of this name.
    pub(crate) fn all(&self, name: &str) -> Vec<Value> {
        let of_name = self.records.iter().filter(|record| record["type"] == name);
        of_name.map(|record| record["data"].clone()).collect()
    }

    /// The results of its calls, in the order in which they came.
    pub(crate) fn results(&self) -> Vec<ScriptedCallOutcome> {
        self.all("tool_call_completed").iter().map(ScriptedCallOutcome::from_record).collect()
    }

    /// The result of its only call.
    pub(crate) fn result(&self) -> ScriptedCallOutcome {
        let mut results = self.results();
        assert_eq!(results.len(), 1, "one call");
        results.remove(0)
    }
}

/// What became of a call.
#[derive(Debug)]
pub(crate) struct ScriptedCallOutcome {
    pub(crate) ok: bool,
    pub(crate) text: String,
    /// The whole result.
    pub(crate) result: Value,
}

impl ScriptedCallOutcome {
    fn from_record(completed: &Value) -> ScriptedCallOutcome {
        let result = completed["tool_result"].clone();
        let parts = result["parts"].as_array().unwrap();
        let text = parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n");
        ScriptedCallOutcome { ok: result["ok"] == true, text, result }
    }
}

/// A policy that asks nothing.
pub(crate) fn policy_without_approvals() -> Policy {
    let mut policy = Policy::default();
    policy.approval.require_for_kinds.clear();
    policy
}

/// A step with one call.
pub(crate) fn call(name: &str, input: Value) -> Value {
    let call = serde_json::Map::from_iter([("name".to_owned(), name.into()), ("input".to_owned(), input)]);
    Value::Array(vec![Value::Object(call)])
}

/// A step that runs a command.
pub(crate) fn shell(command: &str) -> Value {
    call("shell", json!({"command": command}))
}

/// A step that writes a file.
pub(crate) fn write(path: &str, content: &str) -> Value {
    call("write_file", json!({"path": path, "content": content}))
}

fn is_end(record: &Value) -> bool {
    ["turn_completed", "turn_failed", "turn_canceled"].iter().any(|name| record["type"] == *name)
}

/// The daemon as a process, killed when dropped.
struct ScriptedDaemonProcess {
    child: Child,
    address: SocketAddr,
}

impl ScriptedDaemonProcess {
    async fn start(
        data: &Path,
        config: &str,
        environment: &[(String, String)],
    ) -> (ScriptedDaemonProcess, Client) {
        let place = data.parent().unwrap();
        let file = place.join("config.toml");
        std::fs::write(&file, config).unwrap();
        let mut command = binary();
        command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
        command.arg("--data-dir").arg(data).env("STAGE_KEY", CANARY).envs(environment.iter().cloned());
        command.stdout(Stdio::piped()).stderr(std::fs::File::create(place.join("stderr")).unwrap());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("ostler is ready at http://").map(str::parse);
        let Some(Ok(address)) = address else {
            panic!("{}", std::fs::read_to_string(place.join("stderr")).unwrap());
        };
        let token = std::fs::read_to_string(data.join("token")).unwrap().trim().to_owned();
        let client = Client::connect(DaemonEndpoint::Tcp(address), Some(token)).await.unwrap();
        (ScriptedDaemonProcess { child, address }, client)
    }
}

impl Drop for ScriptedDaemonProcess {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
