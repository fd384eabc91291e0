//! `ostler logs` and `ostler watch`: what is shown, and that a daemon's death costs neither a record nor shows one twice.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use ostler_api_types::{CreateSession, SendMessage};
use ostler_client::Client;
use ostler_types::SessionId;
use serde_json::Value;

use crate::cli_fixture::{CliFixture, sees, terminal};
use crate::process::DaemonProcess;

async fn session(client: &Client, desk: &CliFixture) -> SessionId {
    let workspace_path = desk.work.to_str().unwrap().to_owned();
    client.create_session(&CreateSession { workspace_path, ..CreateSession::default() }).await.unwrap()
}

async fn says(client: &Client, id: SessionId, prompt: &str) {
    client.send_message(id, &SendMessage::prompt(prompt)).await.unwrap();
    while client.session(id).await.unwrap().running_turn_id.is_some() {}
}

#[test]
fn a_log_is_a_line_for_each_record() {
    let desk = CliFixture::new("");
    let id = desk.run(&["run", "read README.md"]).err;
    let id = id.trim().strip_prefix("session ").unwrap();
    let exported = desk.run(&["sessions", "export", id]).out;
    assert_eq!(desk.run(&["logs", id, "--json"]).out, exported, "the records themselves");
    let lines = desk.run(&["logs", id]).out;
    assert_eq!(lines.lines().count(), exported.lines().count());
    for text in ["session_created", "tool_call_started       read_file  README.md", "read_file: ok"] {
        assert!(lines.contains(text), "{text}: {lines}");
    }
    let last = desk.run(&["logs", id, "--tail", "2"]).out;
    assert!(last.lines().count() == 2 && lines.ends_with(&last), "{last}");
    let since = desk.run(&["logs", id, "--since", "3", "--json"]).out;
    assert_eq!(since.lines().count(), exported.lines().count() - 3);
    let unknown = desk.run(&["logs", "sess_0190f3c4a5b67c8d9e0f112233445566"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(unknown.err.contains("no such session"), "{unknown:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_is_followed_over_the_death_of_the_daemon() {
    let desk = CliFixture::new("");
    let daemon = DaemonProcess::serve(&desk.data, "");
    let client = daemon.tcp_client().await;
    let id = session(&client, &desk).await;
    says(&client, id, "say one").await;
    let mut logs = desk.start(&["logs", &id.to_string(), "--follow", "--json"]);
    let mut seen = Vec::new();
    let mut until_completed = |logs: &mut crate::cli_fixture::StartedCli| {
        loop {
            let record: Value = serde_json::from_str(&logs.line().unwrap()).unwrap();
            seen.push(record["seq"].as_u64().unwrap());
            if record["type"] == "turn_completed" {
                break;
            }
        }
    };
    until_completed(&mut logs);
    says(&client, id, "say two").await;
    until_completed(&mut logs);
    daemon.kill();
    let daemon = DaemonProcess::serve(&desk.data, "");
    let client = daemon.tcp_client().await;
    says(&client, id, "say three").await;
    until_completed(&mut logs);
    assert_eq!(seen, (1..=seen.len() as u64).collect::<Vec<_>>(), "no gap and no duplicate");
    logs.signal(rustix::process::Signal::INT);
    let said = logs.wait();
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("no daemon is running") && said.err.contains("reconnected"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_sessions_are_watched_over_the_death_of_the_daemon() {
    let desk = CliFixture::new("");
    let daemon = DaemonProcess::serve(&desk.data, "");
    let client = daemon.tcp_client().await;
    let mut watch = desk.start(&["watch", "--json"]);
    let (sender, lines) = mpsc::channel();
    let from = watch.take_lines();
    std::thread::spawn(move || from.for_each(|line| _ = sender.send(line)));
    let mut seen: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut take = |line: String| {
        let record: Value = serde_json::from_str(&line).unwrap();
        let id = record["session_id"].as_str().unwrap().to_owned();
        seen.entry(id.clone()).or_default().push(record["seq"].as_u64().unwrap());
        (id, record["type"].as_str().unwrap().to_owned())
    };
    // It watches as soon as it shows something.
    let first = loop {
        session(&client, &desk).await;
        if let Ok(line) = lines.recv_timeout(Duration::from_millis(200)) {
            break line;
        }
    };
    take(first);
    let before = session(&client, &desk).await;
    says(&client, before, "say one").await;
    while take(lines.recv().unwrap()) != (before.to_string(), "turn_completed".to_owned()) {}
    daemon.kill();
    let daemon = DaemonProcess::serve(&desk.data, "");
    let client = daemon.tcp_client().await;
    // What happens before it is back is read from the logs.
    says(&client, before, "say two").await;
    let after = session(&client, &desk).await;
    says(&client, after, "say three").await;
    let mut waits_for = vec![before.to_string(), after.to_string()];
    while !waits_for.is_empty() {
        let (id, name) = take(lines.recv().unwrap());
        waits_for.retain(|other| name != "turn_completed" || *other != id);
    }
    for id in [before, after] {
        let seqs = &seen[&id.to_string()];
        assert_eq!(*seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "no gap and no duplicate");
    }
}

#[test]
fn who_stays_goes_when_nobody_reads() {
    let desk = CliFixture::new("");
    let id = desk.run(&["run", "say hello"]).err;
    let id = id.trim().strip_prefix("session ").unwrap();
    let _daemon = DaemonProcess::serve(&desk.data, "");
    for arguments in [&["watch", "--json"][..], &["watch"], &["logs", id, "--follow"]] {
        let mut stays = desk.start(arguments);
        // Nothing more happens, so that nothing more is written.
        stays.stops_reading();
        let said = stays.wait();
        assert_eq!((said.code, said.err.as_str()), (Some(141), ""), "{arguments:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_terminal_a_line_for_each_session_is_written_again() {
    let desk = CliFixture::new("");
    let daemon = DaemonProcess::serve(&desk.data, "");
    let client = daemon.tcp_client().await;
    let id = session(&client, &desk).await;
    for plain in [false, true] {
        let (mut screen, program) = terminal(100, 10);
        let arguments: &[&str] = if plain { &["watch", "--plain"] } else { &["watch"] };
        let mut command = desk.command(arguments);
        let mut child = command.stdout(program).stderr(Stdio::null()).spawn().unwrap();
        drop(command);
        let watching = std::thread::spawn(move || {
            let shown = sees(&mut screen, "watched words");
            (shown, screen)
        });
        // Only what is said while it watches is shown by lines, so it is said until it is.
        while !watching.is_finished() {
            says(&client, id, "say watched words").await;
        }
        let (shown, _screen) = watching.join().unwrap();
        match plain {
            true => assert!(!shown.contains('\u{1b}') && shown.contains(&format!("{id}  ")), "{shown:?}"),
            false => assert!(shown.contains("1 sessions: ") && shown.contains("\u{1b}[2K"), "{shown:?}"),
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
