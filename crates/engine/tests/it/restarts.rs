//! Crashes and stops: what was accepted is there, what may have run is not run again, what waited
//! still waits.

use std::sync::Arc;

use ostler_engine::EngineError;
use ostler_testing::agent::{ScriptedAgent, done, propose, run_call, say, stream};
use ostler_types::{
    CallEvent, Event, MessageEvent, Record, Scope, SessionId, SessionStatus, State, Subject, ToolKind,
    TurnEvent, TurnReport, TurnStatus, Verdict, results,
};
use serde_json::json;

use crate::fixture::{EngineFixture, TestEngine, eventually};

async fn names_after(daemon: &TestEngine, id: SessionId, seq: usize) -> Vec<&'static str> {
    daemon.names(id).await.split_off(seq)
}

fn results(records: &[Record]) -> Vec<String> {
    let text = |record: &Record| match &record.event {
        Event::Call(CallEvent::Completed { tool_result, .. }) => Some(tool_result.text()),
        _ => None,
    };
    records.iter().filter_map(text).collect()
}

/// A turn that asks to run `ls`, whoever runs it.
fn push_ask(agent: &Arc<ScriptedAgent>) {
    agent.push(|turn| async move {
        let call = propose(&turn, "c1", "shell", json!({"command": "make"})).await?;
        run_call(&turn, &call, ToolKind::Exec).await?;
        done()
    });
}

/// The same turn, picked up where it stood.
fn push_resumed(agent: &Arc<ScriptedAgent>) {
    agent.push(|turn| async move {
        let call = turn.open_turn.calls[0].call.clone();
        let ran = run_call(&turn, &call, ToolKind::Exec).await?;
        say(&turn, if ran { "it ran" } else { "it did not" }).await?;
        done()
    });
}

#[test]
fn a_running_turn_fails_with_the_text_that_a_draft_kept() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::resuming());
    // More than goes into a draft at once, so that nobody has to wait for the clock.
    let text: &'static str = "ein Stück Text, ".repeat(1000).leak();
    agent.push(move |turn| async move {
        stream(&turn, turn.message_id(), 0, text);
        std::future::pending().await
    });
    let id = place.until_crash(&agent, async |daemon| {
        let id = daemon.create().await;
        daemon.say(id, "go").await;
        daemon.say(id, "queued").await;
        agent.started(1).await;
        let mut reader = crate::checking_subscriber::CheckingSubscriber::new(
            daemon.engine.subscribe(id, 0).await.unwrap(),
        );
        reader.until_text(text).await;
        id
    });
    agent.push_text("the queued one");
    place.until_crash(&agent, async |daemon| {
        daemon.recorded(id, "turn_completed", 1).await;
        let expected = [
            "model_output_completed",
            "turn_failed",
            "session_failed",
            "message_added",
            "turn_started",
            "model_output_completed",
            "usage_recorded",
            "turn_completed",
        ];
        assert_eq!(names_after(daemon, id, 4).await, expected);
        let records = daemon.records(id).await;
        let Event::Message(MessageEvent::ModelOutputCompleted { message, stop_reason, .. }) =
            &records[4].event
        else {
            panic!()
        };
        assert_eq!((message.text().as_str(), stop_reason.as_str()), (text, "interrupted"));
        let Event::Turn(TurnEvent::Failed { reason, .. }) = &records[5].event else { panic!() };
        assert_eq!(reason, "interrupted");
        assert_eq!(daemon.engine.view(id).await.unwrap(), State::fold(&records).unwrap().view());
    });
    assert_eq!(agent.turns().len(), 2);
}

