//! Checkpoints and reviews: what is captured when, what counts as a change, and what a person can do
//! about it.

use std::fs;
use std::sync::Arc;

use ostler_agent_native::NativeAgent;
use ostler_checkpoint::CheckpointStore;
use ostler_local_runner::LocalRunner;
use ostler_models::Model;
use ostler_testing::model::{ScriptedStep, call, text};
use ostler_types::{
    Event, Moment, PatchReviewMode, Policy, RejectedFile, ReviewAnswer, ReviewComment, Verdict,
    WorkspaceEvent,
};
use serde_json::json;
use tempfile::TempDir;

use crate::fixture::{NativeAgentFixture, agent, completed, world_with};
use crate::tools::runner;

pub(crate) struct AgentCheckpointFixture {
    pub(crate) world: NativeAgentFixture,
    pub(crate) store: TempDir,
}

pub(crate) fn kept(
    mode: PatchReviewMode,
    commands: &[&str],
    answers: Vec<Vec<ScriptedStep>>,
) -> AgentCheckpointFixture {
    let mut policy = Policy::default();
    policy.approval.require_for_kinds.clear();
    policy.patch_review.mode = mode;
    policy.verify.commands = commands.iter().map(|&command| command.to_owned()).collect();
    let mut world = world_with(policy, answers);
    let store = tempfile::tempdir().unwrap();
    give_store(&mut world, &store, 10);
    AgentCheckpointFixture { world, store }
}

pub(crate) fn give_store(
    world: &mut NativeAgentFixture,
    dir: &TempDir,
    max_steps: u32,
) -> Arc<CheckpointStore> {
    // The process that held the store is gone.
    world.agent = agent(&world.model, &world.tools, max_steps);
    let store = Arc::new(CheckpointStore::open(dir.path()).unwrap());
    let runner = LocalRunner::clone(&runner(&world.tools)).with_checkpoints(Arc::clone(&store));
    let model: Arc<dyn Model> = world.model.clone();
    let agent = NativeAgent::with_model(move |_| Ok(model.clone()), Arc::new(runner), max_steps);
    world.agent = Arc::new(agent);
    store
}

pub(crate) fn write(id: &str, path: &str, content: &str) -> Vec<ScriptedStep> {
    call(id, "touch", &json!({"path": path, "text": content}))
}

pub(crate) fn moments(world: &NativeAgentFixture) -> Vec<Moment> {
    let moment = |event| match event {
        Event::Workspace(WorkspaceEvent::CheckpointCreated { moment, .. }) => Some(moment),
        _ => None,
    };
    world.host.events().into_iter().filter_map(moment).collect()
}

#[tokio::test]
async fn the_workspace_is_captured_before_the_first_change_and_after_the_last() {
    let answers = vec![write("c1", "a", "1"), write("c2", "b", "2"), text("done"), text("nothing")];
    let AgentCheckpointFixture { world, store: _store } = kept(PatchReviewMode::Off, &[], answers);
    world.ask("go").await.unwrap();
    assert_eq!(moments(&world), [Moment::Before, Moment::After]);
    let names = world.host.names();
    let at = |name: &str| names.iter().position(|recorded| *recorded == name).unwrap();
    assert!(at("checkpoint_created") < at("tool_call_started"), "{names:?}");
    let turn = world.host.state().turns.back().unwrap().clone();
    assert!(turn.checkpoint_before.is_some() && turn.checkpoint_after.is_some());
    assert_ne!(turn.checkpoint_before, turn.checkpoint_after);
    world.ask("just talk").await.unwrap();
    assert_eq!(moments(&world).len(), 2, "a turn that changes nothing captures nothing");
}

#[tokio::test]
async fn a_command_that_changed_nothing_needs_no_check() {
    let answers = vec![call("c1", "exec", &json!({})), text("done")];
    let AgentCheckpointFixture { world, store: _store } = kept(PatchReviewMode::Off, &["false"], answers);
    assert_eq!(world.ask("go").await, Ok(completed("end_turn", None)));
    assert_eq!(world.count("verification_started"), 0);
    assert_eq!(world.verification(), None);
}

#[tokio::test]
async fn what_was_checked_and_held_is_not_checked_again() {
    let answers = vec![write("c1", "a", "1"), text("done")];
    let AgentCheckpointFixture { world, store: _store } =
        kept(PatchReviewMode::Auto, &["test -f a"], answers);
    assert_eq!(world.ask("go").await, Ok(completed("end_turn", Some(true))));
    assert_eq!(world.count("verification_started"), 1);
    let Event::Workspace(WorkspaceEvent::PatchReviewRequested { files, waits, .. }) =
        world.last("patch_review_requested")
    else {
        unreachable!()
    };
    assert_eq!((files[0].path.as_str(), files[0].added, waits), ("a", 1, false));
    assert!(files[0].diff.as_ref().unwrap().contains("+1"), "{files:?}");
}

