//! A state is no larger than its limits, however long its session lives.

use ostler_types::{
    AnswerApproval, Command, DecisionFacts, Delivery, Part, Policy, RefusalKind, Role, Rule, Scope,
    SessionChange, StateLimits, TurnId, TurnReport, Verdict,
};

use crate::audit::is_bounded;
use crate::refusals::expect;
use crate::session_driver::{SessionDriver, answer, completed, failed, failure, propose, shell, start};

#[test]
fn the_queue_has_a_length() {
    let mut world = SessionDriver::new();
    world.submit("go");
    for _ in 0..StateLimits::QUEUE {
        let command = world.submission("more", Delivery::Queue);
        world.ask_unchecked(command).expect("there is room");
    }
    for delivery in [Delivery::Queue, Delivery::Steer] {
        let command = world.submission("too much", delivery);
        let refusal = world.refused(command);
        expect(&refusal, RefusalKind::TooMany, "queue_full");
        assert!(refusal.hint.is_some());
    }
    assert!(is_bounded(&world.state));
    world.report(completed());
    world.submit("there is room again");
}

#[test]
fn the_queue_has_a_size() {
    let mut world = SessionDriver::new();
    world.submit("go");
    let text = "x".repeat(StateLimits::MESSAGE_BYTES);
    let room = StateLimits::QUEUE_BYTES / StateLimits::MESSAGE_BYTES;
    for _ in 0..room {
        world.submit(&text);
    }
    let command = world.submission("x", Delivery::Queue);
    expect(&world.refused(command), RefusalKind::TooMany, "queue_full");
}

#[test]
fn messages_without_a_turn_have_a_number() {
    let mut world = SessionDriver::with(|new| new.auto_run = false);
    for _ in 0..StateLimits::UNANSWERED {
        let command = world.submission("note", Delivery::Queue);
        world.ask_unchecked(command).expect("there is room");
    }
    let command = world.submission("note", Delivery::Queue);
    expect(&world.refused(command), RefusalKind::TooMany, "queue_full");
    let turn_id = world.turn_id();
    world.accept(Command::Run { turn_id });
    assert!(world.state.unanswered.is_empty());
}

/// Everything that a client chose counts, or a message of nothing but names would have no size.
#[test]
fn the_size_of_a_message_counts_all_its_words() {
    let large = "x".repeat(StateLimits::MESSAGE_BYTES + 1);
    let image = Part::Image { reference: "attachments/a.png".to_owned(), mime_type: large };
    let many = vec![Part::text(""); StateLimits::MESSAGE_BYTES + 1];
    for (what, parts) in [("a long type", vec![image]), ("many empty parts", many)] {
        let mut world = SessionDriver::new();
        let message = world.message(Role::User, parts);
        let command = world.submission_of(message, Delivery::Queue, None);
        assert!(
            ostler_types::decide(&world.state, command, &DecisionFacts::default()).is_err(),
            "{what} has no size"
        );
    }
}

#[test]
fn turns_keys_and_answers_are_forgotten_oldest_first() {
    let mut world = SessionDriver::new();
    let mut turns = Vec::new();
    for n in 0..StateLimits::KEYS + 10 {
        let message = world.message(Role::User, vec![Part::text("go")]);
        let command = world.submission_of(message, Delivery::Queue, Some(&format!("key {n}")));
        world.ask_unchecked(command).expect("the message is accepted");
        turns.push(ask_and_answer(&mut world, n));
        report(&mut world, completed());
    }
    assert!(is_bounded(&world.state));
    let kept: Vec<TurnId> = world.state.turns.iter().map(|turn| turn.id).collect();
    assert_eq!(kept, turns[turns.len() - StateLimits::TURNS..]);
    assert_eq!(world.state.keys.front().map(|key| key.0.as_str()), Some("key 10"));
    let last = turns[turns.len() - 1];
    let refusal =
        world.refused(answer(last, &format!("call_{}", StateLimits::KEYS + 9), Verdict::Deny, "bob"));
    expect(&refusal, RefusalKind::Conflict, "already_answered");
    let refusal = world.refused(answer(turns[0], "call_0", Verdict::Deny, "bob"));
    assert!(!refusal.message.is_empty(), "what was forgotten is still refused");
    let size = serde_json::to_string(&world.state).expect("a state can be written").len();
    assert!(size < 200_000, "{size} bytes after {} records", world.log.len());
}

