//! Directories that nobody should work in: refused at every door when a session is made, and when a turn is to run in
//! a session that is there already.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use ostler_api_types::{CreateSession, SendMessage};
use ostler_client::ClientError;
use serde_json::{Value, json};

use crate::process::{DaemonProcess, binary};
use crate::scripted::ScriptedDaemon;

fn unfit(data: &Path) -> Vec<String> {
    let places = ["/", "/etc", "/usr/lib", "/tmp", "/proc", "/dev"].map(str::to_owned);
    places.into_iter().chain([data, &data.join("sessions")].map(|path| path.display().to_string())).collect()
}

#[tokio::test]
async fn no_door_makes_a_session_in_a_directory_that_is_no_workspace() {
    let stage = ScriptedDaemon::new("").await;
    let link = stage.outside.join("link");
    std::os::unix::fs::symlink("/etc", &link).unwrap();
    let places = unfit(&stage.data).into_iter().chain([link.display().to_string()]);
    for place in places {
        let (status, body) = stage.request("POST", "/v1/sessions", &json!({"workspace_path": place})).await;
        assert_eq!((status, &body["error"]["code"]), (422, &json!("bad_workspace")), "{place}: {body}");
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.contains("workspace") || message.contains("data"), "{message}");
        let (status, body) = stage.request("POST", "/v1/projects", &json!({"path": place})).await;
        assert_eq!(status, 422, "{place}: {body}");
        let params = json!({"name": "a", "workspace_path": place, "working_dir": place, "cwd": place});
        let rpc = json!({"jsonrpc": "2.0", "id": 1, "method": "create", "params": params});
        let (_, body) = stage.request("POST", "/rpc", &rpc).await;
        assert!(body.get("result").is_none_or(Value::is_null), "{place}: {body}");
    }
    let (_, listed) = stage.request("GET", "/v1/sessions", &Value::Null).await;
    assert_eq!(listed["sessions"], json!([]));
}

#[tokio::test]
async fn run_says_why_a_directory_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    for (place, home) in [(Path::new("/"), "/nonexistent"), (dir.path(), dir.path().to_str().unwrap())] {
        let mut run = binary();
        run.args(["run", "say hello", "--data-dir"]).arg(&data).env("HOME", home).current_dir(place);
        let said = run.output().unwrap();
        let error = String::from_utf8(said.stderr).unwrap();
        assert!(!said.status.success() && error.contains("cannot be a workspace"), "{error}");
    }
}

#[tokio::test]
async fn a_session_that_is_in_one_can_be_read_and_taken_elsewhere_but_runs_no_turn() {
    let dir = tempfile::tempdir().unwrap();
    let (data, work) = (dir.path().join("data"), dir.path().join("work"));
    std::fs::create_dir(&work).unwrap();
    let home = |home: &Path| [("HOME".to_owned(), home.to_str().unwrap().to_owned())];
    let elsewhere = home(dir.path().parent().unwrap());
    let [(name, value)] = &elsewhere;
    let daemon = DaemonProcess::serve_with(&data, "", &[(name, value)]);
    let client = daemon.tcp_client().await;
    let workspace_path = work.to_str().unwrap().to_owned();
    let new = CreateSession { workspace_path, ..CreateSession::default() };
    let id = client.create_session(&new).await.unwrap();
    client.send_message(id, &SendMessage::prompt("say hello")).await.unwrap();
    while client.session(id).await.unwrap().running_turn_id.is_some() {}
    daemon.kill();
    // What was a directory like any other is somebody's home now.
    let [(name, value)] = &home(&work);
    let daemon = DaemonProcess::serve_with(&data, "", &[(name, value)]);
    let client = daemon.tcp_client().await;
    assert_eq!(client.session(id).await.unwrap().turns.len(), 1);
    assert!(!crate::scenario::export(&client, id).await.is_empty());
    client.send_message(id, &SendMessage::prompt("say more")).await.unwrap();
    let failed = loop {
        let view = client.session(id).await.unwrap();
        if view.running_turn_id.is_none() {
            break crate::scenario::export(&client, id).await;
        }
    };
    let last = format!("{:?}", failed.last().unwrap());
    assert!(last.contains("bad_workspace") && last.contains("no turn runs in"), "{last}");
    match client.create_session(&new).await.unwrap_err() {
        ClientError::Refused { code, .. } => assert_eq!(code, "bad_workspace"),
        other => panic!("{other}"),
    }
}

#[test]
fn sessions_of_a_daemon_that_the_system_starts_have_a_directory_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let mut serve = binary();
    serve.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(dir.path().join("data"));
    serve.env("OSTLER_GATEWAY_LISTEN", "127.0.0.1:0").current_dir("/");
    let mut daemon = serve.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("ostler is ready"), "{line}");
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    let made = std::fs::metadata(dir.path().join("data-workspace")).unwrap();
    assert_eq!(made.permissions().mode() & 0o777, 0o700);
}
