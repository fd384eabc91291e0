//! The work of someone else's agent is captured, checked and reviewed like that of our own; and sessions are begun
//! before their first turn, or taken over from the agent.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostler_checkpoint::CheckpointStore;
use ostler_testing::clock::FixedClock;
use ostler_types::{Event, MessageEvent, PatchReviewMode, Policy, Role, SessionId, ToolKind, Verdict};
use tempfile::TempDir;
use uuid::Uuid;

use crate::fixture::{
    AcpTestSession, agent_on, check, directory, host, program, runner, settings, test_session, within,
};

/// A world that keeps checkpoints, and where the check that keeps it needs.
fn checkpointed_session(change: impl FnOnce(&mut Policy)) -> (AcpTestSession, TempDir) {
    let (directory, store) = (directory(), tempfile::tempdir().unwrap());
    let opened = Arc::new(CheckpointStore::open(store.path()).unwrap());
    let agent = agent_on(runner().with_checkpoints(opened), program(&directory, &[]), settings());
    let mut policy = Policy::default();
    policy.approval.require_for_kinds.clear();
    change(&mut policy);
    (AcpTestSession { host: host(&directory, policy), agent, directory }, store)
}

#[tokio::test]
async fn a_check_that_fails_goes_back_to_the_agent() {
    // What the check prints is what the agent is told, and the agent does what it is told.
    let command = "test -f b.txt || { echo write:b.txt=x; exit 3; }";
    let (world, _store) = checkpointed_session(|policy| policy.verify.commands = vec![command.to_owned()]);
    let ended = world.ask("write:a.txt=x say:ready").await.unwrap();
    assert_eq!((ended.verified, ended.stop_reason.as_str()), (Some(true), "end_turn"));
    assert!(world.workspace().join("b.txt").exists());
    let names = world.host.names();
    assert_eq!(names.iter().filter(|name| **name == "verification_completed").count(), 2);
    let told: Vec<String> = world.host.conversation().iter().map(|message| message.text()).collect();
    assert!(told.iter().any(|text| text.starts_with("Verification failed (round 1 of 3)")), "{told:?}");
    // A turn that leaves everything as it was is not checked.
    assert_eq!(world.ask("say:only_words").await.unwrap().verified, None);
}

#[tokio::test]
async fn what_is_never_mended_ends_unverified() {
    let (world, _store) = checkpointed_session(|policy| {
        policy.verify.commands = vec!["false".to_owned()];
        policy.verify.max_rounds = 2;
    });
    let ended = world.ask("write:a.txt=x").await.unwrap();
    assert_eq!(ended.verified, Some(false));
    assert_eq!(world.host.names().iter().filter(|name| **name == "verification_completed").count(), 3);
}

#[tokio::test]
async fn a_change_that_is_rejected_is_put_back_and_the_agent_is_told() {
    let (world, _store) = checkpointed_session(|policy| policy.patch_review.mode = PatchReviewMode::Request);
    let running = world.begin("write:a.txt=x say:ready");
    within(world.host.recorded("patch_review_requested", 1)).await;
    let asked = world.host.state().pending_approvals().next().unwrap().tool_call_id.0.clone();
    world.host.answer(&asked, Verdict::Deny, Some("say:sorry")).unwrap();
    within(running).await.unwrap().unwrap();
    check(&world.host);
    assert!(!world.workspace().join("a.txt").exists());
    assert!(world.answers().iter().any(|text| text.contains("sorry")), "{:?}", world.answers());
    let heard = world.notes("prompt");
    assert!(heard.last().unwrap().contains("rejected them"), "{heard:?}");
}

#[tokio::test]
async fn a_check_that_is_canceled_leaves_the_agent_ready() {
    let (world, _store) =
        checkpointed_session(|policy| policy.verify.commands = vec!["sleep 600".to_owned()]);
    let running = world.begin("write:a.txt=x");
    within(world.host.recorded("verification_started", 1)).await;
    world.host.cancel();
    assert_eq!(within(running).await.unwrap().unwrap_err().reason, "turn_over");
    assert_eq!(world.ask("say:on").await.unwrap().stop_reason, "end_turn");
    assert_eq!((world.notes("start").len(), world.notes("new").len()), (1, 1));
}

