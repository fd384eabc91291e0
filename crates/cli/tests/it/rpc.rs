//! `ostler rpc` as a real process over real pipes: by itself, and in front of a daemon.

pub(crate) mod child;
#[path = "../../../doors/tests/it/jsonl/schema.rs"]
mod schema;

use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{DaemonProcess, binary};
use crate::provider::{AnswerPiece, GatedProvider};
use child::{RpcChild, text};

/// A data directory, a workspace and a scripted provider.
struct RpcFixture {
    dir: TempDir,
    provider: GatedProvider,
}

impl RpcFixture {
    async fn new() -> RpcFixture {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        let provider = GatedProvider::start().await;
        std::fs::write(dir.path().join("config.toml"), provider.config()).unwrap();
        RpcFixture { dir, provider }
    }

    fn data(&self) -> std::path::PathBuf {
        self.dir.path().join("data")
    }

    /// The command, in the workspace.
    fn command(&self) -> std::process::Command {
        let mut command = binary();
        command.arg("rpc").arg("--config").arg(self.dir.path().join("config.toml"));
        command.arg("--data-dir").arg(self.data()).arg("--cwd").arg(self.dir.path().join("work"));
        command.env("RUST_BACKTRACE", "1").current_dir(self.dir.path());
        command
    }

    fn rpc(&self, arguments: &[&str]) -> RpcChild {
        let mut command = self.command();
        command.args(arguments);
        RpcChild::start(command)
    }

    fn daemon(&self) -> DaemonProcess {
        DaemonProcess::serve(&self.data(), &self.provider.config())
    }

    fn says(&self, words: &str) {
        self.provider.answer(vec![AnswerPiece::Text(words.to_owned())]);
    }

    /// An answer that stops in the middle, until the gate is opened.
    fn says_half(&self) {
        let half = vec![
            AnswerPiece::Text("half of ".to_owned()),
            AnswerPiece::Gate,
            AnswerPiece::Text("it".to_owned()),
        ];
        self.provider.answer(half);
    }

    /// The names of the records of a session.
    fn log(&self, session: &str) -> Vec<String> {
        let path = self.data().join("sessions").join(session).join("events.ndjson");
        let name =
            |line: &str| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_owned();
        std::fs::read_to_string(path).unwrap().lines().map(name).collect()
    }

    fn terminals(&self, session: &str) -> Vec<String> {
        let terminal =
            |name: &String| ["turn_completed", "turn_failed", "turn_canceled"].contains(&name.as_str());
        self.log(session).into_iter().filter(terminal).collect()
    }
}

/// What must hold with and without a daemon.
async fn two_sessions(stage: &RpcFixture) {
    let mut rpc = stage.rpc(&[]);
    let ready = rpc.next().await;
    assert_eq!((&ready["type"], &ready["model"]), (&json!("ready"), &json!({"provider": "mock", "id": "m"})));
    let primary = ready["primary_session_id"].as_str().unwrap().to_owned();
    rpc.send(&json!({"type": "start_session"})).await;
    let second = rpc.until("session_started").await["session_id"].as_str().unwrap().to_owned();
    for (session, words) in [(&primary, "first"), (&second, "second")] {
        stage.says(words);
        rpc.send(&json!({"type": "prompt", "text": "go", "session_id": session})).await;
        let end = rpc.event(session, "agent_end").await;
        assert_eq!(text(end["data"][0].as_array().unwrap().last().unwrap()), words);
    }
    rpc.send(&json!({"type": "set_active_session", "session_id": second})).await;
    assert_eq!(rpc.next().await["session_id"], second);
    stage.says("third");
    rpc.send(&json!({"type": "prompt", "text": "again"})).await;
    rpc.event(&second, "agent_end").await;
    rpc.send(&json!({"type": "stats"})).await;
    let stats = rpc.until("stats").await["stats"].clone();
    assert_eq!((&stats["session_id"], &stats["turn_count"]), (&json!(second), &json!(2)));
    rpc.write(b"nonsense\n").await;
    assert_eq!(rpc.next().await["type"], "error");
    rpc.send(&json!({"type": "quit"})).await;
    assert_eq!(
        rpc.end().await,
        (Some(0), String::new()),
        "nothing but lines on stdout, and nothing on stderr"
    );
    assert_eq!(stage.terminals(&second), ["turn_completed", "turn_completed"]);
}

#[tokio::test]
async fn many_sessions_by_itself() {
    two_sessions(&RpcFixture::new().await).await;
}

