//! Forks: what they share, what stays behind, and that both go on by themselves.

use std::sync::Arc;

use ostler_agent::{CompletedTurn, FailedTurn, TurnContext};
use ostler_engine::EngineError;
use ostler_testing::agent::{ScriptedAgent, done, propose, run_call, say};
use ostler_testing::disk::{FaultDisk, FaultPlan};
use ostler_types::{
    Accepted, AgentEvent, Command, CompactionTrigger, Delivery, Event, ForkedFrom, Message, MessageId,
    NewCompaction, Part, Policy, Role, SessionId, ToolKind, TurnReport, TurnStatus, Usage,
};
use serde_json::json;
use tokio::sync::Notify;

use crate::fixture::{EngineFixture, TestEngine};

async fn texts(daemon: &TestEngine, id: SessionId) -> Vec<String> {
    let page = daemon.engine.messages(id, None, 100).await.unwrap();
    page.messages.iter().map(Message::text).collect()
}

/// A session with two turns.
async fn two_turns(daemon: &TestEngine) -> (SessionId, [ostler_types::TurnId; 2]) {
    let id = daemon.create().await;
    let mut turns = Vec::new();
    for number in 1..=2 {
        daemon.agent.push_text(&format!("answer {number}"));
        turns.push(daemon.say(id, &format!("question {number}")).await);
        daemon.recorded(id, "turn_completed", number).await;
    }
    (id, turns.try_into().unwrap())
}

#[tokio::test]
async fn a_fork_shares_what_was_said_and_goes_its_own_way() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let (id, turns) = two_turns(&daemon).await;
    let early = daemon.engine.fork(id, Some(turns[0])).await.unwrap();
    assert_eq!(early.forked_from, Some(ForkedFrom { session_id: id, turn_id: Some(turns[0]) }));
    assert_eq!(early.title.as_deref(), Some("question 1 (fork)"));
    assert_eq!(texts(&daemon, early.id).await, ["question 1", "answer 1"]);
    let late = daemon.engine.fork(id, None).await.unwrap();
    assert_eq!(texts(&daemon, late.id).await, ["question 1", "answer 1", "question 2", "answer 2"]);
    assert_eq!(late.usage, Usage::default(), "nothing is counted twice");
    let names = daemon.names(late.id).await;
    assert!(!names.contains(&"usage_recorded"), "{names:?}");
    let source = daemon.records(id).await;
    for record in daemon.records(late.id).await.iter().skip(1) {
        let same = |other: &&ostler_types::Record| other.ts == record.ts && other.turn_id == record.turn_id;
        assert!(source.iter().any(|other| same(&other)), "{record:?} has its time and turn");
    }

    agent.push(|turn| async move {
        assert_eq!(turn.history.len(), 3);
        say(&turn, "another way").await?;
        done()
    });
    daemon.say(early.id, "question 2b").await;
    daemon.recorded(early.id, "turn_completed", 2).await;
    assert_eq!(texts(&daemon, id).await.len(), 4, "the source is as it was");
    let listed = daemon.engine.list(Default::default()).await.unwrap();
    assert_eq!(listed.sessions.len(), 3);
}

#[tokio::test]
async fn forks_are_made_beside_a_running_turn_and_of_sleeping_and_closed_sessions() {
    let (mut place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    place.idle_after = std::time::Duration::ZERO;
    let daemon = place.open(&agent).await;
    let (id, turns) = two_turns(&daemon).await;
    let held = Arc::new(Notify::new());
    let release = held.clone();
    agent.push(|turn| async move {
        held.notified().await;
        say(&turn, "answer 3").await?;
        done()
    });
    let running = daemon.say(id, "question 3").await;
    daemon.deliver(id, "question 4", Delivery::Queue).await;
    let fork = daemon.engine.fork(id, None).await.unwrap();
    assert_eq!(texts(&daemon, fork.id).await.len(), 4);
    let view = daemon.engine.view(fork.id).await.unwrap();
    assert_eq!((view.running_turn_id, view.queue.len(), view.turns.len()), (None, 0, 2));
    assert_eq!(view.session.last_turn_id, Some(turns[1]));
    let refused = daemon.engine.fork(id, Some(running)).await;
    assert!(matches!(refused, Err(EngineError::Refused(refusal)) if refusal.code == "turn_running"));
    let nobodys = ostler_types::TurnId::new(daemon.engine.clock().uuid());
    let refused = daemon.engine.fork(id, Some(nobodys)).await;
    assert!(matches!(refused, Err(EngineError::Refused(refusal)) if refusal.code == "turn_not_found"));
    agent.push_text("answer 4");
    release.notify_one();
    daemon.recorded(id, "turn_completed", 4).await;
    daemon.engine.submit(id, Command::Close { by: "test".to_owned() }).await.unwrap();
    let of_closed = daemon.engine.fork(id, None).await.unwrap();
    assert_eq!(texts(&daemon, of_closed.id).await.len(), 8);
    agent.push_text("goes on");
    daemon.say(of_closed.id, "question 5").await;
    daemon.recorded(of_closed.id, "turn_completed", 5).await;
}

async fn make_an_artifact(turn: TurnContext) -> Result<CompletedTurn, FailedTurn> {
    let call = propose(&turn, "c1", "shell", json!({"command": "make"})).await?;
    run_call(&turn, &call, ToolKind::Exec).await?;
    let reference = turn.put_artifact("whole.txt".to_owned(), b"all of it".to_vec()).await?;
    let part = Part::File { reference, mime_type: "text/plain".to_owned() };
    ostler_testing::agent::finish(&turn, turn.message_id(), vec![part]).await?;
    done()
}

#[tokio::test]
async fn files_and_the_end_of_a_stopped_turn_come_along() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let mut new = daemon.new_session();
    new.policy = Policy::default();
    new.policy.approval.require_for_kinds.clear();
    let id = daemon.engine.create(new).await.unwrap().id;
    agent.push(make_an_artifact);
    let made = daemon.say(id, "make").await;
    daemon.recorded(id, "turn_completed", 1).await;
    agent.push(|turn| async move {
        ostler_testing::agent::stream(&turn, turn.message_id(), 0, "half");
        turn.canceled.cancelled().await;
        done()
    });
    let stopped = daemon.say(id, "again").await;
    agent.started(2).await;
    daemon.cancel(id).await.unwrap();
    let fork = daemon.engine.fork(id, Some(stopped)).await.unwrap();
    daemon.engine.purge(id).await.unwrap();
    let file = daemon.engine.get_artifact(fork.id, made, "whole.txt").await.unwrap();
    assert_eq!(file.head.as_ref(), b"all of it");
    let view = daemon.engine.view(fork.id).await.unwrap();
    assert_eq!(
        view.turns.iter().map(|turn| turn.status).collect::<Vec<_>>(),
        [TurnStatus::Completed, TurnStatus::Canceled]
    );
    assert_eq!(texts(&daemon, fork.id).await.last().unwrap(), "half");
    let again = Command::Retry {
        retry_of: stopped,
        turn_id: ostler_types::TurnId::new(daemon.engine.clock().uuid()),
    };
    agent.push_text("whole");
    assert!(matches!(daemon.engine.submit(fork.id, again).await, Ok(Accepted::Turn { .. })));
    daemon.recorded(fork.id, "turn_completed", 2).await;
}

