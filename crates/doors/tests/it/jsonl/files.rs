//! Session files: loaded, made, saved, and refused when they are damaged.

use ostler_doors::jsonl::JsonlOptions;
use serde_json::json;

use super::client::{JsonlClient, options};
use crate::daemon::DoorTestDaemon;

#[tokio::test]
async fn a_new_file_is_made_and_leads_back_to_its_session() {
    let daemon = DoorTestDaemon::start().await;
    let path = std::path::Path::new(&daemon.workspace()).join("kept.jsonl");
    let session_file = Some(path.display().to_string());
    let with_file = JsonlOptions { session_file, ..options(&daemon) };
    let mut rpc = JsonlClient::start_with(&daemon, with_file.clone()).await;
    let primary = rpc.primary.clone();
    let lines = || std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines(), daemon.log(&primary));
    rpc.ask("remember this").await;
    assert_ne!(lines(), daemon.log(&primary), "it is written when asked to");
    rpc.send(json!({"type": "save"})).await;
    let saved = rpc.until("save_result").await;
    assert_eq!((&saved["ok"], &saved["path"]), (&json!(true), &json!(path)));
    assert_eq!(lines(), daemon.log(&primary));
    rpc.ask("and this").await;
    rpc.send(json!({"type": "quit"})).await;
    rpc.end().await.unwrap();
    assert_eq!(lines(), daemon.log(&primary), "and at the end");
    // By the file, also when the session has gone on since.
    daemon.say(&primary, "meanwhile").await;
    daemon.until(&primary, "turn_completed").await;
    let mut again = JsonlClient::start_with(&daemon, with_file).await;
    assert_eq!(again.primary, primary);
    again.send(json!({"type": "stats"})).await;
    assert_eq!(again.until("stats").await["stats"]["turn_count"], 3);
    again.ask("still here").await;
}

#[tokio::test]
async fn the_log_itself_is_a_session_file() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    daemon.say(&session, "hi").await;
    daemon.until(&session, "turn_completed").await;
    let mut rpc = JsonlClient::start(&daemon).await;
    rpc.send(json!({"type": "list_sessions"})).await;
    let list = rpc.until("sessions_list").await;
    let saved =
        list["sessions"].as_array().unwrap().iter().find(|saved| saved["id"] == session).unwrap().clone();
    let start = json!({"type": "start_session", "session_file": saved["path"], "model": "test:two"});
    rpc.send(start.clone()).await;
    let started = rpc.until("session_started").await;
    assert_eq!((&started["session_id"], &started["model"]["id"]), (&json!(session), &json!("two")));
    // Once more is no other session.
    rpc.send(start).await;
    assert_eq!(rpc.until("session_started").await["session_id"], session);
    rpc.send(json!({"type": "list_running_sessions"})).await;
    assert_eq!(rpc.until("running_sessions").await["sessions"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn damaged_files_are_refused_and_left_as_they_are() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    daemon.say(&session, "hi").await;
    daemon.until(&session, "turn_completed").await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let log = daemon.log(&session);
    let path = std::path::Path::new(&daemon.workspace()).join("file.jsonl");
    let whole: Vec<u8> = log.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
    let other = log[0].replace(&session, "sess_0190f3c4a5b67c8d9e0f112233445566");
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (b"hello\n".to_vec(), "is damaged at line 1"),
        (whole[..whole.len() - 5].to_vec(), "is damaged at line"),
        (format!("{}\n{}\n", log[0], log[2]).into_bytes(), "is damaged at line 2: it does not follow"),
        (format!("{}\n\u{7}\n", log[0]).into_bytes(), "is damaged at line 2"),
        (b"\xff\xfe\n".to_vec(), "is damaged at line 1: it is not UTF-8"),
        (format!("{}\n", log[0].replace("test:one", "test:two")).into_bytes(), "tells another history"),
        (format!("{other}\n").into_bytes(), "does not match its chain"),
    ];
    for (content, message) in cases {
        std::fs::write(&path, &content).unwrap();
        rpc.send(json!({"type": "start_session", "session_file": "file.jsonl"})).await;
        let error = rpc.next().await;
        assert!(error["message"].as_str().unwrap().contains(message), "{error}, not {message}");
        assert_eq!(std::fs::read(&path).unwrap(), content);
    }
    rpc.send(json!({"type": "start_session", "session_file": "no/such/place.jsonl"})).await;
    assert!(rpc.next().await["message"].as_str().unwrap().contains("cannot be written"));
    std::fs::create_dir(path.with_file_name("dir.jsonl")).unwrap();
    rpc.send(json!({"type": "start_session", "session_file": "dir.jsonl"})).await;
    assert!(rpc.next().await["message"].as_str().unwrap().contains("is not a file"));
    for other in [".bash_profile", "authorized_keys", "a.jsonl.sh", "..", "x/"] {
        rpc.send(json!({"type": "start_session", "session_file": other})).await;
        assert!(rpc.next().await["message"].as_str().unwrap().contains("has to end in"), "{other}");
    }
    // An empty file is one that is yet to be written.
    std::fs::write(&path, b"").unwrap();
    rpc.send(json!({"type": "start_session", "session_file": path})).await;
    rpc.until("session_started").await;
    assert!(!std::fs::read(&path).unwrap().is_empty());
}

#[tokio::test]
async fn a_session_of_another_daemon_is_taken_in_by_its_file() {
    let (first, second) = (DoorTestDaemon::start().await, DoorTestDaemon::start().await);
    let session = first.session().await;
    first.say(&session, "remember this").await;
    first.until(&session, "turn_completed").await;
    let exported = first.get(&format!("/v1/sessions/{session}/export?format=ndjson")).await.body;
    let path = std::path::Path::new(&second.workspace()).join("theirs.jsonl");
    std::fs::write(&path, &exported).unwrap();
    let mut rpc = JsonlClient::start(&second).await;
    let start = json!({"type": "start_session", "session_file": "theirs.jsonl", "set_active": true});
    rpc.send(start.clone()).await;
    assert_eq!(rpc.until("session_started").await["session_id"], session, "it keeps its id");
    rpc.send(json!({"type": "prompt", "text": "and this", "session_id": session})).await;
    rpc.event(&session, "agent_end").await;
    let messages = second.get(&format!("/v1/sessions/{session}/messages")).await.json();
    assert_eq!(messages["messages"].as_array().unwrap().len(), 4, "{messages}");
    rpc.send(json!({"type": "save", "session_id": session})).await;
    assert_eq!(rpc.until("save_result").await["ok"], true);
    let lines: Vec<String> = std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(lines, second.log(&session));
    assert!(lines.join("\n").starts_with(String::from_utf8(exported).unwrap().trim_end()), "it goes on");
    // From now on the file leads to the session here.
    rpc.send(start).await;
    assert_eq!(rpc.until("session_started").await["session_id"], session);
}
