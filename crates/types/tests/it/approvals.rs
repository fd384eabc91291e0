//! Questions and answers: who is asked, whose answer counts, and how long it holds.

use ostler_types::{
    Accepted, AnswerApproval, CallStatus, Command, CommandPattern, Policy, RefusalKind, Rule, Scope,
    SessionChange, SessionStatus, ToolCall, ToolCallId, TurnId, TurnReport, Verdict,
};
use serde_json::json;

use crate::refusals::expect;
use crate::session_driver::{
    SessionDriver, answer, call, cancel, completed, kind_of, names, propose, read, shell, start, subject,
};

#[test]
fn the_first_answer_wins_and_the_second_is_told_of_it() {
    for (verdict, how) in [(Verdict::Approve, "approved"), (Verdict::Deny, "denied")] {
        let (mut world, turn) = waiting(&shell("a", "make"));
        world.accept(answer(turn, "a", verdict, "ann"));
        let refusal = world.refused(answer(turn, "a", Verdict::Approve, "bob"));
        expect(&refusal, RefusalKind::Conflict, "already_answered");
        assert!(refusal.message.contains("ann") && refusal.message.contains(how), "{}", refusal.message);
    }
}

#[test]
fn a_late_answer_is_told_of_the_first_even_when_the_turn_is_over() {
    let (mut world, turn) = waiting(&shell("a", "make"));
    world.accept(answer(turn, "a", Verdict::Deny, "ann"));
    let finish = world.finish("a", false);
    world.report(finish);
    world.report(completed());
    let refusal = world.refused(answer(turn, "a", Verdict::Approve, "bob"));
    expect(&refusal, RefusalKind::Conflict, "already_answered");
    assert!(refusal.message.contains("ann"));
}

#[test]
fn a_question_that_a_cancel_took_away_cannot_be_answered() {
    let (mut world, turn) = waiting(&shell("a", "make"));
    world.accept(cancel());
    assert_eq!(world.state.pending_approvals().count(), 0);
    expect(&world.refused(answer(turn, "a", Verdict::Approve, "ann")), RefusalKind::Conflict, "not_waiting");
}

#[test]
fn a_question_shows_the_call_and_the_rule() {
    let (world, turn) = waiting(&shell("a", "make test"));
    let waiting: Vec<_> = world.state.view().pending_approvals;
    assert_eq!(waiting.len(), 1);
    assert_eq!((waiting[0].turn_id, waiting[0].tool_call_id.0.as_str()), (turn, "a"));
    assert_eq!(
        waiting[0].rule,
        rule(&shell("a", "make test")).in_workspace(&world.state.session.workspace_path)
    );
    assert_eq!(world.state.session.status, SessionStatus::WaitingApproval);
}

#[test]
fn a_question_asked_twice_is_one_question() {
    let made = shell("a", "make");
    let (mut world, turn) = waiting(&made);
    let again = world.report(propose(&made));
    assert_eq!((again.accepted, again.events), (Accepted::Waiting, Vec::new()));
    world.accept(answer(turn, "a", Verdict::Approve, "ann"));
    let allowed = world.report(propose(&made));
    assert_eq!((allowed.accepted, allowed.events), (Accepted::Allowed, Vec::new()));
    assert_eq!(world.status_of("a"), &CallStatus::Granted);
}

#[test]
fn a_denial_reaches_the_agent_with_its_reason_and_the_turn_goes_on() {
    let made = shell("a", "rm -r .");
    let (mut world, turn_id) = waiting(&made);
    let reason = Some("too much".to_owned());
    let tool_call_id = ToolCallId("a".to_owned());
    let (verdict, scope, by) = (Verdict::Deny, Scope::Once, "ann".to_owned());
    world.accept(Command::Answer(AnswerApproval {
        turn_id,
        tool_call_id,
        verdict,
        scope,
        reason: reason.clone(),
        review: None,
        option: None,
        by,
    }));
    assert_eq!(world.report(propose(&made)).accepted, Accepted::Denied { reason });
    assert_eq!(world.running(), turn_id);
    assert_eq!(world.state.session.status, SessionStatus::Active);
}

#[test]
fn an_answer_for_the_session_holds_for_the_same_call_only() {
    for (scope, remembered) in [(Scope::Once, false), (Scope::Session, true), (Scope::Always, true)] {
        let (mut world, turn) = waiting(&shell("a", "make test"));
        world.accept(scoped(turn, "a", scope));
        let finish = world.finish("a", true);
        world.report(start(&shell("a", "make test")));
        world.report(finish);
        let others = [shell("b", "make test"), shell("c", "make test; rm -r ."), shell("d", "make")];
        world.step(&others);
        let free = Accepted::Allowed;
        assert_eq!(world.report(propose(&others[0])).accepted == free, remembered, "{scope:?}");
        assert_eq!(world.report(propose(&others[1])).accepted, Accepted::Waiting);
        assert_eq!(world.report(propose(&others[2])).accepted, Accepted::Waiting);
    }
}

#[test]
fn a_denial_makes_no_rule() {
    let (mut world, turn_id) = waiting(&shell("a", "make"));
    let mut command = scoped(turn_id, "a", Scope::Session);
    if let Command::Answer(AnswerApproval { verdict, .. }) = &mut command {
        *verdict = Verdict::Deny;
    }
    world.accept(command);
    assert_eq!(world.state.session.policy.approval.rules, []);
}