#[tokio::test]
async fn a_conversation_that_was_made_shorter_is_as_short_in_the_fork() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let (id, _) = two_turns(&daemon).await;
    agent.push(|turn| async move {
        let first = turn.history[0].id;
        let last = turn.history[1].id;
        let summary = Message {
            id: MessageId::new(turn.clock.uuid()),
            role: Role::System,
            parts: vec![Part::text("in short")],
            created_at: turn.clock.now(),
        };
        let compaction = NewCompaction {
            from_message_id: first,
            to_message_id: last,
            tokens_before: 100,
            tokens_after: 10,
            trigger: CompactionTrigger::Asked,
            summary: Some(summary),
            pruned: Vec::new(),
        };
        turn.report(TurnReport::Compacted(Box::new(compaction))).await?;
        say(&turn, "answer 3").await?;
        done()
    });
    daemon.say(id, "question 3").await;
    daemon.recorded(id, "turn_completed", 3).await;
    let fork = daemon.engine.fork(id, None).await.unwrap();
    for session in [id, fork.id] {
        agent.push(|turn| async move {
            let told: Vec<String> = turn.history.iter().map(|message| message.text()).collect();
            say(&turn, &told.join("|")).await?;
            done()
        });
        daemon.say(session, "what do you see").await;
        daemon.recorded(session, "turn_completed", 4).await;
    }
    let seen = "in short|question 2|answer 2|question 3|answer 3|what do you see";
    assert_eq!(texts(&daemon, id).await.last().unwrap(), seen);
    assert_eq!(texts(&daemon, fork.id).await.last().unwrap(), seen);
    let kept = |records: Vec<ostler_types::Record>| {
        let seq = records.iter().find_map(|record| match &record.event {
            Event::Agent(AgentEvent::ContextCompacted { compaction }) => Some(compaction.first_kept_seq),
            _ => None,
        });
        let record = records.into_iter().find(|record| Some(record.seq) == seq).unwrap();
        record.event.message(record.ts).map(|message| message.text())
    };
    assert_eq!(kept(daemon.records(fork.id).await).as_deref(), Some("question 2"));
}

#[test]
fn a_fork_that_a_crash_cut_short_is_gone() {
    let disk = Arc::new(FaultDisk::new(FaultPlan::default()));
    let place = EngineFixture::with_disk(disk.clone());
    let agent = ScriptedAgent::new();
    let (id, before, after) = place.until_crash(&agent, async |daemon| {
        let (id, _) = two_turns(daemon).await;
        let before = disk.operations();
        let fork = daemon.engine.fork(id, None).await.unwrap();
        let after = disk.operations();
        daemon.engine.purge(fork.id).await.unwrap();
        daemon.engine.stop().await;
        (id, before, after)
    });
    for number in 1..=after - before {
        let at = place.until_crash(&ScriptedAgent::new(), async |daemon| {
            daemon.engine.view(id).await.unwrap();
            let at = disk.operations() + number;
            disk.set_plan(FaultPlan::parse(&format!("eio:{at}..")).unwrap());
            _ = daemon.engine.fork(id, None).await;
            at
        });
        disk.set_plan(FaultPlan::default());
        disk.cut_power().unwrap();
        place.until_stop(&ScriptedAgent::new(), async |daemon| {
            let listed = daemon.engine.list(Default::default()).await.unwrap().sessions;
            for listed in listed.iter().filter(|listed| listed.session.id != id) {
                let fork = listed.session.id;
                assert_eq!(texts(daemon, fork).await.len(), 4, "at operation {at}");
                daemon.engine.purge(fork).await.unwrap();
            }
            assert_eq!(
                std::fs::read_dir(place.data().join("sessions")).unwrap().count(),
                1,
                "at operation {at}"
            );
        });
    }
}
