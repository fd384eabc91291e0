//! Turns end to end: queue, steer, interrupt, cancel, and agents that misbehave.

use std::sync::Arc;

use ostler_engine::SubscriptionItem;
use ostler_testing::agent::{ScriptedAgent, done, failed, finish, propose, run_call, say, stream};
use ostler_types::{
    Accepted, CallEvent, CancelTurn, Command, Delivery, Event, MessageEvent, MessageId, Part, SessionStatus,
    StateLimits, Subject, ToolKind, TurnEvent, TurnReport, TurnStatus, results,
};
use serde_json::json;
use tokio::sync::{Notify, oneshot};

use crate::checking_subscriber::CheckingSubscriber;
use crate::fixture::{EngineFixture, TestEngine, refusal_code};

/// A turn that streams this and then waits until it is canceled.
fn push_stuck(agent: &ScriptedAgent, text: &'static str) {
    agent.push(move |turn| async move {
        stream(&turn, turn.message_id(), 0, text);
        turn.canceled.cancelled().await;
        failed("canceled")
    });
}

/// A turn that tells which texts it was given, and ends.
fn push_history(agent: &ScriptedAgent) -> oneshot::Receiver<Vec<String>> {
    let (history, seen) = oneshot::channel();
    agent.push(|turn| async move {
        history.send(turn.history.iter().map(|message| message.text()).collect()).unwrap();
        done()
    });
    seen
}

async fn turn_statuses(daemon: &TestEngine, id: ostler_types::SessionId) -> Vec<TurnStatus> {
    daemon.engine.view(id).await.unwrap().turns.iter().map(|turn| turn.status).collect()
}

#[tokio::test]
async fn queued_messages_run_one_after_the_other() {
    let (place, agent, go) = (EngineFixture::new(), ScriptedAgent::new(), Arc::new(Notify::new()));
    let daemon = place.open(&agent).await;
    let gate = go.clone();
    agent.push(|turn| async move {
        gate.notified().await;
        say(&turn, "one").await?;
        done()
    });
    agent.push_text("two");
    agent.push_text("three");
    let id = daemon.create().await;
    let mut turns = vec![daemon.say(id, "1").await, daemon.say(id, "2").await];
    let withdrawn = daemon.message("never", Delivery::Queue);
    let Accepted::Message { message_id, .. } = daemon.engine.submit(id, withdrawn).await.unwrap() else {
        panic!()
    };
    turns.push(daemon.say(id, "3").await);
    let view = daemon.engine.view(id).await.unwrap();
    assert_eq!((view.queue.len(), view.running_turn_id), (3, Some(turns[0])));
    daemon.engine.submit(id, Command::Withdraw { message_id, by: "test".to_owned() }).await.unwrap();
    go.notify_one();
    daemon.recorded(id, "turn_completed", 3).await;
    assert_eq!(agent.turns(), turns);
    let messages = daemon.engine.messages(id, None, 100).await.unwrap().messages;
    let texts: Vec<String> = messages.iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["1", "one", "2", "two", "3", "three"]);
}

#[tokio::test]
async fn a_steering_message_reaches_the_running_turn() {
    let (place, agent, go) = (EngineFixture::new(), ScriptedAgent::new(), Arc::new(Notify::new()));
    let daemon = place.open(&agent).await;
    let gate = go.clone();
    let (steering, steered) = oneshot::channel();
    agent.push(|turn| async move {
        gate.notified().await;
        let Accepted::Steering(messages) = turn.report(TurnReport::TakeSteering).await? else { panic!() };
        steering.send(messages.iter().map(|message| message.text()).collect::<Vec<_>>()).unwrap();
        say(&turn, "as you wish").await?;
        done()
    });
    let id = daemon.create().await;
    let running = daemon.say(id, "go").await;
    assert_eq!(daemon.deliver(id, "left", Delivery::Steer).await, running);
    go.notify_one();
    assert_eq!(steered.await.unwrap(), ["left"]);
    daemon.recorded(id, "turn_completed", 1).await;
    assert_eq!(agent.turns(), [running]);
    assert_eq!(daemon.engine.view(id).await.unwrap().queue, []);
}

