//! How turns begin and end: the queue, steering, interrupts, retries, cancels and restarts.

use ostler_types::{
    Accepted, CallStatus, CancelTurn, Command, Decision, Delivery, Event, MessageEvent, MessageId, Part,
    Role, SessionStatus, ToolCall, TurnEvent, TurnId, TurnReport, TurnStatus, Verdict,
};

use crate::session_driver::{
    SessionDriver, answer, cancel, close, completed, failed, names, propose, read, result_texts, shell, start,
};

#[test]
fn a_message_in_an_idle_session_starts_its_turn() {
    let mut world = SessionDriver::new();
    let command = world.submission("go", Delivery::Queue);
    let decision = world.ask(command).expect("the message is accepted");
    assert_eq!(names(&decision), ["message_added", "turn_started"]);
    let Accepted::Message { message_id, turn_id } = decision.accepted else { panic!("the ids are told") };
    assert_eq!(turn_id, Some(world.running()));
    assert_eq!(started(&decision), [(world.running(), vec![message_id])]);
}

#[test]
fn messages_without_a_turn_are_answered_together() {
    let mut world = SessionDriver::with(|new| new.auto_run = false);
    let (first, none) = world.submit("one");
    assert_eq!((none, world.state.turn.is_none()), (None, true));
    let second = world.add("two");
    let turn_id = world.turn_id();
    let decision = world.ask(Command::Run { turn_id }).expect("there is something to run");
    assert_eq!(decision.accepted, Accepted::Turn { turn_id });
    assert_eq!(started(&decision), [(turn_id, vec![first, second])]);
}

#[test]
fn queued_messages_run_in_order_one_turn_each() {
    let mut world = SessionDriver::new();
    world.submit("one");
    let (two, three) = (world.submit("two"), world.submit("three"));
    for (message, turn) in [two, three] {
        let decision = world.report(completed());
        assert_eq!(names(&decision), ["turn_completed", "message_added", "turn_started"]);
        assert_eq!(started(&decision), [(turn.expect("a turn was promised"), vec![message])]);
    }
    world.report(completed());
    assert_eq!((world.state.turn.is_none(), world.state.session.status), (true, SessionStatus::Active));
}

#[test]
fn the_queue_goes_on_after_every_terminal() {
    for end in [completed(), failed()] {
        let mut world = SessionDriver::new();
        world.submit("one");
        let (_, turn) = world.submit("two");
        world.report(end);
        assert_eq!(Some(world.running()), turn);
    }
    let mut world = SessionDriver::new();
    world.submit("one");
    let (_, turn) = world.submit("two");
    world.accept(cancel());
    assert_eq!((Some(world.running()), world.state.session.status), (turn, SessionStatus::Active));
}

#[test]
fn an_interrupt_cancels_and_runs_before_all_that_wait() {
    let mut world = SessionDriver::new();
    world.submit("one");
    let canceled = world.running();
    let (waiting, _) = world.submit("two");
    world.step(&[read("a")]);
    world.report(start(&read("a")));
    let command = world.submission("no, this", Delivery::Interrupt);
    let decision = world.ask(command).expect("an interrupt is accepted");
    let Accepted::Message { message_id, turn_id } = decision.accepted else { panic!("the ids are told") };
    let order = names(&decision);
    assert_eq!(order.first(), Some(&"message_queued"));
    assert_eq!(
        order[order.len() - 4..],
        ["turn_canceled", "session_canceled", "message_added", "turn_started"]
    );
    assert_eq!(started(&decision), [(turn_id.expect("it has a turn"), vec![message_id])]);
    assert_eq!(world.state.turns[0].id, canceled);
    assert_eq!(world.state.turns[0].status, TurnStatus::Canceled);
    assert_eq!(world.state.queue[0].message.id, waiting);
}

#[test]
fn steering_is_handed_to_the_running_turn() {
    let mut world = SessionDriver::new();
    world.submit("one");
    let turn = world.running();
    let (queued, _) = world.submit("two");
    let command = world.submission("mind the tests", Delivery::Steer);
    let (steering, told) = world.submitted(command);
    assert_eq!(told, Some(turn));
    let decision = world.report(TurnReport::TakeSteering);
    assert_eq!((names(&decision), decision.events[0].turn_id), (vec!["message_added"], Some(turn)));
    let Accepted::Steering(messages) = decision.accepted else { panic!("the messages are handed over") };
    assert_eq!(messages.iter().map(|message| message.id).collect::<Vec<_>>(), [steering]);
    assert_eq!(world.state.queue[0].message.id, queued);
    assert_eq!(world.report(TurnReport::TakeSteering).events, []);
}

#[test]
fn steering_that_came_too_late_runs_as_a_turn() {
    let mut world = SessionDriver::new();
    world.submit("one");
    let command = world.submission("mind the tests", Delivery::Steer);
    let (steering, _) = world.submitted(command);
    let decision = world.report(completed());
    let turns = started(&decision);
    assert_eq!((turns.len(), &turns[0].1), (1, &vec![steering]));
}

