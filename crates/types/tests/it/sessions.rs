//! Making, naming and changing sessions.

use ostler_types::{
    Command, Delivery, Effort, Part, Policy, RefusalKind, Role, SessionChange, SessionStatus, State,
    StateLimits, create,
};

use crate::refusals::expect;
use crate::session_driver::{SessionDriver, close, completed, new_session};

#[test]
fn a_new_session_is_active_and_empty() {
    let world = SessionDriver::new();
    let view = world.state.view();
    assert_eq!((view.session.status, view.last_seq), (SessionStatus::Active, 1));
    assert!(view.turns.is_empty() && view.queue.is_empty() && view.pending_approvals.is_empty());
    assert_eq!((view.running_turn_id, view.session.last_turn_id, view.session.title), (None, None, None));
}

#[test]
fn what_is_too_large_makes_no_session() {
    let label = || Some("x".repeat(StateLimits::LABEL_BYTES + 1));
    let (mut title, mut key, mut prompt) = (new_session(), new_session(), new_session());
    title.title = label();
    key.idempotency_key = label();
    prompt.system_prompt = Some("x".repeat(StateLimits::MESSAGE_BYTES + 1));
    for new in [title, key, prompt] {
        let refusal = create(new).expect_err("it is too large");
        expect(&refusal, RefusalKind::TooLarge, "too_large");
    }
}

#[test]
fn a_log_that_does_not_begin_with_a_session_is_none() {
    let mut world = SessionDriver::new();
    world.submit("go");
    assert!(State::fold(&world.log[1..]).is_none() && State::begin(&world.log[1]).is_none());
    assert!(State::fold(&[]).is_none());
}

#[test]
fn a_title_is_the_first_line_that_says_something() {
    let long = "é".repeat(81);
    let cut = format!("{}…", "é".repeat(80));
    let exact = "é".repeat(80);
    let cases = [
        ("Fix the build", Some("Fix the build")),
        ("\n  \n\tFix the build  \nplease", Some("Fix the build")),
        ("New Session", Some("New Session")),
        (" \n\t\n", None),
        (long.as_str(), Some(cut.as_str())),
        (exact.as_str(), Some(exact.as_str())),
    ];
    for (text, title) in cases {
        let mut world = SessionDriver::new();
        world.submit(text);
        assert_eq!(world.state.session.title.as_deref(), title, "{text:?}");
    }
}

#[test]
fn a_title_is_derived_once_and_from_a_user_only() {
    let mut world = SessionDriver::new();
    let message = world.message(Role::System, vec![Part::text("be brief")]);
    let command = world.submission_of(message, Delivery::Queue, None);
    world.submitted(command);
    assert_eq!(world.state.session.title, None);
    world.report(completed());
    world.submit("New Session");
    world.report(completed());
    world.submit("Fix the build");
    assert_eq!(world.state.session.title.as_deref(), Some("New Session"));
}

#[test]
fn a_given_title_stays() {
    let mut world = SessionDriver::with(|new| new.title = Some("mine".to_owned()));
    world.submit("Fix the build");
    assert_eq!(world.state.session.title.as_deref(), Some("mine"));
    world.accept(title("other"));
    world.report(completed());
    world.submit("Fix the tests");
    assert_eq!(world.state.session.title.as_deref(), Some("other"));
    world.accept(title(""));
    assert_eq!(world.state.session.title, None);
}

#[test]
fn a_queued_message_gives_no_title_before_it_is_delivered() {
    let mut world = SessionDriver::new();
    world.submit(" ");
    world.submit("Fix the build");
    assert_eq!(world.state.session.title, None);
    world.report(completed());
    assert_eq!(world.state.session.title.as_deref(), Some("Fix the build"));
}

#[test]
fn a_change_changes_what_it_names() {
    let mut world = SessionDriver::new();
    world.submit("go");
    let before = world.state.session.clone();
    let mut policy = Policy::default();
    policy.verify.commands.push("make test".to_owned());
    let change = SessionChange {
        title: Some("mine".to_owned()),
        archived: Some(true),
        pinned: Some(true),
        model: Some("demo:large".to_owned()),
        fallback_models: Some(vec!["demo:small".to_owned()]),
        effort: Some(Some(Effort::High)),
        verbose_log: None,
        agent_settings: std::collections::BTreeMap::new(),
        raw_log: Some(true),
        policy: Some(policy.clone()),
    };
    assert_eq!(world.accept(Command::Update(change.clone())), ["session_updated"]);
    let after = &world.state.session;
    assert_eq!(
        (after.title.as_deref(), after.archived, after.pinned, after.model.as_str()),
        (Some("mine"), true, true, "demo:large")
    );
    assert_eq!(after.policy, policy);
    assert_eq!((after.effort, after.raw_log), (Some(Effort::High), true));
    assert_eq!(after.fallback_models, ["demo:small"]);
    assert_eq!(
        (after.status, after.last_turn_id, after.usage),
        (before.status, before.last_turn_id, before.usage)
    );
    for nothing in [change, SessionChange::default()] {
        assert_eq!(world.accept(Command::Update(nothing)), Vec::<&str>::new());
    }
}

#[test]
fn the_model_changes_from_the_next_turn_on() {
    let mut world = SessionDriver::new();
    world.accept(Command::Update(SessionChange {
        model: Some("demo:large".to_owned()),
        ..SessionChange::default()
    }));
    world.submit("go");
    let started = world.log.last().expect("a turn started");
    let data = serde_json::to_value(&started.event).expect("an event can be written");
    assert_eq!(data["data"]["model"], "demo:large");
}

#[test]
fn a_closed_session_can_be_put_away() {
    let mut world = SessionDriver::new();
    world.accept(close());
    world.accept(Command::Update(SessionChange { archived: Some(true), ..SessionChange::default() }));
    assert_eq!((world.state.session.archived, world.state.session.status), (true, SessionStatus::Completed));
    assert_eq!(world.audit.faults, []);
}

fn title(title: &str) -> Command {
    Command::Update(SessionChange { title: Some(title.to_owned()), ..SessionChange::default() })
}
