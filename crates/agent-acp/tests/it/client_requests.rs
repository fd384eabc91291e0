//! What an agent has us do, under the session's policy.

use ostler_types::{CallEvent, Event, Policy, ToolKind, Verdict};
use serde_json::Value;

use crate::fixture::{AcpTestSession, check, test_session, test_session_with_policy, within};

fn noted(world: &AcpTestSession, word: &str) -> Value {
    let notes = world.notes(word);
    serde_json::from_str(notes.last().unwrap_or_else(|| panic!("nothing was noted of {word}"))).unwrap()
}

/// The calls of our own tools, by their names.
fn own_calls(world: &AcpTestSession) -> Vec<String> {
    let started = |event| match event {
        Event::Call(CallEvent::Started { tool_call, .. }) => Some(tool_call.name),
        _ => None,
    };
    let names = world.host.events().into_iter().filter_map(started);
    names.filter(|name| !name.starts_with("acp__")).collect()
}

#[tokio::test]
async fn files_are_read_inside_the_workspace_only() {
    let world = test_session(&[]);
    std::fs::write(world.workspace().join("file.txt"), "one\ntwo\n").unwrap();
    std::fs::write(world.directory.path().join("secret"), "canary").unwrap();
    std::os::unix::fs::symlink(world.directory.path().join("secret"), world.workspace().join("link"))
        .unwrap();
    world.ask("read:file.txt").await.unwrap();
    assert_eq!(noted(&world, "read")["result"]["content"], "one\ntwo\n");
    for outside in ["../secret", "/etc/passwd", "link"] {
        world.ask(&format!("read:{outside}")).await.unwrap();
        let answer = noted(&world, "read");
        assert!(answer["error"]["message"].as_str().is_some_and(|why| !why.contains("canary")), "{answer}");
    }
    assert!(own_calls(&world).is_empty(), "reading is not worth a record");
}

#[tokio::test]
async fn writing_waits_for_a_person_where_the_policy_says_so() {
    let world = test_session_with_policy(Policy::default(), &[]);
    let running = world.begin("write:new.txt=hello say:done");
    within(world.host.recorded("approval_requested", 1)).await;
    let approval = world.host.state().pending_approvals().next().unwrap().clone();
    assert_eq!((approval.tool.as_str(), approval.kind), ("write_file", ToolKind::Write));
    assert!(!world.workspace().join("new.txt").exists());
    world.host.answer(&approval.tool_call_id.0, Verdict::Approve, None).unwrap();
    running.await.unwrap().unwrap();
    check(&world.host);
    assert_eq!(std::fs::read_to_string(world.workspace().join("new.txt")).unwrap(), "hello");
    assert_eq!(noted(&world, "write")["result"], serde_json::json!({}));
    assert!(world.result(&approval.tool_call_id.0).details.unwrap()["files"].is_array());
}

#[tokio::test]
async fn what_was_denied_is_not_written() {
    let mut world = test_session_with_policy(Policy::default(), &[]);
    world.host = world.host.answering(|_| Some((Verdict::Deny, None)));
    world.ask("write:new.txt=hello say:done").await.unwrap();
    assert!(!world.workspace().join("new.txt").exists());
    assert!(noted(&world, "write")["error"]["message"].as_str().unwrap().contains("denied"));
    assert_eq!(world.answers(), ["done"]);
}

#[tokio::test]
async fn a_write_that_the_policy_allows_is_recorded_as_a_call() {
    let world = test_session(&[]);
    world.ask("say:now write:a/b.txt=hello say:done").await.unwrap();
    assert_eq!(own_calls(&world), ["write_file"]);
    assert_eq!(std::fs::read_to_string(world.workspace().join("a/b.txt")).unwrap(), "hello");
    world.ask("write:../out.txt=x").await.unwrap();
    assert!(!world.directory.path().join("out.txt").exists());
    assert!(noted(&world, "write")["error"].is_object());
}