#[test]
fn a_key_asked_twice_is_one_message_however_it_is_delivered() {
    for delivery in [Delivery::Queue, Delivery::Steer, Delivery::Interrupt] {
        for running in [false, true] {
            let mut world = SessionDriver::new();
            if running {
                world.submit("one");
            }
            let mut ask = || {
                let message = world.message(Role::User, vec![Part::text("two")]);
                let command = world.submission_of(message, delivery, Some("key"));
                let decision = world.ask(command).expect("the message is accepted");
                (decision.accepted, decision.events.len())
            };
            let ((first, _), (second, events)) = (ask(), ask());
            assert_eq!((first, 0), (second, events), "{delivery:?}, running: {running}");
        }
    }
}

#[test]
fn a_retry_repeats_the_messages_of_the_last_turn() {
    for end in [Some(failed()), None] {
        let mut world = SessionDriver::new();
        let (message, _) = world.submit("one");
        let retry_of = world.running();
        match end {
            Some(report) => drop(world.report(report)),
            None => drop(world.accept(cancel())),
        }
        let noted = world.add("and this");
        let turn_id = world.turn_id();
        let decision = world.ask(Command::Retry { retry_of, turn_id }).expect("the last turn can be retried");
        assert_eq!(names(&decision), ["turn_retried", "turn_started"]);
        assert_eq!(started(&decision), [(turn_id, vec![message, noted])]);
        assert_eq!(world.state.session.status, SessionStatus::Active);
        world.report(failed());
        let again = world.turn_id();
        world.accept(Command::Retry { retry_of: turn_id, turn_id: again });
    }
}

#[test]
fn the_next_message_makes_a_failed_session_active() {
    for runs in [true, false] {
        let mut world = SessionDriver::new();
        world.submit("one");
        world.report(failed());
        assert_eq!(world.state.session.status, SessionStatus::Failed);
        if runs {
            world.submit("two");
        } else {
            world.add("two");
        }
        assert_eq!(world.state.session.status, SessionStatus::Active, "auto_run: {runs}");
    }
}

#[test]
fn a_cancel_keeps_the_text_and_answers_the_calls() {
    let mut world = SessionDriver::new();
    world.submit("one");
    let partial = world.partial();
    world.facts.partial = Some(partial.clone());
    let decision = world.ask(cancel()).expect("a cancel is accepted");
    assert_eq!(names(&decision), ["model_output_completed", "turn_canceled", "session_canceled"]);
    let Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) = &decision.events[0].event else {
        panic!("the text is kept")
    };
    assert_eq!(message, &partial);
    assert_eq!(world.state.session.status, SessionStatus::Canceled);
    assert_eq!(world.accept(cancel()), Vec::<&str>::new());

    world.submit("two");
    world.step(&[read("a"), shell("b", "make"), read("c")]);
    world.report(start(&read("a")));
    world.report(propose(&shell("b", "make")));
    let decision = world.ask(cancel()).expect("a cancel is accepted");
    let words = "Cancelled by user: tool execution was interrupted".to_owned();
    let expected: Vec<_> = ["a", "b", "c"].map(|id| (id.to_owned(), words.clone())).into();
    assert_eq!(result_texts(&decision), expected);
}

#[test]
fn a_half_written_call_is_not_kept() {
    let mut world = SessionDriver::new();
    world.submit("one");
    let text = Part::text("I will");
    let partial = world.message(Role::Assistant, vec![text.clone(), Part::ToolCall { call: read("a") }]);
    world.facts.partial = Some(partial);
    let decision = world.ask(cancel()).expect("a cancel is accepted");
    let Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) = &decision.events[0].event else {
        panic!("the text is kept")
    };
    assert_eq!(message.parts, [text]);
    assert_eq!(world.audit.faults, []);
}

#[test]
fn an_empty_partial_message_is_not_recorded() {
    let mut world = SessionDriver::new();
    world.submit("one");
    let partial = world.message(Role::Assistant, vec![Part::text("")]);
    world.facts.partial = Some(partial);
    assert_eq!(world.accept(cancel()), ["turn_canceled", "session_canceled"]);
}

/// A provider refuses a conversation in which anything stands between a call and its result.
#[test]
fn a_cancel_that_names_a_turn_touches_no_other() {
    let named = |turn_id| Command::Cancel(CancelTurn { turn_id, by: "ann".to_owned(), reason: None });
    let mut world = SessionDriver::new();
    world.submit("one");
    let over = world.running();
    world.submit("two");
    let waiting = world.state.queue.front().map(|queued| queued.turn_id);
    assert_eq!(world.accept(named(waiting)), Vec::<&str>::new(), "it has not begun");
    let order = world.accept(named(Some(over)));
    assert_eq!(order[..2], ["turn_canceled", "session_canceled"]);
    assert_eq!(Some(world.running()), waiting, "the next has begun");
    assert_eq!(world.accept(named(Some(over))), Vec::<&str>::new(), "it is over");
    assert_eq!(Some(world.running()), waiting);
    world.accept(named(waiting));
    assert!(world.state.turn.is_none());
    assert_eq!(world.accept(named(waiting)), Vec::<&str>::new());
}

