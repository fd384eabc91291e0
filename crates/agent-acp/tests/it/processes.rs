//! The processes of an agent: how many there are, what they see, and when they end.

use std::sync::Arc;
use std::time::Duration;

use ostler_agent_acp::{AgentSettings, ProcessState};
use ostler_checkpoint::CheckpointStore;
use ostler_testing::host::TurnHost;
use ostler_types::{Event, Moment, Verdict, WorkspaceEvent};

use crate::fixture::{
    AcpTestSession, agent, agent_on, ask_in, check, directory, host, is_alive, program, runner, settings,
    test_session, test_session_with_policy, until, within,
};

#[tokio::test]
async fn sessions_of_a_workspace_share_a_process_and_nothing_else() {
    let world = test_session_with_policy(Default::default(), &[]);
    let waiting = world.begin("say:mine ask:q");
    within(world.host.recorded("approval_requested", 1)).await;
    let other = host(&world.directory, Default::default());
    ask_in(&other, &*world.agent, "say:theirs call:q").await.unwrap();
    world.host.answer("q", Verdict::Approve, None).unwrap();
    waiting.await.unwrap().unwrap();
    check(&world.host);
    assert_eq!(world.answers(), ["mine"]);
    let theirs: String = other.conversation().iter().map(|message| message.text()).collect();
    assert!(theirs.contains("theirs") && !theirs.contains("mine"), "{theirs}");
    assert_eq!((world.notes("start").len(), world.notes("new").len()), (1, 2));
}

#[tokio::test]
async fn each_workspace_has_a_process_of_its_own_up_to_a_limit() {
    let directory = directory();
    std::fs::create_dir(directory.path().join("other")).unwrap();
    let one = AgentSettings { processes: 1, ..settings() };
    let world = AcpTestSession {
        host: host(&directory, Default::default()),
        agent: agent(&directory, &[], one),
        directory,
    };
    let other = TurnHost::new(world.directory.path().join("other").to_str().unwrap(), Default::default());
    world.ask("say:one").await.unwrap();
    ask_in(&other, &*world.agent, "say:two").await.unwrap();
    let first = world.notes("start")[0].clone();
    until(|| !is_alive(&first)).await;
    let waiting = world.begin("ask:q");
    within(world.host.recorded("approval_requested", 1)).await;
    let failed = ask_in(&other, &*world.agent, "say:three").await.unwrap_err();
    assert_eq!(failed.reason, "too_many_agents");
    world.host.answer("q", Verdict::Deny, None).unwrap();
    waiting.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_process_that_nobody_uses_is_stopped_and_comes_back() {
    let directory = directory();
    let short = AgentSettings { idle: Duration::from_millis(1), ..settings() };
    let world = AcpTestSession {
        host: host(&directory, Default::default()),
        agent: agent(&directory, &[], short),
        directory,
    };
    world.ask("say:one").await.unwrap();
    let process = world.notes("start")[0].clone();
    until(|| !is_alive(&process)).await;
    world.ask("say:two").await.unwrap();
    assert_eq!((world.notes("start").len(), world.notes("session/load").len()), (2, 1));
    assert_eq!(world.answers(), ["one", "two"]);
}

#[tokio::test]
async fn stopping_ends_every_process_and_refuses_turns() {
    let world = test_session(&[]);
    world.ask("say:one").await.unwrap();
    assert_eq!(world.agent.statuses()[0].state, ProcessState::Connected);
    let process = world.notes("start")[0].clone();
    within(world.agent.stop()).await;
    assert!(!is_alive(&process));
    assert_eq!(world.ask("say:two").await.unwrap_err().reason, "agent_stopped");
}

#[tokio::test]
async fn an_agent_sees_what_it_is_given_of_the_environment() {
    let world = test_session(&[]);
    world.ask("say:one").await.unwrap();
    let names = world.notes("env").concat();
    let has = |name: &str| names.split(' ').any(|known| known == name);
    assert!(has("PATH") && has("HOME") && has("PASSED") && has("NOTES"), "{names}");
    assert!(!has("SECRET_KEY"), "{names}");
}

#[tokio::test]
async fn an_agent_can_be_asked_what_it_is() {
    let world = test_session(&[]);
    let info = within(world.agent.probe(&world.workspace())).await.unwrap();
    assert_eq!((info.name.as_str(), info.version.as_str()), ("fault", "1.0"));
    assert!(info.loads_sessions && !info.lists_sessions);
    assert!(within(world.agent.sessions(&world.workspace())).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_turn_can_be_undone_because_the_workspace_is_captured() {
    let directory = directory();
    let kept = tempfile::tempdir().unwrap();
    let store = Arc::new(CheckpointStore::open(kept.path()).unwrap());
    let agent = agent_on(runner().with_checkpoints(store), program(&directory, &[]), settings());
    let mut policy = ostler_types::Policy::default();
    policy.approval.require_for_kinds.clear();
    let world = AcpTestSession { host: host(&directory, policy), agent, directory };
    let ended = world.ask("write:a.txt=x say:ok").await.unwrap();
    assert!(ended.verification.unwrap().contains("not verified"));
    let moments = |world: &AcpTestSession| -> Vec<Moment> {
        let moment = |event| match event {
            Event::Workspace(WorkspaceEvent::CheckpointCreated { moment, .. }) => Some(moment),
            _ => None,
        };
        world.host.events().into_iter().filter_map(moment).collect()
    };
    assert_eq!(moments(&world), [Moment::Before, Moment::After]);
    assert_eq!(world.ask("say:only_words").await.unwrap().verification, None);
    // A turn that was stopped says how it left the workspace, too.
    let running = world.begin("write:b.txt=x wait");
    until(|| world.workspace().join("b.txt").exists()).await;
    world.host.cancel();
    running.await.unwrap().unwrap_err();
    assert_eq!(moments(&world).len(), 6);
}
