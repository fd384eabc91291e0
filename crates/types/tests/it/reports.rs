//! What an agent may say of its turn, and what it is refused.

use ostler_types::{
    Accepted, Command, Delivery, Part, RefusalKind, Role, StateLimits, ToolKind, TurnReport, Usage, Verdict,
};

use crate::refusals::expect;
use crate::session_driver::{
    SessionDriver, answer, call, cancel, close, completed, failed, names, propose, read, shell, start,
};

#[test]
fn a_turn_that_is_over_cannot_be_spoken_of() {
    for end in [cancel(), close()] {
        let mut world = SessionDriver::new();
        world.submit("go");
        let turn = world.running();
        world.step(&[read("a")]);
        world.accept(end);
        every_report(&mut world, turn);
    }
    let mut world = SessionDriver::new();
    world.submit("one");
    let first = world.running();
    world.report(completed());
    world.submit("two");
    every_report(&mut world, first);
}

fn every_report(world: &mut SessionDriver, turn_id: ostler_types::TurnId) {
    let (finish, step) = (world.finish("a", true), world.step_report(&[]));
    let halted = TurnReport::BatchHalted { tool_call_id: read("a").id };
    let checked =
        TurnReport::VerificationCompleted { round: 1, ok: true, results: Vec::new(), feedback: None };
    let reports = [
        TurnReport::TakeSteering,
        step,
        TurnReport::BatchStarted { parallel: false },
        halted,
        TurnReport::BatchCompleted,
        propose(&read("a")),
        start(&read("a")),
        finish,
        TurnReport::VerificationStarted { round: 1, commands: Vec::new() },
        checked,
        completed(),
        failed(),
    ];
    for report in reports {
        expect(&world.refused(Command::Report { turn_id, report }), RefusalKind::Conflict, "turn_over");
    }
}

#[test]
fn no_step_batch_end_or_completion_while_a_call_has_no_result() {
    let mut world = SessionDriver::new();
    world.submit("go");
    world.step(&[read("a"), read("b")]);
    world.report(start(&read("a")));
    let finish = world.finish("a", true);
    world.report(finish);
    let step = world.step_report(&[]);
    for report in [step, TurnReport::BatchCompleted, completed()] {
        expect(&world.report_refused(report), RefusalKind::Conflict, "call_without_result");
    }
    let finish = world.finish("b", false);
    world.report(finish);
    assert_eq!(names(&world.report(completed())).last(), Some(&"turn_completed"));
}

#[test]
fn a_call_gets_one_result() {
    let mut world = SessionDriver::new();
    world.submit("go");
    world.step(&[read("a"), read("b")]);
    let finish = world.finish("a", true);
    world.report(start(&read("a")));
    world.report(finish.clone());
    expect(&world.report_refused(finish), RefusalKind::Conflict, "call_already_done");
    expect(&world.report_refused(start(&read("a"))), RefusalKind::Conflict, "call_already_started");
    let unknown = world.finish("c", true);
    expect(&world.report_refused(unknown), RefusalKind::NotFound, "tool_call_not_found");
}

#[test]
fn a_call_starts_once() {
    let mut world = SessionDriver::new();
    world.submit("go");
    world.step(&[read("a")]);
    world.report(start(&read("a")));
    expect(&world.report_refused(start(&read("a"))), RefusalKind::Conflict, "call_already_started");
    expect(&world.report_refused(propose(&read("a"))), RefusalKind::Conflict, "call_already_started");
    expect(&world.report_refused(start(&read("b"))), RefusalKind::NotFound, "tool_call_not_found");
    expect(&world.report_refused(propose(&read("b"))), RefusalKind::NotFound, "tool_call_not_found");
}

