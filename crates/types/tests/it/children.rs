//! Sessions that a session starts, as the rules see them: who may, what surfaces, what is told.

use ostler_types::{
    Accepted, AnswerApproval, CancelTurn, ChildOutcome, ChildStatus, ChildUpdate, Command, MAX_SESSION_DEPTH,
    PendingApproval, Plan, Purpose, Rule, Scope, SessionId, SessionStatus, StateLimits, Subtask, ToolCallId,
    ToolKind, TurnId, TurnReport, Usage, Verdict,
};
use serde_json::json;
use uuid::Uuid;

use crate::session_driver::{SessionDriver, at, call};

#[test]
fn a_question_of_a_child_surfaces_and_is_answered_there() {
    let mut world = world_with_child(false);
    let asks = Command::Child { session_id: child(), news: ChildUpdate::Asks(Box::new(approval())) };
    assert_eq!(world.accept(asks.clone()), ["approval_requested"]);
    assert_eq!(world.accept(asks), [""; 0], "the same question is recorded once");
    assert_eq!(world.state.session.status, SessionStatus::WaitingApproval);
    assert_eq!(world.state.pending_approvals().count(), 1);
    assert_eq!(world.state.own_approvals().count(), 0);
    let forward = Accepted::Forward { session_id: child(), turn_id: child_turn() };
    for turn_id in [child_turn(), world.running()] {
        let decision = world.ask(answer(turn_id)).expect("the answer is taken");
        assert_eq!((decision.events.len(), decision.accepted), (0, forward.clone()));
    }
    let (by, scope, reason) = ("ann".to_owned(), Scope::Once, None);
    let (tool_call_id, turn_id) = (ToolCallId("call_c".to_owned()), child_turn());
    let news = ChildUpdate::Answered { tool_call_id, turn_id, granted: true, by, scope, reason };
    assert_eq!(
        world.accept(Command::Child { session_id: child(), news: news.clone() }),
        ["approval_granted"]
    );
    assert_eq!(world.accept(Command::Child { session_id: child(), news }), [""; 0]);
    assert_eq!(world.state.session.status, SessionStatus::Active);
}

#[test]
fn calls_of_one_name_in_two_sessions_are_two_questions() {
    let mut world = world_with_child(false);
    let (below, its_turn) = (SessionId::new(Uuid::from_u128(0xbe)), TurnId::new(Uuid::from_u128(0xb1)));
    let asks = |approval| Command::Child { session_id: child(), news: ChildUpdate::Asks(Box::new(approval)) };
    world.accept(asks(approval()));
    let other = PendingApproval { session_id: below, turn_id: its_turn, ..approval() };
    assert_eq!(world.accept(asks(other)), ["approval_requested"]);
    let (by, scope, reason) = ("ann".to_owned(), Scope::Once, None);
    let (tool_call_id, turn_id) = (ToolCallId("call_c".to_owned()), its_turn);
    let news = ChildUpdate::Answered { tool_call_id, turn_id, granted: true, by, scope, reason };
    world.accept(Command::Child { session_id: child(), news });
    let left: Vec<SessionId> = world.state.pending_approvals().map(|a| a.session_id).collect();
    assert_eq!(left, [child()]);
}

#[test]
fn a_turn_that_only_waits_for_a_child_survives_a_restart() {
    let mut world = world_with_child(false);
    let recover = Command::Recover { resumable: true };
    assert_eq!(world.accept(recover), [""; 0]);
    assert!(world.state.turn.is_some());
    assert_eq!(world.accept(ended(ChildStatus::Completed)), ["subagent_completed"]);
    assert_eq!(world.state.children.len(), 1, "its turn has not heard of it yet");
    let finish = world.finish("call_t", true);
    world.report(finish);
    world.report(TurnReport::BatchCompleted);
    let (stop_reason, verified, verification) = ("stop".to_owned(), None, None);
    world.report(TurnReport::Completed { stop_reason, verified, verification });
    assert!(world.state.children.is_empty());
}

#[test]
fn the_model_is_told_of_a_background_child_once() {
    let mut world = world_with_child(true);
    let finish = world.finish("call_t", true);
    world.report(finish);
    world.report(TurnReport::BatchCompleted);
    world.accept(ended(ChildStatus::Completed));
    let decision = world.report(TurnReport::TakeSteering);
    let Accepted::Steering(messages) = decision.accepted else {
        panic!("steering is answered with messages")
    };
    assert!(messages[0].text().contains("look around") && messages[0].text().contains("found it"));
    assert_eq!(world.report(TurnReport::TakeSteering).events.len(), 0);
    assert!(world.state.children.is_empty());
}

#[test]
fn a_background_child_that_ends_between_turns_leaves_a_note() {
    let mut world = world_with_child(true);
    let finish = world.finish("call_t", true);
    world.report(finish);
    world.report(TurnReport::BatchCompleted);
    let (stop_reason, verified, verification) = ("stop".to_owned(), None, None);
    world.report(TurnReport::Completed { stop_reason, verified, verification });
    assert_eq!(world.state.children.len(), 1);
    assert_eq!(world.accept(ended(ChildStatus::Failed)), ["subagent_completed", "message_added"]);
    assert_eq!((world.state.children.len(), world.state.unanswered.len()), (0, 1));
}