#[tokio::test]
async fn an_accepted_review_ends_the_turn() {
    let AgentCheckpointFixture { world, store: _store } =
        kept(PatchReviewMode::Request, &[], vec![write("c1", "a", "1\n"), text("done")]);
    let turn = world.begin("go");
    world.host.recorded("patch_review_requested", 1).await;
    let pending: Vec<_> = world.host.state().pending_approvals().cloned().collect();
    assert_eq!((pending.len(), pending[0].tool.as_str()), (1, "patch_review"));
    assert_eq!(pending[0].input["files"][0]["path"], "a");
    world.host.answer(&pending[0].tool_call_id.0, Verdict::Approve, None).unwrap();
    assert_eq!(turn.await.unwrap(), Ok(completed("end_turn", None)));
    world.check();
    assert_eq!(fs::read(world.workspace.path().join("a")).unwrap(), b"1\n");
}

#[tokio::test]
async fn a_rejected_change_is_put_back_and_the_model_hears_why() {
    let answers = vec![write("c1", "a", "new\n"), write("c2", "b", "b\n"), text("done"), text("sorry")];
    let AgentCheckpointFixture { world, store: _store } = kept(PatchReviewMode::Request, &[], answers);
    fs::write(world.workspace.path().join("a"), "old\n").unwrap();
    let turn = world.begin("go");
    world.host.recorded("patch_review_requested", 1).await;
    let id = world.host.state().pending_approvals().next().unwrap().tool_call_id.0.clone();
    let answer = ReviewAnswer {
        reject: vec![RejectedFile { path: "a".to_owned(), hunks: None }],
        comments: vec![ReviewComment {
            path: Some("b".to_owned()),
            line: Some(1),
            text: "say more".to_owned(),
        }],
    };
    let unknown =
        ReviewAnswer { reject: vec![RejectedFile { path: "x".to_owned(), hunks: None }], ..answer.clone() };
    let refused = world.host.answer_review(&id, Verdict::Approve, None, Some(unknown)).unwrap_err();
    assert_eq!(refused.code, "unknown_file");
    world.host.answer_review(&id, Verdict::Approve, Some("half of it"), Some(answer)).unwrap();
    turn.await.unwrap().unwrap();
    world.check();
    assert_eq!(world.count("patch_review_requested"), 1, "what was accepted is not asked about again");
    assert_eq!(fs::read(world.workspace.path().join("a")).unwrap(), b"old\n");
    assert_eq!(fs::read(world.workspace.path().join("b")).unwrap(), b"b\n");
    let heard = world.model.requests()[3].messages.last().unwrap().text();
    for words in ["accepted some of them", "half of it", "reverted: a", "b:1: say more"] {
        assert!(heard.contains(words), "{heard}");
    }
}

#[tokio::test]
async fn a_review_that_is_refused_puts_everything_back() {
    let answers = vec![write("c1", "a", "new\n"), text("done"), text("sorry")];
    let AgentCheckpointFixture { world, store: _store } = kept(PatchReviewMode::Request, &[], answers);
    let turn = world.begin("go");
    world.host.recorded("patch_review_requested", 1).await;
    let id = world.host.state().pending_approvals().next().unwrap().tool_call_id.0.clone();
    world.host.answer(&id, Verdict::Deny, Some("not like this")).unwrap();
    turn.await.unwrap().unwrap();
    world.check();
    assert!(!world.workspace.path().join("a").exists());
    let heard = world.model.requests()[2].messages.last().unwrap().text();
    assert!(heard.contains("rejected them") && heard.contains("not like this"), "{heard}");
}

#[tokio::test]
async fn a_review_waits_through_a_restart_and_a_cancel_ends_it() {
    let answers = vec![write("c1", "a", "1"), text("done")];
    let AgentCheckpointFixture { mut world, store } = kept(PatchReviewMode::Request, &[], answers);
    let turn = world.begin("go");
    world.host.recorded("patch_review_requested", 1).await;
    turn.abort();
    _ = turn.await;
    give_store(&mut world, &store, 10);
    let turn = world.resume();
    let id = world.host.state().pending_approvals().next().unwrap().tool_call_id.0.clone();
    tokio::task::yield_now().await;
    world.host.answer(&id, Verdict::Approve, None).unwrap();
    // Answered before or after the new process asked again: it ends the same.
    assert_eq!(turn.await.unwrap(), Ok(completed("end_turn", None)));
    assert_eq!(world.count("patch_review_requested"), 1, "the same question is not asked twice");
    world.check();

    let AgentCheckpointFixture { world, store: _store } =
        kept(PatchReviewMode::Request, &[], vec![write("c1", "a", "1"), text("done")]);
    let turn = world.begin("go");
    world.host.recorded("patch_review_requested", 1).await;
    world.host.cancel();
    turn.await.unwrap().unwrap_err();
    world.check();
    assert_eq!(world.result_texts().len(), 1, "a review is no call that needs a result");
}
