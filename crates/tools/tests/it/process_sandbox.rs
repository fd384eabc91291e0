//! Commands in the real sandbox: what they cannot do, what they are told of it, and that nothing of them is
//! left.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use ostler_sandbox::BackendChoice;
use ostler_tools::{ToolSettings, Tools};
use serde_json::{Value, json};

use crate::fixture::{ToolFixture, until};
use crate::sandboxed::{SECRET_VARIABLE, Sandboxed, as_nobody, with_secret};

#[tokio::test]
async fn writes_outside_fail_and_are_explained() {
    let world = Sandboxed::new().await;
    let outside = world.outside.display();
    assert_eq!(world.ok("echo hello > inside && cat inside").await, "hello\nexit code 0");
    let text = world.refused(&format!("echo x > {outside}/x")).await;
    assert!(text.contains("exit code 1\n[sandbox] denied: a write outside the workspace"), "{text}");
    assert!(!world.outside.join("x").exists());
    let text = world.refused("mkdir -p .git/hooks && echo x > .git/hooks/pre-commit").await;
    assert!(text.contains("[sandbox] denied: changing .git"), "{text}");
    assert!(!world.workspace.join(".git").exists(), "nothing is left of what held its place");
    let text = world.refused("curl -sS -m 5 http://1.1.1.1/ || python3 -c 'import urllib.request as r; r.urlopen(\"http://one.test\")'").await;
    assert!(text.contains("[sandbox] denied: network access"), "{text}");
}

#[tokio::test]
async fn hooks_of_a_repository_are_refused() {
    let world = Sandboxed::new().await;
    let init = std::process::Command::new("git").arg("init").arg(&world.workspace).output().unwrap();
    assert!(init.status.success());
    let text = world.refused("echo x > .git/hooks/pre-commit").await;
    assert!(text.contains("[sandbox] denied: changing .git/hooks"), "{text}");
    assert!(!world.workspace.join(".git/hooks/pre-commit").exists());
    world.ok("echo x > a && git add a && git -c user.name=a -c user.email=a@b commit -qm a").await;
}

#[tokio::test]
async fn further_directories_can_be_opened() {
    let world = Sandboxed::with(BackendChoice::Best, |_| {}).await;
    let settings = ToolSettings {
        sandbox: Some(world.sandbox.clone()),
        writable: vec![world.outside.clone()],
        environment: std::env::vars_os().collect(),
        ..ToolSettings::default()
    };
    let command = format!("echo x > {}/x", world.outside.display());
    let tools = Tools::new(settings);
    let outcome = tools.get("shell").unwrap().run(json!({"command": command}), world.context()).await;
    assert!(outcome.ok && world.outside.join("x").exists(), "{}", outcome.text);
}

#[tokio::test]
async fn a_directory_of_the_workspace_is_entered_and_no_other() {
    let world = Sandboxed::new().await;
    std::fs::create_dir(world.workspace.join("sub")).unwrap();
    std::os::unix::fs::symlink(&world.outside, world.workspace.join("link")).unwrap();
    let outcome = world.call("shell", json!({"command": "pwd", "cwd": "sub"})).await;
    assert_eq!(outcome.text, format!("{}/sub\nexit code 0", world.workspace.display()));
    for cwd in ["link", "..", "/etc"] {
        let outcome = world.call("shell", json!({"command": "pwd", "cwd": cwd})).await;
        assert!(!outcome.ok && outcome.text.contains("outside the workspace"), "{}", outcome.text);
    }
}

#[tokio::test]
async fn endings_are_told() {
    let world = Sandboxed::new().await;
    for (command, expected) in [
        ("exit 3", "exit code 3"),
        ("kill -TERM $$", "exit code 143"),
        ("no_such_program 2> /dev/null", "exit code 127"),
    ] {
        let outcome = world.shell(command).await;
        assert_eq!((outcome.ok, outcome.text.as_str()), (false, expected), "{command}");
    }
}

