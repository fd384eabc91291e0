//! Disks that are full or fail, and logs that were damaged while nobody looked: each gets a clear
//! answer, and nothing else is lost.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use ostler_api_types::{CreateSession, SendMessage};
use ostler_client::{Client, ClientError, SessionFilter};
use ostler_types::SessionId;

use crate::process::{DaemonProcess, binary};
use crate::scenario::{ObservedScenario, check, export, play, workspace};

/// Two sessions with a turn each, in a data directory without a daemon.
struct TwoSessions {
    dir: tempfile::TempDir,
    data: PathBuf,
    sessions: Vec<SessionId>,
}

impl TwoSessions {
    async fn new() -> TwoSessions {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        workspace(&dir.path().join("work"));
        let daemon = DaemonProcess::faulty(&data, "");
        let client = daemon.client().await.unwrap();
        let mut sessions = Vec::new();
        for text in ["say the first thing", "say the second thing"] {
            sessions.push(turn(&client, dir.path(), text).await);
        }
        daemon.signal(rustix::process::Signal::TERM);
        assert!(daemon.wait().success());
        TwoSessions { dir, data, sessions }
    }

    fn log(&self, session: usize) -> PathBuf {
        self.data.join("sessions").join(self.sessions[session].to_string()).join("events.ndjson")
    }

    /// The second session is whole, whatever happened to the first.
    async fn check_the_other(&self, client: &Client) {
        assert_eq!(export(client, self.sessions[1]).await.len(), 7);
        turn_in(client, self.sessions[1], "say more").await;
        assert_eq!(export(client, self.sessions[1]).await.len(), 12);
    }
}

async fn turn(client: &Client, work: &Path, text: &str) -> SessionId {
    let workspace_path = work.to_str().unwrap().to_owned();
    let id =
        client.create_session(&CreateSession { workspace_path, ..CreateSession::default() }).await.unwrap();
    turn_in(client, id, text).await;
    id
}

async fn turn_in(client: &Client, id: SessionId, text: &str) {
    client.send_message(id, &SendMessage::prompt(text)).await.unwrap();
    while client.session(id).await.unwrap().running_turn_id.is_some() {}
}