#[test]
fn remembered_rules_have_a_number() {
    let mut world = SessionDriver::new();
    world.submit("go");
    for n in 0..StateLimits::RULES + 5 {
        let made = shell(&format!("call_{n}"), &format!("make {n}"));
        let turn = world.running();
        let step = world.step_report(std::slice::from_ref(&made));
        report(&mut world, step);
        report(&mut world, propose(&made));
        let mut command = answer(turn, &made.id.0, Verdict::Approve, "ann");
        if let Command::Answer(AnswerApproval { scope, .. }) = &mut command {
            *scope = Scope::Session;
        }
        world.ask_unchecked(command).expect("the call waits");
        report(&mut world, start(&made));
        let finish = world.finish(&made.id.0, true);
        report(&mut world, finish);
    }
    assert_eq!(world.state.session.policy.approval.rules.len(), StateLimits::RULES);
}

/// The limit on rules holds however they come in.
#[test]
fn a_policy_with_too_many_rules_is_refused() {
    let rule = |n: usize| Rule {
        commands: Vec::new(),
        tool: "shell".to_owned(),
        subject: format!("make {n}"),
        whole: false,
        workspace: None,
    };
    let mut policy = Policy::default();
    policy.approval.rules = (0..=StateLimits::RULES).map(rule).collect();
    let mut new = crate::session_driver::new_session();
    new.policy = policy.clone();
    assert!(ostler_types::create(new).is_err(), "a session was made with too many rules");
    let world = SessionDriver::new();
    let command = Command::Update(SessionChange { policy: Some(policy), ..SessionChange::default() });
    assert!(
        ostler_types::decide(&world.state, command, &DecisionFacts::default()).is_err(),
        "a policy was taken with too many rules"
    );
}

/// A retry takes along what came since, and so does the next; the list must not grow for ever.
#[test]
fn retries_do_not_gather_messages_without_limit() {
    let mut world = SessionDriver::with(|new| new.auto_run = false);
    let mut retry_of = None;
    for _ in 0..4 {
        for _ in 0..StateLimits::UNANSWERED - 1 {
            let command = world.submission("note", Delivery::Queue);
            if world.ask_unchecked(command).is_err() {
                break;
            }
        }
        let turn_id = world.turn_id();
        let command = match retry_of {
            None => Command::Run { turn_id },
            Some(retry_of) => Command::Retry { retry_of, turn_id },
        };
        if world.ask_unchecked(command).is_err() {
            break;
        }
        report(&mut world, failed());
        retry_of = Some(turn_id);
    }
    let longest = world.state.turns.iter().map(|turn| turn.message_ids.len()).max();
    assert!(longest <= Some(2 * StateLimits::UNANSWERED), "a turn answers {longest:?} messages");
}

/// A failed turn is remembered with its error, which an agent wrote.
#[test]
fn a_long_error_is_not_kept_whole_in_the_state() {
    let mut world = SessionDriver::new();
    world.submit("go");
    let mut error = failure();
    error.message = "x".repeat(2 * StateLimits::MESSAGE_BYTES);
    let turn_id = world.running();
    let report = TurnReport::Failed { error, reason: "provider".to_owned() };
    // Refusing it would leave the turn open, so that cutting it is as good.
    drop(world.ask_unchecked(Command::Report { turn_id, report }));
    let kept = world.state.turns[0].error.as_ref().map_or(0, String::len);
    assert!(kept <= StateLimits::MESSAGE_BYTES, "{kept} bytes for each of {} turns", StateLimits::TURNS);
}

/// Runs one turn as far as its answered approval, with the call's result.
fn ask_and_answer(world: &mut SessionDriver, n: usize) -> TurnId {
    let made = shell(&format!("call_{n}"), "make");
    let turn = world.running();
    let step = world.step_report(std::slice::from_ref(&made));
    report(world, step);
    report(world, propose(&made));
    world.ask_unchecked(answer(turn, &made.id.0, Verdict::Deny, "ann")).expect("the call waits");
    let finish = world.finish(&made.id.0, false);
    report(world, finish);
    turn
}

fn report(world: &mut SessionDriver, report: TurnReport) {
    let turn_id = world.running();
    world.ask_unchecked(Command::Report { turn_id, report }).expect("the report is accepted");
}
