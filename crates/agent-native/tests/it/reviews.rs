//! What a review may not destroy and what may not slip past it; and what holds when a turn is cut short.

use std::fs;
use std::sync::Arc;

use ostler_testing::model::{ScriptedStep, call, text};
use ostler_types::{Event, Moment, PatchReviewMode, RejectedFile, ReviewAnswer, Verdict, WorkspaceEvent};
use serde_json::json;

use crate::checkpoints::{AgentCheckpointFixture, give_store, kept, moments, write};
use crate::fixture::NativeAgentFixture;

/// The review that waits.
fn pending(world: &NativeAgentFixture) -> String {
    world.host.state().pending_approvals().next().unwrap().tool_call_id.0.clone()
}

fn read(world: &NativeAgentFixture, path: &str) -> String {
    fs::read_to_string(world.workspace.path().join(path)).unwrap()
}

#[tokio::test]
async fn what_the_user_wrote_while_a_review_waited_is_not_put_back() {
    let answers =
        vec![write("c1", "a", "by the turn"), write("c2", "b", "by the turn"), text("done"), text("oh")];
    let AgentCheckpointFixture { world, store: _store } = kept(PatchReviewMode::Request, &[], answers);
    fs::write(world.workspace.path().join("a"), "old").unwrap();
    let turn = world.begin("go");
    world.host.recorded("patch_review_requested", 1).await;
    let Event::Workspace(WorkspaceEvent::PatchReviewRequested { checkpoint_id, .. }) =
        world.last("patch_review_requested")
    else {
        unreachable!()
    };
    assert!(checkpoint_id.is_some(), "what is shown is named");
    fs::write(world.workspace.path().join("a"), "by the user").unwrap();
    fs::write(world.workspace.path().join("mine"), "by the user").unwrap();
    world.host.answer(&pending(&world), Verdict::Deny, None).unwrap();
    // What is left of the change is shown once more, in the user's words.
    world.host.recorded("patch_review_requested", 2).await;
    assert_eq!(read(&world, "a"), "by the user");
    assert_eq!(read(&world, "mine"), "by the user");
    assert!(!world.workspace.path().join("b").exists());
    let heard = world.model.requests()[3].messages.last().unwrap().text();
    assert!(heard.contains("could not be reverted: a") && heard.contains("reverted: b"), "{heard}");
    world.host.answer(&pending(&world), Verdict::Approve, None).unwrap();
    turn.await.unwrap().unwrap();
    world.check();
}

#[tokio::test]
async fn what_changes_after_a_part_was_accepted_is_asked_about() {
    let answers = vec![
        write("c1", "a", "1"),
        write("c2", "b", "2"),
        text("done"),
        write("c3", "b", "3"),
        text("better"),
    ];
    let AgentCheckpointFixture { world, store: _store } = kept(PatchReviewMode::Request, &[], answers);
    let turn = world.begin("go");
    world.host.recorded("patch_review_requested", 1).await;
    let reject = vec![RejectedFile { path: "b".to_owned(), hunks: None }];
    let answer = ReviewAnswer { reject, comments: Vec::new() };
    world.host.answer_review(&pending(&world), Verdict::Approve, None, Some(answer)).unwrap();
    world.host.recorded("patch_review_requested", 2).await;
    assert_eq!(read(&world, "b"), "3");
    world.host.answer(&pending(&world), Verdict::Approve, None).unwrap();
    turn.await.unwrap().unwrap();
    world.check();
}

#[tokio::test]
async fn a_turn_at_its_last_step_is_reviewed_too() {
    let answers = vec![write("c1", "a", "1"), write("c2", "b", "2")];
    let AgentCheckpointFixture { mut world, store } = kept(PatchReviewMode::Request, &[], answers);
    give_store(&mut world, &store, 2);
    let turn = world.begin("go");
    world.host.recorded("patch_review_requested", 1).await;
    world.host.answer(&pending(&world), Verdict::Deny, Some("no")).unwrap();
    assert_eq!(turn.await.unwrap().unwrap().stop_reason, "max_steps");
    world.check();
    assert!(!world.workspace.path().join("a").exists());
    let told = world.host.conversation().last().unwrap().text();
    assert!(told.contains("rejected them"), "the next turn hears of it: {told}");
}