/// Looks everywhere that a process could find what its daemon was started with. Runs itself in a second
/// process, because only there can the environment be set.
#[tokio::test]
async fn the_daemons_environment_is_out_of_reach() {
    if std::env::var_os(SECRET_VARIABLE).is_none() {
        return with_secret("process_sandbox::the_daemons_environment_is_out_of_reach");
    }
    let world = Sandboxed::new().await;
    let command = "env; cat /proc/1/environ /proc/$PPID/environ /proc/self/environ /proc/[0-9]*/environ 2>/dev/null \
                   | tr '\\0' '\\n'; grep -c . /proc/1/environ 2>/dev/null; ls -d /proc/[0-9]* | wc -l; echo end";
    let text = world.ok(command).await;
    assert!(text.contains("PATH=") && text.ends_with("end\nexit code 0"), "{text}");
    assert!(!text.contains("canary-4711"), "{text}");
    let daemon = std::process::id();
    let text = world.shell(&format!("cat /proc/{daemon}/environ; kill -0 {daemon}")).await.text;
    assert!(!text.contains("canary-4711") && !text.contains("exit code 0"), "{text}");
}

#[test]
fn the_daemons_environment_is_out_of_reach_of_nobody() {
    as_nobody("process_sandbox::the_daemons_environment_is_out_of_reach");
}

const ENDLESS: &str = "trap '' TERM INT HUP; setsid sh -c 'trap \"\" TERM HUP; sleep 98765.MARK' & \
                       (setsid setsid sleep 98765.MARK > /dev/null 2>&1 &) ; touch ready; sleep 98765.MARK; sleep 98765.MARK";

/// A family of processes of which some leave the group and the session, marked by a number of this test.
fn endless(mark: &str) -> (String, String) {
    let mark = format!("{mark}{}", std::process::id());
    (ENDLESS.replace("MARK", &mark), format!("98765.{mark}"))
}

#[tokio::test]
async fn a_time_limit_kills_the_whole_tree() {
    let world = Sandboxed::new().await;
    let (command, mark) = endless("1");
    let outcome = world.call("shell", json!({"command": command, "timeout_seconds": 3})).await;
    assert!(
        outcome.text.ends_with("timed out after 3 s; the command and its children were killed"),
        "{}",
        outcome.text
    );
    assert!(world.workspace.join("ready").exists(), "they had begun");
    assert_eq!(world.running(&mark), 0);
}

