//! Processes that a model starts: however many, they are bounded, and none outlives what it belongs to.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::json;
use tokio::io::unix::AsyncFd;

use crate::scripted::{Stage, call, free, shell};

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
    let stage = Stage::new("").await;
    let id = stage.session(free()).await;
    let turn = stage
        .play(
            id,
            &[
                shell(FORKS),
                call("shell", json!({"command": "b() { b | b & }; b; b; wait 94217003", "timeout_seconds": 2})),
                shell("echo still here"),
            ],
        )
        .await;
    let results = turn.results();
    let count = results[0].text.split_whitespace().nth(1).and_then(|count| count.parse::<u32>().ok());
    assert!(count.is_some_and(|count| count < 1024), "{}", results[0].text);
    assert!(results[2].ok && results[2].text.contains("still here"), "{}", results[2].text);
    assert!(processes("94217003").is_empty(), "nothing is left of it");
    assert_eq!(stage.client.health().await.unwrap().status.as_deref(), Some("ok"));
}

#[tokio::test]
async fn what_runs_in_the_background_ends_with_its_session_and_with_the_daemon() {
    let mut stage = Stage::new("").await;
    let (first, second) = (stage.session(free()).await, stage.session(free()).await);
    for (id, marker) in [(first, "94217001"), (second, "94217002")] {
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
    stage.stop().await;
    for process in of_second {
        ended(process).await;
    }
}

#[tokio::test]
async fn a_canceled_turn_takes_its_command_with_it() {
    let stage = Stage::new("").await;
    let id = stage.session(free()).await;
    let mut turn = stage.start(id, &[shell("touch begun; setsid sleep 94217004 & sleep 94217004")]).await;
    turn.until("tool_call_started").await;
    let running = loop {
        let running = processes("94217004");
        if stage.work.join("begun").exists() && running.len() >= 3 {
            break running;
        }
        tokio::task::yield_now().await;
    };
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
    let process = AsyncFd::new(process).unwrap();
    let end = tokio::time::timeout(Duration::from_secs(30), process.readable()).await;
    _ = end.expect("it ends").unwrap();
}