/// The model's call may carry arguments that only the agent reads; the rule is made from what was shown.
#[test]
fn the_rule_that_is_remembered_is_the_rule_that_was_shown() {
    let mut world = SessionDriver::new();
    world.submit("go");
    let turn = world.running();
    world.step(&[call("a", "task", json!({"description": "look", "_parallel": true}))]);
    let seen = call("a", "task", json!({"description": "look"}));
    world.report(propose(&seen));
    let shown = world.state.view().pending_approvals[0].rule.clone();
    world.accept(scoped(turn, "a", Scope::Session));
    assert_eq!(world.state.session.policy.approval.rules, [shown]);
}

/// What was shown is what was approved: another input under the same id is another call.
#[test]
fn only_the_call_that_was_shown_may_start() {
    for other in [shell("a", "rm -r ."), call("a", "write_file", json!({"command": "ls"}))] {
        let (mut world, turn_id) = waiting(&shell("a", "make"));
        world.accept(answer(turn_id, "a", Verdict::Approve, "ann"));
        let report = TurnReport::CallStarted { tool_call: other.clone(), kind: kind_of("shell") };
        let outcome = world.ask(Command::Report { turn_id, report });
        assert!(outcome.is_err(), "started {other:?} on the approval of ls");
        world.report(start(&shell("a", "make")));
    }
}

#[test]
fn a_rule_from_outside_grants_without_a_question() {
    let mut world = SessionDriver::new();
    world.submit("go");
    let made = shell("a", "make");
    world.step(std::slice::from_ref(&made));
    world.facts.policy_context.rules = vec![rule(&made)];
    let decision = world.report(propose(&made));
    assert_eq!((names(&decision), &decision.accepted), (vec!["approval_granted"], &Accepted::Allowed));
    assert_eq!(
        world.state.session.policy.approval.rules,
        [],
        "the rule lives outside, and can be revoked there"
    );
    world.report(start(&made));
}

#[test]
fn what_the_policy_does_not_ask_about_is_free() {
    let mut world = SessionDriver::new();
    world.submit("go");
    world.step(&[read("a")]);
    let decision = world.report(propose(&read("a")));
    assert_eq!((decision.accepted, decision.events), (Accepted::Allowed, Vec::new()));
}

#[test]
fn a_stricter_policy_holds_at_once() {
    let mut world = SessionDriver::new();
    world.submit("go");
    world.step(&[read("a")]);
    assert_eq!(world.report(propose(&read("a"))).accepted, Accepted::Allowed);
    let mut policy = Policy::default();
    policy.approval.require_for_tools.push("read_file".to_owned());
    world.accept(Command::Update(SessionChange { policy: Some(policy), ..SessionChange::default() }));
    expect(&world.report_refused(start(&read("a"))), RefusalKind::Conflict, "call_not_approved");
    assert_eq!(world.report(propose(&read("a"))).accepted, Accepted::Waiting);
}

#[test]
fn a_rule_names_one_exact_call() {
    let base = json!({"command": "make", "cwd": "sub"});
    let cases = [
        (json!({"command": "make"}), json!({"command": "make"}), true),
        (json!({"command": "make"}), json!({"command": "make "}), false),
        (json!({"command": "make"}), base.clone(), false),
        (base.clone(), base.clone(), true),
        (base, json!({"command": "make", "cwd": "other"}), false),
        (json!({"path": "a"}), json!({"path": "a/b"}), false),
        (json!({"query": "x"}), json!({"query": "xy"}), false),
    ];
    for (allowed, asked, same) in cases {
        let rule = rule(&call("a", "tool", allowed.clone()));
        assert_eq!(allows(&rule, &call("b", "tool", asked.clone())), same, "{allowed} then {asked}");
        assert!(!allows(&rule, &call("b", "other", asked)));
    }
}

#[test]
fn a_rule_says_all_that_it_allows() {
    let told = |tool: &str, input| rule(&call("a", tool, input)).to_string();
    assert_eq!(told("write_file", json!({"path": "a.txt", "content": "x"})), "write_file a.txt");
    assert_eq!(told("shell", json!({"command": "make; rm -r 'my dir'"})), "make, rm -r 'my dir'");
    assert_eq!(told("shell", json!({"command": "eval \"$x\""})), "shell eval \"$x\"");
    // A rule for commands goes further than the line that was asked about, and says how far.
    let mut rule = rule(&call("a", "shell", json!({"command": "cargo test -p a"})));
    let pattern =
        |argv: &[&str], open| CommandPattern { argv: argv.iter().map(|&word| word.into()).collect(), open };
    rule.commands = vec![pattern(&["cargo", "test"], true), pattern(&["echo", "it's"], false)];
    assert_eq!(rule.to_string(), r"cargo test …, echo 'it'\''s'");
}

/// In some tools `command` is a verb, and what it acts on is another argument.
#[test]
fn a_rule_for_a_command_on_a_path_names_both() {
    let rule = rule(&call("a", "editor", json!({"command": "write", "path": "notes.txt"})));
    assert!(!allows(
        &rule,
        &call("b", "editor", json!({"command": "write", "path": ".git/hooks/post-commit"}))
    ));
}

fn rule(call: &ToolCall) -> Rule {
    Rule::for_call(call, &subject(call))
}

fn allows(rule: &Rule, call: &ToolCall) -> bool {
    rule.allows(call, &subject(call))
}

/// A session whose call waits for an answer.
fn waiting(call: &ToolCall) -> (SessionDriver, TurnId) {
    let mut world = SessionDriver::new();
    world.submit("go");
    world.step(std::slice::from_ref(call));
    assert_eq!(world.report(propose(call)).accepted, Accepted::Waiting);
    let turn = world.running();
    (world, turn)
}

fn scoped(turn: TurnId, id: &str, scope: Scope) -> Command {
    let mut command = answer(turn, id, Verdict::Approve, "ann");
    if let Command::Answer(AnswerApproval { scope: held, .. }) = &mut command {
        *held = scope;
    }
    command
}