#[tokio::test]
async fn an_interrupt_cancels_keeps_the_text_and_runs_next() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    push_stuck(&agent, "so far");
    let seen = push_history(&agent);
    agent.push_text("the queued one");
    let id = daemon.create().await;
    let mut reader = CheckingSubscriber::new(daemon.engine.subscribe(id, 0).await.unwrap());
    daemon.say(id, "first").await;
    reader.until_text("so far").await;
    daemon.say(id, "queued").await;
    let next = daemon.deliver(id, "stop, this", Delivery::Interrupt).await;
    assert_eq!(seen.await.unwrap(), ["first", "so far", "stop, this"]);
    reader.until("turn_completed", 2).await;
    assert_eq!(agent.turns()[1], next);
    assert_eq!(
        turn_statuses(&daemon, id).await,
        [TurnStatus::Canceled, TurnStatus::Completed, TurnStatus::Completed]
    );
}

#[tokio::test]
async fn canceling_keeps_the_partial_text_and_the_next_turn_sees_it() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    push_stuck(&agent, "half a sent");
    let id = daemon.create().await;
    let mut reader = CheckingSubscriber::new(daemon.engine.subscribe(id, 0).await.unwrap());
    daemon.say(id, "go").await;
    reader.until_text("half a sent").await;
    assert_eq!(daemon.cancel(id).await.unwrap(), Accepted::Done);
    reader.until("session_canceled", 1).await;
    let Event::Message(MessageEvent::ModelOutputCompleted { message, stop_reason, .. }) =
        &reader.records[3].event
    else {
        panic!("{:?}", reader.names())
    };
    assert_eq!((message.text().as_str(), stop_reason.as_str()), ("half a sent", "canceled"));
    assert_eq!(daemon.engine.view(id).await.unwrap().session.status, SessionStatus::Canceled);
    assert_eq!(daemon.cancel(id).await.unwrap(), Accepted::Unchanged);

    let seen = push_history(&agent);
    daemon.say(id, "go on").await;
    assert_eq!(seen.await.unwrap(), ["go", "half a sent", "go on"]);
    assert_eq!(daemon.names(id).await.iter().filter(|name| **name == "turn_canceled").count(), 1);
}

#[tokio::test]
async fn a_canceled_call_gets_its_result_and_a_late_report_is_refused() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let (over, was_over) = oneshot::channel();
    agent.push(|turn| async move {
        let call = propose(&turn, "c1", "look", json!({})).await?;
        turn.request_approval(call.clone(), ToolKind::Read, "look".to_owned(), None, Subject::Input).await?;
        turn.report(TurnReport::CallStarted { tool_call: call, kind: ToolKind::Read }).await?;
        turn.canceled.cancelled().await;
        over.send(turn.report(TurnReport::BatchCompleted).await).unwrap();
        done()
    });
    let id = daemon.create().await;
    daemon.say(id, "go").await;
    daemon.recorded(id, "tool_call_started", 1).await;
    daemon.cancel(id).await.unwrap();
    assert_eq!(was_over.await.unwrap(), Err(ostler_agent::ReportError::TurnOver));
    let results: Vec<String> = daemon
        .records(id)
        .await
        .iter()
        .filter_map(|record| match &record.event {
            Event::Call(CallEvent::Completed { tool_result, .. }) => Some(tool_result.text()),
            _ => None,
        })
        .collect();
    assert_eq!(results, [results::CANCELED]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_text_is_shown_after_the_end_of_its_turn() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let id = daemon.create().await;
    for round in 1..=20 {
        agent.push(|turn| async move {
            let message_id = turn.message_id();
            for offset in 0.. {
                stream(&turn, message_id, offset, "x");
                tokio::task::yield_now().await;
                if turn.canceled.is_cancelled() {
                    stream(&turn, message_id, offset + 1, "too late");
                    break;
                }
            }
            done()
        });
        let mut reader = CheckingSubscriber::new(daemon.engine.subscribe(id, 0).await.unwrap());
        daemon.say(id, "go").await;
        reader.until("turn_started", round).await;
        // The reader itself fails on a delta that comes after its message was finished.
        while reader.deltas == 0 {
            reader.step().await;
        }
        daemon.cancel(id).await.unwrap();
        agent.ended(round).await;
        reader.until("turn_canceled", round).await;
        daemon.engine.submit(id, Command::Update(title(round))).await.unwrap();
        reader.until("session_updated", round).await;
    }
}

