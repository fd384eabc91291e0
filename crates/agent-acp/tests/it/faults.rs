//! An agent that does what none should. Each leaves a turn that has ended, a session that goes on, and a reason.

use std::time::Duration;

use ostler_agent_acp::{AgentProgram, AgentSettings, ProcessState};

use crate::fixture::{
    agent, agent_of, ask_in, check, directory, host, is_alive, program, settings, test_session, until, within,
};

#[tokio::test]
async fn a_crash_fails_the_turn_with_its_cause_and_keeps_the_text() {
    let world = test_session(&[]);
    world.ask("say:fine").await.unwrap();
    let failed = world.ask("say:half_a_sen open:c crash").await.unwrap_err();
    assert_eq!(failed.reason, "agent_crashed");
    let message = failed.error.message;
    assert!(message.contains("exit code 7") && message.contains("the engine is on fire"), "{message}");
    assert_eq!(world.answers(), ["fine", "half a sen"]);
    // It is started again, and takes its session up.
    world.ask("say:back").await.unwrap();
    assert_eq!(world.answers(), ["fine", "half a sen", "back"]);
    assert_eq!((world.notes("start").len(), world.notes("session/load").len()), (2, 1));
}

#[tokio::test]
async fn text_that_was_not_finished_is_kept_when_the_agent_crashes() {
    let world = test_session(&[]);
    world.ask("say:only_this crash").await.unwrap_err();
    assert_eq!(world.host.conversation().last().unwrap().text(), "only this");
}

#[tokio::test]
async fn an_agent_that_hangs_is_replaced_when_its_turn_is_canceled() {
    let directory = directory();
    let host = host(&directory, Default::default());
    let quick = AgentSettings { cancel: Duration::from_millis(50), ..settings() };
    let world = crate::fixture::AcpTestSession { agent: agent(&directory, &[], quick), host, directory };
    let running = world.begin("say:then hang");
    until(|| !world.notes("hang").is_empty()).await;
    world.host.cancel();
    assert_eq!(running.await.unwrap().unwrap_err().reason, "turn_over");
    check(&world.host);
    let first = world.notes("start")[0].clone();
    until(|| !is_alive(&first)).await;
    world.ask("say:again").await.unwrap();
    assert_eq!(world.notes("start").len(), 2);
    assert_eq!(world.host.conversation().last().unwrap().text(), "again");
}

#[tokio::test]
async fn what_comes_after_a_cancel_is_dropped() {
    let world = test_session(&[]);
    let running = world.begin("say:before late");
    until(|| !world.notes("late").is_empty()).await;
    world.host.cancel();
    running.await.unwrap().unwrap_err();
    check(&world.host);
    world.ask("say:after").await.unwrap();
    assert_eq!(world.notes("cancel").len(), 1);
    let said: String = world.host.conversation().iter().map(|message| message.text()).collect();
    assert!(!said.contains("too late") && said.ends_with("after"), "{said}");
    assert_eq!(world.notes("start").len(), 1, "it has stopped when it was told to");
}

#[tokio::test]
async fn a_flood_is_stopped_at_its_limit() {
    let directory = directory();
    let host = host(&directory, Default::default());
    let few = AgentSettings { turn_bytes: 3 << 20, ..settings() };
    let world = crate::fixture::AcpTestSession { agent: agent(&directory, &[], few), host, directory };
    let failed = world.ask("flood:64").await.unwrap_err();
    assert_eq!(failed.reason, "answer_too_long");
    let longest = world.host.conversation().iter().map(|message| message.size()).max().unwrap();
    assert!(longest <= 1 << 20, "{longest}");
    world.ask("say:calm").await.unwrap();
    assert_eq!(world.answers().last().unwrap(), "calm");
}

#[tokio::test]
async fn lines_that_are_no_messages_are_passed_over() {
    let world = test_session(&[]);
    world.ask("say:a badjson say:b").await.unwrap();
    assert_eq!(world.answers(), ["ab"]);
}

#[tokio::test]
async fn a_line_without_end_ends_the_process_and_not_the_daemon() {
    let world = test_session(&[]);
    let failed = world.ask("say:a huge say:b").await.unwrap_err();
    assert_eq!(failed.reason, "agent_crashed");
    assert!(failed.error.message.contains("a line that is too long"), "{}", failed.error.message);
    world.ask("say:again").await.unwrap();
    assert_eq!(world.notes("start").len(), 2);
}

#[tokio::test]
async fn what_is_for_nobody_reaches_nobody() {
    let world = test_session(&[]);
    world.ask("foreign nonsense say:mine twice").await.unwrap();
    assert_eq!(world.answers(), ["mine"]);
    assert_eq!(world.notes("foreign").len(), 3);
    assert!(world.notes("foreign").iter().all(|note| note.contains("cancelled")));
    world.ask("say:next").await.unwrap();
    assert_eq!(world.answers(), ["mine", "next"]);
}

#[tokio::test]
async fn an_agent_that_cannot_start_says_why_after_a_few_tries() {
    let world = test_session(&["exits"]);
    let failed = world.ask("say:x").await.unwrap_err();
    assert_eq!(failed.reason, "agent_not_started");
    let message = failed.error.message;
    assert!(message.contains("exit code 3") && message.contains("cannot go on like this"), "{message}");
    assert_eq!(world.notes("start").len(), 6, "five more tries");
    assert_eq!(world.agent.statuses()[0].state, ProcessState::Disconnected);
}

#[tokio::test]
async fn an_agent_that_never_answers_is_given_up() {
    let directory = directory();
    let host = host(&directory, Default::default());
    let quick = AgentSettings { start: Duration::from_millis(300), max_restarts: 0, ..settings() };
    let agent = agent(&directory, &["mute"], quick);
    let failed = ask_in(&host, &*agent, "say:x").await.unwrap_err();
    assert!(failed.error.message.contains("did not say what it is"), "{}", failed.error.message);
}

#[tokio::test]
async fn another_version_is_refused() {
    let world = test_session(&["version=9"]);
    let failed = world.ask("say:x").await.unwrap_err();
    assert!(failed.error.message.contains("version 9"), "{}", failed.error.message);
    assert_eq!(world.notes("start").len(), 1, "it would say the same again");
}

#[tokio::test]
async fn a_program_that_is_missing_says_how_to_get_it() {
    let directory = directory();
    let host = host(&directory, Default::default());
    let mut missing = AgentProgram::new("gone", "/no/such/program", ["--acp"]);
    missing.install = Some("install it from somewhere".to_owned());
    let agent = agent_of(missing, settings());
    let failed = ask_in(&host, &*agent, "say:x").await.unwrap_err();
    assert_eq!(failed.error.hint.as_deref(), Some("install it from somewhere"));
}

#[tokio::test]
async fn a_turn_whose_future_is_dropped_leaves_no_agent_at_work() {
    let world = test_session(&[]);
    let running = world.begin("say:x wait");
    within(world.host.until(|host| !host.deltas().is_empty())).await;
    let process = world.notes("start")[0].clone();
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    until(|| !is_alive(&process)).await;
}

#[tokio::test]
async fn values_of_variables_are_not_in_errors() {
    let directory = directory();
    let host = host(&directory, Default::default());
    let mut told = program(&directory, &["exits"]);
    told.env.insert("KEY".to_owned(), "cannot go on like this".to_owned());
    let agent = agent_of(told, AgentSettings { max_restarts: 0, ..settings() });
    let failed = ask_in(&host, &*agent, "say:x").await.unwrap_err();
    assert!(failed.error.message.contains("[redacted]"), "{}", failed.error.message);
}