#[test]
fn a_call_that_may_have_run_is_not_run_again() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::resuming());
    agent.push(|turn| async move {
        let call = propose(&turn, "c1", "look", json!({})).await?;
        turn.request_approval(call.clone(), ToolKind::Read, "look".to_owned(), None, Subject::Input).await?;
        turn.report(TurnReport::CallStarted { tool_call: call, kind: ToolKind::Read }).await?;
        std::future::pending().await
    });
    let id = place.until_crash(&agent, async |daemon| {
        let id = daemon.create().await;
        daemon.say(id, "go").await;
        daemon.recorded(id, "tool_call_started", 1).await;
        id
    });
    place.until_crash(&agent, async |daemon| {
        daemon.recorded(id, "session_failed", 1).await;
        assert_eq!(results(&daemon.records(id).await), [results::INTERRUPTED]);
        let view = daemon.engine.view(id).await.unwrap();
        assert_eq!((view.session.status, view.turns[0].status), (SessionStatus::Failed, TurnStatus::Failed));
    });
    // A third start finds nothing left to do.
    let last = place.until_crash(&agent, async |daemon| daemon.engine.view(id).await.unwrap().last_seq);
    assert_eq!(
        place.until_crash(&agent, async |daemon| daemon.engine.view(id).await.unwrap().last_seq),
        last
    );
    assert_eq!(agent.turns().len(), 1);
}

#[test]
fn a_waiting_approval_survives_and_is_answered_by_the_next_daemon() {
    for (verdict, said) in [(Verdict::Approve, "it ran"), (Verdict::Deny, "it did not")] {
        let (place, agent) = (EngineFixture::new(), ScriptedAgent::resuming());
        push_ask(&agent);
        let id = place.until_crash(&agent, async |daemon| {
            let id = daemon.create().await;
            daemon.say(id, "go").await;
            daemon.approvals(1).await;
            id
        });
        push_resumed(&agent);
        place.until_crash(&agent, async |daemon| {
            let waiting = daemon.approvals(1).await.remove(0);
            assert_eq!(waiting.session_id, id);
            assert_eq!(daemon.engine.view(id).await.unwrap().session.status, SessionStatus::WaitingApproval);
            daemon.answer(&waiting, verdict, Scope::Once).await.unwrap();
            daemon.recorded(id, "turn_completed", 1).await;
            let messages = daemon.engine.messages(id, None, 1).await.unwrap().messages;
            assert_eq!(messages[0].text(), said);
            let names = daemon.names(id).await;
            assert_eq!(names.iter().filter(|name| **name == "approval_requested").count(), 1);
        });
        let turns = agent.turns();
        assert_eq!((turns.len(), turns[0]), (2, turns[1]));
    }
}

#[test]
fn an_agent_that_cannot_resume_fails_the_turn_without_running_the_call() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    push_ask(&agent);
    let id = place.until_crash(&agent, async |daemon| {
        let id = daemon.create().await;
        daemon.say(id, "go").await;
        daemon.approvals(1).await;
        id
    });
    place.until_crash(&agent, async |daemon| {
        daemon.recorded(id, "session_failed", 1).await;
        daemon.approvals(0).await;
        assert_eq!(results(&daemon.records(id).await), [results::NOT_STARTED]);
    });
}

