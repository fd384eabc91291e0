//! Processes that a model starts: however many, they are bounded, and none outlives what it belongs to.

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::json;

use crate::scripted::{ScriptedDaemon, call, policy_without_approvals, shell};

/// Forks until it cannot, and says how often it could.
const FORKS: &str = "/usr/bin/python3 -c '
import os, signal
count = 0
try:
    while count < 5000:
        if os.fork() == 0: signal.pause()
        count += 1
except OSError: pass
print(\"forked\", count, flush=True)'";

#[tokio::test]
async fn a_fork_bomb_is_bounded_and_gone_with_its_call() {
    let stage = ScriptedDaemon::new("").await;
    let id = stage.session(policy_without_approvals()).await;
    let turn = stage
        .play(
            id,
            &[
                shell(FORKS),
                call("shell", json!({"command": "b() { b | b & }; b; while :; do : 94217003; done", "timeout_seconds": 2})),
                shell("echo still here"),
            ],
        )
        .await;
    let results = turn.results();
    let count = results[0].text.split_whitespace().nth(1).and_then(|count| count.parse::<u32>().ok());
    assert!(count.is_some_and(|count| (100..1024).contains(&count)), "{}", results[0].text);
    assert!(results[1].text.contains("timed out after 2 s"), "{}", results[1].text);
    assert!(results[2].ok && results[2].text.contains("still here"), "{}", results[2].text);
    // Those that were killed may take a moment to be gone; none is made any more.
    for process in processes("94217003") {
        ended(process).await;
    }
    assert!(processes("94217003").is_empty(), "nothing is left of it");
    assert_eq!(stage.client.health().await.unwrap().status, "ok");
}

#[tokio::test]
async fn what_runs_in_the_background_ends_with_its_session_and_however_the_daemon_ends() {
    let mut stage = ScriptedDaemon::new("").await;
    let first = stage.session(policy_without_approvals()).await;
    let others =
        [stage.session(policy_without_approvals()).await, stage.session(policy_without_approvals()).await];
    for (id, marker) in [(first, "94217001"), (others[0], "94217002")] {
        let command = format!("setsid sleep {marker} & setsid nohup sleep {marker} & sleep {marker}");
        let turn = stage.play(id, &[call("shell", json!({"command": command, "background": true}))]).await;
        assert!(turn.result().ok, "{}", turn.result().text);
    }
    let (of_first, of_second) = (processes("94217001"), processes("94217002"));
    assert!(of_first.len() >= 3 && of_second.len() >= 3, "{of_first:?} {of_second:?}");
    stage.client.delete(first, false).await.unwrap();
    for process in of_first {
        ended(process).await;
    }
    assert_eq!(processes("94217002").len(), of_second.len(), "the other session keeps its own");
    stage.crash().await;
    for process in of_second {
        ended(process).await;
    }
    let last =
        call("shell", json!({"command": "setsid sleep 94217005 & sleep 94217005", "background": true}));
    stage.play(others[1], &[last]).await;
    let of_last = processes("94217005");
    assert!(of_last.len() >= 2, "{of_last:?}");
    stage.stop();
    for process in of_last {
        ended(process).await;
    }
}

#[tokio::test]
async fn a_canceled_turn_takes_its_command_with_it() {
    let stage = ScriptedDaemon::new("").await;
    let id = stage.session(policy_without_approvals()).await;
    let command = "setsid sleep 94217004 & sleep 94217004 & echo begun; wait";
    let mut turn = stage.start(id, &[shell(command)]).await;
    turn.until_output().await;
    let running = processes("94217004");
    assert!(running.len() >= 3, "{running:?}");
    stage.client.cancel(id).await.unwrap();
    assert_eq!(turn.finish().await["type"], "turn_canceled");
    for process in running {
        ended(process).await;
    }
}

/// The processes of this machine that have a word in their command line, as handles that stay theirs.
fn processes(word: &str) -> Vec<OwnedFd> {
    let numbers = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let number = entry.ok()?.file_name().to_str()?.parse::<i32>().ok()?;
        let line = std::fs::read(format!("/proc/{number}/cmdline")).ok()?;
        String::from_utf8_lossy(&line).contains(word).then_some(number)
    });
    numbers.filter_map(|number| pidfd_open(Pid::from_raw(number)?, PidfdFlags::NONBLOCK).ok()).collect()
}

/// Waits until a process has ended.
async fn ended(process: OwnedFd) {
    let wait = move || {
        let patience = Timespec { tv_sec: 30, tv_nsec: 0 };
        poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&patience)).unwrap()
    };
    assert_eq!(tokio::task::spawn_blocking(wait).await.unwrap(), 1, "it ends");
}