#[test]
fn a_canceled_turn_still_hears_the_end_of_its_children() {
    let mut world = world_with_child(true);
    world.accept(Command::Cancel(CancelTurn { turn_id: None, by: "ann".to_owned(), reason: None }));
    assert_eq!(world.state.children.len(), 1);
    assert_eq!(world.accept(ended(ChildStatus::Canceled)), ["subagent_completed"]);
    assert!(world.state.children.is_empty());
    assert_eq!(world.state.session.status, SessionStatus::Canceled);
}

#[test]
fn too_deep_and_too_many_are_refused() {
    let mut world = SessionDriver::with(|new| new.depth = MAX_SESSION_DEPTH);
    world.submit("go");
    world.step(&[call("call_t", "task", json!({}))]);
    assert_eq!(world.report_refused(started(child(), false)).code, "too_deep");
    let mut world = SessionDriver::new();
    world.submit("go");
    world.step(&[call("call_t", "task", json!({}))]);
    for number in 0..StateLimits::CHILDREN {
        world.report(started(SessionId::new(Uuid::from_u128(number as u128)), true));
    }
    assert_eq!(world.report_refused(started(child(), false)).code, "too_many_children");
}

#[test]
fn a_plan_is_checked_and_can_be_picked_up() {
    let subtask = |id: &str, depends_on: &[&str]| Subtask {
        id: id.to_owned(),
        description: None,
        prompt: "do it".to_owned(),
        agent: None,
        model: None,
        worktree: false,
        depends_on: depends_on.iter().map(|&name| name.to_owned()).collect(),
        budget: None,
    };
    let plan = |subtasks: Vec<Subtask>| Plan { subtasks, concurrency: None };
    let bad = [
        plan(vec![]),
        plan(vec![subtask("a", &[]), subtask("a", &[])]),
        plan(vec![subtask("a", &["b"])]),
        plan(vec![subtask("a", &["b"]), subtask("b", &["a"])]),
        plan(vec![subtask("a", &["a"])]),
    ];
    let mut world = SessionDriver::new();
    let note = world.add("not answered yet");
    for plan in bad {
        let turn_id = world.turn_id();
        assert_eq!(world.refused(Command::RunPlan { turn_id, plan }).code, "bad_plan");
    }
    let (turn_id, good) = (world.turn_id(), plan(vec![subtask("a", &[]), subtask("b", &["a"])]));
    assert_eq!(world.accept(Command::RunPlan { turn_id, plan: good.clone() }), ["turn_started"]);
    assert_eq!(world.state.turn.as_ref().map(|turn| &turn.purpose), Some(&Purpose::Subtasks { plan: good }));
    assert_eq!(world.state.unanswered, [note], "a plan answers nobody");
    assert_eq!(world.accept(Command::Recover { resumable: true }), [""; 0]);
    let turn_id = world.turn_id();
    assert_eq!(world.refused(Command::Compact { turn_id }).code, "turn_running");
}

/// A session whose turn has started another one.
fn world_with_child(background: bool) -> SessionDriver {
    let mut world = SessionDriver::new();
    world.submit("go");
    let task = call("call_t", "task", json!({"prompt": "look around"}));
    world.step(std::slice::from_ref(&task));
    world.report(TurnReport::BatchStarted { parallel: false });
    world.report(TurnReport::CallStarted { tool_call: task, kind: ToolKind::Read });
    world.report(started(child(), background));
    world
}

fn started(session_id: SessionId, background: bool) -> TurnReport {
    let tool_call_id = Some(ToolCallId("call_t".to_owned()));
    let description = "look around".to_owned();
    TurnReport::SubagentStarted { session_id, tool_call_id, subtask: None, description, background }
}

fn ended(status: ChildStatus) -> Command {
    let outcome = ChildOutcome {
        status,
        text: "found it".to_owned(),
        error: None,
        usage: Usage::default(),
        changed_files: None,
    };
    Command::Child { session_id: child(), news: ChildUpdate::Ended(outcome) }
}

fn answer(turn_id: TurnId) -> Command {
    Command::Answer(AnswerApproval {
        turn_id,
        tool_call_id: ToolCallId("call_c".to_owned()),
        verdict: Verdict::Approve,
        scope: Scope::Once,
        reason: None,
        review: None,
        option: None,
        by: "ann".to_owned(),
    })
}

fn approval() -> PendingApproval {
    let asked = call("call_c", "shell", json!({"command": "make"}));
    PendingApproval {
        session_id: child(),
        turn_id: child_turn(),
        tool_call_id: asked.id.clone(),
        tool: asked.name.clone(),
        input: asked.input.clone(),
        kind: ToolKind::Exec,
        summary: "run make".to_owned(),
        rule: Rule::for_call(&asked, &crate::session_driver::subject(&asked)),
        options: Vec::new(),
        requested_at: at(5),
    }
}

fn child() -> SessionId {
    SessionId::new(Uuid::from_u128(0xc0_ffee))
}

fn child_turn() -> TurnId {
    TurnId::new(Uuid::from_u128(0xc1))
}
