//! Agents that others wrote, configured in the real binary: turns, questions, cancels, and what is left of them when
//! the daemon is killed or stopped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use ostler_api_types::{CreateSession, SendMessage, UpdateSession};
use ostler_client::Client;
use ostler_types::{Policy, SessionId};
use serde_json::{Value, json};

use crate::process::binary;
use crate::scripted::{ScriptedDaemon, ScriptedTurn, policy_without_approvals};

/// The agent on the protocol's library for Rust.
fn rust_agent() -> String {
    let test = std::env::current_exe().unwrap();
    let agent = test.parent().unwrap().parent().unwrap().join("examples/sdk_agent");
    agent.display().to_string()
}

/// The agent on that for Node, with what it needs, and the directory that it reads besides.
fn node_agent() -> (Vec<String>, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let place = root.join("target/acp-agents");
    let installed = Command::new(root.join("tests/acp/setup.sh")).arg(&place).status().unwrap();
    assert!(installed.success(), "tests/acp/setup.sh installs what it needs");
    let script = root.join("tests/acp/agent.mjs");
    let sdk = place.join("sdk").display().to_string();
    let readable = format!("readable = [{sdk:?}]");
    (vec!["node".to_owned(), script.display().to_string(), sdk], readable)
}

/// A section that configures an agent.
pub(crate) fn section(name: &str, command: &[String], more: &str) -> String {
    format!("[agents.{name}]\ncommand = {}\n{more}\n", json!(command))
}

/// The section of the agent that does what its prompt says, with a directory for its notes, which it may write.
pub(crate) fn fault(notes: &Path, options: &[&str]) -> String {
    let script = ostler_testing::fault_agent::script().display().to_string();
    let words = ["python3", &script].into_iter().chain(options.iter().copied());
    let command: Vec<String> = words.map(str::to_owned).collect();
    let notes = notes.display().to_string();
    section("fault", &command, &format!("env = {{ NOTES = {notes:?} }}\nwritable = [{notes:?}]"))
}

/// A session of an agent.
pub(crate) async fn session(client: &Client, agent: &str, work: &Path, policy: Policy) -> SessionId {
    let new = CreateSession {
        workspace_path: work.display().to_string(),
        agent: Some(agent.to_owned()),
        policy: Some(policy.into()),
        ..CreateSession::default()
    };
    client.create_session(&new).await.unwrap()
}

/// Begins a turn.
pub(crate) async fn begin(stage: &ScriptedDaemon, session: SessionId, text: &str) -> ScriptedTurn {
    let after = stage.client.session(session).await.unwrap().last_seq;
    let sent = stage.client.send_message(session, &SendMessage::prompt(text.to_owned())).await.unwrap();
    stage.follow_after(session, sent.turn_id.unwrap(), after).await
}

/// Runs a turn to its end.
pub(crate) async fn ask(stage: &ScriptedDaemon, session: SessionId, text: &str) -> (ScriptedTurn, Value) {
    let mut turn = begin(stage, session, text).await;
    let end = turn.finish().await;
    (turn, end)
}

/// The words of a turn's answers.
pub(crate) fn answers(turn: &ScriptedTurn) -> String {
    let parts = turn.all("model_output_completed").into_iter();
    let texts = parts.flat_map(|data| data["message"]["parts"].as_array().cloned().unwrap_or_default());
    texts.filter_map(|part| Some(part["text"].as_str()?.to_owned())).collect::<Vec<_>>().join("|")
}

/// Waits until something holds.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    for _ in 0..3_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("it does not happen");
}

/// What must hold of an agent on any library.
async fn understood(command: Vec<String>, more: &str) {
    let stage = ScriptedDaemon::new(&section("sdk", &command, more)).await;
    let quiet = session(&stage.client, "sdk", &stage.work, policy_without_approvals()).await;
    let (turn, end) = ask(&stage, quiet, "hello").await;
    assert_eq!(
        (end["type"].as_str(), &end["data"]["stop_reason"]),
        (Some("turn_completed"), &json!("end_turn"))
    );
    assert_eq!(answers(&turn), "You said: hello");
    let (turn, _) = ask(&stage, quiet, "call").await;
    assert_eq!(turn.result().text, "a.txt b.txt");
    let (turn, _) = ask(&stage, quiet, "write").await;
    assert_eq!(stage.read("by-sdk.txt"), "written\n");
    assert!(answers(&turn).contains("It holds written"));
    assert_eq!(turn.all("checkpoint_created").len(), 2, "before and after");

    let asking = session(&stage.client, "sdk", &stage.work, Policy::default()).await;
    for (text, action, ok) in [("ask", "approve", true), ("ask again", "deny", false)] {
        let mut turn = begin(&stage, asking, text).await;
        let asked = turn.until("approval_requested").await;
        assert_eq!(asked["data"]["options"][0]["id"], "go", "the agent's own answers are offered");
        assert_eq!(stage.answer(&asked, json!({"action": action})).await.0, 200);
        assert_eq!(turn.finish().await["type"], "turn_completed");
        assert_eq!(turn.result().ok, ok);
    }
    let mut turn = begin(&stage, asking, "wait").await;
    turn.until_text("wait").await;
    stage.client.cancel(asking).await.unwrap();
    assert_eq!(turn.finish().await["type"], "turn_canceled");
    let (turn, _) = ask(&stage, asking, "and on").await;
    assert_eq!(answers(&turn), "You said: and on");
}

