//! `ostler agents` as a person types it, and an agent that is confined: with a daemon and without one.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::agents::{answers, ask, fault, section, session};
use crate::process::binary;
use crate::scripted::{CANARY, Stage, free};

/// Runs `ostler agents` in the stage's workspace.
fn agents(stage: &Stage, arguments: &[&str]) -> Output {
    let mut command = binary();
    command.arg("agents").args(arguments).arg("--data-dir").arg(&stage.data);
    command.arg("--config").arg(stage.data.parent().unwrap().join("config.toml"));
    command.current_dir(&stage.work).env("STAGE_KEY", CANARY).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[tokio::test]
async fn sessions_of_an_agent_are_listed_and_taken_over_with_a_daemon_and_without() {
    let notes = tempfile::tempdir().unwrap();
    for kept in ["kept-1", "kept-2"] {
        std::fs::write(notes.path().join(kept), "").unwrap();
    }
    let mut stage = Stage::new(&fault(notes.path(), &["lists"])).await;
    let listed = agents(&stage, &["sessions", "fault"]);
    assert!(listed.status.success());
    assert!(said(&listed).contains("kept-1") && said(&listed).contains("About kept-2"), "{}", said(&listed));
    let adopted = agents(&stage, &["adopt", "fault", "kept-1"]);
    let id = said(&adopted).trim().to_owned();
    assert!(adopted.status.success() && id.starts_with("sess_"), "{adopted:?}");
    assert_eq!(said(&agents(&stage, &["adopt", "fault", "kept-1"])).trim(), id, "it is taken over once");
    let known: Value =
        serde_json::from_str(&said(&agents(&stage, &["sessions", "fault", "--json"]))).unwrap();
    let of = |name: &str| {
        let known = known.as_array().unwrap();
        known.iter().find(|it| it["agent_session_id"] == name).unwrap()["session_id"].clone()
    };
    assert_eq!((of("kept-1"), of("kept-2")), (json!(id), Value::Null));
    let (_, page) = stage.request("GET", &format!("/v1/sessions/{id}/messages"), &Value::Null).await;
    assert!(page.to_string().contains("replayed question"), "{page}");

    for (arguments, expected) in [
        (["adopt", "fault", "gone"], "fault"),
        (["adopt", "nobody", "kept-1"], "nobody"),
        (["sessions", "nobody", "--json"], "nobody"),
    ] {
        let refused = agents(&stage, &arguments);
        let why = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success() && why.contains(expected), "{arguments:?}: {why}");
    }

    stage.stop();
    assert!(said(&agents(&stage, &["sessions", "fault"])).contains(&id), "without a daemon, too");
    let other = agents(&stage, &["adopt", "fault", "kept-2"]);
    assert!(other.status.success(), "{other:?}");
    stage.restart().await;
    let (_, sessions) = stage.request("GET", "/v1/sessions", &Value::Null).await;
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 2, "{sessions}");
}

#[tokio::test]
async fn a_login_opens_the_agent_for_sessions() {
    let notes = tempfile::tempdir().unwrap();
    let stage = Stage::new(&fault(notes.path(), &["login"])).await;
    let new = json!({"workspace_path": stage.work, "agent": "fault"});
    let (status, refused) = stage.request("POST", "/v1/sessions", &new).await;
    assert_eq!((status, refused["error"]["code"].as_str()), (409, Some("agent_login_required")), "{refused}");
    assert!(refused["error"].to_string().contains("browser"), "it says by which way: {refused}");
    let doctor = agents(&stage, &["doctor", "fault"]);
    assert!(!doctor.status.success() && said(&doctor).contains("browser"), "{}", said(&doctor));

    let wrong = agents(&stage, &["login", "fault", "telepathy"]);
    assert!(!wrong.status.success());
    let login = agents(&stage, &["login", "fault", "browser"]);
    assert!(login.status.success() && said(&login).contains("logged in to fault"), "{login:?}");
    let heard = std::fs::read_to_string(notes.path().join("notes")).unwrap();
    assert!(heard.contains("authenticate browser"), "{heard}");
    let (status, made) = stage.request("POST", "/v1/sessions", &new).await;
    assert_eq!(status, 201, "{made}");
    assert!(agents(&stage, &["doctor", "fault"]).status.success());
}