#[test]
fn a_call_that_must_be_approved_does_not_start_before() {
    let mut world = SessionDriver::new();
    world.submit("go");
    let turn = world.running();
    let made = shell("a", "make");
    world.step(std::slice::from_ref(&made));
    expect(&world.report_refused(start(&made)), RefusalKind::Conflict, "call_not_approved");
    world.report(propose(&made));
    expect(&world.report_refused(start(&made)), RefusalKind::Conflict, "call_not_approved");
    world.accept(answer(turn, "a", Verdict::Deny, "ann"));
    expect(&world.report_refused(start(&made)), RefusalKind::Conflict, "call_not_approved");
    let finish = world.finish("a", false);
    world.report(finish);
    world.step(&[]);
}

/// Nobody but the person who is asked takes a question away.
#[test]
fn a_call_that_waits_gets_no_result_before_its_answer() {
    let mut world = SessionDriver::new();
    world.submit("go");
    let turn = world.running();
    let made = shell("a", "make");
    world.step(std::slice::from_ref(&made));
    world.report(propose(&made));
    let (finish, turn_id) = (world.finish("a", true), turn);
    let outcome = world.ask(Command::Report { turn_id, report: finish });
    assert!(outcome.is_err(), "the approval vanished without an answer: {outcome:?}");
    world.accept(answer(turn, "a", Verdict::Approve, "ann"));
}

#[test]
fn two_calls_of_a_message_have_two_ids() {
    let mut world = SessionDriver::new();
    world.submit("go");
    let step = world.step_report(&[read("a"), shell("a", "make")]);
    expect(&world.report_refused(step), RefusalKind::Invalid, "bad_tool_calls");
}

/// Within a turn a call is known by its id alone, so an id that comes again would start twice.
#[test]
fn two_steps_of_a_turn_share_no_call_id() {
    let mut world = SessionDriver::new();
    world.submit("go");
    world.step(&[read("a")]);
    let finish = world.finish("a", true);
    world.report(start(&read("a")));
    world.report(finish);
    let (step, turn_id) = (world.step_report(&[read("a")]), world.running());
    let outcome = world.ask(Command::Report { turn_id, report: step });
    let code = outcome.as_ref().err().map(|refusal| refusal.code.as_str());
    assert_eq!(code, Some("bad_tool_calls"), "call a could start a second time");
}

#[test]
fn two_turns_may_share_a_call_id() {
    let mut world = SessionDriver::new();
    for _ in 0..2 {
        world.submit("go");
        world.step(&[read("a")]);
        world.report(start(&read("a")));
        let finish = world.finish("a", true);
        world.report(finish);
        world.report(completed());
    }
    assert_eq!(world.audit.faults, []);
}

#[test]
fn a_message_asks_for_no_more_calls_than_the_limit() {
    let calls: Vec<_> = (0..=StateLimits::CALLS).map(|n| read(&format!("call_{n}"))).collect();
    let mut world = SessionDriver::new();
    world.submit("go");
    let step = world.step_report(&calls);
    expect(&world.report_refused(step), RefusalKind::Invalid, "bad_tool_calls");
    world.step(&calls[1..]);
    assert_eq!(world.calls().len(), StateLimits::CALLS);
}

#[test]
fn a_step_tells_of_its_reasoning_first() {
    let mut world = SessionDriver::new();
    world.submit("go");
    let thought = Part::Reasoning { text: "hm, é".to_owned(), opaque: None };
    let message = world.message(Role::Assistant, vec![thought, Part::text("yes")]);
    let (stop_reason, usage) = ("end_turn".to_owned(), Usage::default());
    let decision =
        world.report(TurnReport::StepFinished { model: "m".to_owned(), message, stop_reason, usage });
    assert_eq!(names(&decision), ["reasoning_completed", "model_output_completed"]);
    let data = serde_json::to_value(&decision.events[0].event).expect("an event can be written");
    assert_eq!((&data["data"]["part"], &data["data"]["bytes"]), (&0.into(), &6.into()));
}

#[test]
fn a_turn_adds_up_what_its_steps_cost() {
    let mut world = SessionDriver::new();
    world.submit("go");
    world.step(&[]);
    world.step(&[]);
    let decision = world.report(completed());
    let data = serde_json::to_value(&decision.events[0].event).expect("an event can be written");
    assert_eq!(data["data"]["usage"]["input_tokens"], 20);
    assert_eq!(world.state.session.usage.output_tokens, 4);
}

