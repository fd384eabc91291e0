//! Starting a child on a disk that fails, or with a daemon that dies, at every write there is: no call is left
//! without a result, and nothing is left half made.

use std::path::Path;
use std::sync::Arc;

use ostler_agent::{CompletedTurn, FailedTurn, TurnContext};
use ostler_testing::agent::{ScriptedAgent, done, say};
use ostler_testing::disk::{FaultDisk, FaultPlan};
use ostler_types::{CallEvent, ChildEvent, Event, MessageEvent, SessionId, SessionStatus};

use crate::children::{begin_task, child, end_task};
use crate::fixture::{EngineFixture, TestEngine, eventually};

fn faulty() -> (EngineFixture, Arc<FaultDisk>) {
    let disk = Arc::new(FaultDisk::new(FaultPlan::default()));
    (EngineFixture::with_disk(disk.clone()), disk)
}

/// An agent that delegates in a session of a person's, and answers in a child.
fn delegating() -> Arc<ScriptedAgent> {
    let agent = ScriptedAgent::new();
    for _ in 0..4 {
        agent.push(turn);
    }
    agent
}

async fn turn(turn: TurnContext) -> Result<CompletedTurn, FailedTurn> {
    if turn.session.depth == 0 {
        begin_task(&turn, "c1").await?;
        let id = turn.start_child(child("c1", "work")).await?;
        let outcome = turn.wait_for_child(id).await?;
        end_task(&turn, "c1", &outcome.text).await?;
    } else {
        say(&turn, "answer").await?;
    }
    done()
}

/// The children that a session's log speaks of, and which of them have ended.
async fn told(daemon: &TestEngine, parent: SessionId) -> (Vec<SessionId>, Vec<SessionId>) {
    let (mut started, mut ended) = (Vec::new(), Vec::new());
    for record in daemon.records(parent).await {
        match record.event {
            Event::Child(ChildEvent::Started { session_id, .. }) => started.push(session_id),
            Event::Child(ChildEvent::Completed { session_id, .. }) => ended.push(session_id),
            _ => {}
        }
    }
    (started, ended)
}

async fn until_at_rest(daemon: &TestEngine, parent: SessionId) {
    eventually("the session is at rest", async || {
        let Ok(view) = daemon.engine.view(parent).await else { return false };
        let (started, ended) = told(daemon, parent).await;
        view.running_turn_id.is_none() && started == ended
    })
    .await;
}

/// Every name leads to a session, and every session in a folder of another has a name.
fn check_folders(data: &Path) {
    for entry in std::fs::read_dir(data.join("sessions")).unwrap() {
        let path = entry.unwrap().path();
        assert!(
            path.join("events.ndjson").metadata().is_ok_and(|log| log.len() > 0),
            "{path:?} is no session"
        );
        if path.is_symlink() {
            continue;
        }
        let nested = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
        for nested in
            nested.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("subagent_"))
        {
            let real = std::fs::canonicalize(&nested).unwrap();
            let mut names =
                std::fs::read_dir(data.join("sessions")).unwrap().map(|entry| entry.unwrap().path());
            assert!(
                names.any(|name| name.is_symlink() && std::fs::canonicalize(name).unwrap() == real),
                "{nested:?} has no name"
            );
        }
    }
}

/// How many operations the disk has seen before the turn, and after it.
fn operations() -> (u64, u64) {
    let (place, disk) = faulty();
    place.until_crash(&delegating(), async |daemon| {
        let parent = daemon.create().await;
        let before = disk.operations();
        daemon.say(parent, "go").await;
        daemon.recorded(parent, "turn_completed", 1).await;
        (before, disk.operations())
    })
}

#[test]
fn a_disk_that_fails_once_fails_the_child_or_nothing() {
    let (before, after) = operations();
    for number in before + 1..=after {
        let (place, disk) = faulty();
        place.until_stop(&delegating(), async |daemon| {
            let parent = daemon.create().await;
            disk.set_plan(FaultPlan::parse(&format!("eio:{number}")).unwrap());
            if daemon.engine.submit(parent, daemon.message("go", Default::default())).await.is_err() {
                return;
            }
            until_at_rest(daemon, parent).await;
            let view = daemon.engine.view(parent).await.unwrap();
            assert_ne!(view.session.status, SessionStatus::WaitingApproval, "at operation {number}");
            let (calls, results) = calls_and_results(daemon, parent).await;
            assert_eq!(calls, results, "at operation {number}");
        });
        check_folders(place.data());
    }
}

#[test]
fn a_daemon_that_dies_at_any_write_leaves_no_child_open() {
    let (before, after) = operations();
    for number in before + 1..=after {
        let (place, disk) = faulty();
        let parent = place.until_crash(&delegating(), async |daemon| {
            let parent = daemon.create().await;
            disk.set_plan(FaultPlan::parse(&format!("eio:{number}..")).unwrap());
            _ = daemon.engine.submit(parent, daemon.message("go", Default::default())).await;
            eventually("the disk is gone", async || disk.operations() >= number).await;
            parent
        });
        disk.set_plan(FaultPlan::default());
        disk.cut_power().unwrap();
        place.until_stop(&ScriptedAgent::new(), async |daemon| {
            until_at_rest(daemon, parent).await;
            let (calls, results) = calls_and_results(daemon, parent).await;
            assert_eq!(calls, results, "at operation {number}");
            check_folders(place.data());
        });
    }
}

async fn calls_and_results(daemon: &TestEngine, id: SessionId) -> (Vec<String>, Vec<String>) {
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for record in daemon.records(id).await {
        match record.event {
            Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => {
                calls.extend(message.tool_calls().map(|call| call.id.0.clone()));
            }
            Event::Call(CallEvent::Completed { tool_call, .. }) => results.push(tool_call.id.0),
            _ => {}
        }
    }
    (calls, results)
}
