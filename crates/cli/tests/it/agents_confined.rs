//! Third-party agents are confined unless their owner says otherwise: what they write, read and reach, and that they
//! work all the same.

use std::fs;
use std::path::{Path, PathBuf};

use ostler_types::{Policy, SessionId};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agents::{answers, ask, begin, fault, section, session};
use crate::agents_commands::{agents_of, said};
use crate::process::binary;
use crate::scripted::{CANARY, ScriptedDaemon, policy_without_approvals};

/// A home directory that is not in `/tmp`, which a confined program has for itself anyway.
struct Home {
    place: TempDir,
}

impl Home {
    fn new() -> Home {
        let place = tempfile::tempdir_in(crate::place::beside_tmp(env!("CARGO_TARGET_TMPDIR"))).unwrap();
        let home = Home { place };
        home.write("other-project/.env", "SECRET=canary");
        home.write(".ssh/id", "canary");
        home.write(".codex/auth.json", "canary");
        home.write(".bashrc", "");
        fs::create_dir(home.path("notes")).unwrap();
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// A daemon whose user lives here, with the agent that does what its prompt says. It notes what it hears in
    /// `notes`.
    async fn stage(&self, more: &str) -> ScriptedDaemon {
        let config = fault(&self.path("notes"), &[]) + more + "\n";
        ScriptedDaemon::with(&config, &[("HOME", self.place.path().to_str().unwrap())]).await
    }

    /// What a command came to that the agent ran itself.
    async fn own(&self, stage: &ScriptedDaemon, id: SessionId, line: &str) -> (i64, String) {
        stage.write("command.sh", line);
        let (_, end) = ask(stage, id, "own:sh_command.sh").await;
        assert_eq!(end["type"], "turn_completed", "{end}");
        let heard = fs::read_to_string(self.path("notes/notes")).unwrap();
        let told = heard.lines().rev().find_map(|line| line.strip_prefix("own ")).unwrap();
        let told: Value = serde_json::from_str(told).unwrap();
        (told[0].as_i64().unwrap(), told[1].as_str().unwrap().to_owned())
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[tokio::test]
async fn an_agent_writes_the_workspace_and_its_login_and_sees_no_other_project() {
    let home = Home::new();
    let stage = home.stage("preset = \"claude\"").await;
    stage.write(".claude/settings.json", "kept");
    let id = session(&stage.client, "fault", &stage.work, policy_without_approvals()).await;
    let run = async |line: &str| home.own(&stage, id, line).await;

    assert_eq!(run("echo in > inside.txt").await.0, 0);
    assert_eq!(stage.read("inside.txt"), "in\n");
    let state =
        "cd $HOME && echo hooks > .claude/settings.json && mkdir .claude/.git && echo {} > .claude.json";
    assert_eq!(run(state).await.0, 0);
    assert_eq!(fs::read_to_string(home.path(".claude/settings.json")).unwrap(), "hooks\n");
    assert_eq!(fs::read_to_string(home.path(".claude.json")).unwrap(), "{}\n");

    let outside = [stage.outside.join("y"), home.path(".bashrc"), home.path("other-project/y")];
    for path in outside.iter().chain([&home.path(".codex/y"), &stage.work.join(".claude/settings.json")]) {
        run(&format!("echo out >> {}", shown(path))).await;
        assert_ne!(
            fs::read_to_string(path).unwrap_or_default().lines().last(),
            Some("out"),
            "{}",
            shown(path)
        );
    }
    assert_eq!(stage.read(".claude/settings.json"), "kept");
    let config = stage.data.parent().unwrap().join("config.toml");
    let homes = ["other-project/.env", ".ssh/id", ".codex/auth.json"].map(|name| home.path(name));
    for path in homes.iter().chain([&stage.data.join("token"), &config]) {
        let (code, seen) = run(&format!("cat {}", shown(path))).await;
        assert!(code != 0 || seen.is_empty(), "it sees {}: {seen}", shown(path));
    }
    let (_, listed) = run(&format!("ls -a {}", shown(home.place.path()))).await;
    // The agent has written a file of this name to its own home directory.
    assert!(!listed.contains("other-project"), "{listed}");
    let (_, variables) = run("env").await;
    assert!(!variables.contains(CANARY), "{variables}");
    assert_ne!(run("kill -0 1 && cat /proc/1/environ | grep -q STAGE").await.0, 0);
}

#[tokio::test]
async fn a_confined_agent_is_asked_answered_and_canceled_like_any_other() {
    let home = Home::new();
    let stage = home.stage("preset = \"claude\"").await;
    let id = session(&stage.client, "fault", &stage.work, Policy::default()).await;
    for (action, ok) in [("approve", true), ("deny", false)] {
        let mut turn = begin(&stage, id, &format!("ask:{action} say:done")).await;
        let asked = turn.until("approval_requested").await;
        assert_eq!(stage.answer(&asked, json!({"action": action})).await.0, 200);
        assert_eq!(turn.finish().await["type"], "turn_completed");
        assert_eq!((turn.result().ok, answers(&turn).as_str()), (ok, "done"));
    }
    let mut turn = begin(&stage, id, "say:now wait").await;
    turn.until_text("now").await;
    stage.client.cancel(id).await.unwrap();
    assert_eq!(turn.finish().await["type"], "turn_canceled");
    assert_eq!(answers(&ask(&stage, id, "say:on").await.0), "on");
}

#[tokio::test]
async fn an_agent_in_the_open_has_all_rights_of_its_user() {
    let home = Home::new();
    let stage = home.stage("sandbox = \"off\"").await;
    let id = session(&stage.client, "fault", &stage.work, policy_without_approvals()).await;
    let (code, seen) = home.own(&stage, id, "cat $HOME/other-project/.env && echo x > $HOME/.bashrc").await;
    assert_eq!((code, seen.as_str()), (0, "SECRET=canary"));
    assert_eq!(fs::read_to_string(home.path(".bashrc")).unwrap(), "x\n");
    let listed = said(&agents_of(home.place.path(), &stage, &["list"]));
    assert!(listed.lines().any(|line| line.starts_with("fault") && line.contains("unconfined")), "{listed}");
    let doctor = said(&agents_of(home.place.path(), &stage, &["doctor", "fault"]));
    assert!(doctor.contains(": works\n  unconfined: "), "{doctor}");
}

#[tokio::test]
async fn what_the_owner_names_is_opened_too() {
    let home = Home::new();
    home.write("library/book", "words");
    fs::create_dir(home.path("cache")).unwrap();
    let stage = home.stage("readable = [\"~/library\"]").await;
    let id = session(&stage.client, "fault", &stage.work, policy_without_approvals()).await;
    let run = async |line: &str| home.own(&stage, id, line).await;
    assert_eq!(run("cat $HOME/library/book").await, (0, "words".to_owned()));
    assert_ne!(run("echo x > $HOME/library/book").await.0, 0);
    let listed = said(&agents_of(home.place.path(), &stage, &["list"]));
    assert!(listed.lines().any(|line| line.starts_with("fault") && line.contains("confined")), "{listed}");
    let doctor = said(&agents_of(home.place.path(), &stage, &["doctor", "fault"]));
    assert!(doctor.contains(": works\n  confined: "), "{doctor}");
}

#[tokio::test]
async fn where_nothing_confines_an_agent_is_not_started_and_its_owner_is_told_what_to_do() {
    let home = Home::new();
    for (more, status) in [("", 409), ("sandbox = \"off\"", 201)] {
        let stage = home.stage(&format!("{more}\n[sandbox]\nmode = \"off\"")).await;
        let new = json!({"workspace_path": stage.work, "agent": "fault"});
        let (answered, body) = stage.request("POST", "/v1/sessions", &new).await;
        assert_eq!(answered, status, "{body}");
        if status == 409 {
            assert_eq!(body["error"]["code"], "agent_not_started");
            assert!(body["error"]["hint"].as_str().unwrap().contains("[agents.fault]"), "{body}");
            assert!(!home.path("notes/notes").exists(), "nothing of it ran");
        }
    }
}

#[tokio::test]
async fn a_confined_agent_has_the_network_unless_it_is_taken_away() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let reach = format!("python3 -c \"import socket;socket.create_connection(('127.0.0.1',{port}),5)\"");
    for (more, reaches) in [("", true), ("network = false", false)] {
        let home = Home::new();
        let stage = home.stage(more).await;
        let id = session(&stage.client, "fault", &stage.work, policy_without_approvals()).await;
        let (code, _) = home.own(&stage, id, &reach).await;
        assert_eq!(code == 0, reaches, "{more}");
        assert_eq!(answers(&ask(&stage, id, "say:still_here").await.0), "still here");
    }
    let config = section("open", &["x".to_owned()], "network = false\nsandbox = \"off\"");
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("config.toml"), config).unwrap();
    let mut shown = binary();
    shown.args(["config", "show", "--config"]).arg(directory.path().join("config.toml"));
    let refused = shown.arg("--data-dir").arg(directory.path().join("data")).output().unwrap();
    assert!(String::from_utf8(refused.stderr).unwrap().contains("sandbox"), "it would be a false promise");
}