#[tokio::test]
async fn dropping_the_call_kills_the_whole_tree_and_cleans_up() {
    let world = Sandboxed::new().await;
    let (command, mark) = endless("2");
    let (shell, context) = (world.tools.get("shell").unwrap().clone(), world.context());
    let call = tokio::spawn(async move { shell.run(json!({"command": command}), context).await });
    until("they have begun", || world.running(&mark) >= 4 && world.workspace.join("ready").exists()).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    until("all are killed", || world.running(&mark) == 0).await;
    let left = || {
        let names = std::fs::read_dir(&world.workspace).unwrap().flatten();
        names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    until("no placeholder is left", || left() == ["ready"]).await;
}

#[tokio::test]
async fn what_a_command_leaves_running_ends_with_it() {
    let world = Sandboxed::new().await;
    let mark = format!("98765.3{}", std::process::id());
    let text = world.ok(&format!("setsid sleep {mark} & sleep {mark} & echo done")).await;
    assert!(text.starts_with("done\n") && text.ends_with("exit code 0"), "{text}");
    assert_eq!(world.running(&mark), 0);
}

#[tokio::test]
async fn ten_gigabytes_of_output_stay_within_bounds() {
    let world = Sandboxed::new().await;
    let before = peak_kib();
    let command = "echo first; yes | head -c 10G; echo last";
    let outcome = world.call_for("shell", json!({"command": command, "timeout_seconds": 600})).await;
    assert!(outcome.ok, "{}", outcome.text);
    assert!(outcome.text.starts_with("first\ny\ny") && outcome.text.ends_with("y\nlast\nexit code 0"));
    assert!(outcome.text.len() < 40_000 && outcome.text.contains("of 10737418251 bytes were kept"));
    assert!(outcome.whole.unwrap().len() <= 8 << 20);
    assert!(world.shown().len() < 9 << 20);
    let grown = peak_kib() - before;
    assert!(grown < 200 * 1024, "grew by {grown} KiB");
}

/// The most memory that this process has used.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

impl Sandboxed {
    /// Calls a tool that may take long.
    async fn call_for(&self, tool: &str, input: Value) -> ostler_runner::ToolOutcome {
        let run = self.tools.get(tool).unwrap().run(input, self.context());
        tokio::time::timeout(Duration::from_secs(600), run).await.expect("this must not hang")
    }
}

#[tokio::test]
async fn under_landlock_changes_of_what_is_protected_are_undone_and_told() {
    let world = Sandboxed::with(BackendChoice::Landlock, |_| {}).await;
    let outcome = world.shell("mkdir -p .claude && echo x > .claude/settings.json").await;
    assert!(outcome.text.contains("[sandbox]"), "{}", outcome.text);
    assert!(!world.workspace.join(".claude/settings.json").exists());
    let text = world.refused(&format!("echo x > {}/x", world.outside.display())).await;
    assert!(text.contains("[sandbox] denied: access to"), "{text}");
}

#[tokio::test]
async fn without_a_sandbox_nothing_runs_unless_somebody_agrees() {
    let fixture = ToolFixture::new();
    let tools = Tools::new(ToolSettings::default());
    let touch = json!({"command": "touch ran"});
    for (tool, input) in [
        ("shell", touch.clone()),
        ("shell", json!({"command": "touch ran", "background": true})),
        ("verify", json!({"commands": ["touch ran"]})),
    ] {
        let tool = tools.get(tool).unwrap();
        let warning = tool.warning(&input).expect("there is a risk to be named");
        assert!(warning.starts_with("This would run without a sandbox: "), "{warning}");
        let outcome = tool.run(input, fixture.context()).await;
        assert!(!outcome.ok && outcome.text.contains("This was not approved"), "{}", outcome.text);
    }
    let outcome = tools.run_command(&fixture.context(), "touch ran", Duration::from_secs(60)).await;
    assert!(!outcome.ok() && outcome.text().contains("This was not approved"), "{}", outcome.text());
    assert!(!fixture.path("ran").exists());
    let mut context = fixture.context();
    context.unconfined = true;
    let outcome = tools.get("shell").unwrap().run(touch.clone(), context).await;
    assert!(outcome.ok && fixture.path("ran").exists(), "{}", outcome.text);
    let allowed = Tools::new(ToolSettings {
        allow_unconfined: true,
        environment: std::env::vars_os().collect(),
        ..ToolSettings::default()
    });
    assert_eq!(allowed.get("shell").unwrap().warning(&touch), None);
}

#[tokio::test]
async fn consent_does_not_let_a_call_out_that_can_be_confined() {
    let world = Sandboxed::with(BackendChoice::Best, |settings| settings.allow_unconfined = true).await;
    assert_eq!(world.tools.get("shell").unwrap().warning(&json!({})), None);
    let mut context = world.context();
    context.unconfined = true;
    let input = json!({"command": format!("touch {}/ran", world.outside.display())});
    let outcome = world.tools.get("shell").unwrap().run(input, context).await;
    assert!(!outcome.ok && !world.outside.join("ran").exists(), "{}", outcome.text);
}

#[tokio::test]
async fn git_is_looked_at_from_inside_the_sandbox() {
    let world = Sandboxed::new().await;
    let git = |arguments: &[&str]| {
        let output = std::process::Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"])
            .args(arguments)
            .current_dir(&world.workspace)
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}");
    };
    git(&["init"]);
    std::fs::write(world.workspace.join("a"), "one\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "-m", "first"]);
    std::fs::write(world.workspace.join("a"), "two\n").unwrap();
    let ran = world.outside.join("ran");
    let program = world.outside.join("program");
    std::fs::write(&program, format!("#!/bin/sh\ntouch '{}'\ncat\n", ran.display())).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    for setting in ["core.fsmonitor", "filter.evil.clean", "core.pager", "diff.external"] {
        git(&["config", setting, program.to_str().unwrap()]);
    }
    std::fs::create_dir_all(world.workspace.join(".git/info")).unwrap();
    std::fs::write(world.workspace.join(".git/info/attributes"), "a filter=evil\n").unwrap();
    let outcome = world.call("git_status", json!({})).await;
    assert!(
        outcome.text.starts_with("On branch main.\nChanged, not staged (1):\n  modified a\n"),
        "{}",
        outcome.text
    );
    assert!(outcome.text.ends_with(" first\n") && !ran.exists(), "{}", outcome.text);
    // What is read without git is how its answer begins.
    let begins = |text: &str| world.tools.checked_out(&world.workspace).as_deref() == Some(text);
    assert!(begins("On branch main.\n"), "{:?}", world.tools.checked_out(&world.workspace));
    git(&["checkout", "--detach"]);
    std::fs::write(world.workspace.join(".git/MERGE_HEAD"), "").unwrap();
    let text = world.tools.checked_out(&world.workspace).unwrap();
    assert!(text.starts_with("No branch is checked out; HEAD is at "), "{text}");
    assert!(text.ends_with(".\nA merge is in progress.\n"), "{text}");
    assert_eq!(Tools::builtin().checked_out(&world.workspace), None, "nothing confines git");
}