#[tokio::test]
async fn what_is_written_after_the_change_was_shown_is_shown_too() {
    let AgentCheckpointFixture { world, store: _store } =
        kept(PatchReviewMode::Request, &[], vec![write("c1", "a", "1"), text("done")]);
    let turn = world.begin("go");
    for review in 1..=4 {
        world.host.recorded("patch_review_requested", review).await;
        let Event::Workspace(WorkspaceEvent::PatchReviewRequested { files, .. }) =
            world.last("patch_review_requested")
        else {
            unreachable!()
        };
        assert_eq!(files.len(), review, "{files:?}");
        fs::write(world.workspace.path().join(format!("late {review}")), "x").unwrap();
        world.host.answer(&pending(&world), Verdict::Approve, None).unwrap();
    }
    turn.await.unwrap().unwrap();
    world.check();
    let said = world.verification().unwrap();
    assert!(said.contains("changed again after the last review"), "{said}");
}

#[tokio::test]
async fn a_change_that_cannot_be_shown_is_asked_about_and_the_end_says_so() {
    let answers = vec![write("c1", "a", "1"), text("done"), text("sorry")];
    let AgentCheckpointFixture { world, store } = kept(PatchReviewMode::Request, &[], answers);
    fs::remove_dir_all(store.path().join("tmp")).unwrap();
    let turn = world.begin("go");
    world.host.recorded("patch_review_requested", 1).await;
    let Event::Workspace(WorkspaceEvent::PatchReviewRequested { files, note, .. }) =
        world.last("patch_review_requested")
    else {
        unreachable!()
    };
    assert!(files.is_empty() && note.is_some(), "{note:?}");
    world.host.answer(&pending(&world), Verdict::Deny, None).unwrap();
    turn.await.unwrap().unwrap();
    world.check();
    assert_eq!(world.count("patch_review_requested"), 1, "nothing has changed since it was asked about");
    assert!(world.last_shown(2).contains("nothing could be reverted"), "{}", world.last_shown(2));
    assert_eq!(world.count("checkpoint_failed"), 1);
    assert!(world.verification().unwrap().contains("cannot be undone"));
    assert!(world.host.state().turns[0].checkpoint_error.is_some());
}

#[tokio::test]
async fn a_turn_that_is_stopped_or_fails_says_how_it_left_the_workspace() {
    let gate = call("c2", "gate", &json!({"gate": "g"}));
    let AgentCheckpointFixture { world, store: _store } =
        kept(PatchReviewMode::Off, &[], vec![write("c1", "a", "1"), gate, text("next")]);
    let turn = world.begin("go");
    world.tools.waiting(1).await;
    world.host.cancel();
    turn.await.unwrap().unwrap_err();
    assert_eq!(moments(&world), [Moment::Before, Moment::After]);
    let canceled = world.host.state().turns[0].clone();
    assert!(canceled.checkpoint_after.is_some() && canceled.checkpoint_after != canceled.checkpoint_before);
    world.ask("go on").await.unwrap();
    world.check();

    let broken: Vec<ScriptedStep> = Vec::new();
    let AgentCheckpointFixture { world, store: _store } =
        kept(PatchReviewMode::Off, &[], vec![write("c1", "a", "1"), broken]);
    world.ask("go").await.unwrap_err();
    assert_eq!(moments(&world), [Moment::Before, Moment::After]);
}

#[tokio::test]
async fn a_call_of_somebody_elses_tool_is_captured_whatever_it_calls_itself() {
    let read = call("c1", "mcp__far__read", &json!({"path": "a", "text": "written all the same"}));
    let AgentCheckpointFixture { world, store: _store } =
        kept(PatchReviewMode::Auto, &[], vec![read, text("done")]);
    world.ask("go").await.unwrap();
    assert_eq!(moments(&world), [Moment::Before, Moment::After]);
    assert_eq!(world.count("patch_review_requested"), 1);
}

#[tokio::test]
async fn a_turn_waits_with_its_first_change_while_something_is_undone() {
    let gate = call("c2", "gate", &json!({"gate": "g"}));
    let AgentCheckpointFixture { mut world, store } =
        kept(PatchReviewMode::Off, &[], vec![write("c1", "a", "1"), gate, text("done")]);
    let kept = give_store(&mut world, &store, 10);
    let undoing = kept.lease_for_undo(world.workspace.path()).await;
    let turn = world.begin("go");
    world.host.recorded("tool_batch_started", 1).await;
    // The turn runs whenever it can on this one thread; it cannot.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.count("checkpoint_created") + world.count("tool_call_started"), 0);
    drop(undoing);
    world.tools.waiting(1).await;
    let path = world.workspace.path().to_owned();
    let (other, kept) = (Arc::clone(&kept), kept);
    let undo = tokio::spawn(async move { drop(other.lease_for_undo(&path).await) });
    tokio::task::yield_now().await;
    assert!(!undo.is_finished(), "an undo waits for a turn that has changed something");
    world.tools.open("g");
    turn.await.unwrap().unwrap();
    undo.await.unwrap();
    drop(kept);
}