/// The same step as the last of its turn.
fn as_last(step: TurnReport) -> TurnReport {
    let TurnReport::StepFinished { model, message, stop_reason, usage } = step else {
        panic!("it is no step")
    };
    TurnReport::LastStepFinished { model, message, stop_reason, usage }
}

#[test]
fn a_last_step_and_the_end_of_its_turn_are_decided_at_once() {
    let mut world = SessionDriver::new();
    world.submit("go");
    world.step(&[]);
    let (queued, turn) = world.submit("and then");
    let step = world.step_report(&[]);
    let decision = world.report(as_last(step));
    let order =
        ["model_output_completed", "usage_recorded", "turn_completed", "message_added", "turn_started"];
    assert_eq!((names(&decision), decision.accepted), (order.to_vec(), Accepted::Done));
    let data = serde_json::to_value(&decision.events[2].event).expect("an event can be written");
    assert_eq!(data["data"]["usage"]["input_tokens"], 20);
    assert_eq!((Some(world.running()), world.state.turn.as_ref().unwrap().message_ids[0]), (turn, queued));
    assert_eq!(world.audit.faults, []);
}

#[test]
fn a_last_step_is_not_the_last_where_something_steers_the_turn() {
    let mut world = SessionDriver::new();
    world.submit("go");
    let turn = world.running();
    let steer = world.submission("mind the tests", Delivery::Steer);
    world.submitted(steer);
    let step = world.step_report(&[]);
    let decision = world.report(as_last(step));
    assert_eq!(names(&decision), ["model_output_completed", "usage_recorded", "message_added"]);
    assert!(matches!(decision.accepted, Accepted::Steering(messages) if messages.len() == 1));
    assert_eq!(world.running(), turn);
    let step = world.step_report(&[read("a")]);
    expect(&world.report_refused(as_last(step)), RefusalKind::Invalid, "bad_tool_calls");
    assert_eq!(world.audit.faults, []);
}

/// A provider may say anything, and what was recorded can always be applied.
#[test]
fn a_nonsensical_cost_does_not_overflow() {
    let mut world = SessionDriver::new();
    world.submit("go");
    for _ in 0..2 {
        let message = world.message(Role::Assistant, vec![Part::text("yes")]);
        let usage = Usage { input_tokens: u64::MAX, ..Usage::default() };
        let (model, stop_reason) = ("m".to_owned(), "end_turn".to_owned());
        world.report(TurnReport::StepFinished { model, message, stop_reason, usage });
    }
    assert_eq!(world.state.session.usage.input_tokens, u64::MAX);
}

#[test]
fn a_turn_knows_whether_the_workspace_changed_since_it_was_checked() {
    let mut world = SessionDriver::new();
    world.submit("go");
    let changed = |world: &SessionDriver| world.state.turn.as_ref().is_some_and(|turn| turn.changed);
    let write = call("w", "write_file", serde_json::json!({"path": "b", "content": ""}));
    world.step(&[read("a"), write.clone()]);
    world.report(start(&read("a")));
    assert!(!changed(&world));
    let turn = world.running();
    world.report(propose(&write));
    world.accept(answer(turn, "w", Verdict::Approve, "ann"));
    world.report(TurnReport::CallStarted { tool_call: write, kind: ToolKind::Write });
    assert!(changed(&world));
    for id in ["a", "w"] {
        let report = world.finish(id, true);
        world.report(report);
    }
    world.report(TurnReport::BatchCompleted);
    for (ok, expected) in [(false, true), (true, false)] {
        world.report(TurnReport::VerificationStarted { round: 1, commands: Vec::new() });
        world.report(TurnReport::VerificationCompleted { round: 1, ok, results: Vec::new(), feedback: None });
        assert_eq!(changed(&world), expected);
    }
}
