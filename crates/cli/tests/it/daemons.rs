//! More than one process on a data directory, and daemons that are asked to stop.

use std::path::{Path, PathBuf};
use std::process::Output;

use futures_util::StreamExt;
use ostler_api_types::{CreateSession, SendMessage};
use ostler_client::Client;
use ostler_types::SessionId;
use rustix::process::Signal;

use crate::process::{DaemonProcess, binary};
use crate::provider::{AnswerPiece, GatedProvider};

fn ostler(data: &Path, arguments: &[&str]) -> Output {
    binary().arg("--data-dir").arg(data).args(arguments).current_dir(data.parent().unwrap()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn a_second_daemon_gives_up_and_the_others_are_clients() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let daemon = DaemonProcess::serve(&data, "");
    let second = ostler(&data, &["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(second.status.code(), Some(1));
    let said = text(&second.stderr);
    assert!(
        said.contains(&format!("(pid {})", daemon.pid())) && said.contains("stop it with `ostler stop`"),
        "{said}"
    );

    let ran = ostler(&data, &["run", "say hello there"]);
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    assert!(text(&ran.stdout).contains("hello there"));
    let client = daemon.tcp_client().await;
    let listed = client.list_sessions(&ostler_client::SessionFilter::default()).await.unwrap().sessions;
    assert_eq!(listed.len(), 1, "the first daemon has the session");
    let id = listed[0].session.id.to_string();
    assert!(text(&ostler(&data, &["sessions", "list"]).stdout).contains(&id));
    let shown = text(&ostler(&data, &["sessions", "show", &id]).stdout);
    assert!(shown.contains("demo:demo"), "{shown}");
    let exported = text(&ostler(&data, &["sessions", "export", &id]).stdout);
    assert_eq!(exported.lines().count() as u64, client.session(listed[0].session.id).await.unwrap().last_seq);
    let told = text(&ostler(&data, &["doctor"]).stdout);
    assert!(told.contains("answers") && told.contains("\ngateway: "), "{told}");
    let report: serde_json::Value =
        serde_json::from_slice(&ostler(&data, &["doctor", "--json"]).stdout).unwrap();
    assert!(report["sandbox"]["mode"].is_string() && report["gateway"].is_object(), "{report}");
    assert_eq!(ostler(&data, &["doctor", "--rebuild"]).status.code(), Some(1));
}

#[test]
fn without_a_daemon_each_command_is_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let ran = ostler(&data, &["run", "--json", "say one thing"]);
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    assert!(text(&ran.stdout).lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    let found = text(&ostler(&data, &["sessions", "search", "one thing"]).stdout);
    assert!(found.contains("sess_"), "{found}");
    let id = found.split_whitespace().next().unwrap().to_owned();
    assert_eq!(ostler(&data, &["sessions", "archive", &id]).status.code(), Some(0));
    assert!(text(&ostler(&data, &["sessions", "list"]).stdout).contains("no sessions"));
    assert!(text(&ostler(&data, &["sessions", "list", "--archived"]).stdout).contains(&id));
    assert_eq!(ostler(&data, &["sessions", "rm", "--purge", &id]).status.code(), Some(0));
    let gone = ostler(&data, &["sessions", "show", &id]);
    assert_eq!(gone.status.code(), Some(1));
    assert!(text(&gone.stderr).contains("no such session"));
    let denied = ostler(&data, &["run", "write x.txt"]);
    assert_eq!(denied.status.code(), Some(4), "nobody was there to ask");
    assert!(!dir.path().join("x.txt").exists());
    let allowed = ostler(&data, &["run", "--approve", "always", "write x.txt"]);
    assert_eq!(allowed.status.code(), Some(0));
    assert!(dir.path().join("x.txt").exists());
    assert_eq!(ostler(&data, &["run", "--model", "nobody:knows", "hi"]).status.code(), Some(1));
}

/// Starts a turn, stops the daemon in the middle of it by this signal, and starts it again.
async fn stopped_by(signal: Signal) {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let provider = GatedProvider::start().await;
    provider.answer(vec![AnswerPiece::Text("half of it".to_owned()), AnswerPiece::Gate]);
    let daemon = DaemonProcess::serve(&data, &provider.config());
    let client = daemon.tcp_client().await;
    let workspace_path = dir.path().to_str().unwrap().to_owned();
    let id =
        client.create_session(&CreateSession { workspace_path, ..CreateSession::default() }).await.unwrap();
    let mut events = client.events(id, 0, true).await.unwrap();
    client.send_message(id, &SendMessage::prompt("go")).await.unwrap();
    let next = client.send_message(id, &SendMessage::prompt("and then this")).await.unwrap();
    while events.next().await.unwrap().unwrap().name != "model_output_delta" {}
    daemon.signal(signal);
    assert!(daemon.wait().success());

    provider.answer(vec![AnswerPiece::Text("answered".to_owned())]);
    let daemon = DaemonProcess::serve(&data, &provider.config());
    let client = daemon.tcp_client().await;
    let mut events = client.events(id, 0, true).await.unwrap();
    let mut seen = Vec::new();
    loop {
        let line = events.next().await.unwrap().unwrap();
        seen.push(line.name.clone());
        if line.name == "turn_completed" {
            assert!(line.raw.contains(&next.turn_id.unwrap().to_string()), "the queue went on");
            break;
        }
        if line.name == "model_output_completed" && !seen.contains(&"turn_canceled".to_owned()) {
            assert!(line.raw.contains("half of it"), "the partial text is kept");
        }
    }
    let canceled =
        seen.iter().position(|name| name == "turn_canceled").expect("the turn was canceled in order");
    assert_eq!(seen[canceled + 1], "session_canceled");
    assert!(seen[..canceled].contains(&"model_output_completed".to_owned()));
}

#[tokio::test]
async fn sigterm_ends_turns_in_order_and_keeps_the_queue() {
    stopped_by(Signal::TERM).await;
}

#[tokio::test]
async fn sigint_does_the_same() {
    stopped_by(Signal::INT).await;
}

#[tokio::test]
async fn so_does_a_closed_terminal() {
    stopped_by(Signal::HUP).await;
}

/// A daemon with a session whose first message is being answered, for ever.
struct Busy {
    dir: tempfile::TempDir,
    data: PathBuf,
    _provider: GatedProvider,
    daemon: DaemonProcess,
    client: Client,
    id: SessionId,
}

impl Busy {
    async fn new() -> Busy {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        let provider = GatedProvider::start().await;
        provider.answer(vec![AnswerPiece::Gate]);
        let daemon = DaemonProcess::serve(&data, &provider.config());
        let client = daemon.tcp_client().await;
        let workspace_path = dir.path().to_str().unwrap().to_owned();
        let new = CreateSession { workspace_path, ..CreateSession::default() };
        let id = client.create_session(&new).await.unwrap();
        client.send_message(id, &SendMessage::prompt("one")).await.unwrap();
        Busy { dir, data, _provider: provider, daemon, client, id }
    }
}

#[tokio::test]
async fn commands_without_a_daemon_leave_the_work_to_the_next_one() {
    let Busy { dir: _dir, data, _provider, daemon, client, id } = Busy::new().await;
    client.send_message(id, &SendMessage::prompt("two")).await.unwrap();
    daemon.signal(Signal::TERM);
    assert!(daemon.wait().success());

    let before = text(&ostler(&data, &["sessions", "export", &id.to_string()]).stdout);
    assert!(before.contains("\"type\":\"message_queued\""), "{before}");
    for command in [
        &["sessions", "list"][..],
        &["approve"],
        &["sessions", "show", &id.to_string()],
        &["doctor", "--rebuild"],
    ] {
        assert_eq!(ostler(&data, command).status.code(), Some(0));
    }
    let after = text(&ostler(&data, &["sessions", "export", &id.to_string()]).stdout);
    assert_eq!(after, before, "looking changes nothing");
}

#[tokio::test]
async fn an_approval_given_without_a_daemon_is_carried_out_by_the_next_one() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let daemon = DaemonProcess::serve(&data, "");
    let client = daemon.tcp_client().await;
    let workspace_path = dir.path().to_str().unwrap().to_owned();
    let id =
        client.create_session(&CreateSession { workspace_path, ..CreateSession::default() }).await.unwrap();
    client.send_message(id, &SendMessage::prompt("write made.txt")).await.unwrap();
    let call = loop {
        if let Some(approval) = client.approvals().await.unwrap().pop() {
            break approval.tool_call_id.0;
        }
    };
    daemon.signal(Signal::TERM);
    assert!(daemon.wait().success());
    let approved = ostler(&data, &["approve", &id.to_string(), &call]);
    assert_eq!(text(&approved.stdout), "approved\n", "{}", text(&approved.stderr));
    assert!(!dir.path().join("made.txt").exists(), "nobody was there to do it");

    let daemon = DaemonProcess::serve(&data, "");
    let client = daemon.tcp_client().await;
    let mut events = client.events(id, 0, true).await.unwrap();
    while events.next().await.unwrap().unwrap().name != "turn_completed" {}
    assert!(dir.path().join("made.txt").exists());
}

#[tokio::test]
async fn a_run_whose_message_is_withdrawn_says_that_it_was_canceled() {
    let Busy { dir, data, _provider, daemon: _daemon, client, id } = Busy::new().await;
    let session = id.to_string();
    let mut command = binary();
    command.arg("--data-dir").arg(&data).args(["run", "--session", &session, "two"]).current_dir(dir.path());
    let mut run =
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    let queued = loop {
        if let Some(queued) = client.session(id).await.unwrap().queue.pop() {
            break queued.message.id;
        }
    };
    client.withdraw(id, queued).await.unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(3));
}

#[test]
fn answers_can_be_piped_in() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let mut command = binary();
    command.arg("--data-dir").arg(&data).args([
        "run",
        "--approve",
        "ask",
        "write a.txt and then write b.txt",
    ]);
    command.current_dir(dir.path()).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
    let mut run = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    std::io::Write::write_all(&mut run.stdin.take().unwrap(), b"y\ny\n").unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert!(dir.path().join("a.txt").exists() && dir.path().join("b.txt").exists());
}
