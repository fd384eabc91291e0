//! The views lag behind the log for a moment. A daemon that is killed in that moment, whatever becomes of its files
//! besides, has all of them again after the next start.

use std::fs::{self, OpenOptions};
use std::path::Path;

use ostler_api_types::{CreateSession, SendMessage};
use ostler_client::{Client, ExportFormat, SessionFilter};
use ostler_types::SessionId;
use serde_json::Value;

use crate::context_checks::assert_views;
use crate::process::DaemonProcess;

/// Does something bad to the folder of a session.
type Spoil = fn(&Path);

const WAYS: [(&str, Spoil); 5] = [
    ("nothing else happens", |_| {}),
    ("session.db is cut short", |folder| {
        let file = OpenOptions::new().write(true).open(folder.join("session.db")).unwrap();
        file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    }),
    ("the second half of session.db is lost", |folder| {
        let path = folder.join("session.db");
        let mut content = fs::read(&path).unwrap();
        let half = content.len() / 2;
        content[half..].fill(0);
        fs::write(path, content).unwrap();
    }),
    ("session.json is old, and a text is too long", |folder| {
        fs::write(folder.join("session.json"), "{}").unwrap();
        let text = fs::read_to_string(folder.join("transcript.jsonl")).unwrap();
        fs::write(folder.join("transcript.jsonl"), text + "{\"role\":\"us").unwrap();
    }),
    ("all views are deleted", |folder| {
        for name in ["session.json", "snapshot.json", "session.db", "context.md", "transcript.jsonl"] {
            _ = fs::remove_file(folder.join(name));
        }
    }),
];

#[tokio::test]
async fn killed_while_the_views_lag() {
    for (what, spoil) in WAYS {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        let daemon = DaemonProcess::faulty(&data, "");
        let client = daemon.client().await.unwrap();
        let workspace_path = dir.path().to_str().unwrap().to_owned();
        let new = CreateSession { workspace_path, ..CreateSession::default() };
        let id = client.create_session(&new).await.unwrap();
        turn(&client, id, "say the first thing").await;
        download(&client, id).await;
        turn(&client, id, "say the second thing").await;
        let told = client.session(id).await.unwrap();
        daemon.kill();
        let folder = data.join("sessions").join(id.to_string());
        spoil(&folder);

        let again = DaemonProcess::faulty(&data, "");
        let client = again.client().await.unwrap();
        let view = client.session(id).await.unwrap();
        assert_eq!((&view.session, view.last_seq), (&told.session, told.last_seq), "{what}");
        let search = SessionFilter { q: Some("second".to_owned()), ..SessionFilter::default() };
        for filter in [SessionFilter::default(), search] {
            let listed = client.list_sessions(&filter).await.unwrap().sessions;
            assert_eq!((listed.len(), &listed[0].session), (1, &told.session), "{what}");
        }
        let described: Value =
            serde_json::from_slice(&fs::read(folder.join("session.json")).unwrap()).unwrap();
        assert_eq!(described["last_seq"], told.last_seq, "{what}");
        assert_eq!(described["turns"].as_array().map(Vec::len), Some(2), "{what}");
        download(&client, id).await;
        again.signal(rustix::process::Signal::TERM);
        assert!(again.wait().success(), "{what}");
        println!("{what}");
        assert_views(&folder);
    }
}

async fn turn(client: &Client, id: SessionId, text: &str) {
    client.send_message(id, &SendMessage::prompt(text)).await.unwrap();
    while client.session(id).await.unwrap().running_turn_id.is_some() {}
}

/// Has the views brought up to date, as everybody does who is given them.
async fn download(client: &Client, id: SessionId) {
    let mut download = client.download(id, ExportFormat::Sqlite).await.unwrap();
    while download.next().await.unwrap().is_some() {}
}