#[test]
fn results_come_before_the_text_that_a_cancel_kept() {
    let mut world = SessionDriver::new();
    world.submit("one");
    world.step(&[read("a")]);
    world.report(start(&read("a")));
    let partial = world.partial();
    world.facts.partial = Some(partial);
    let order = world.accept(cancel());
    let place = |name: &str| order.iter().position(|event| *event == name);
    assert!(place("tool_call_completed") < place("model_output_completed"), "{order:?}");
}

#[test]
fn a_restart_fails_what_ran() {
    let mut world = SessionDriver::new();
    world.submit("one");
    world.step(&[read("a"), shell("b", "make")]);
    world.report(start(&read("a")));
    world.report(propose(&shell("b", "make")));
    let decision = world.ask(Command::Recover { resumable: true }).expect("a recovery is accepted");
    let results = result_texts(&decision);
    assert_eq!(results[0], ("a".to_owned(), "interrupted: outcome unknown".to_owned()));
    assert_eq!(results[1].0, "b");
    assert_ne!(results[1].1, "interrupted: outcome unknown", "b had not started");
    let order = names(&decision);
    assert_eq!(order[order.len() - 2..], ["turn_failed", "session_failed"]);
    let data =
        serde_json::to_value(&decision.events[order.len() - 2].event).expect("an event can be written");
    assert_eq!(data["data"]["reason"], "interrupted");
    let (retry_of, turn_id) = (world.state.turns[0].id, world.turn_id());
    world.accept(Command::Retry { retry_of, turn_id });
}

#[test]
fn a_restart_leaves_what_waited() {
    let mut world = SessionDriver::new();
    world.submit("one");
    let turn = world.running();
    let made: [ToolCall; 4] = [shell("a", "1"), shell("b", "2"), shell("c", "3"), read("d")];
    world.step(&made);
    made[..3].iter().for_each(|call| drop(world.report(propose(call))));
    world.accept(answer(turn, "b", Verdict::Approve, "ann"));
    world.accept(answer(turn, "c", Verdict::Deny, "ann"));
    let before = world.state.clone();
    let suspend = Command::Suspend { resumable: true };
    for command in [suspend, Command::Recover { resumable: true }] {
        assert_eq!(world.accept(command), Vec::<&str>::new());
    }
    assert_eq!(before, world.state);
    world.accept(answer(turn, "a", Verdict::Approve, "ann"));
    assert_eq!(world.status_of("a"), &CallStatus::Granted);
    world.report(start(&made[0]));
}

#[test]
fn a_restart_fails_what_waited_with_an_agent_that_cannot_go_on() {
    let mut world = SessionDriver::new();
    world.submit("one");
    world.step(&[shell("a", "make")]);
    world.report(propose(&shell("a", "make")));
    let order = world.accept(Command::Recover { resumable: false });
    assert_eq!(order[order.len() - 2..], ["turn_failed", "session_failed"]);
    assert_eq!(world.state.session.status, SessionStatus::Failed);
}

#[test]
fn a_restart_keeps_the_queue() {
    let mut world = SessionDriver::new();
    world.submit("one");
    let (message, turn) = world.submit("two");
    world.audit.suspended = true;
    let order = world.accept(Command::Suspend { resumable: true });
    assert_eq!(order, ["turn_canceled", "session_canceled"]);
    assert_eq!(world.state.queue[0].message.id, message);
    world.audit.suspended = false;
    let order = world.accept(Command::Recover { resumable: true });
    assert_eq!((order, Some(world.running())), (vec!["message_added", "turn_started"], turn));
}

#[test]
fn a_close_ends_the_turn_and_empties_the_queue() {
    let mut world = SessionDriver::new();
    world.submit("one");
    world.step(&[read("a")]);
    world.submit("two");
    let order = world.accept(close());
    let ends = ["turn_canceled", "session_canceled", "session_completed"];
    assert_eq!((order[0], &order[order.len() - 3..]), ("message_withdrawn", &ends[..]));
    assert_eq!(world.state.session.status, SessionStatus::Completed);
    assert_eq!(world.accept(close()), Vec::<&str>::new());
    assert_eq!(world.accept(Command::Recover { resumable: true }), Vec::<&str>::new());
    assert_eq!(world.audit.faults, []);
}

/// The turns that a decision starts, with the messages that they answer.
fn started(decision: &Decision) -> Vec<(TurnId, Vec<MessageId>)> {
    let turn = |event: &ostler_types::EventFor| match &event.event {
        Event::Turn(TurnEvent::Started { message_ids, .. }) => Some((event.turn_id?, message_ids.clone())),
        _ => None,
    };
    decision.events.iter().filter_map(turn).collect()
}
