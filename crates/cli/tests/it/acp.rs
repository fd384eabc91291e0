//! `ostler acp` as a real process, driven by the protocol's official libraries in other languages
//! (`tests/acp/client.mjs`, `tests/acp/client.py`): by itself, in front of a daemon, and after one that was killed; and held
//! to the protocol's rules one by one (`tests/acp/conformance.py`).

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout, Command};

use crate::process::binary;
use crate::scripted::{ScriptedDaemon, call, prompt};

/// How long a client has.
const PATIENCE: Duration = Duration::from_secs(60);

/// A language in which there is an official library.
#[derive(Clone, Copy)]
enum ClientLanguage {
    TypeScript,
    Python,
}

impl ClientLanguage {
    /// The client's program, with what it needs before its arguments.
    fn client(self) -> Command {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        let place = libraries(&root);
        match self {
            ClientLanguage::TypeScript => {
                let library = "node/node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js";
                let mut command = Command::new("node");
                command.arg(root.join("tests/acp/client.mjs")).arg(place.join(library));
                command
            }
            ClientLanguage::Python => {
                let mut command = Command::new(place.join("python/bin/python3"));
                command.arg(root.join("tests/acp/client.py"));
                command
            }
        }
    }

    /// Runs a phase in front of whatever has the data directory, and returns the session's id.
    async fn run(self, stage: &ScriptedDaemon, phase: &str, session: &str) -> String {
        let mut client = self.client();
        client.arg(phase).arg(&stage.work).arg(session);
        let acp = binary();
        client.arg(acp.get_program()).args(["acp", "--data-dir"]).arg(&stage.data);
        client.arg("--config").arg(stage.data.parent().unwrap().join("config.toml"));
        client.env("STAGE_KEY", crate::scripted::CANARY).env("OSTLER_MODELS_DISCOVER", "false");
        client.stdin(Stdio::null()).kill_on_drop(true);
        let output = tokio::time::timeout(PATIENCE, client.output()).await.expect("it ends").unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
        told.trim().to_owned()
    }
}

/// The Python library's own example of this name, with what runs it.
pub(crate) fn python_example(name: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let place = libraries(&root);
    let words = [place.join("python/bin/python3"), place.join("examples").join(name)];
    words.map(|word| word.display().to_string()).into()
}

/// Where the libraries are, installed once.
fn libraries(root: &Path) -> PathBuf {
    let place = root.join("target/acp-clients");
    let installed =
        std::process::Command::new(root.join("tests/acp/clients.sh")).arg(&place).status().unwrap();
    assert!(installed.success(), "tests/acp/clients.sh installs what it needs");
    place
}

/// What must hold in each language: a session made in an editor is the daemon's, and outlives its death.
async fn in_front_of_a_daemon(language: ClientLanguage) {
    let mut stage = ScriptedDaemon::new("").await;
    let session = language.run(&stage, "first", "-").await;
    let (status, view) = stage.request("GET", &format!("/v1/sessions/{session}"), &json!(null)).await;
    assert_eq!((status, &view["status"]), (200, &json!("canceled")), "{view}");
    stage.crash().await;
    assert_eq!(language.run(&stage, "second", &session).await, session);
}

#[tokio::test]
async fn the_typescript_library_in_front_of_a_daemon() {
    in_front_of_a_daemon(ClientLanguage::TypeScript).await;
}

#[tokio::test]
async fn the_python_library_in_front_of_a_daemon() {
    in_front_of_a_daemon(ClientLanguage::Python).await;
}

#[tokio::test]
async fn the_python_librarys_example_client_has_a_conversation() {
    let stage = ScriptedDaemon::new("").await;
    let example = python_example("client.py");
    let mut client = Command::new(&example[0]);
    client.arg(&example[1]).arg(binary().get_program()).args(["acp", "--data-dir"]).arg(&stage.data);
    client.current_dir(&stage.work).env("STAGE_KEY", crate::scripted::CANARY).kill_on_drop(true);
    client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut client = client.spawn().unwrap();
    let mut input = client.stdin.take().unwrap();
    let lines = format!("{}\n{}\n", prompt(&[json!("first answer")]), prompt(&[json!("second answer")]));
    input.write_all(lines.as_bytes()).await.unwrap();
    drop(input);
    let output = tokio::time::timeout(PATIENCE, client.wait_with_output()).await.expect("it ends").unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("| Agent: first answer") && told.contains("| Agent: second answer"), "{told}");
    let (_, listed) = stage.request("GET", "/v1/sessions", &json!(null)).await;
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "it is one session of the daemon: {listed}");
}

#[tokio::test]
async fn the_protocols_rules_are_kept() {
    let stage = ScriptedDaemon::new("").await;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let place = libraries(&root);
    let schema = "node/node_modules/@agentclientprotocol/sdk/schema/v1/schema.json";
    let mut rules = Command::new(place.join("python/bin/python3"));
    rules.arg(root.join("tests/acp/conformance.py")).arg(place.join(schema)).arg(&stage.work);
    rules.arg(binary().get_program()).args(["acp", "--data-dir"]).arg(&stage.data).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, rules.output()).await.expect("it ends").unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn without_a_daemon_the_sessions_are_run_by_itself() {
    let mut stage = ScriptedDaemon::new("").await;
    stage.kill();
    let session = ClientLanguage::TypeScript.run(&stage, "first", "-").await;
    assert_eq!(ClientLanguage::Python.run(&stage, "second", &session).await, session);
}

