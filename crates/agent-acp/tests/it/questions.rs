//! What an agent asks, and what it hears.

use ostler_types::{ApprovalEvent, CallEvent, Event, OptionKind, Policy, ToolKind, Verdict};

use crate::fixture::{
    AcpTestSession, agent_of, check, directory, host, program, settings, test_session,
    test_session_with_policy, until, within,
};

#[tokio::test]
async fn a_question_waits_for_a_person_and_the_agent_hears_its_own_option() {
    // The agent calls it reading, and the policy would let everything through: a question is a question.
    let world = test_session(&[]);
    let running = world.begin("say:May_I? ask:q say:Thanks.");
    within(world.host.recorded("approval_requested", 1)).await;
    let approval = world.host.state().pending_approvals().next().unwrap().clone();
    assert_eq!(approval.kind, ToolKind::Exec, "a command is more than reading, whatever the agent says");
    assert!(approval.summary.starts_with("run do q\nThe agent says: Do q"), "{}", approval.summary);
    let kinds: Vec<OptionKind> = approval.options.iter().map(|option| option.kind).collect();
    assert_eq!(kinds, [OptionKind::AllowOnce, OptionKind::AllowAlways, OptionKind::RejectOnce]);
    world.host.answer("q", Verdict::Approve, None).unwrap();
    running.await.unwrap().unwrap();
    check(&world.host);
    assert_eq!(world.notes("answer"), [r#"q {"outcome": "selected", "optionId": "yes"}"#]);
    assert_eq!(world.answers(), ["May I?", "Thanks."]);
    assert!(world.result("q").ok);
}

#[tokio::test]
async fn a_no_is_heard_too() {
    let world = test_session_with_policy(Policy::default(), &[]).answering(Verdict::Deny);
    world.ask("ask:q say:Pity.").await.unwrap();
    assert_eq!(world.notes("answer"), [r#"q {"outcome": "selected", "optionId": "no"}"#]);
    assert!(world.result("q").text().contains("The user denied this call"));
    assert_eq!(world.answers(), ["Pity."]);
}

#[tokio::test]
async fn an_agent_that_stops_at_a_no_has_ended_its_turn() {
    let world = test_session_with_policy(Policy::default(), &[]).answering(Verdict::Deny);
    assert_eq!(world.ask("ask:q cancelled").await.unwrap().stop_reason, "denied");
}

#[tokio::test]
async fn two_questions_at_once_are_both_answered() {
    let world = test_session_with_policy(Policy::default(), &[]).answering(Verdict::Approve);
    world.ask("pend:a pend:b asks:a,b say:both").await.unwrap();
    assert_eq!(world.notes("answer").len(), 2);
    assert!(world.result("a").ok && world.result("b").ok);
    assert_eq!(world.answers(), ["both"]);
}

#[tokio::test]
async fn two_questions_about_calls_in_progress_are_both_answered() {
    let world = announcing_world().answering(Verdict::Approve);
    world.ask("open:a open:b asks:a,b say:both").await.unwrap();
    assert_eq!(world.notes("answer").len(), 2);
    assert!(world.results().iter().all(|result| result.ok));
    assert_eq!(world.answers(), ["both"]);
}

#[tokio::test]
async fn a_question_of_a_call_within_a_call_does_not_wait_for_the_outer_one() {
    let world = test_session_with_policy(Policy::default(), &[]).answering(Verdict::Approve);
    world.ask("open:outer ask:inner done:outer say:end").await.unwrap();
    let outer = world.result("outer");
    assert_eq!(outer.details.unwrap()["goes_on"], true);
    assert_eq!(world.result("outer_2").text(), "outer is completed");
    assert!(world.result("inner").ok);
}

/// A world whose agent announces calls as in progress and asks about them afterwards.
fn announcing_world() -> AcpTestSession {
    let directory = directory();
    let mut program = program(&directory, &[]);
    program.announces_before_asking = true;
    let (host, agent) = (host(&directory, Policy::default()), agent_of(program, settings()));
    AcpTestSession { host, agent, directory }
}

#[tokio::test]
async fn a_call_that_is_announced_in_progress_before_its_question_is_one_call() {
    for (verdict, ok) in [(Verdict::Approve, true), (Verdict::Deny, false)] {
        let world = announcing_world().answering(verdict);
        world.ask("open:q ask:q say:end").await.unwrap();
        assert_eq!(world.result("q").ok, ok);
        let events = world.host.events();
        let calls =
            events.iter().filter(|event| matches!(event, Event::Call(CallEvent::Completed { .. }))).count();
        let starts =
            events.iter().filter(|event| matches!(event, Event::Call(CallEvent::Started { .. }))).count();
        assert_eq!((calls, starts), (1, usize::from(ok)), "{events:?}");
    }
}

#[tokio::test]
async fn a_call_in_progress_is_recorded_as_started_although_nobody_asks() {
    let (plain, announcing) = (test_session(&[]), announcing_world());
    for (world, prompt) in [(plain, "open:q wait"), (announcing, "open:q work:q wait")] {
        let running = world.begin(prompt);
        within(world.host.recorded("tool_call_started", 1)).await;
        world.host.cancel();
        assert_eq!(running.await.unwrap().unwrap_err().reason, "turn_over");
    }
}

#[tokio::test]
async fn asking_twice_about_one_call_is_two_questions() {
    let world = test_session_with_policy(Policy::default(), &[]).answering(Verdict::Approve);
    world.ask("ask:q ask:q say:end").await.unwrap();
    assert_eq!(world.notes("answer").len(), 2);
    let asked = |event: &Event| matches!(event, Event::Approval(ApprovalEvent::Requested { .. }));
    assert_eq!(world.host.events().iter().filter(|event| asked(event)).count(), 2);
    assert!(world.result("q").ok && world.result("q_2").ok);
}

#[tokio::test]
async fn a_question_that_is_canceled_is_answered_so() {
    let world = test_session_with_policy(Policy::default(), &[]);
    let running = world.begin("say:before ask:q");
    within(world.host.recorded("approval_requested", 1)).await;
    world.host.cancel();
    assert_eq!(running.await.unwrap().unwrap_err().reason, "turn_over");
    check(&world.host);
    until(|| !world.notes("answer").is_empty()).await;
    assert_eq!(world.notes("answer"), [r#"q {"outcome": "cancelled"}"#]);
    assert_eq!(world.answers(), ["before"]);
    // The session goes on in the same process.
    world.ask("say:after").await.unwrap();
    assert_eq!(world.notes("start").len(), 1);
    assert_eq!(world.notes("new").len(), 1);
}

#[tokio::test]
async fn an_agent_that_stops_while_it_asks_fails_its_turn() {
    let world = test_session_with_policy(Policy::default(), &[]);
    let failed = world.ask("quit-asking").await.unwrap_err();
    assert_eq!(failed.reason, "agent_stopped");
    assert_eq!(world.host.state().pending_approvals().count(), 0);
}

impl AcpTestSession {
    fn answering(mut self, verdict: Verdict) -> Self {
        let reason = (verdict == Verdict::Deny).then(|| "not today".to_owned());
        self.host = self.host.answering(move |_| Some((verdict, reason.clone())));
        self
    }
}