fn refusal(error: ClientError) -> (u16, String) {
    match error {
        ClientError::Refused { status, code, .. } => (status, code),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_torn_tail_is_cut_and_the_session_goes_on() {
    let rest = TwoSessions::new().await;
    let before = std::fs::read(rest.log(0)).unwrap();
    let mut log = OpenOptions::new().append(true).open(rest.log(0)).unwrap();
    log.write_all(br#"{"seq":8,"ts":"2026-01-01T00:00:00Z","sess"#).unwrap();
    let daemon = DaemonProcess::faulty(&rest.data, "");
    let client = daemon.client().await.unwrap();
    assert_eq!(export(&client, rest.sessions[0]).await.len(), 7);
    turn_in(&client, rest.sessions[0], "say on").await;
    assert_eq!(export(&client, rest.sessions[0]).await.len(), 12);
    assert!(std::fs::read(rest.log(0)).unwrap().starts_with(&before), "what was good stays as it was");
    rest.check_the_other(&client).await;
}

#[tokio::test]
async fn a_flipped_byte_is_reported_and_hurts_nobody_else() {
    let rest = TwoSessions::new().await;
    let mut log = std::fs::read(rest.log(0)).unwrap();
    let middle = log.len() / 2;
    log[middle] ^= 1;
    std::fs::write(rest.log(0), &log).unwrap();
    _ = std::fs::remove_file(rest.log(0).with_file_name("snapshot.json"));

    let daemon = DaemonProcess::faulty(&rest.data, "");
    let client = daemon.client().await.unwrap();
    let (status, code) = refusal(client.session(rest.sessions[0]).await.unwrap_err());
    assert_eq!((status, code.as_str()), (409, "log_damaged"));
    let send = client.send_message(rest.sessions[0], &SendMessage::prompt("on")).await.unwrap_err();
    assert_eq!(refusal(send).1, "log_damaged");
    rest.check_the_other(&client).await;
    daemon.kill();

    let doctor = |arguments: &[&str]| {
        let output =
            binary().arg("doctor").args(arguments).arg("--data-dir").arg(&rest.data).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, said) = doctor(&[]);
    assert_eq!(code, Some(1));
    assert!(said.contains(&format!("{}: damaged at record", rest.sessions[0])), "{said}");
    let (code, said) = doctor(&["--salvage", &rest.sessions[0].to_string()]);
    assert_eq!(code, Some(0), "{said}");
    let daemon = DaemonProcess::faulty(&rest.data, "");
    let client = daemon.client().await.unwrap();
    assert!(!export(&client, rest.sessions[0]).await.is_empty(), "what was before the damage is there");
    turn_in(&client, rest.sessions[0], "say on").await;
}

#[tokio::test]
async fn a_line_of_five_megabytes_is_damage_and_no_more() {
    let rest = TwoSessions::new().await;
    let mut log = OpenOptions::new().append(true).open(rest.log(0)).unwrap();
    log.write_all(format!("{{\"seq\":6,\"junk\":\"{}\"}}\n", "x".repeat(5 << 20)).as_bytes()).unwrap();
    let daemon = DaemonProcess::faulty(&rest.data, "");
    let client = daemon.client().await.unwrap();
    let (status, code) =
        refusal(client.send_message(rest.sessions[0], &SendMessage::prompt("on")).await.unwrap_err());
    assert_eq!((status, code.as_str()), (409, "log_damaged"));
    rest.check_the_other(&client).await;
}

#[tokio::test]
async fn without_its_index_a_daemon_lists_and_finds_the_same() {
    let rest = TwoSessions::new().await;
    let search = SessionFilter { q: Some("second".to_owned()), ..SessionFilter::default() };
    let look = async |faults: &str| {
        let daemon = DaemonProcess::faulty(&rest.data, faults);
        let client = daemon.client().await.unwrap();
        (
            client.list_sessions(&SessionFilter::default()).await.unwrap(),
            client.list_sessions(&search).await.unwrap(),
        )
    };
    let before = look("").await;
    assert_eq!((before.0.sessions.len(), before.1.sessions.len()), (2, 1));
    for name in ["index.db", "index.db-wal", "index.db-shm"] {
        _ = std::fs::remove_file(rest.data.join(name));
    }
    assert_eq!(look("").await, before);
}

/// A disk that refuses: the client is told, nothing is half done, and it goes on when the disk does.
async fn refused_with(faults: &str, expected: &str) {
    let rest = TwoSessions::new().await;
    let work = rest.dir.path().join("work");
    let daemon = DaemonProcess::faulty(&rest.data, faults);
    let client = daemon.client().await.unwrap();
    let (status, code) =
        refusal(client.send_message(rest.sessions[0], &SendMessage::prompt("on")).await.unwrap_err());
    assert_eq!((status, code.as_str()), (503, expected));
    assert_eq!(export(&client, rest.sessions[0]).await.len(), 7, "nothing was recorded");
    daemon.kill();
    let daemon = DaemonProcess::faulty(&rest.data, "");
    let client = daemon.client().await.unwrap();
    turn_in(&client, rest.sessions[0], "say on").await;
    rest.check_the_other(&client).await;
    let mut told = ObservedScenario::default();
    play(&client, &work, &mut told).await.unwrap();
    check(&client, &work, &told).await;
}

#[tokio::test]
async fn a_full_disk_is_said_to_be_full() {
    refused_with("enospc:write_at@events.ndjson..", "disk_full").await;
}

#[tokio::test]
async fn a_write_that_fails_is_said_to_have_failed() {
    refused_with("eio:write_at@events.ndjson..", "disk_failed").await;
}

#[tokio::test]
async fn a_sync_that_fails_is_said_to_have_failed() {
    refused_with("eio:sync_data@events.ndjson..", "disk_failed").await;
}

/// Cuts a log back to its first `records` records.
fn cut(log: &Path, records: usize) -> Vec<u8> {
    let whole = std::fs::read(log).unwrap();
    let kept: Vec<u8> =
        whole.split_inclusive(|byte| *byte == b'\n').take(records).flatten().copied().collect();
    std::fs::write(log, kept).unwrap();
    whole
}

#[tokio::test]
async fn a_log_that_was_cut_back_at_the_end_of_a_record_is_noticed() {
    for (views, records) in [("both", 4), ("snapshot", 4), ("index", 4), ("both", 0), ("index", 0)] {
        let rest = TwoSessions::new().await;
        let (id, snapshot) = (rest.sessions[0], rest.log(0).with_file_name("snapshot.json"));
        let whole = cut(&rest.log(0), records);
        match views {
            "index" => std::fs::remove_file(&snapshot).unwrap(),
            "snapshot" => std::fs::remove_file(rest.data.join("index.db")).unwrap(),
            _ => {}
        }
        let doctor = |arguments: &[&str]| {
            let output =
                binary().arg("doctor").args(arguments).arg("--data-dir").arg(&rest.data).output().unwrap();
            let said = [output.stdout, output.stderr].concat();
            (output.status.code(), String::from_utf8(said).unwrap())
        };
        let (code, said) = doctor(&[]);
        assert_eq!(code, Some(1), "{views} {records}: {said}");
        assert!(said.contains(&format!("{id}: damaged at record {}", records + 1)), "{said}");
        assert!(said.contains("up to 7"), "{said}");
        let (code, said) = doctor(&["--rebuild"]);
        assert!(code != Some(0) && said.contains("--salvage"), "the only witnesses are kept: {said}");

        let daemon = DaemonProcess::faulty(&rest.data, "");
        let client = daemon.client().await.unwrap();
        let (status, code) = refusal(client.session(id).await.unwrap_err());
        assert_eq!((status, code.as_str()), (409, "log_damaged"), "{views} {records}");
        let send = client.send_message(id, &SendMessage::prompt("on")).await.unwrap_err();
        assert_eq!(refusal(send).1, "log_damaged");
        rest.check_the_other(&client).await;
        daemon.kill();

        if records == 0 {
            let (code, said) = doctor(&["--salvage", &id.to_string()]);
            assert!(code != Some(0) && said.contains("all 7 records are gone"), "{said}");
            // The backup is the way on.
            std::fs::write(rest.log(0), whole).unwrap();
            assert_eq!(doctor(&[]).0, Some(0));
            continue;
        }
        let (code, said) = doctor(&["--salvage", &id.to_string()]);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("records 5 to 7 are lost"), "{said}");
        let daemon = DaemonProcess::faulty(&rest.data, "");
        let client = daemon.client().await.unwrap();
        assert!(export(&client, id).await.len() >= 4);
        turn_in(&client, id, "say on").await;
    }
}

#[tokio::test]
async fn views_that_lag_behind_the_log_are_no_damage() {
    let rest = TwoSessions::new().await;
    let snapshot = rest.log(0).with_file_name("snapshot.json");
    let (before, index) =
        (std::fs::read(&snapshot).unwrap(), std::fs::read(rest.data.join("index.db")).unwrap());
    let daemon = DaemonProcess::faulty(&rest.data, "");
    let client = daemon.client().await.unwrap();
    turn_in(&client, rest.sessions[0], "say more").await;
    daemon.signal(rustix::process::Signal::TERM);
    assert!(daemon.wait().success());
    std::fs::write(&snapshot, before).unwrap();
    for name in ["index.db-wal", "index.db-shm"] {
        _ = std::fs::remove_file(rest.data.join(name));
    }
    std::fs::write(rest.data.join("index.db"), index).unwrap();
    let doctor = binary().arg("doctor").arg("--data-dir").arg(&rest.data).output().unwrap();
    assert!(doctor.status.success(), "{}", String::from_utf8_lossy(&doctor.stdout));
    let daemon = DaemonProcess::faulty(&rest.data, "");
    let client = daemon.client().await.unwrap();
    assert_eq!(export(&client, rest.sessions[0]).await.len(), 12);
}

#[tokio::test]
async fn a_log_that_went_on_after_it_was_cut_is_noticed_by_the_record_that_its_snapshot_knows() {
    let rest = TwoSessions::new().await;
    let (id, snapshot) = (rest.sessions[0], rest.log(0).with_file_name("snapshot.json"));
    let known = std::fs::read(&snapshot).unwrap();
    std::fs::remove_file(&snapshot).unwrap();
    std::fs::remove_file(rest.data.join("index.db")).unwrap();
    cut(&rest.log(0), 2);
    // Nothing knows of the loss here, as with a daemon of an earlier version.
    let daemon = DaemonProcess::faulty(&rest.data, "");
    let client = daemon.client().await.unwrap();
    turn_in(&client, id, "say something else").await;
    turn_in(&client, id, "and more").await;
    daemon.signal(rustix::process::Signal::TERM);
    assert!(daemon.wait().success());
    std::fs::write(&snapshot, known).unwrap();
    let doctor = |arguments: &[&str]| {
        let output =
            binary().arg("doctor").args(arguments).arg("--data-dir").arg(&rest.data).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    };
    let (code, said) = doctor(&[]);
    assert!(code == Some(1) && said.contains("damaged at record 7"), "{said}");
    let daemon = DaemonProcess::faulty(&rest.data, "");
    let client = daemon.client().await.unwrap();
    assert_eq!(refusal(client.session(id).await.unwrap_err()).1, "log_damaged");
    daemon.kill();
    let (code, said) = doctor(&["--salvage", &id.to_string()]);
    assert!(code == Some(0) && said.contains("accepted as it is"), "{said}");
    let daemon = DaemonProcess::faulty(&rest.data, "");
    turn_in(&daemon.client().await.unwrap(), id, "say on").await;
}