fn title(round: usize) -> ostler_types::SessionChange {
    ostler_types::SessionChange { title: Some(round.to_string()), ..Default::default() }
}

#[tokio::test]
async fn an_agent_that_panics_fails_its_turn_and_nothing_else() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    agent.push(|turn| async move {
        stream(&turn, turn.message_id(), 0, "I was about to");
        panic!("the agent breaks")
    });
    agent.push_text("as if nothing had happened");
    let id = daemon.create().await;
    daemon.say(id, "go").await;
    daemon.recorded(id, "session_failed", 1).await;
    let records = daemon.records(id).await;
    let Event::Turn(TurnEvent::Failed { error, reason }) = &records[4].event else { panic!("{records:?}") };
    assert_eq!((error.code.as_str(), reason.as_str()), ("agent_panicked", "agent_panicked"));
    assert!(
        matches!(&records[3].event, Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) if message.text() == "I was about to")
    );
    assert_eq!(daemon.engine.view(id).await.unwrap().session.status, SessionStatus::Failed);
    daemon.say(id, "again").await;
    daemon.recorded(id, "turn_completed", 1).await;
    assert_eq!(daemon.engine.view(id).await.unwrap().session.status, SessionStatus::Active);
}

#[tokio::test]
async fn an_agent_that_ends_before_its_calls_have_failed() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    agent.push(|turn| async move {
        propose(&turn, "c1", "look", json!({})).await?;
        done()
    });
    let id = daemon.create().await;
    daemon.say(id, "go").await;
    daemon.recorded(id, "turn_failed", 1).await;
    let names = daemon.names(id).await;
    assert_eq!(names.iter().filter(|name| **name == "tool_call_completed").count(), 1, "{names:?}");
    assert!(!names.contains(&"turn_completed"));
}

#[tokio::test]
async fn the_next_turn_waits_until_the_agent_before_has_returned() {
    let (place, agent, go) = (EngineFixture::new(), ScriptedAgent::new(), Arc::new(Notify::new()));
    let daemon = place.open(&agent).await;
    let gate = go.clone();
    agent.push(|_| async move {
        // It does not look at `canceled` at all.
        gate.notified().await;
        done()
    });
    agent.push_text("at last");
    let id = daemon.create().await;
    daemon.say(id, "go").await;
    agent.started(1).await;
    let next = daemon.deliver(id, "now", Delivery::Interrupt).await;
    let view = daemon.engine.view(id).await.unwrap();
    assert_eq!(view.running_turn_id, Some(next));
    assert_eq!((agent.turns().len(), agent.ended_turns().len()), (1, 0));
    go.notify_one();
    daemon.recorded(id, "turn_completed", 1).await;
    assert_eq!(agent.turns().len(), 2);
    assert_eq!(turn_statuses(&daemon, id).await, [TurnStatus::Canceled, TurnStatus::Completed]);
}

