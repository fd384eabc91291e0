//! SIGKILL at every operation on the disk, all of them, not a sample: before it, in the middle of
//! it, and after it. Then the daemon starts again, and nothing that was acknowledged is missing.

use futures_util::StreamExt;
use ostler_api_types::{CreateSession, SendMessage};
use ostler_types::{Event, MessageEvent, Record};

use crate::process::DaemonProcess;
use crate::scenario::{ObservedScenario, check, export, play, workspace};

#[tokio::test]
async fn killed_before_any_operation() {
    kill_at_every("kill-before").await;
}

#[tokio::test]
async fn killed_in_the_middle_of_any_operation() {
    kill_at_every("kill-mid").await;
}

#[tokio::test]
async fn killed_after_any_operation() {
    kill_at_every("kill-after").await;
}

async fn kill_at_every(action: &str) {
    let mut operation = 1;
    loop {
        let survived = kill_at(&format!("{action}:{operation}")).await;
        if survived {
            break;
        }
        operation += 1;
    }
    assert!(operation > 30, "the scenario has more operations than {operation}");
}

/// Plays the scenario with one fault, then checks. Says whether the daemon lived to the end.
async fn kill_at(fault: &str) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let (data, work) = (dir.path().join("data"), dir.path().join("work"));
    workspace(&work);
    let mut told = ObservedScenario::default();
    let daemon = DaemonProcess::faulty(&data, fault);
    let survived = match daemon.client().await {
        Some(client) => play(&client, &work, &mut told).await.is_ok(),
        None => false,
    };
    daemon.kill();
    let again = DaemonProcess::faulty(&data, "");
    let client = again.client().await.unwrap_or_else(|| panic!("no daemon after {fault}"));
    println!("{fault}: {told:?}");
    check(&client, &work, &told).await;
    survived
}

#[tokio::test]
async fn killed_while_a_draft_is_written_or_put_away() {
    for (fault, keeps) in [
        ("kill-before:write_at@drafts.ndjson", false),
        ("kill-mid:write_at@drafts.ndjson", false),
        ("kill-after:write_at@drafts.ndjson", true),
        ("kill-before:truncate@drafts.ndjson", true),
        ("kill-after:truncate@drafts.ndjson", true),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        let daemon = DaemonProcess::faulty(&data, fault);
        let client = daemon.client().await.unwrap();
        let workspace_path = dir.path().to_str().unwrap().to_owned();
        let new = CreateSession { workspace_path, ..CreateSession::default() };
        let id = client.create_session(&new).await.unwrap();
        let mut events = client.events(id, 0, true).await.unwrap();
        let words = "one two three four five six seven eight nine ten eleven twelve";
        client.send_message(id, &SendMessage::prompt(format!("say {words} slowly"))).await.unwrap();
        while events.next().await.is_some_and(|line| line.is_ok()) {}
        daemon.kill();

        let again = DaemonProcess::faulty(&data, "");
        let client = again.client().await.unwrap();
        let view = client.session(id).await.unwrap();
        assert!(view.running_turn_id.is_none(), "{fault}: the turn is over");
        let said: Vec<String> = export(&client, id)
            .await
            .iter()
            .map(|line| serde_json::from_str::<Record>(line).unwrap())
            .filter_map(|record| match record.event {
                Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => Some(message.text()),
                _ => None,
            })
            .collect();
        match &said[..] {
            [] => assert!(!keeps, "{fault}: what the draft kept is lost"),
            [text] => assert!(!text.is_empty() && words.starts_with(text.trim_end()), "{fault}: {text}"),
            more => panic!("{fault}: said {} times", more.len()),
        }
    }
}