#[tokio::test]
async fn an_agent_on_the_rust_library_is_understood() {
    understood(vec![rust_agent()], "").await;
}

#[tokio::test]
async fn an_agent_in_the_open_is_understood_too() {
    understood(vec![rust_agent()], "sandbox = \"off\"").await;
}

#[tokio::test]
async fn an_agent_on_the_typescript_library_is_understood() {
    let (command, readable) = node_agent();
    understood(command, &readable).await;
}

#[tokio::test]
async fn the_python_librarys_example_agent_is_understood() {
    let stage = ScriptedDaemon::new(&section("example", &crate::acp::python_example("agent.py"), "")).await;
    let id = session(&stage.client, "example", &stage.work, policy_without_approvals()).await;
    for text in ["hello", "and again"] {
        let (turn, end) = ask(&stage, id, text).await;
        assert_eq!(end["type"], "turn_completed", "{end}");
        assert_eq!(answers(&turn), format!("Client sent:{text}"));
    }
    let (status, doctor) = stage.request("GET", "/v1/agents", &json!(null)).await;
    assert_eq!(status, 200, "{doctor}");
}

#[tokio::test]
async fn agents_are_listed_with_how_they_stand_and_missing_ones_say_what_to_do() {
    let config = section("rust", &[rust_agent()], "")
        + "[agents.gone]\npreset = \"claude\"\ncommand = [\"no-such-agent\"]\n";
    let stage = ScriptedDaemon::new(&config).await;
    let agents = stage.client.agent_infos().await.unwrap();
    let stands: Vec<(&str, &str)> =
        agents.iter().map(|agent| (agent.name.as_str(), agent.status.as_str())).collect();
    assert_eq!(stands, [("gone", "idle"), ("native", "connected"), ("rust", "idle")]);
    session(&stage.client, "rust", &stage.work, policy_without_approvals()).await;
    let agents = stage.client.agent_infos().await.unwrap();
    assert_eq!(agents[2].status.as_str(), "connected");

    let body = json!({"workspace_path": stage.work, "agent": "gone"});
    let (status, refused) = stage.request("POST", "/v1/sessions", &body).await;
    assert_eq!((status, &refused["error"]["code"]), (409, &json!("agent_not_started")), "{refused}");
    assert!(refused["error"]["hint"].as_str().unwrap().contains("npm install"), "{refused}");
    let body = json!({"workspace_path": stage.work, "agent": "nobody"});
    assert_eq!(stage.request("POST", "/v1/sessions", &body).await.1["error"]["code"], "unknown_agent");

    let mut doctor = binary();
    doctor.args(["agents", "doctor", "--json", "--data-dir"]).arg(&stage.data).arg("--config");
    doctor.arg(stage.data.parent().unwrap().join("config.toml")).current_dir(&stage.work);
    let output = doctor.output().unwrap();
    let reports: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of = |name: &str| reports.as_array().unwrap().iter().find(|it| it["name"] == name).unwrap().clone();
    assert_eq!((of("rust")["ok"].clone(), of("gone")["ok"].clone()), (json!(true), json!(false)));
    assert!(of("gone")["error"]["hint"].as_str().unwrap().contains("npm install"));
    assert!(!output.status.success());
}