#[tokio::test]
async fn what_is_protected_is_not_written_for_an_agent_whatever_it_is_called() {
    let world = test_session(&[]);
    let at = |path: &str| world.workspace().join(path);
    for directory in ["conf", "sub", ".vscode"] {
        std::fs::create_dir(at(directory)).unwrap();
    }
    std::os::unix::fs::symlink("conf", at(".claude")).unwrap();
    std::os::unix::fs::symlink(".vscode", at("editor")).unwrap();
    std::os::unix::fs::symlink("../.mcp.json", at("sub/servers.json")).unwrap();
    let absolute = at(".envrc").display().to_string();
    let paths = [
        ".mcp.json",
        ".MCP.json",
        "sub/.envrc",
        "new/.ostler/config.toml",
        ".git/config",
        "conf/settings.json",
        "editor/tasks.json",
        "sub/servers.json",
        "sub/../.husky/pre-commit",
        absolute.as_str(),
    ];
    for (number, path) in paths.iter().enumerate() {
        world.ask(&format!("write:{path}=planted")).await.unwrap();
        let answer = noted(&world, "write");
        assert!(answer["error"]["message"].is_string(), "{path}: {answer}");
        assert_eq!(world.notes("write").len(), number + 1, "each has an answer of its own");
    }
    let is_empty = |path: &str| std::fs::read_dir(at(path)).unwrap().next().is_none();
    assert!(is_empty("conf") && is_empty(".vscode"), "nothing went by a link");
    for path in [".mcp.json", ".MCP.json", ".envrc", "sub/.envrc", "new/.ostler", ".git/config", ".husky"] {
        assert!(!at(path).exists(), "{path}");
    }
}

#[tokio::test]
async fn a_write_within_a_call_that_the_policy_allows_belongs_to_that_call() {
    let world = test_session(&[]);
    world.ask("open:edit write:a.txt=x done:edit say:done").await.unwrap();
    assert!(own_calls(&world).is_empty());
    assert_eq!(world.result("edit").text(), "edit is completed");
}

#[tokio::test]
async fn commands_run_in_the_workspace_and_say_how_they_ended() {
    let world = test_session(&[]);
    world.ask("run:pwd;_echo_oops_>&2;_exit_3 say:done").await.unwrap();
    assert_eq!(noted(&world, "exit")["result"]["exitCode"], 3);
    let output = noted(&world, "output")["result"]["output"].as_str().unwrap().to_owned();
    assert!(output.contains("workspace") && output.contains("oops"), "{output}");
    assert_eq!(own_calls(&world), ["shell"]);
    let shell = world.results().pop().unwrap();
    assert!(!shell.ok && shell.text().contains("exit code 3"), "{shell:?}");
}

#[tokio::test]
async fn a_command_waits_for_a_person_where_the_policy_says_so() {
    let mut world = test_session_with_policy(Policy::default(), &[]);
    world.host = world.host.answering(|_| Some((Verdict::Deny, Some("no".to_owned()))));
    world.ask("run:touch_made say:done").await.unwrap();
    assert!(!world.workspace().join("made").exists());
    assert!(noted(&world, "run")["error"].is_object());
}

/// An agent's command that only reads the workspace runs; one that reads beside it waits for a person.
#[tokio::test]
async fn a_command_that_reads_outside_of_the_workspace_waits_for_a_person() {
    let mut world = test_session_with_policy(Policy::default(), &[]);
    world.host = world.host.answering(|_| Some((Verdict::Deny, Some("no".to_owned()))));
    std::fs::write(world.workspace().join("near.txt"), "near").unwrap();
    std::fs::write(world.directory.path().join("far.txt"), "far").unwrap();
    std::os::unix::fs::symlink("../far.txt", world.workspace().join("link.txt")).unwrap();
    world.ask("run:cat_near.txt say:done").await.unwrap();
    assert_eq!(noted(&world, "output")["result"]["output"], "near");
    for line in ["cat_../far.txt", "cat_link.txt", "cat_l*.txt", "cd_.._&&_cat_far.txt"] {
        world.ask(&format!("run:{line} say:done")).await.unwrap();
        assert!(noted(&world, "run")["error"].is_object(), "{line}");
    }
}

#[tokio::test]
async fn a_command_ends_with_its_turn() {
    let world = test_session(&[]);
    let running = world.begin("run:echo_$$_>_pid;_sleep_600");
    let pid = world.workspace().join("pid");
    crate::fixture::until(|| std::fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n'))).await;
    let process = std::fs::read_to_string(&pid).unwrap().trim().to_owned();
    world.host.cancel();
    running.await.unwrap().unwrap_err();
    check(&world.host);
    crate::fixture::until(|| !crate::fixture::is_alive(&process)).await;
}
