//! What a page asks for to fill its pickers: files of a workspace, directories, and how the daemon is set up.

use std::fs;

use serde_json::{Value, json};

use crate::daemon::DoorTestDaemon;

fn paths(answer: &Value) -> Vec<&str> {
    answer["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn files_are_found_by_a_few_letters_without_what_git_ignores() {
    let daemon = DoorTestDaemon::start().await;
    let root = std::path::PathBuf::from(daemon.workspace());
    for (name, content) in [
        ("src/main.rs", ""),
        ("src/domain.rs", ""),
        ("target/main.o", ""),
        (".gitignore", "target/\n*.log\n"),
        ("main.log", ""),
        (".git/main", ""),
        ("docs/ünïcode name.md", ""),
        ("sub/.gitignore", "made.rs\n"),
        ("sub/made.rs", ""),
    ] {
        fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        fs::write(root.join(name), content).unwrap();
    }
    fs::write(daemon.data().join("main-secret"), "").unwrap();
    std::os::unix::fs::symlink(daemon.data(), root.join("link")).unwrap();
    let session = daemon.session().await;
    let find = |query: &str| format!("/v1/sessions/{session}/files?{query}");
    let found = daemon.get(&find("q=main")).await.json();
    assert_eq!(
        found,
        json!({"files": [{"path": "src/main.rs"}, {"path": "src/domain.rs"}], "truncated": false})
    );
    let found = daemon.get(&find("q=main&limit=1")).await.json();
    assert_eq!((paths(&found), &found["truncated"]), (vec!["src/main.rs"], &json!(true)));
    assert_eq!(paths(&daemon.get(&find("q=%C3%BCn%C3%AFmd")).await.json()), ["docs/ünïcode name.md"]);
    let all = daemon.get(&find("")).await.json();
    assert_eq!(
        paths(&all),
        [".gitignore", "src/main.rs", "src/domain.rs", "sub/.gitignore", "docs/ünïcode name.md"]
    );
    for wrong in ["limit=0", "limit=201", "path=/etc"] {
        assert_eq!(daemon.get(&find(wrong)).await.code(), "bad_query", "{wrong}");
    }
}

#[tokio::test]
async fn directories_are_listed_for_choosing_one() {
    let daemon = DoorTestDaemon::start().await;
    let root = std::path::PathBuf::from(daemon.workspace());
    for name in ["b/.git", "A", ".hidden"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    fs::write(root.join("file"), "").unwrap();
    let path = root.canonicalize().unwrap().display().to_string();
    let expected = json!({
        "path": path,
        "parent": root.canonicalize().unwrap().parent().unwrap().display().to_string(),
        "directories": [
            {"name": "A", "path": format!("{path}/A"), "git": false},
            {"name": "b", "path": format!("{path}/b"), "git": true},
        ],
        "truncated": false,
    });
    assert_eq!(daemon.get("/v1/directories").await.json(), expected);
    assert_eq!(daemon.get(&format!("/v1/directories?path={path}")).await.json(), expected);
    assert_eq!(daemon.get("/v1/directories?path=/").await.json()["parent"], Value::Null);
    for wrong in
        [format!("{path}/file"), format!("{path}/none"), "relative".to_owned(), format!("{path}/../x")]
    {
        let answer = daemon.get(&format!("/v1/directories?path={wrong}")).await;
        assert_eq!((answer.status(), answer.code().as_str()), (422, "bad_workspace"), "{wrong}");
    }
}

#[tokio::test]
async fn the_settings_are_told_without_secrets() {
    let daemon = DoorTestDaemon::start().await;
    let trust = json!({"workspace_path": daemon.workspace(), "trusted": true});
    assert_eq!(daemon.send(&daemon.request("PUT", "/v1/trust").json(&trust)).await.status(), 200);
    let answer = daemon.get("/v1/settings").await;
    assert!(!answer.text().contains(&daemon.token()));
    let settings = answer.json();
    assert_eq!(settings["data_dir"], daemon.data().display().to_string());
    assert_eq!(settings["agents"], json!(["native"]));
    assert_eq!(settings["providers"], json!([]), "this daemon was wired without any");
    assert!(settings["policy"]["approval"]["require_for_kinds"].is_array());
    assert_eq!(settings["trusted_workspaces"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_session_can_be_pinned() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let path = format!("/v1/sessions/{session}");
    let pin = |pinned: bool| daemon.request("PATCH", &path).json(&json!({"pinned": pinned}));
    assert_eq!(daemon.send(&pin(true)).await.json()["pinned"], true);
    let listed = daemon.get("/v1/sessions").await.json();
    assert_eq!(listed["sessions"][0]["pinned"], true);
    assert!(daemon.log(&session).last().unwrap().contains("\"pinned\":true"));
    let before = daemon.recorded();
    assert_eq!(daemon.send(&pin(true)).await.status(), 200);
    assert_eq!(daemon.recorded(), before, "what is so already is not recorded");
    assert_eq!(daemon.send(&pin(false)).await.json().get("pinned"), None);
}
