//! The acceptance tests of the session API, over TCP, against the real binary.

use std::collections::HashSet;
use std::path::PathBuf;

use futures_util::StreamExt;
use ostler_api_types::{ApprovalAnswerBody, CreateSession, SendMessage};
use ostler_client::Client;
use ostler_types::{Policy, SessionId, TurnId, Verdict};
use serde_json::Value;

use crate::process::DaemonProcess;
use crate::scenario::export;

struct AcceptanceFixture {
    _dir: tempfile::TempDir,
    data: PathBuf,
    work: PathBuf,
    _daemon: DaemonProcess,
    client: Client,
}

impl AcceptanceFixture {
    async fn new() -> AcceptanceFixture {
        let dir = tempfile::tempdir().unwrap();
        let (data, work) = (dir.path().join("data"), dir.path().join("work"));
        std::fs::create_dir(&work).unwrap();
        std::fs::write(work.join("README.md"), "hello\n").unwrap();
        let daemon = DaemonProcess::serve(&data, "");
        let client = daemon.tcp_client().await;
        AcceptanceFixture { _dir: dir, data, work, _daemon: daemon, client }
    }

    async fn session(&self, policy: Option<Policy>) -> SessionId {
        let workspace_path = self.work.to_str().unwrap().to_owned();
        self.client
            .create_session(&CreateSession {
                workspace_path,
                policy: policy.map(Into::into),
                ..CreateSession::default()
            })
            .await
            .unwrap()
    }

    async fn send(&self, id: SessionId, text: &str) -> TurnId {
        self.client.send_message(id, &SendMessage::prompt(text)).await.unwrap().turn_id.unwrap()
    }

    /// Waits for an event of this name, and returns it.
    async fn until(&self, id: SessionId, name: &str) -> Value {
        let mut events = self.client.events(id, 0, true).await.unwrap();
        loop {
            let line = events.next().await.unwrap().unwrap();
            if line.name == name {
                return serde_json::from_str(&line.raw).unwrap();
            }
        }
    }

