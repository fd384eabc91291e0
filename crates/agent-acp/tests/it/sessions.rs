//! Sessions that an agent has open, kept, or lost.

use std::collections::BTreeMap;

use ostler_testing::host::TurnHost;
use ostler_types::{NewSession, Role, SessionChange};

use crate::fixture::{AcpTestSession, agent, agent_of, ask_in, directory, program, settings, test_session};

/// The same session after a restart of the daemon.
fn restarted(world: AcpTestSession, options: &[&str]) -> AcpTestSession {
    let AcpTestSession { host, directory, .. } = world;
    AcpTestSession { agent: agent(&directory, options, settings()), host, directory }
}

#[tokio::test]
async fn turns_of_a_session_share_a_session_of_the_agent() {
    let world = test_session(&[]);
    world.ask("say:one").await.unwrap();
    world.ask("say:two").await.unwrap();
    assert_eq!((world.notes("new").len(), world.notes("session/load").len()), (1, 0));
    let new: serde_json::Value = serde_json::from_str(&world.notes("new")[0]).unwrap();
    assert_eq!(new["cwd"], world.workspace().to_str().unwrap());
    assert!(new["mcpServers"].as_array().unwrap().is_empty(), "the list is sent, even when it is empty");
}

#[tokio::test]
async fn a_replay_is_not_recorded_again() {
    for options in [&[][..], &["replays-late"], &["resume"]] {
        let world = test_session(options);
        world.ask("say:one").await.unwrap();
        let world = restarted(world, options);
        world.ask("say:two").await.unwrap();
        assert_eq!(world.answers(), ["one", "two"], "{options:?}");
        let how = if options == ["resume"] { "session/resume" } else { "session/load" };
        assert_eq!((world.notes("new").len(), world.notes(how).len()), (1, 1), "{options:?}");
        assert!(world.results().is_empty());
    }
}

#[tokio::test]
async fn a_session_that_the_agent_lost_is_begun_anew_and_told_what_was_said() {
    for options in [&["loses"][..], &["no-load"]] {
        let world = test_session(&[]);
        world.ask("say:the_answer_is_42").await.unwrap();
        let before = world.host.state().session.agent_session_id;
        let world = restarted(world, options);
        world.ask("say:two").await.unwrap();
        assert_ne!(world.host.state().session.agent_session_id, before);
        let told =
            world.host.conversation().iter().find(|message| message.role == Role::System).unwrap().text();
        assert!(told.contains("no longer has this session"), "{told}");
        let prompts = world.notes("prompt");
        assert!(prompts.iter().any(|prompt| prompt.contains("the answer is 42")), "{prompts:?}");
        assert_eq!(world.answers(), ["the answer is 42", "two"]);
    }
}

#[tokio::test]
async fn an_agent_is_set_to_ask_where_it_offers_that_and_nothing_else_is_said() {
    for (choice, own, expected) in
        [("code", None, vec!["code"]), ("fly", None, vec![]), ("code", Some("ask"), vec!["code", "ask"])]
    {
        let directory = directory();
        let chosen: BTreeMap<String, String> =
            own.map(|own: &str| ("mode".to_owned(), own.to_owned())).into_iter().collect();
        let mut program = program(&directory, &["modes"]);
        program.ask_setting = Some(("mode".to_owned(), choice.to_owned()));
        let workspace = directory.path().join("workspace");
        let host = TurnHost::with_session(workspace.to_str().unwrap(), |new| NewSession {
            agent: "fault".to_owned(),
            agent_settings: chosen,
            ..new
        });
        let world = AcpTestSession { agent: agent_of(program, settings()), host, directory };
        world.ask("say:x").await.unwrap();
        world.ask("say:y").await.unwrap();
        assert_eq!(world.notes("mode"), expected);
    }
}

#[tokio::test]
async fn settings_are_applied_and_a_refused_one_fails_the_turn() {
    let world = test_session(&["modes"]);
    let choose = |mode: &str| SessionChange {
        agent_settings: BTreeMap::from([("mode".to_owned(), mode.to_owned())]),
        ..SessionChange::default()
    };
    world.host.update(choose("code"));
    world.ask("say:one").await.unwrap();
    world.ask("say:two").await.unwrap();
    assert_eq!(world.notes("mode"), ["code"], "once is enough");
    world.host.update(choose("forbidden"));
    let failed = world.ask("say:three").await.unwrap_err();
    assert!(failed.error.hint.unwrap().contains("ask, code"));
    assert_eq!(world.answers(), ["one", "two"]);
}

#[tokio::test]
async fn an_agent_that_wants_a_login_says_how() {
    let world = test_session(&["login"]);
    let failed = world.ask("say:x").await.unwrap_err();
    assert_eq!(failed.reason, "agent_login_required");
    assert!(failed.error.hint.unwrap().contains("Log in with a browser"));
    assert_eq!(world.host.state().agent.unwrap().login[0].id, "browser");
}

#[tokio::test]
async fn what_came_before_the_answer_of_a_new_session_is_heard() {
    let world = test_session(&[]);
    world.ask("say:x").await.unwrap();
    assert_eq!(world.host.state().agent.unwrap().commands[0].name, "early");
}

#[tokio::test]
async fn a_system_prompt_is_told_once() {
    let world = test_session(&[]);
    let workspace = world.workspace();
    let host = ostler_testing::host::TurnHost::with_session(workspace.to_str().unwrap(), |new| {
        ostler_types::NewSession { system_prompt: Some("Be brief.".to_owned()), ..new }
    });
    ask_in(&host, &*world.agent, "say:one").await.unwrap();
    ask_in(&host, &*world.agent, "say:two").await.unwrap();
    let told = world.notes("prompt").iter().filter(|prompt| prompt.contains("Be brief.")).count();
    assert_eq!(told, 1);
}