#[tokio::test]
async fn many_sessions_in_front_of_a_daemon() {
    let stage = RpcFixture::new().await;
    let daemon = stage.daemon();
    two_sessions(&stage).await;
    // They are the daemon's.
    let client = daemon.client().await.unwrap();
    assert_eq!(client.list_sessions(&Default::default()).await.unwrap().sessions.len(), 2);
}

#[tokio::test]
async fn a_plain_shell_pipe_gets_its_answer() {
    for with_daemon in [false, true] {
        let stage = RpcFixture::new().await;
        let daemon = with_daemon.then(|| stage.daemon());
        stage.says("an answer");
        let rpc = stage.command();
        let words: Vec<String> = std::iter::once(rpc.get_program())
            .chain(rpc.get_args())
            .map(|word| format!("'{}'", word.to_str().unwrap()))
            .collect();
        let line = format!(r#"printf '{{"type":"prompt","text":"go"}}' | {} --linger 60"#, words.join(" "));
        let mut shell = tokio::process::Command::new("sh");
        shell.arg("-c").arg(line).env("HOME", "/nonexistent").env("OSTLER_MODELS_DISCOVER", "false");
        let output = tokio::time::timeout(Duration::from_secs(60), shell.output()).await.unwrap().unwrap();
        assert!(output.status.success());
        let lines = String::from_utf8(output.stdout).unwrap();
        let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        assert_eq!(text(&last["event"]["data"][0][1]), "an answer");
        drop(daemon);
    }
}

#[tokio::test]
async fn a_script_in_another_language_drives_it() {
    let stage = RpcFixture::new().await;
    stage.says("from python");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/jsonl/client.py");
    let rpc = stage.command();
    let mut python = tokio::process::Command::new("python3");
    python.arg(script).arg(rpc.get_program()).args(rpc.get_args());
    python.env("HOME", "/nonexistent").env("OSTLER_MODELS_DISCOVER", "false").stdin(Stdio::null());
    let output = tokio::time::timeout(Duration::from_secs(60), python.output()).await.unwrap().unwrap();
    let (told, failed) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{told}{failed}");
    assert_eq!(told.trim(), "ok: from python");
}

#[tokio::test]
async fn stdin_that_closes_in_mid_turn_cancels_it_and_loses_nothing() {
    for with_daemon in [false, true] {
        let stage = RpcFixture::new().await;
        let daemon = with_daemon.then(|| stage.daemon());
        let mut rpc = stage.rpc(&["--linger", "0"]);
        let primary = rpc.next().await["primary_session_id"].as_str().unwrap().to_owned();
        stage.says_half();
        rpc.send(&json!({"type": "prompt", "text": "go"})).await;
        rpc.event(&primary, "message_update").await;
        rpc.close_input();
        let end = rpc.event(&primary, "agent_end").await;
        let last = end["data"][0].as_array().unwrap().last().unwrap().clone();
        assert_eq!((text(&last).as_str(), &last["stop_reason"]), ("half of ", &json!("aborted")));
        assert_eq!(rpc.end().await.0, Some(0));
        assert_eq!(stage.terminals(&primary), ["turn_canceled"]);
        drop(daemon);
    }
}

#[tokio::test]
async fn a_signal_ends_it_in_order() {
    for with_daemon in [false, true] {
        let stage = RpcFixture::new().await;
        let daemon = with_daemon.then(|| stage.daemon());
        let mut rpc = stage.rpc(&[]);
        let primary = rpc.next().await["primary_session_id"].as_str().unwrap().to_owned();
        stage.says_half();
        rpc.send(&json!({"type": "prompt", "text": "go"})).await;
        rpc.event(&primary, "message_update").await;
        rpc.signal(Signal::TERM);
        rpc.event(&primary, "agent_end").await;
        assert_eq!(rpc.end().await.0, Some(0));
        assert_eq!(stage.terminals(&primary), ["turn_canceled"]);
        drop(daemon);
    }
}

#[tokio::test]
async fn a_killed_daemon_is_told_and_its_sessions_go_on_afterwards() {
    let stage = RpcFixture::new().await;
    let daemon = stage.daemon();
    let mut rpc = stage.rpc(&[]);
    let primary = rpc.next().await["primary_session_id"].as_str().unwrap().to_owned();
    stage.says("whole");
    rpc.send(&json!({"type": "prompt", "text": "go"})).await;
    rpc.event(&primary, "agent_end").await;
    stage.says_half();
    rpc.send(&json!({"type": "prompt", "text": "more"})).await;
    rpc.event(&primary, "message_update").await;
    daemon.kill();
    loop {
        let frame = rpc.next().await;
        if frame["type"] == "error" {
            assert_eq!(frame["message"], "the daemon ended");
            break;
        }
    }
    let (code, log) = rpc.end().await;
    assert_eq!((code, log.trim()), (Some(5), "error: the daemon ended"));
    // All that was told is there, and the session goes on, now in this process.
    let path = stage.data().join("sessions").join(&primary).join("events.ndjson");
    let mut again = stage.rpc(&["--session-file", path.to_str().unwrap()]);
    assert_eq!(again.next().await["primary_session_id"], primary);
    stage.says("back");
    again.send(&json!({"type": "prompt", "text": "still there?"})).await;
    // The turn that was cut fails first, if it has not yet.
    let end = loop {
        let end = again.event(&primary, "agent_end").await;
        if !end["data"][0].as_array().unwrap().is_empty() {
            break end;
        }
    };
    assert_eq!(text(end["data"][0].as_array().unwrap().last().unwrap()), "back");
    again.send(&json!({"type": "quit"})).await;
    assert_eq!(again.end().await.0, Some(0));
    assert_eq!(stage.terminals(&primary), ["turn_completed", "turn_failed", "turn_completed"]);
}

#[tokio::test]
async fn two_processes_never_write_one_log() {
    let stage = RpcFixture::new().await;
    // The first one has the data directory; the second is its client.
    let (mut first, mut second) = (stage.rpc(&[]), None);
    let one = first.next().await["primary_session_id"].as_str().unwrap().to_owned();
    let second = second.insert(stage.rpc(&[]));
    let two = second.next().await["primary_session_id"].as_str().unwrap().to_owned();
    stage.says("shared");
    second.send(&json!({"type": "prompt", "text": "go", "session_id": one})).await;
    second.until("session_started").await;
    second.event(&one, "agent_end").await;
    first.event(&one, "agent_end").await;
    // A client whose daemon goes is told so.
    first.send(&json!({"type": "quit"})).await;
    assert_eq!(first.end().await.0, Some(0));
    let last = second.until("error").await;
    assert_eq!(last["message"], "the daemon is shutting down");
    assert_eq!(second.end().await.0, Some(0));
    assert_ne!(one, two);
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    for with_daemon in [false, true] {
        let stage = RpcFixture::new().await;
        let daemon = with_daemon.then(|| stage.daemon());
        let mut rpc = stage.rpc(&["--model", "nobody:nothing"]);
        let error = rpc.next().await;
        assert!(error["message"].as_str().unwrap().contains("invalid model"), "{error}");
        assert_eq!(rpc.end().await.0, Some(1));
        std::fs::write(stage.dir.path().join("bad.jsonl"), "{\"torn\":").unwrap();
        let mut rpc = stage.rpc(&["--session-file", "bad.jsonl"]);
        let error = rpc.next().await;
        assert!(error["message"].as_str().unwrap().contains("is damaged at line 1"), "{error}");
        assert_eq!(rpc.end().await.0, Some(1));
        drop(daemon);
    }
    let stage = RpcFixture::new().await;
    let mut rpc = stage.rpc(&["--cwd", "/nonexistent"]);
    assert_eq!(rpc.end().await.0, Some(2), "--cwd is given twice");
}

#[tokio::test]
async fn a_session_file_of_ones_own_is_kept() {
    let stage = RpcFixture::new().await;
    let mut rpc = stage.rpc(&["--session-file", "mine.jsonl"]);
    let primary = rpc.next().await["primary_session_id"].as_str().unwrap().to_owned();
    stage.says("kept");
    rpc.send(&json!({"type": "prompt", "text": "go"})).await;
    rpc.event(&primary, "agent_end").await;
    rpc.close_input();
    assert_eq!(rpc.end().await.0, Some(0));
    // Beside where the program was started, not in the workspace.
    assert!(std::fs::read_to_string(stage.dir.path().join("mine.jsonl")).unwrap().contains("kept"));
    let daemon = stage.daemon();
    let mut rpc = stage.rpc(&["--session-file", "mine.jsonl"]);
    assert_eq!(rpc.next().await["primary_session_id"], primary);
    rpc.close_input();
    assert_eq!(rpc.end().await.0, Some(0));
    drop(daemon);
}
