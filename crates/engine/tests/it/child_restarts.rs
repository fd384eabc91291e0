//! Children over the end of a daemon: those that wait are waited for, those at work have ended, and the parent
//! hears of each.

use std::sync::Arc;

use ostler_testing::agent::{ScriptedAgent, done, run_call, say};
use ostler_types::{ChildStatus, Scope, ToolKind, TurnStatus, Verdict};
use tokio::sync::oneshot;

use crate::children::{ask_and_answer, child, delegate, end_task, only_child, outcomes};
use crate::fixture::EngineFixture;

#[test]
fn a_child_that_waits_is_still_waited_for_after_a_crash() {
    let place = EngineFixture::new();
    let first = ScriptedAgent::resuming();
    let (told, _) = oneshot::channel();
    first.push(|turn| delegate(turn, child("c1", "write"), told));
    first.push(ask_and_answer);
    let (parent, id) = place.until_crash(&first, async |daemon| {
        let parent = daemon.create().await;
        daemon.say(parent, "go").await;
        daemon.recorded(parent, "approval_requested", 1).await;
        (parent, only_child(daemon, parent).await)
    });
    let second = ScriptedAgent::resuming();
    let (told, heard) = oneshot::channel();
    // Whichever of the two is picked up first, each goes on where it stood.
    let told = Arc::new(std::sync::Mutex::new(Some(told)));
    for _ in 0..2 {
        let told = told.clone();
        second.push(move |turn| async move {
            if turn.session.depth == 1 {
                let call = turn.open_turn.calls[0].call.clone();
                run_call(&turn, &call, ToolKind::Write).await?;
                say(&turn, "written at last").await?;
                return done();
            }
            let id = turn.start_child(child("c1", "write")).await?;
            let outcome = turn.wait_for_child(id).await?;
            end_task(&turn, "c1", &outcome.text).await?;
            _ = told.lock().unwrap().take().unwrap().send((id, outcome));
            done()
        });
    }
    place.until_crash(&second, async |daemon| {
        let [asked] = daemon.approvals(1).await.try_into().unwrap();
        let shown = daemon.engine.view(parent).await.unwrap().pending_approvals;
        assert_eq!(shown.iter().map(|shown| shown.session_id).collect::<Vec<_>>(), [id]);
        daemon.answer(&asked, Verdict::Approve, Scope::Once).await.unwrap();
        let (found, outcome) = heard.await.unwrap();
        assert_eq!((found, outcome.text.as_str()), (id, "written at last"));
        daemon.recorded(parent, "turn_completed", 1).await;
        assert_eq!(daemon.names(parent).await.iter().filter(|name| **name == "subagent_started").count(), 1);
        assert_eq!(outcomes(daemon, parent).await.len(), 1);
    });
}

#[test]
fn a_child_at_work_when_the_daemon_dies_has_failed_and_its_parent_hears_of_it() {
    let place = EngineFixture::new();
    let agent = ScriptedAgent::new();
    let (told, _) = oneshot::channel();
    agent.push(|turn| delegate(turn, child("c1", "work"), told));
    agent.push(|turn| async move {
        say(&turn, "so far").await?;
        turn.canceled.cancelled().await;
        done()
    });
    let parent = place.until_crash(&agent, async |daemon| {
        let parent = daemon.create().await;
        daemon.say(parent, "go").await;
        let id = only_child(daemon, parent).await;
        daemon.recorded(id, "model_output_completed", 1).await;
        parent
    });
    place.until_stop(&ScriptedAgent::new(), async |daemon| {
        daemon.recorded(parent, "subagent_completed", 1).await;
        let [outcome] = outcomes(daemon, parent).await.try_into().unwrap();
        assert_eq!((outcome.status, outcome.text.as_str()), (ChildStatus::Failed, "so far"));
        let view = daemon.engine.view(parent).await.unwrap();
        assert_eq!(view.turns[0].status, TurnStatus::Failed);
        assert_eq!(view.children, []);
    });
}

#[test]
fn a_daemon_that_stops_in_order_leaves_the_parent_waiting_and_tells_it_later() {
    let place = EngineFixture::new();
    let first = ScriptedAgent::resuming();
    let (told, _heard) = oneshot::channel();
    first.push(|turn| delegate(turn, child("c1", "work"), told));
    first.push(|turn| async move {
        say(&turn, "so far").await?;
        turn.canceled.cancelled().await;
        done()
    });
    let parent = place.until_stop(&first, async |daemon| {
        let parent = daemon.create().await;
        daemon.say(parent, "go").await;
        let id = only_child(daemon, parent).await;
        daemon.recorded(id, "model_output_completed", 1).await;
        parent
    });
    let second = ScriptedAgent::resuming();
    let (told, heard) = oneshot::channel();
    second.push(|turn| async move {
        let id = turn.start_child(child("c1", "work")).await?;
        let outcome = turn.wait_for_child(id).await?;
        end_task(&turn, "c1", &outcome.text).await?;
        _ = told.send(outcome);
        done()
    });
    place.until_stop(&second, async |daemon| {
        let outcome = heard.await.unwrap();
        assert_eq!((outcome.status, outcome.text.as_str()), (ChildStatus::Canceled, "so far"));
        assert_eq!(outcome.error.as_deref(), Some("the daemon is shutting down"));
        daemon.recorded(parent, "turn_completed", 1).await;
    });
}