/// `ostler acp` as a child process whose lines are written by hand.
struct AcpChild {
    child: tokio::process::Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl AcpChild {
    fn start(stage: &ScriptedDaemon) -> AcpChild {
        let mut command = Command::from(binary());
        command.args(["acp", "--data-dir"]).arg(&stage.data);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        AcpChild { child, input, output }
    }

    async fn send(&mut self, line: Value) {
        self.input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Sends a request, and returns its result. What is asked meanwhile is allowed.
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params})).await;
        self.until(|line| line["id"] == method).await["result"].take()
    }

    async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = tokio::time::timeout(PATIENCE, self.output.next_line()).await.expect("it says more");
            let line: Value = serde_json::from_str(&line.unwrap().expect("it has not ended")).unwrap();
            if line["method"] == "session/request_permission" {
                let result = json!({"outcome": {"outcome": "selected", "optionId": "once"}});
                self.send(json!({"jsonrpc": "2.0", "id": line["id"], "result": result})).await;
            }
            if wanted(&line) {
                return line;
            }
        }
    }
}

#[tokio::test]
async fn a_daemon_that_is_killed_in_a_turn_ends_the_editors_agent_and_keeps_the_session() {
    let mut stage = ScriptedDaemon::new("").await;
    let mut child = AcpChild::start(&stage);
    let cwd = stage.work.to_str().unwrap().to_owned();
    child.ask("initialize", json!({"protocolVersion": 1})).await;
    let session = child.ask("session/new", json!({"cwd": cwd, "mcpServers": []})).await["sessionId"].take();
    let text = prompt(&[call("shell", json!({"command": "sleep 600"}))]);
    let said = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
    child.send(json!({"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": said})).await;
    child.until(|line| line["params"]["update"]["status"] == "in_progress").await;
    stage.kill();
    let AcpChild { child, .. } = child;
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await.expect("it ends").unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(String::from_utf8(output.stderr).unwrap().contains("the daemon ended"));

    stage.restart().await;
    let mut again = AcpChild::start(&stage);
    again.ask("initialize", json!({"protocolVersion": 1})).await;
    let load = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
    again.send(json!({"jsonrpc": "2.0", "id": 1, "method": "session/load", "params": load})).await;
    let result = again.until(|line| line["params"]["update"]["status"] == "failed").await;
    assert!(result.to_string().contains("interrupted: outcome unknown"), "{result}");
    again.until(|line| line["id"] == 1 && line.get("result").is_some()).await;
}

#[tokio::test]
async fn one_that_starts_while_another_ends_takes_its_place() {
    let mut stage = ScriptedDaemon::new("").await;
    stage.kill();
    let cwd = stage.work.to_str().unwrap().to_owned();
    let mut ending = Vec::new();
    for _ in 0..8 {
        let mut child = AcpChild::start(&stage);
        child.ask("initialize", json!({"protocolVersion": 1})).await;
        child.ask("session/new", json!({"cwd": cwd, "mcpServers": []})).await;
        drop(child.input);
        ending.push(child.child);
    }
    for mut child in ending {
        let status = tokio::time::timeout(PATIENCE, child.wait()).await.expect("it ends").unwrap();
        assert!(status.success(), "{status}");
    }
}

#[tokio::test]
async fn the_first_of_two_editors_may_leave_first() {
    let mut stage = ScriptedDaemon::new("").await;
    stage.kill();
    let cwd = stage.work.to_str().unwrap().to_owned();
    let mut first = AcpChild::start(&stage);
    first.ask("initialize", json!({"protocolVersion": 1})).await;
    let mut second = AcpChild::start(&stage);
    second.ask("initialize", json!({"protocolVersion": 1})).await;
    let session = second.ask("session/new", json!({"cwd": cwd, "mcpServers": []})).await["sessionId"].take();
    drop(first.input);
    let said = [json!({"type": "text", "text": prompt(&[json!("still served")])})];
    let ended = second.ask("session/prompt", json!({"sessionId": session, "prompt": said})).await;
    assert_eq!(ended["stopReason"], "end_turn");
    drop(second.input);
    for mut child in [second.child, first.child] {
        let status = tokio::time::timeout(PATIENCE, child.wait()).await.expect("it ends").unwrap();
        assert!(status.success(), "{status}");
    }
}

#[tokio::test]
async fn one_that_nobody_has_spoken_to_ends_when_it_is_told_to() {
    let stage = ScriptedDaemon::new("").await;
    let mut child = AcpChild::start(&stage);
    let id = child.child.id().unwrap();
    let caught = || {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim().to_owned();
        u64::from_str_radix(&mask, 16).unwrap() & (1 << (15 - 1)) != 0
    };
    while !caught() {
        tokio::task::yield_now().await;
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let status = tokio::time::timeout(PATIENCE, child.child.wait()).await.expect("it ends").unwrap();
    assert!(status.success(), "{status}");
}
