//! What clients are refused, by code and kind. Every refusal says something to a person, and none
//! changes the session. What agents are refused is in [`crate::reports`].

use ostler_types::{
    AnswerApproval, CancelTurn, Command, Delivery, Event, Part, Refusal, RefusalKind, RequeueMessage, Role,
    SessionEvent, StateLimits, SubmitMessage, ToolCallId, TurnEvent, TurnReport, Verdict,
};
use serde_json::json;

use crate::session_driver::{SessionDriver, answer, call, close, completed, failed, propose, shell};

#[test]
fn a_closed_session_takes_no_message_run_or_retry() {
    let mut world = SessionDriver::new();
    world.submit("go");
    let failed_turn = world.running();
    world.report(failed());
    world.accept(close());
    let (submit, turn_id) = (world.submission("more", Delivery::Queue), world.turn_id());
    for command in [submit, Command::Run { turn_id }, Command::Retry { retry_of: failed_turn, turn_id }] {
        expect(&world.refused(command), RefusalKind::Conflict, "session_closed");
    }
}

#[test]
fn a_client_speaks_as_user_or_system_only() {
    for role in [Role::Assistant, Role::Tool] {
        let refusal = refused_message(role, vec![Part::text("hello")]);
        expect(&refusal, RefusalKind::Invalid, "role_not_allowed");
    }
    let mut world = SessionDriver::new();
    let message = world.message(Role::System, vec![Part::text("be brief")]);
    let command = world.submission_of(message, Delivery::Queue, None);
    world.submitted(command);
}

#[test]
fn a_message_has_parts() {
    expect(&refused_message(Role::User, Vec::new()), RefusalKind::Invalid, "empty_message");
}

/// Calls and results of a client's own making would have no partner.
#[test]
fn a_client_sends_text_and_files_only() {
    let result = Part::ToolResult {
        images: Vec::new(),
        tool_call_id: ToolCallId("a".to_owned()),
        name: "shell".to_owned(),
        ok: true,
        text: "fine".to_owned(),
    };
    let asked = Part::ToolCall { call: call("a", "shell", json!({"command": "ls"})) };
    let thought = Part::Reasoning { text: "hm".to_owned(), opaque: None };
    for part in [result, asked, thought] {
        let mut world = SessionDriver::new();
        let message = world.message(Role::User, vec![Part::text("hello"), part.clone()]);
        let command = world.submission_of(message, Delivery::Queue, None);
        let outcome = world.ask(command);
        let kind = outcome.as_ref().err().map(|refusal| refusal.kind);
        assert_eq!(kind, Some(RefusalKind::Invalid), "{part:?}");
    }
}

#[test]
fn a_large_message_is_refused_with_a_way_out() {
    let text = "x".repeat(StateLimits::MESSAGE_BYTES + 1);
    let refusal = refused_message(Role::User, vec![Part::text(text)]);
    expect(&refusal, RefusalKind::TooLarge, "too_large");
    assert!(refusal.hint.is_some());
    let mut world = SessionDriver::new();
    world.submit(&"x".repeat(StateLimits::MESSAGE_BYTES));
}

#[test]
fn a_message_without_a_turn_waits_for_an_idle_session() {
    let mut world = SessionDriver::new();
    world.submit("go");
    let mut command = world.submission("note this", Delivery::Queue);
    if let Command::Submit(SubmitMessage { auto_run, .. }) = &mut command {
        *auto_run = Some(false);
    }
    let refusal = world.refused(command);
    expect(&refusal, RefusalKind::Conflict, "turn_running");
    assert!(refusal.hint.is_some());
}