/// The section of a confined agent, which may write its notes. It lies beside them: the repository may be below `/tmp`,
/// which a confined program has for itself.
fn confined(notes: &Path, more: &str) -> String {
    let (script, copy) = (ostler_testing::fault_agent::script(), notes.join("fault_agent.py"));
    std::fs::copy(&script, &copy).unwrap();
    let section = fault(notes, &[]).replace(&script.display().to_string(), &copy.display().to_string());
    let places = json!([notes.display().to_string()]);
    section + &format!("sandbox = \"on\"\nwritable = {places}\n{more}\n")
}

/// What a command came to that the agent ran itself.
async fn own(stage: &Stage, notes: &Path, id: ostler_types::SessionId, line: &str) -> (i64, String) {
    let (_, end) = ask(stage, id, &format!("own:{}", line.replace(' ', "_"))).await;
    assert_eq!(end["type"], "turn_completed", "{end}");
    let heard = std::fs::read_to_string(notes.join("notes")).unwrap();
    let told = heard.lines().rev().find_map(|line| line.strip_prefix("own ")).unwrap();
    let told: Value = serde_json::from_str(told).unwrap();
    (told[0].as_i64().unwrap(), told[1].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_confined_agent_writes_the_workspace_only_and_sees_no_secrets() {
    let place = tempfile::tempdir_in(crate::place::beside_tmp(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let notes = place.path();
    let stage = Stage::new(&confined(notes, "")).await;
    let id = session(&stage.client, "fault", &stage.work, free()).await;
    let run = async |line: &str| own(&stage, notes, id, line).await;
    assert_eq!(run("echo in > inside.txt").await.0, 0);
    assert_eq!(stage.read("inside.txt"), "in\n");
    let outside = stage.outside.join("y");
    assert_ne!(run(&format!("echo out > {}", outside.display())).await.0, 0);
    assert!(!outside.exists());
    for hidden in [stage.data.join("token"), stage.data.parent().unwrap().join("config.toml")] {
        let (code, seen) = run(&format!("cat {}", hidden.display())).await;
        assert!(code != 0 || seen.is_empty(), "it sees {}: {seen}", hidden.display());
    }
    let (_, variables) = run("env").await;
    assert!(!variables.contains(CANARY), "{variables}");
    assert_ne!(run("kill -0 1 && cat /proc/1/environ | grep -q STAGE").await.0, 0);
}

#[tokio::test]
async fn a_confined_agent_has_the_network_unless_it_is_taken_away() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let reach = format!("python3 -c \"import socket;socket.create_connection(('127.0.0.1',{port}),5)\"");
    for (more, reaches) in [("", true), ("network = false", false)] {
        let place = tempfile::tempdir_in(crate::place::beside_tmp(env!("CARGO_TARGET_TMPDIR"))).unwrap();
        let stage = Stage::new(&confined(place.path(), more)).await;
        let id = session(&stage.client, "fault", &stage.work, free()).await;
        stage.write("reach.sh", &reach);
        let (code, _) = own(&stage, place.path(), id, "sh reach.sh").await;
        assert_eq!(code == 0, reaches, "{more}");
        assert_eq!(answers(&ask(&stage, id, "say:still_here").await.0), "still here");
    }
    let config = section("open", &["x".to_owned()], "network = false");
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("config.toml"), config).unwrap();
    let mut shown = binary();
    shown.args(["config", "show", "--config"]).arg(directory.path().join("config.toml"));
    let refused = shown.arg("--data-dir").arg(directory.path().join("data")).output().unwrap();
    assert!(String::from_utf8(refused.stderr).unwrap().contains("sandbox"), "it would be a false promise");
}
