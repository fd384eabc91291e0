//! Nothing that a command starts outlives it: not at its end, not at a timeout, not at a drop.

use std::path::Path;

use ostler_tools::Tools;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

use crate::fixture::{ToolFixture, until};

/// A shell, its child and its grandchild, each with its id in a file, and none of them ever done.
const FAMILY: &str = "echo $$ > main; sleep 1000 & echo $! > child; \
                      (sleep 1000 & echo $! > grandchild; wait) & trap '' TERM INT HUP; wait; sleep 1000";

fn pid(path: &Path) -> Option<Pid> {
    let text = std::fs::read_to_string(path).ok()?;
    text.strip_suffix('\n')?.parse().ok().and_then(Pid::from_raw)
}

fn is_gone(pid: Pid) -> bool {
    test_kill_process(pid) == Err(Errno::SRCH)
}

/// Whether a process no longer runs. One whose parent died first is reaped by init, or by nobody.
fn is_dead(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    is_gone(pid) || stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
}

async fn family(fixture: &ToolFixture) -> [Pid; 3] {
    let names = ["main", "child", "grandchild"];
    until("all processes run", || names.iter().all(|name| pid(&fixture.path(name)).is_some())).await;
    names.map(|name| pid(&fixture.path(name)).unwrap())
}

async fn until_ended([main, child, grandchild]: [Pid; 3]) {
    until("the children are killed", || is_dead(child) && is_dead(grandchild)).await;
    until("the command is reaped", || is_gone(main)).await;
}

#[tokio::test]
async fn dropping_the_future_kills_the_group_and_leaves_no_zombie() {
    let fixture = ToolFixture::new();
    for _ in 0..5 {
        let tools = Tools::builtin();
        let shell = tools.get("shell").unwrap().clone();
        let context = fixture.context();
        let call = tokio::spawn(async move { shell.run(json!({"command": FAMILY}), context).await });
        let processes = family(&fixture).await;
        assert!(!processes.into_iter().any(is_dead));
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        until_ended(processes).await;
        for name in ["main", "child", "grandchild"] {
            std::fs::remove_file(fixture.path(name)).unwrap();
        }
    }
}

#[tokio::test]
async fn a_timeout_kills_the_group() {
    let fixture = ToolFixture::new();
    let command = format!("echo before; {FAMILY}");
    let outcome = fixture.call("shell", json!({"command": command, "timeout_seconds": 1})).await;
    assert!(!outcome.ok);
    assert_eq!(outcome.text, "before\ntimed out after 1 s; the command and its children were killed");
    let details = outcome.details.unwrap();
    assert_eq!((&details["timed_out"], &details["exit_code"]), (&json!(true), &json!(null)));
    until_ended(family(&fixture).await).await;
}

#[tokio::test]
async fn a_child_that_holds_the_output_open_is_not_awaited() {
    let fixture = ToolFixture::new();
    let outcome = fixture.ok("shell", json!({"command": "sleep 1000 & echo $! > child; echo done"})).await;
    assert!(outcome.text.starts_with("done\n[Processes that the command left behind"), "{}", outcome.text);
    assert!(outcome.text.ends_with("exit code 0"));
    let child = pid(&fixture.path("child")).unwrap();
    until("the child is killed", || is_dead(child)).await;
}

#[tokio::test]
async fn a_child_that_closed_the_output_is_killed_too() {
    let fixture = ToolFixture::new();
    let outcome =
        fixture.ok("shell", json!({"command": "sleep 1000 > /dev/null 2>&1 & echo $! > child"})).await;
    assert_eq!(outcome.text, "exit code 0");
    let child = pid(&fixture.path("child")).unwrap();
    until("the child is killed", || is_dead(child)).await;
}

#[tokio::test]
async fn a_command_that_closes_its_output_is_awaited() {
    let fixture = ToolFixture::new();
    let outcome = fixture.call("shell", json!({"command": "exec >&- 2>&-; sleep 0.1; exit 7"})).await;
    assert_eq!(outcome.text, "exit code 7");
}

#[tokio::test]
async fn a_child_that_left_the_group_cannot_hold_the_call() {
    let fixture = ToolFixture::new();
    let command =
        "setsid bash -c 'echo $$ > escaped; sleep 1000' & until [ -s escaped ]; do :; done; echo done";
    let outcome = fixture.ok("shell", json!({"command": command})).await;
    assert!(outcome.text.starts_with("done\n"), "{}", outcome.text);
    let escaped = pid(&fixture.path("escaped")).unwrap();
    rustix::process::kill_process_group(escaped, Signal::KILL).unwrap();
    until("the test cleans up", || is_dead(escaped)).await;
    let _ = kill_process(escaped, Signal::KILL);
}