#[test]
fn only_a_queued_message_can_be_withdrawn() {
    let mut world = SessionDriver::new();
    let (delivered, _) = world.submit("go");
    let (waiting, _) = world.submit("then this");
    let (unknown, by) = (world.message_id(), "ann".to_owned());
    for message_id in [delivered, unknown] {
        let refusal = world.refused(Command::Withdraw { message_id, by: by.clone() });
        expect(&refusal, RefusalKind::NotFound, "message_not_queued");
    }
    let withdraw = Command::Withdraw { message_id: waiting, by };
    assert_eq!(world.accept(withdraw.clone()), ["message_withdrawn"]);
    expect(&world.refused(withdraw), RefusalKind::NotFound, "message_not_queued");
    world.report(completed());
    assert!(world.state.turn.is_none(), "what was withdrawn does not run");
}

#[test]
fn a_queued_message_can_be_edited_moved_and_made_to_steer() {
    let mut world = SessionDriver::new();
    let (delivered, running) = world.submit("go");
    let [a, b, c] = ["a", "b", "c"].map(|text| world.submit(text).0);
    let turn_id = world.turn_id();
    let change = |message_id, parts, delivery, before| {
        let by = "ann".to_owned();
        Command::Requeue(RequeueMessage { message_id, turn_id, parts, delivery, before, by })
    };
    let order = |world: &SessionDriver| -> Vec<String> {
        world.state.queue.iter().map(|queued| queued.message.text()).collect()
    };
    assert_eq!(world.accept(change(c, None, None, Some(Some(a)))), ["message_queued"]);
    assert_eq!(order(&world), ["c", "a", "b"]);
    let set_aside = world.state.queue[1].turn_id;
    world.accept(change(a, Some(vec![Part::text("A")]), None, None));
    assert_eq!(order(&world), ["c", "A", "b"]);
    assert_eq!(world.state.queue[1].turn_id, set_aside, "whoever waits for its turn still does");
    world.accept(change(c, None, None, Some(None)));
    assert_eq!(order(&world), ["A", "b", "c"]);
    for same in [
        change(c, None, None, None),
        change(c, None, None, Some(Some(c))),
        change(b, None, None, Some(Some(c))),
    ] {
        assert!(world.accept(same).is_empty(), "what is so already is not recorded");
    }
    let steered = world.accept(change(b, None, Some(Delivery::Steer), None));
    assert_eq!(steered, ["message_withdrawn", "message_queued"]);
    assert_eq!(
        (order(&world), world.state.queue[1].turn_id),
        (vec!["A".into(), "b".into(), "c".into()], turn_id)
    );
    world.accept(Command::Report { turn_id: running.unwrap(), report: TurnReport::TakeSteering });
    assert_eq!(order(&world), ["A", "c"]);
    for (command, kind, code) in [
        (change(delivered, None, None, None), RefusalKind::NotFound, "message_not_queued"),
        (change(a, None, None, Some(Some(b))), RefusalKind::Conflict, "before_not_queued"),
        (change(a, Some(Vec::new()), None, None), RefusalKind::Invalid, "empty_message"),
        (change(a, None, Some(Delivery::Interrupt), None), RefusalKind::Invalid, "delivery_not_allowed"),
    ] {
        expect(&world.refused(command), kind, code);
    }
    let long = Some(vec![Part::text("x".repeat(StateLimits::MESSAGE_BYTES + 1))]);
    expect(&world.refused(change(a, long, None, None)), RefusalKind::TooLarge, "too_large");
}

#[test]
fn a_run_needs_something_to_run_and_an_idle_session() {
    let mut world = SessionDriver::new();
    let turn_id = world.turn_id();
    let refusal = world.refused(Command::Run { turn_id });
    expect(&refusal, RefusalKind::Conflict, "nothing_to_run");
    assert!(refusal.hint.is_some());
    world.submit("go");
    let refusal = world.refused(Command::Run { turn_id });
    expect(&refusal, RefusalKind::Conflict, "turn_running");
    assert!(refusal.hint.is_some());
}