#[test]
fn a_stop_cancels_what_runs_keeps_what_is_queued_and_leaves_what_waits() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::resuming());
    agent.push(|turn| async move {
        stream(&turn, turn.message_id(), 0, "so far");
        turn.canceled.cancelled().await;
        done()
    });
    push_ask(&agent);
    let (running, waiting) = place.until_stop(&agent, async |daemon| {
        let (running, waiting) = (daemon.create().await, daemon.create().await);
        let mut reader = crate::checking_subscriber::CheckingSubscriber::new(
            daemon.engine.subscribe(running, 0).await.unwrap(),
        );
        daemon.say(running, "go").await;
        reader.until_text("so far").await;
        daemon.say(running, "queued").await;
        daemon.say(waiting, "go").await;
        daemon.approvals(1).await;
        (running, waiting)
    });
    assert_eq!(agent.ended_turns().len(), 2);

    // The two sessions are picked up at the same time, so each turn looks which one it is.
    for _ in 0..2 {
        agent.push(|turn| async move {
            if let Some(open) = turn.open_turn.calls.first() {
                let call = open.call.clone();
                run_call(&turn, &call, ToolKind::Exec).await?;
            }
            let history: Vec<String> = turn.history.iter().map(|message| message.text()).collect();
            say(&turn, &history.join("|")).await?;
            done()
        });
    }
    place.until_stop(&agent, async |daemon| {
        daemon.recorded(running, "turn_completed", 1).await;
        let records = daemon.records(running).await;
        let canceled = records.iter().find_map(|record| match &record.event {
            Event::Turn(TurnEvent::Canceled { by, .. }) => Some(by.clone()),
            _ => None,
        });
        assert_eq!(canceled.as_deref(), Some("daemon"));
        let last = daemon.engine.messages(running, None, 1).await.unwrap().messages.remove(0);
        assert_eq!(last.text(), "go|so far|queued");

        let approval = daemon.approvals(1).await.remove(0);
        assert_eq!(approval.session_id, waiting);
        let names = daemon.names(waiting).await;
        assert!(!names.iter().any(|name| name.starts_with("turn_c") || *name == "turn_failed"), "{names:?}");
        daemon.answer(&approval, Verdict::Approve, Scope::Once).await.unwrap();
        daemon.recorded(waiting, "turn_completed", 1).await;
    });
}

#[tokio::test]
async fn a_stopped_engine_does_nothing_more() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    agent.push(|turn| async move {
        turn.canceled.cancelled().await;
        done()
    });
    let id = daemon.create().await;
    daemon.say(id, "go").await;
    daemon.say(id, "queued").await;
    agent.started(1).await;
    daemon.engine.stop().await;
    assert!(*daemon.engine.stopping().borrow());
    let before = daemon.records(id).await;
    assert!(matches!(daemon.cancel(id).await, Err(EngineError::ShuttingDown)));
    assert!(matches!(daemon.engine.create(daemon.new_session()).await, Err(EngineError::ShuttingDown)));
    // Looking at it must not wake it either: that would start what is queued.
    assert!(matches!(daemon.engine.view(id).await, Err(EngineError::ShuttingDown)));
    assert!(matches!(daemon.engine.subscribe(id, 0).await, Err(EngineError::ShuttingDown)));
    assert!(matches!(daemon.engine.messages(id, None, 1).await, Err(EngineError::ShuttingDown)));
    eventually("nobody is awake", async || daemon.engine.awake_count() == 0).await;
    assert_eq!(daemon.records(id).await, before);
    assert_eq!(agent.turns().len(), 1);
}

#[test]
fn turns_of_an_agent_that_is_gone_fail_one_after_the_other() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    agent.push(|_| std::future::pending());
    let runtime = crate::fixture::runtime();
    let id = runtime.block_on(async {
        let daemon = place.open_as(&agent, &["native", "other"]).await;
        let mut new = daemon.new_session();
        new.agent = "other".to_owned();
        let id = daemon.engine.create(new).await.unwrap().id;
        daemon.say(id, "go").await;
        daemon.say(id, "queued").await;
        daemon.say(id, "queued too").await;
        agent.started(1).await;
        id
    });
    drop(runtime);
    place.until_crash(&agent, async |daemon| {
        daemon.recorded(id, "turn_failed", 3).await;
        let view = daemon.engine.view(id).await.unwrap();
        assert_eq!(
            (view.running_turn_id, view.queue.len(), view.session.status),
            (None, 0, SessionStatus::Failed)
        );
        let reasons: Vec<String> = daemon
            .records(id)
            .await
            .into_iter()
            .filter_map(|record| {
                if let Event::Turn(TurnEvent::Failed { reason, .. }) = record.event {
                    Some(reason)
                } else {
                    None
                }
            })
            .collect();
        assert_eq!(reasons, ["interrupted", "unknown_agent", "unknown_agent"]);
    });
}
