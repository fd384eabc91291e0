//! `ostler agents` as a person types it, with a daemon and without one.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::agents::fault;
use crate::process::binary;
use crate::scripted::{CANARY, ScriptedDaemon};

/// Runs `ostler agents` in the stage's workspace.
fn agents(stage: &ScriptedDaemon, arguments: &[&str]) -> Output {
    agents_of(Path::new("/nonexistent"), stage, arguments)
}

/// The same for somebody with this home directory.
pub(crate) fn agents_of(home: &Path, stage: &ScriptedDaemon, arguments: &[&str]) -> Output {
    let mut command = binary();
    command.env("HOME", home);
    command.arg("agents").args(arguments).arg("--data-dir").arg(&stage.data);
    command.arg("--config").arg(stage.data.parent().unwrap().join("config.toml"));
    command.current_dir(&stage.work).env("STAGE_KEY", CANARY).output().unwrap()
}

pub(crate) fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[tokio::test]
async fn sessions_of_an_agent_are_listed_and_taken_over_with_a_daemon_and_without() {
    let notes = tempfile::tempdir().unwrap();
    for kept in ["kept-1", "kept-2"] {
        std::fs::write(notes.path().join(kept), "").unwrap();
    }
    let mut stage = ScriptedDaemon::new(&fault(notes.path(), &["lists"])).await;
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
    let stage = ScriptedDaemon::new(&fault(notes.path(), &["login"])).await;
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