    async fn names(&self, id: SessionId) -> Vec<String> {
        let lines = export(&self.client, id).await;
        lines
            .iter()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn no_approvals() -> Policy {
    let mut policy = Policy::default();
    policy.approval.require_for_kinds.clear();
    policy
}

#[tokio::test]
async fn a_new_session_has_an_id_and_a_session_json() {
    let world = AcceptanceFixture::new().await;
    let id = world.session(None).await;
    let path = world.data.join("sessions").join(id.to_string()).join("session.json");
    let session: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(session["id"], id.to_string());
    assert_eq!(session["status"], "active");
    assert_eq!(session["workspace_path"], world.work.to_str().unwrap());
}

#[tokio::test]
async fn a_message_leads_to_message_added_and_turn_started() {
    let world = AcceptanceFixture::new().await;
    let id = world.session(None).await;
    let turn = world.send(id, "hello").await;
    assert_eq!(world.until(id, "turn_completed").await["turn_id"], turn.to_string());
    let names = world.names(id).await;
    assert_eq!(names[..4], ["session_created", "model_resolved", "message_added", "turn_started"]);
}

#[tokio::test]
async fn a_tool_call_leads_to_started_and_completed() {
    let world = AcceptanceFixture::new().await;
    let id = world.session(None).await;
    world.send(id, "read README.md").await;
    let started = world.until(id, "tool_call_started").await;
    assert_eq!(started["data"]["tool_call"]["name"], "read_file");
    assert_eq!(started["data"]["tool_call"]["input"]["path"], "README.md");
    let completed = world.until(id, "tool_call_completed").await;
    assert_eq!(completed["data"]["tool_result"]["ok"], true);
    assert_eq!(completed["data"]["tool_call"]["id"], started["data"]["tool_call"]["id"]);
    world.until(id, "turn_completed").await;
}

#[tokio::test]
async fn approvals_gate_what_the_policy_says() {
    let world = AcceptanceFixture::new().await;
    let id = world.session(None).await;
    let turn_id = world.send(id, "write made.txt").await;
    let asked = world.until(id, "approval_requested").await;
    assert!(!world.work.join("made.txt").exists(), "nothing happens before the answer");
    assert_eq!(asked["data"]["kind"], "write");
    let waiting = world.client.approvals().await.unwrap();
    assert_eq!(waiting.len(), 1);
    let tool_call_id = waiting[0].tool_call_id.clone();
    let answer = ApprovalAnswerBody {
        review: None,
        option: None,
        turn_id: Some(turn_id),
        tool_call_id,
        action: Verdict::Approve,
        scope: None,
        reason: Some("ok".to_owned()),
    };
    world.client.approve(id, &answer).await.unwrap();
    world.until(id, "turn_completed").await;
    assert!(world.work.join("made.txt").exists());
    let late = world.client.approve(id, &answer).await.unwrap_err().to_string();
    assert!(late.contains("approved by http"), "{late}");

    world.send(id, "write other.txt").await;
    let view = loop {
        let view = world.client.session(id).await.unwrap();
        if !view.pending_approvals.is_empty() {
            break view;
        }
    };
    let (turn_id, tool_call_id) =
        (view.pending_approvals[0].turn_id, view.pending_approvals[0].tool_call_id.clone());
    let no = ApprovalAnswerBody {
        review: None,
        option: None,
        turn_id: Some(turn_id),
        tool_call_id,
        action: Verdict::Deny,
        scope: None,
        reason: Some("not that".to_owned()),
    };
    world.client.approve(id, &no).await.unwrap();
    world.until(id, "approval_denied").await;
    while world.client.session(id).await.unwrap().running_turn_id.is_some() {}
    assert!(!world.work.join("other.txt").exists());
    assert_eq!(
        world.names(id).await.iter().filter(|name| *name == "turn_completed").count(),
        2,
        "the turn goes on"
    );
}

#[tokio::test]
async fn verification_runs_after_a_write_and_says_how_it_went() {
    let world = AcceptanceFixture::new().await;
    let mut policy = no_approvals();
    policy.verify.commands = vec!["test -f made.txt && echo it is there".to_owned()];
    let id = world.session(Some(policy)).await;
    world.send(id, "write made.txt").await;
    let end = world.until(id, "turn_completed").await;
    assert_eq!(end["data"]["verified"], true);
    let verified = world.until(id, "verification_completed").await;
    assert_eq!(verified["data"]["results"][0]["exit_code"], 0);
    assert!(verified["data"]["results"][0]["output"].as_str().unwrap().contains("it is there"));
    let names = world.names(id).await;
    let at = |name: &str| names.iter().position(|other| other == name).unwrap();
    assert!(at("tool_call_completed") < at("verification_started"));
    assert!(at("verification_started") < at("verification_completed"));

    let mut failing = no_approvals();
    failing.verify.commands = vec!["echo broken; exit 3".to_owned()];
    let id = world.session(Some(failing)).await;
    world.send(id, "write more.txt").await;
    assert_eq!(world.until(id, "turn_completed").await["data"]["verified"], false);
    assert_eq!(world.names(id).await.iter().filter(|name| *name == "verification_completed").count(), 4);
}

#[tokio::test]
async fn the_log_on_disk_is_what_clients_see() {
    let world = AcceptanceFixture::new().await;
    let id = world.session(Some(no_approvals())).await;
    world.send(id, "read README.md then run `echo hi`").await;
    world.until(id, "turn_completed").await;
    let shown = export(&world.client, id).await;
    let log = std::fs::read_to_string(world.data.join("sessions").join(id.to_string()).join("events.ndjson"))
        .unwrap();
    let kept: Vec<&str> = log.lines().map(str::trim_end).collect();
    assert_eq!(shown, kept);
    let types: HashSet<String> = world.names(id).await.into_iter().collect();
    assert!(types.contains("tool_batch_completed"));
}
