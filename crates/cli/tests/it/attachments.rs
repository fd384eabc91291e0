//! `ostler run --attach`: files go along with the prompt, or nothing is sent at all.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::process::binary;

fn run(data: &Path, arguments: &[&str]) -> Output {
    let mut command = binary();
    command.arg("--data-dir").arg(data).args(["run", "--json", "--model", "demo:demo"]).args(arguments);
    command.current_dir(data.parent().unwrap()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn files_go_along_with_the_prompt_as_what_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    std::fs::create_dir(dir.path().join("folder")).unwrap();
    let files = [("notes ü.md", "# Notes\n"), ("folder/notes ü.md", "others"), ("fake.png", "<html>")];
    for (name, content) in files {
        std::fs::write(dir.path().join(name), content).unwrap();
    }
    let attach =
        ["--attach", "notes ü.md", "--attach", "folder/notes ü.md", "--attach", "fake.png", "say hello"];
    let ran = run(&data, &attach);
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    let events: Vec<Value> =
        text(&ran.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let added = events.iter().find(|event| event["type"] == "message_added").unwrap();
    let file = |name: &str, mime_type: &str| json!({"type": "file", "ref": format!("attachments/{name}"), "mime_type": mime_type});
    assert_eq!(
        added["data"]["message"]["parts"],
        json!([
            file("notes ü.md", "text/markdown"),
            file("notes ü-2.md", "text/markdown"),
            file("fake.png", "text/plain"),
            {"type": "text", "text": "say hello"},
        ])
    );
    let kept = data.join("sessions").join(added["session_id"].as_str().unwrap()).join("attachments");
    assert_eq!(std::fs::read_to_string(kept.join("notes ü-2.md")).unwrap(), "others");
}

#[test]
fn what_cannot_be_sent_is_told_before_a_session_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    std::fs::write(dir.path().join("good.txt"), "x").unwrap();
    std::fs::File::create(dir.path().join("large.bin")).unwrap().set_len((25 << 20) + 1).unwrap();
    for (file, why) in [
        ("missing.txt", "missing.txt cannot be read"),
        (".", "is not a file"),
        ("large.bin", "larger than 25 MiB"),
    ] {
        let ran = run(&data, &["--attach", "good.txt", "--attach", file, "hello"]);
        assert_eq!(ran.status.code(), Some(1), "{file}");
        assert!(text(&ran.stderr).contains(why), "{}", text(&ran.stderr));
    }
    assert!(!data.join("sessions").exists(), "nothing was begun");
}
