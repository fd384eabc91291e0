//! A disk that is full or broken: told to the client, felt by one session, over when the disk is well.

use std::sync::Arc;

use ostler_engine::EngineError;
use ostler_eventlog::LogError;
use ostler_testing::agent::{ScriptedAgent, done, finish, propose, say, stream};
use ostler_testing::disk::{FaultDisk, FaultPlan};
use ostler_types::{Event, Part, ToolKind, TurnEvent, TurnReport};
use serde_json::json;
use tokio::sync::Notify;

use crate::checking_subscriber::CheckingSubscriber;
use crate::fixture::{EngineFixture, eventually};

fn faulty() -> (EngineFixture, Arc<FaultDisk>) {
    let disk = Arc::new(FaultDisk::new(FaultPlan::default()));
    (EngineFixture::with_disk(disk.clone()), disk)
}

fn plan(text: impl AsRef<str>) -> FaultPlan {
    FaultPlan::parse(text.as_ref()).unwrap()
}

#[tokio::test]
async fn a_full_disk_is_told_and_felt_by_one_session() {
    let ((place, disk), agent) = (faulty(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let (id, other) = (daemon.create().await, daemon.create().await);
    let mut reader = CheckingSubscriber::new(daemon.engine.subscribe(id, 0).await.unwrap());
    for fault in ["enospc:write_at", "short-enospc:write_at", "eio:sync_data", "eio:write_at"] {
        disk.set_plan(plan(format!("{fault}@{id}..")));
        let before = daemon.engine.view(id).await.unwrap();
        let refused = daemon.engine.submit(id, daemon.message("lost", Default::default())).await;
        let full = fault.contains("enospc");
        assert_eq!(matches!(refused, Err(EngineError::Log(LogError::Full))), full, "{fault}: {refused:?}");
        assert!(
            matches!(refused, Err(EngineError::Log(LogError::Full | LogError::Io(_)))),
            "{fault}: {refused:?}"
        );
        assert_eq!(daemon.engine.view(id).await.unwrap(), before, "{fault}");

        agent.push_text("unmoved");
        let turns = daemon.engine.view(other).await.unwrap().turns.len();
        daemon.say(other, "hello").await;
        daemon.recorded(other, "turn_completed", turns + 1).await;

        disk.set_plan(FaultPlan::default());
        agent.push_text("well again");
        let turns = before.turns.len();
        daemon.say(id, "kept").await;
        reader.until("turn_completed", turns + 1).await;
    }
    let texts: Vec<String> = daemon
        .engine
        .messages(id, None, 100)
        .await
        .unwrap()
        .messages
        .iter()
        .map(|message| message.text())
        .collect();
    assert_eq!(texts, ["kept", "well again"].repeat(4));
}

#[tokio::test]
async fn a_session_that_cannot_be_made_leaves_nothing() {
    let ((place, disk), agent) = (faulty(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    disk.set_plan(plan("enospc:write_at@events.ndjson.."));
    let made = daemon.engine.create(daemon.new_session()).await;
    assert!(matches!(made, Err(EngineError::Log(LogError::Full))), "{made:?}");
    disk.set_plan(FaultPlan::default());
    assert_eq!(daemon.engine.list(Default::default()).await.unwrap().sessions, []);
    daemon.create().await;
    assert_eq!(daemon.engine.list(Default::default()).await.unwrap().sessions.len(), 1);
}

#[tokio::test]
async fn the_end_of_a_turn_is_recorded_once_the_disk_is_well() {
    let ((place, disk), agent, go) = (faulty(), ScriptedAgent::new(), Arc::new(Notify::new()));
    let daemon = place.open(&agent).await;
    let gate = go.clone();
    agent.push(|turn| async move {
        say(&turn, "done, if you let me").await?;
        gate.notified().await;
        done()
    });
    let id = daemon.create().await;
    let mut reader = CheckingSubscriber::new(daemon.engine.subscribe(id, 0).await.unwrap());
    daemon.say(id, "go").await;
    reader.until("model_output_completed", 1).await;
    disk.set_plan(plan(format!("enospc:write_at@{id}..")));
    let before = disk.operations();
    go.notify_one();
    agent.ended(1).await;
    eventually("the end was tried", async || disk.operations() > before).await;
    // The turn is open in the log, and yet its agent must not be given it again.
    let view = daemon.engine.view(id).await.unwrap();
    assert_eq!((view.running_turn_id.is_some(), agent.turns().len()), (true, 1));
    let refused = daemon.engine.submit(id, daemon.message("and then", Default::default())).await;
    assert!(matches!(refused, Err(EngineError::Log(LogError::Full))), "{refused:?}");

    disk.set_plan(FaultPlan::default());
    reader.until("turn_completed", 1).await;
    assert_eq!(agent.turns().len(), 1);
    assert_eq!(reader.count("turn_failed"), 0);
    agent.push_text("as usual");
    daemon.say(id, "next").await;
    reader.until("turn_completed", 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_could_not_be_canceled_goes_on_without_a_gap() {
    let ((place, disk), agent) = (faulty(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let (enough, told) = tokio::sync::watch::channel(false);
    agent.push(|turn| async move {
        let (id, mut text) = (turn.message_id(), String::new());
        while !*told.borrow() {
            stream(&turn, id, text.len(), "word ");
            text.push_str("word ");
            tokio::task::yield_now().await;
        }
        finish(&turn, id, vec![Part::text(text)]).await?;
        done()
    });
    let id = daemon.create().await;
    let mut reader = CheckingSubscriber::new(daemon.engine.subscribe(id, 0).await.unwrap());
    daemon.say(id, "go").await;
    reader.until("turn_started", 1).await;
    disk.set_plan(plan(format!("enospc:write_at@{id}/events.ndjson..")));
    for _ in 0..5 {
        let refused = daemon.cancel(id).await;
        assert!(matches!(refused, Err(EngineError::Log(LogError::Full))), "{refused:?}");
        reader.step().await;
    }
    disk.set_plan(FaultPlan::default());
    enough.send_replace(true);
    // The reader itself fails on a gap in the text.
    reader.until("turn_completed", 1).await;
    assert_eq!(reader.count("turn_canceled"), 0);
}

#[tokio::test]
async fn a_call_that_cannot_be_recorded_does_not_run() {
    let ((place, disk), agent) = (faulty(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let (gate, faults) = (Arc::new(Notify::new()), disk.clone());
    let go = gate.clone();
    let id = daemon.create().await;
    agent.push(move |turn| async move {
        let call = propose(&turn, "c1", "look", json!({})).await?;
        go.notified().await;
        faults.set_plan(plan(format!("enospc:write_at@{id}..")));
        let started = turn.report(TurnReport::CallStarted { tool_call: call, kind: ToolKind::Read }).await;
        faults.set_plan(FaultPlan::default());
        Err(started.expect_err("nothing can be recorded").into())
    });
    daemon.say(id, "go").await;
    daemon.recorded(id, "tool_batch_started", 1).await;
    gate.notify_one();
    daemon.recorded(id, "session_failed", 1).await;
    let records = daemon.records(id).await;
    let reason = records.iter().find_map(|record| match &record.event {
        Event::Turn(TurnEvent::Failed { reason, .. }) => Some(reason.clone()),
        _ => None,
    });
    assert_eq!(reason.as_deref(), Some("not_recorded"));
    assert!(records.iter().all(|record| record.event.name().as_str() != "tool_call_started"));
}

#[test]
fn a_turn_that_cannot_be_ended_after_a_crash_is_not_run_again() {
    let ((place, disk), agent) = (faulty(), ScriptedAgent::resuming());
    agent.push(|turn| async move {
        let call = propose(&turn, "c1", "look", json!({})).await?;
        turn.report(TurnReport::CallStarted { tool_call: call, kind: ToolKind::Read }).await?;
        std::future::pending().await
    });
    let id = place.until_crash(&agent, async |daemon| {
        let id = daemon.create().await;
        daemon.say(id, "go").await;
        daemon.recorded(id, "tool_call_started", 1).await;
        id
    });
    disk.set_plan(plan(format!("enospc:write_at@{id}..")));
    place.until_crash(&agent, async |daemon| {
        let view = daemon.engine.view(id).await.unwrap();
        assert!(view.running_turn_id.is_some());
        assert_eq!(agent.turns().len(), 1, "the call may have run, and the agent was given it again");
        disk.set_plan(FaultPlan::default());
        daemon.recorded(id, "session_failed", 1).await;
        let names = daemon.names(id).await;
        assert_eq!(names.iter().filter(|name| **name == "turn_failed").count(), 1);
    });
    assert_eq!(agent.turns().len(), 1);
}

#[tokio::test]
async fn a_full_disk_can_be_made_room_on() {
    let ((place, disk), agent) = (faulty(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    agent.push(|turn| async move {
        turn.canceled.cancelled().await;
        done()
    });
    let id = daemon.create().await;
    daemon.say(id, "go").await;
    agent.started(1).await;
    disk.set_plan(plan("enospc:write_at@.."));
    daemon.engine.purge(id).await.unwrap();
    assert_eq!(agent.ended_turns().len(), 1);
    assert!(matches!(daemon.engine.view(id).await, Err(EngineError::NotFound)));
    assert!(!daemon.session_dir(id).exists());
}