#[tokio::test]
async fn fifty_sessions_share_one_process_which_ends_with_the_daemon() {
    let notes = tempfile::tempdir().unwrap();
    // Confined, it would know itself by another number.
    let mut stage = ScriptedDaemon::new(&(fault(notes.path(), &[]) + "sandbox = \"off\"\n")).await;
    let first = session(&stage.client, "fault", &stage.work, policy_without_approvals()).await;
    let started = |notes: &Path| {
        let text = std::fs::read_to_string(notes.join("notes")).unwrap();
        text.lines().filter(|line| line.starts_with("start ")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(started(notes.path()).len(), 1);
    let mut sessions = vec![first];
    for _ in 1..50 {
        sessions.push(session(&stage.client, "fault", &stage.work, policy_without_approvals()).await);
    }
    let turns = sessions.iter().map(|session| ask(&stage, *session, "say:hello call:c"));
    for (turn, end) in futures_util::future::join_all(turns).await {
        assert_eq!(end["type"], "turn_completed", "{end}");
        assert_eq!(answers(&turn), "hello");
    }
    assert_eq!(started(notes.path()).len(), 1, "all fifty share it");
    let process: u32 = started(notes.path())[0].split(' ').nth(1).unwrap().parse().unwrap();
    stage.stop();
    assert!(!PathBuf::from(format!("/proc/{process}")).exists(), "it has ended with the daemon");
}

#[tokio::test]
async fn what_is_chosen_of_an_agents_settings_holds_from_the_next_turn_on() {
    let notes = tempfile::tempdir().unwrap();
    let config = fault(notes.path(), &["modes"]) + "settings = { mode = \"code\" }\n";
    let stage = ScriptedDaemon::new(&config).await;
    let id = session(&stage.client, "fault", &stage.work, policy_without_approvals()).await;
    let view = stage.client.session(id).await.unwrap();
    let offered = view.agent_state.expect("it is known before the first turn");
    assert_eq!(offered.settings[0].current.as_deref(), Some("code"), "as it is configured");
    let change = |mode: &str| UpdateSession {
        agent_settings: Some(BTreeMap::from([("mode".to_owned(), mode.to_owned())])),
        ..UpdateSession::default()
    };
    stage.client.update(id, &change("ask")).await.unwrap();
    let (_, end) = ask(&stage, id, "say:x").await;
    assert_eq!(end["type"], "turn_completed");
    let heard = std::fs::read_to_string(notes.path().join("notes")).unwrap();
    let modes: Vec<&str> = heard.lines().filter(|line| line.starts_with("mode ")).collect();
    assert_eq!(modes, ["mode code", "mode ask"]);
    let path = format!("/v1/sessions/{id}");
    for (settings, code) in
        [(json!({"mode": "fly"}), "unknown_choice"), (json!({"colour": "red"}), "unknown_setting")]
    {
        let (status, refused) = stage.request("PATCH", &path, &json!({"agent_settings": settings})).await;
        assert_eq!((status, refused["error"]["code"].as_str()), (422, Some(code)), "{refused}");
    }
    let native = stage.session(policy_without_approvals()).await;
    let body = json!({"agent_settings": {"mode": "x"}});
    assert_eq!(stage.request("PATCH", &format!("/v1/sessions/{native}"), &body).await.0, 422);
}

#[tokio::test]
async fn an_agent_sees_only_the_variables_that_it_is_to_see() {
    let notes = tempfile::tempdir().unwrap();
    let config = fault(notes.path(), &[]) + "pass_env = [\"PASSED\"]\n";
    let stage = ScriptedDaemon::with(&config, &[("PASSED", "yes"), ("OTHER_SECRET", "no")]).await;
    session(&stage.client, "fault", &stage.work, policy_without_approvals()).await;
    let heard = std::fs::read_to_string(notes.path().join("notes")).unwrap();
    let variables = heard.lines().find(|line| line.starts_with("env ")).unwrap();
    assert!(variables.contains(" PASSED") && variables.contains(" NOTES"), "{variables}");
    assert!(!variables.contains("OTHER_SECRET") && !variables.contains("STAGE_KEY"), "{variables}");
}

#[tokio::test]
async fn the_work_of_an_agent_is_checked_and_can_be_undone() {
    let notes = tempfile::tempdir().unwrap();
    let stage = ScriptedDaemon::new(&fault(notes.path(), &[])).await;
    let mut policy = policy_without_approvals();
    policy.verify.commands = vec!["test -f b.txt || { echo write:b.txt=x; exit 3; }".to_owned()];
    let id = session(&stage.client, "fault", &stage.work, policy).await;
    let (turn, end) = ask(&stage, id, "write:a.txt=x say:ready").await;
    assert_eq!(end["data"]["verified"], true, "{end}");
    assert_eq!(turn.all("verification_completed").len(), 2);
    assert!(stage.work.join("b.txt").exists());
    let undo = json!({"turn_id": turn.id, "preview": false});
    let (status, undone) = stage.request("POST", &format!("/v1/sessions/{id}/undo"), &undo).await;
    assert_eq!(status, 200, "{undone}");
    assert!(!stage.work.join("a.txt").exists() && !stage.work.join("b.txt").exists(), "{undone}");
}