#[test]
fn only_the_last_turn_can_be_retried_and_only_if_it_failed_or_was_canceled() {
    let mut world = SessionDriver::new();
    let unknown = world.turn_id();
    expect(&retry_refused(&mut world, unknown), RefusalKind::NotFound, "turn_not_found");
    world.submit("one");
    let first = world.running();
    expect(&retry_refused(&mut world, first), RefusalKind::Conflict, "turn_running");
    world.report(failed());
    world.submit("two");
    world.report(completed());
    let refusal = retry_refused(&mut world, first);
    expect(&refusal, RefusalKind::Conflict, "turn_not_last");
    assert!(refusal.hint.is_some());
    let second = world.state.session.last_turn_id.expect("two turns ran");
    expect(&retry_refused(&mut world, second), RefusalKind::Conflict, "turn_not_failed");
}

#[test]
fn an_answer_needs_a_call_that_waits() {
    let mut world = SessionDriver::new();
    world.submit("go");
    let (turn, other) = (world.running(), world.turn_id());
    let made = shell("a", "make");
    world.step(std::slice::from_ref(&made));
    let refusal = world.refused(answer(turn, "a", Verdict::Approve, "ann"));
    expect(&refusal, RefusalKind::Conflict, "not_waiting");
    world.report(propose(&made));
    let refusal = world.refused(answer(other, "a", Verdict::Approve, "ann"));
    expect(&refusal, RefusalKind::NotFound, "turn_not_found");
    assert!(world.ask(answer(turn, "b", Verdict::Approve, "ann")).is_err(), "there is no call b");
    world.accept(answer(turn, "a", Verdict::Approve, "ann"));
}

#[test]
fn labels_are_short() {
    let long = Some("x".repeat(StateLimits::LABEL_BYTES + 1));
    let mut world = SessionDriver::new();
    let message = world.message(Role::User, vec![Part::text("hello")]);
    let submit = world.submission_of(message, Delivery::Queue, long.as_deref());
    let change =
        ostler_types::SessionChange { title: long.clone(), ..ostler_types::SessionChange::default() };
    let turn_id = world.turn_id();
    let answer = Command::Answer(AnswerApproval {
        review: None,
        option: None,
        turn_id,
        tool_call_id: ToolCallId("a".to_owned()),
        verdict: Verdict::Deny,
        scope: ostler_types::Scope::Once,
        reason: long.clone(),
        by: "ann".to_owned(),
    });
    for command in [submit, Command::Update(change), answer] {
        expect(&world.refused(command), RefusalKind::TooLarge, "too_large");
    }
}

/// A reason is as short as any other label, whoever gives it: cut or refused, but not kept whole.
#[test]
fn the_reason_of_a_cancel_is_short() {
    let mut world = SessionDriver::new();
    world.submit("go");
    let reason = Some("x".repeat(StateLimits::LABEL_BYTES + 1));
    drop(world.ask(Command::Cancel(CancelTurn { turn_id: None, by: "ann".to_owned(), reason })));
    let kept = world.log.iter().filter_map(|record| match &record.event {
        Event::Turn(TurnEvent::Canceled { reason, .. })
        | Event::Session(SessionEvent::Canceled { reason, .. }) => reason.as_ref(),
        _ => None,
    });
    assert_eq!(kept.map(String::len).find(|length| *length > StateLimits::LABEL_BYTES), None);
}

fn refused_message(role: Role, parts: Vec<Part>) -> Refusal {
    let mut world = SessionDriver::new();
    let message = world.message(role, parts);
    let command = world.submission_of(message, Delivery::Queue, None);
    world.refused(command)
}

fn retry_refused(world: &mut SessionDriver, retry_of: ostler_types::TurnId) -> Refusal {
    let turn_id = world.turn_id();
    world.refused(Command::Retry { retry_of, turn_id })
}

/// The refusal is of this kind and code, and has words for people.
pub(crate) fn expect(refusal: &Refusal, kind: RefusalKind, code: &str) {
    assert_eq!((refusal.kind, refusal.code.as_str()), (kind, code));
    assert!(!refusal.message.trim().is_empty() && refusal.to_string() == refusal.message);
}