#[tokio::test]
async fn a_check_that_the_agent_wrote_is_not_run() {
    let (world, _store) =
        checkpointed_session(|policy| policy.approval.require_for_kinds = vec![ToolKind::Exec]);
    std::fs::write(world.workspace().join("Makefile"), "test:\n\ttrue\n").unwrap();
    world.host.trust(true);
    let ended = world.ask("write:Makefile=test:;touch_ran say:ready").await.unwrap();
    assert_eq!(ended.verified, None, "{ended:?}");
    assert!(ended.verification.unwrap().contains("Makefile"));
    assert!(!world.host.names().contains(&"verification_started"));
}

fn id(number: u128) -> SessionId {
    SessionId::new(Uuid::from_u128(number))
}

#[tokio::test]
async fn a_session_is_begun_before_its_first_turn_and_found_by_it() {
    let world = test_session(&["modes"]);
    let session = world.host.state().session.id;
    let wanted = BTreeMap::from([("mode".to_owned(), "code".to_owned())]);
    let state = within(world.agent.begin(session, &world.workspace(), &wanted)).await.unwrap();
    assert_eq!(state.settings[0].current.as_deref(), Some("code"));
    assert_eq!(world.notes("mode"), ["code"]);
    let refused = BTreeMap::from([("mode".to_owned(), "forbidden".to_owned())]);
    let error = within(world.agent.begin(id(7), &world.workspace(), &refused)).await.unwrap_err();
    assert!(error.error.hint.unwrap().contains("ask, code"));
}

#[tokio::test]
async fn an_agent_that_wants_a_login_says_so_at_once() {
    let world = test_session(&["login"]);
    let error = within(world.agent.begin(id(7), &world.workspace(), &BTreeMap::new())).await.unwrap_err();
    assert_eq!(error.reason, "agent_login_required");
    assert!(error.error.hint.unwrap().contains("Log in with a browser"));
}

#[tokio::test]
async fn a_session_that_was_begun_elsewhere_is_taken_over_with_what_was_said() {
    let world = test_session(&["lists"]);
    std::fs::write(world.directory.path().join("kept-1"), "").unwrap();
    let listed = within(world.agent.sessions(&world.workspace())).await.unwrap();
    assert_eq!((listed[0].id.as_str(), listed[0].title.as_deref()), ("kept-1", Some("About kept-1")));
    let clock = FixedClock::default();
    let adopted = within(world.agent.adopt(id(7), &world.workspace(), "kept-1", &clock)).await.unwrap();
    assert_eq!(adopted.state.agent_session_id.as_deref(), Some("kept-1"));
    let names: Vec<&str> = adopted.records.iter().map(|record| record.event.name().as_str()).collect();
    assert_eq!(
        names,
        [
            "agent_updated",
            "message_added",
            "turn_started",
            "model_output_completed",
            "tool_batch_started",
            "tool_call_started",
            "tool_call_completed",
            "tool_batch_completed",
            "turn_completed"
        ]
    );
    let Event::Message(MessageEvent::Added { message, .. }) = &adopted.records[1].event else { panic!() };
    assert_eq!((message.role, message.text()), (Role::User, "replayed question".to_owned()));
    let Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) = &adopted.records[3].event else {
        panic!()
    };
    assert_eq!((message.text(), message.tool_calls().count()), ("replayed answer".to_owned(), 1));
    let lost = within(world.agent.adopt(id(8), &world.workspace(), "nobody", &clock)).await.unwrap_err();
    assert!(lost.error.message.contains("could not take up the session"), "{}", lost.error.message);
}

#[tokio::test]
async fn a_session_that_is_only_resumed_says_that_nothing_is_told() {
    let world = test_session(&["resume", "no-load"]);
    std::fs::write(world.directory.path().join("kept-1"), "").unwrap();
    let clock = FixedClock::default();
    let adopted = within(world.agent.adopt(id(7), &world.workspace(), "kept-1", &clock)).await.unwrap();
    let Event::Message(MessageEvent::Added { message, .. }) = &adopted.records[1].event else { panic!() };
    assert_eq!(message.role, Role::System);
    assert!(message.text().contains("begun elsewhere"));
}
