//! Reading attachments and artifacts: as what they are handed out, and what cannot be reached.

use serde_json::{Value, json};

use crate::attachments::{PNG, attach};
use crate::daemon::{DoorTestDaemon, exists};

#[tokio::test]
async fn a_file_is_handed_out_as_nothing_that_a_browser_runs() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let (bytes, text) = ("application/octet-stream", "text/plain; charset=utf-8");
    let html = b"\xef\xbb\xbf \n<!DOCTYPE html><script>alert(1)</script>".as_slice();
    for (name, content, kind, place) in [
        ("a.png", PNG, "image/png", "inline"),
        ("a.html", PNG, "image/png", "inline"),
        ("b.png", html, bytes, "attachment"),
        ("b.txt", html, bytes, "attachment"),
        ("c.svg", b"<svg onload='alert(1)'/>", bytes, "attachment"),
        ("d.js", b"alert(1)", bytes, "attachment"),
        ("e.xml", b"<?xml version='1.0'?><a/>", bytes, "attachment"),
        ("f.json", b"{}", bytes, "attachment"),
        ("g.txt", b"plain", text, "attachment"),
        ("h", b"plain", text, "attachment"),
        ("i.pdf", b"%PDF-1.7\n", "application/pdf", "attachment"),
        ("j.wav", b"RIFF\x24\0\0\0WAVEfmt ", "audio/wav", "attachment"),
        ("k.bin", b"\0\x01", bytes, "attachment"),
        ("l.zip", b"PK\x03\x04", bytes, "attachment"),
        ("empty", b"", text, "attachment"),
    ] {
        let stored = attach(&daemon, &session, name, content).await;
        let target = format!("/v1/sessions/{session}/{}", stored["ref"].as_str().unwrap());
        // That it carries the headers of a file is looked at for every answer.
        let answer = daemon.get(&target).await;
        assert_eq!((answer.status(), answer.body.as_slice()), (200, content), "{name}");
        assert_eq!(answer.head.header("content-type"), Some(kind), "{name}");
        assert_eq!(answer.head.header("content-length"), Some(content.len().to_string().as_str()));
        let disposition = format!("{place}; filename*=UTF-8''{name}");
        assert_eq!(answer.head.header("content-disposition"), Some(disposition.as_str()), "{name}");
    }
}

#[tokio::test]
async fn large_files_and_strange_names_come_back_as_they_were() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let content: Vec<u8> = (0..300_000u32).flat_map(u32::to_le_bytes).collect();
    let stored = attach(&daemon, &session, "ü \"100%\".bin".replace('"', "%22").as_str(), &content).await;
    assert_eq!(stored["name"], "ü \"100%\".bin");
    let escaped = "%C3%BC%20%22100%25%22.bin";
    let answer = daemon.get(&format!("/v1/sessions/{session}/attachments/{escaped}")).await;
    assert!(answer.body == content, "{} bytes came back", answer.body.len());
    let disposition = format!("attachment; filename*=UTF-8''{escaped}");
    assert_eq!(answer.head.header("content-disposition"), Some(disposition.as_str()));
}

#[tokio::test]
async fn nothing_but_attachments_can_be_reached() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    attach(&daemon, &session, "real.txt", b"x").await;
    let folder = daemon.data().join("sessions").join(&session).join("attachments");
    std::fs::write(folder.join(".part-7"), "half").unwrap();
    std::fs::create_dir(folder.join("folder")).unwrap();
    std::os::unix::fs::symlink(daemon.data().join("token"), folder.join("link")).unwrap();
    for name in [
        "missing",
        "..",
        ".",
        "%2e%2e",
        "..%2fevents.ndjson",
        "..%2f..%2f..%2ftoken",
        "%2fetc%2fpasswd",
        "..%5cevents.ndjson",
        "real.txt%00",
        "real.txt%2f",
        "real.txt%0a",
        ".part-7",
        "folder",
        "link",
        "%c0%ae%c0%ae",
        "%ff",
        "%252e%252e",
    ] {
        for place in ["attachments".to_owned(), "artifacts/turn_0190f3c4a5b67c8d9e0f112233445566".to_owned()]
        {
            let answer = daemon.get(&format!("/v1/sessions/{session}/{place}/{name}")).await;
            assert_eq!(answer.status(), 404, "{place} {name}");
        }
    }
    let answer = daemon.get(&format!("/v1/sessions/{session}/attachments")).await.json();
    assert_eq!(answer["files"].as_array().unwrap().len(), 1, "{answer}");
    // What one session has, another has not.
    let other = daemon.session().await;
    let answer = daemon.get(&format!("/v1/sessions/{other}/attachments/real.txt")).await;
    assert_eq!((answer.status(), answer.code().as_str()), (404, "attachment_not_found"));
}

#[tokio::test]
async fn lists_tell_what_there_is_and_purging_leaves_nothing() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let list = format!("/v1/sessions/{session}/attachments");
    assert_eq!(daemon.get(&list).await.json(), json!({"files": [], "more": false}));
    let second = attach(&daemon, &session, "b.txt", b"hello").await;
    let first = attach(&daemon, &session, "a.png", PNG).await;
    assert_eq!(daemon.get(&list).await.json(), json!({"files": [first, second], "more": false}));
    let folder = daemon.data().join("sessions").join(&session);
    assert!(exists(&folder.join("attachments/a.png")));
    assert_eq!(daemon.delete(&format!("/v1/sessions/{session}?purge=true")).await.status(), 200);
    assert!(!exists(&folder));
    for target in [list.clone(), format!("{list}/a.png")] {
        assert_eq!(daemon.get(&target).await.code(), "session_not_found");
    }
}

#[tokio::test]
async fn what_a_turn_made_is_listed_and_read() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let (_, turn) = daemon.say(&session, "hello").await;
    daemon.until(&session, "turn_completed").await;
    let list = format!("/v1/sessions/{session}/artifacts/{turn}");
    assert_eq!(daemon.get(&list).await.json(), json!({"files": [], "more": false}), "it made nothing");
    assert_eq!(daemon.get(&format!("{list}/x")).await.code(), "artifact_not_found");
    let folder = daemon.data().join("sessions").join(&session).join("artifacts").join(&turn);
    std::fs::create_dir_all(&folder).unwrap();
    for number in 0..501 {
        std::fs::write(folder.join(format!("{number:03}.txt")), "output").unwrap();
    }
    let listed: Value = daemon.get(&list).await.json();
    assert_eq!((listed["files"].as_array().unwrap().len(), &listed["more"]), (500, &json!(true)));
    let file = &listed["files"][0];
    let reference = format!("artifacts/{turn}/{}", file["name"].as_str().unwrap());
    assert_eq!((&file["ref"], &file["size"]), (&json!(reference), &json!(6)));
    let answer = daemon.get(&format!("/v1/sessions/{session}/{reference}")).await;
    assert_eq!((answer.status(), answer.text()), (200, "output"));
    let unknown = format!("/v1/sessions/{session}/artifacts/turn_0190f3c4a5b67c8d9e0f112233445566");
    assert_eq!(daemon.get(&unknown).await.code(), "turn_not_found");
}