#[tokio::test]
async fn a_second_cancel_does_not_wait_for_an_agent_that_does_not_listen() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    agent.push(|_| std::future::pending());
    agent.push_text("at last");
    let id = daemon.create().await;
    let first = daemon.say(id, "go").await;
    agent.started(1).await;
    daemon.say(id, "then this").await;
    daemon.cancel(id).await.unwrap();
    let cancel = |turn_id| Command::Cancel(CancelTurn { turn_id, by: "test".to_owned(), reason: None });
    // Another turn's cancel is none of its business.
    let other = ostler_types::TurnId::new(daemon.engine.clock().uuid());
    daemon.engine.submit(id, cancel(Some(other))).await.unwrap();
    assert_eq!(agent.ended_turns().len(), 0);
    assert_eq!(daemon.engine.submit(id, cancel(Some(first))).await.unwrap(), Accepted::Unchanged);
    // By itself it would be dropped after five seconds.
    let dropped = tokio::time::timeout(std::time::Duration::from_secs(4), agent.ended(1)).await;
    dropped.expect("the second cancel does not wait");
    daemon.recorded(id, "turn_completed", 1).await;
    assert_eq!(turn_statuses(&daemon, id).await, [TurnStatus::Canceled, TurnStatus::Completed]);
}

#[tokio::test]
async fn a_failed_turn_can_be_retried() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    agent.push(|_| async { failed("overloaded") });
    agent.push_text("now it works");
    let id = daemon.create().await;
    let first = daemon.say(id, "go").await;
    daemon.recorded(id, "session_failed", 1).await;
    let turn_id = ostler_types::TurnId::new(daemon.engine.clock().uuid());
    let retry = Command::Retry { retry_of: first, turn_id };
    assert_eq!(daemon.engine.submit(id, retry.clone()).await.unwrap(), Accepted::Turn { turn_id });
    daemon.recorded(id, "turn_completed", 1).await;
    assert_eq!(refusal_code(daemon.engine.submit(id, retry).await), "turn_not_last");
}

#[tokio::test]
async fn text_that_swells_in_the_log_can_still_be_canceled() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let id = daemon.create().await;
    // Control characters take six bytes each in JSON, and a record has a limit.
    let text: &'static str = "\u{1}".repeat(StateLimits::MESSAGE_BYTES).leak();
    push_stuck(&agent, text);
    let mut subscription = daemon.engine.subscribe(id, 1).await.unwrap();
    daemon.say(id, "go").await;
    while !matches!(subscription.next().await.unwrap(), Some(SubscriptionItem::Delta(_))) {}
    daemon.cancel(id).await.unwrap();
    let kept = daemon.engine.messages(id, None, 1).await.unwrap().messages.remove(0).text();
    assert!(kept.len() > 100_000 && text.starts_with(&kept), "{}", kept.len());

    agent.push(move |turn| async move {
        let id = MessageId::new(turn.clock.uuid());
        stream(&turn, id, 0, text);
        finish(&turn, id, vec![Part::text(text)]).await?;
        done()
    });
    daemon.say(id, "again").await;
    daemon.recorded(id, "session_failed", 1).await;
    agent.push_text("short");
    daemon.say(id, "once more").await;
    daemon.recorded(id, "turn_completed", 1).await;
}

#[tokio::test]
async fn a_call_without_leave_does_not_run() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let (refused, was_refused) = oneshot::channel();
    agent.push(|turn| async move {
        let call = propose(&turn, "c1", "shell", json!({"command": "make"})).await?;
        let started =
            turn.report(TurnReport::CallStarted { tool_call: call.clone(), kind: ToolKind::Exec }).await;
        refused.send(started).unwrap();
        run_call(&turn, &call, ToolKind::Read).await?;
        done()
    });
    let id = daemon.create().await;
    daemon.say(id, "go").await;
    let Err(ostler_agent::ReportError::Refused(refusal)) = was_refused.await.unwrap() else {
        panic!("it started")
    };
    assert_eq!(refusal.code, "call_not_approved");
    daemon.recorded(id, "turn_completed", 1).await;
}
