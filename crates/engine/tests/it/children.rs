//! Sessions that sessions start: at work, asking, stopped, found again after a restart, and gone with the one that
//! started them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ostler_agent::{CompletedTurn, FailedTurn, NewChild, TurnContext};
use ostler_eventlog::Log;
use ostler_testing::agent::{ScriptedAgent, done, failed, propose, run_call, say};
use ostler_types::{
    AnswerApproval, ApprovalEvent, Budget, ChildEvent, ChildOutcome, ChildStatus, Command, Event, Policy,
    Role, Rule, Scope, SessionChange, SessionId, SessionStatus, ToolCall, ToolCallId, ToolKind, ToolResult,
    TurnReport, Verdict,
};
use serde_json::json;
use tokio::sync::{Notify, oneshot};

use crate::fixture::{EngineFixture, TestEngine, eventually, refusal_code};

/// A child that a call of this id starts.
pub(crate) fn child(call: &str, prompt: &str) -> NewChild {
    NewChild {
        tool_call_id: Some(ToolCallId(call.to_owned())),
        description: format!("do {prompt}"),
        prompt: prompt.to_owned(),
        ..NewChild::default()
    }
}

/// Starts a call of the tool `task`, as an agent does before it starts a child.
pub(crate) async fn begin_task(turn: &TurnContext, call: &str) -> Result<(), FailedTurn> {
    let tool_call = propose(turn, call, "task", json!({"prompt": "x"})).await?;
    turn.report(TurnReport::CallStarted { tool_call, kind: ToolKind::Read }).await?;
    Ok(())
}

/// Ends that call with what came of the child.
pub(crate) async fn end_task(turn: &TurnContext, call: &str, text: &str) -> Result<(), FailedTurn> {
    let id = ToolCallId(call.to_owned());
    let result = ToolResult { ok: true, error: None, ..ToolResult::failed(id, text) };
    turn.report(TurnReport::CallFinished { result, duration_ms: 1, message_id: turn.message_id() }).await?;
    turn.report(TurnReport::BatchCompleted).await?;
    Ok(())
}

/// A turn that has a child work on `prompt`, waits for it, and tells the test what came of it.
pub(crate) async fn delegate(
    turn: TurnContext,
    new: NewChild,
    told: oneshot::Sender<(SessionId, ChildOutcome)>,
) -> Result<CompletedTurn, FailedTurn> {
    let call = new.tool_call_id.clone().unwrap().0;
    begin_task(&turn, &call).await?;
    let id = turn.start_child(new).await?;
    let outcome = turn.wait_for_child(id).await?;
    end_task(&turn, &call, &outcome.text).await?;
    _ = told.send((id, outcome));
    say(&turn, "all done").await?;
    done()
}

pub(crate) async fn only_child(daemon: &TestEngine, parent: SessionId) -> SessionId {
    let mut found = None;
    eventually("the child is made", async || {
        found = daemon.records(parent).await.into_iter().find_map(|record| match record.event {
            Event::Child(ChildEvent::Started { session_id, .. }) => Some(session_id),
            _ => None,
        });
        match found {
            Some(id) => daemon.log.last_seq(id).await.unwrap() > 0,
            None => false,
        }
    })
    .await;
    found.unwrap()
}

pub(crate) async fn outcomes(daemon: &TestEngine, parent: SessionId) -> Vec<ChildOutcome> {
    let outcome = |record: ostler_types::Record| match record.event {
        Event::Child(ChildEvent::Completed { outcome, .. }) => Some(outcome),
        _ => None,
    };
    daemon.records(parent).await.into_iter().filter_map(outcome).collect()
}

#[tokio::test]
async fn a_child_works_in_a_session_of_its_own_and_its_answer_comes_back() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let mut new = daemon.new_session();
    new.policy.approval.require_for_tools = vec!["special".to_owned()];
    let parent = daemon.engine.create(new.clone()).await.unwrap().id;
    let (told, heard) = oneshot::channel();
    agent.push(|turn| delegate(turn, child("c1", "the work"), told));
    agent.push(|turn| async move {
        assert_eq!(turn.history.len(), 1, "its context is its own");
        say(&turn, "first words").await?;
        say(&turn, "the answer").await?;
        done()
    });
    daemon.say(parent, "delegate it").await;
    let (id, outcome) = heard.await.unwrap();
    assert_eq!(outcome.status, ChildStatus::Completed);
    assert_eq!(outcome.text, "the answer");
    assert_eq!(outcome.usage.output_tokens, 10);
    daemon.recorded(parent, "turn_completed", 1).await;

    let session = daemon.engine.view(id).await.unwrap().session;
    assert_eq!(session.parent_session_id, Some(parent));
    assert_eq!((session.depth, session.mode.as_str()), (1, "agent"));
    assert_eq!(session.title.as_deref(), Some("do the work"));
    assert_eq!((session.policy, session.workspace_path), (new.policy, new.workspace_path));
    let names = daemon.names(parent).await;
    let at = |name: &str| names.iter().position(|found| *found == name).unwrap();
    assert!(at("subagent_started") < at("subagent_completed"));
    let view = daemon.engine.view(parent).await.unwrap();
    assert_eq!(view.children, [], "what was heard by its turn is of no interest any more");

    let hex = id.uuid().simple().to_string();
    let folder = place.data().join(format!("sessions/{parent}/subagent_{}", &hex[26..]));
    assert!(folder.join("events.ndjson").is_file());
    let link = std::fs::read_link(place.data().join(format!("sessions/{id}"))).unwrap();
    assert!(link.is_relative(), "{link:?}");
    assert_eq!(
        std::fs::canonicalize(daemon.session_dir(id)).unwrap(),
        std::fs::canonicalize(folder).unwrap()
    );
}

#[tokio::test]
async fn one_in_the_background_outlives_its_turn_and_the_model_is_told_of_its_end() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let parent = daemon.create().await;
    let finish = Arc::new(Notify::new());
    agent.push(|turn| async move {
        turn.start_child(NewChild { background: true, ..child("c1", "x") }).await.unwrap_err();
        begin_task(&turn, "c1").await?;
        turn.start_child(NewChild { background: true, ..child("c1", "slow work") }).await?;
        end_task(&turn, "c1", "started").await?;
        done()
    });
    let held = finish.clone();
    agent.push(|turn| async move {
        held.notified().await;
        say(&turn, "late answer").await?;
        done()
    });
    daemon.say(parent, "go").await;
    daemon.recorded(parent, "turn_completed", 1).await;
    let id = only_child(&daemon, parent).await;
    agent.started(2).await;
    assert!(daemon.engine.view(id).await.unwrap().running_turn_id.is_some());
    finish.notify_one();
    daemon.recorded(parent, "subagent_completed", 1).await;
    let page = daemon.engine.messages(parent, None, 10).await.unwrap();
    let note = page.messages.last().unwrap();
    assert_eq!(note.role, Role::System);
    assert!(note.text().contains("late answer") && note.text().contains(&id.to_string()), "{}", note.text());
    assert_eq!(daemon.engine.view(parent).await.unwrap().children, []);
}

/// A child that asks for leave to write before it answers.
pub(crate) async fn ask_and_answer(turn: TurnContext) -> Result<CompletedTurn, FailedTurn> {
    let call = propose(&turn, "w1", "write_file", json!({"path": "a", "content": "b"})).await?;
    let ran = run_call(&turn, &call, ToolKind::Write).await?;
    say(&turn, if ran { "written" } else { "not written" }).await?;
    done()
}

#[tokio::test]
async fn what_a_child_asks_can_be_answered_at_its_parent() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let parent = daemon.create().await;
    let (told, heard) = oneshot::channel();
    agent.push(|turn| delegate(turn, child("c1", "write"), told));
    agent.push(ask_and_answer);
    let turn = daemon.say(parent, "go").await;
    daemon.recorded(parent, "approval_requested", 1).await;
    let view = daemon.engine.view(parent).await.unwrap();
    assert_eq!(view.session.status, SessionStatus::WaitingApproval);
    let [asked] = view.pending_approvals.as_slice() else { panic!("{:?}", view.pending_approvals) };
    let id = only_child(&daemon, parent).await;
    assert_eq!(asked.session_id, id);
    let [listed] = daemon.approvals(1).await.try_into().expect("each is listed once");
    assert_eq!((listed.session_id, listed.tool_call_id), (id, asked.tool_call_id.clone()));

    let answer = |verdict| {
        Command::Answer(AnswerApproval {
            turn_id: turn,
            tool_call_id: ToolCallId("w1".to_owned()),
            verdict,
            scope: Scope::Once,
            reason: None,
            review: None,
            option: None,
            by: "somebody".to_owned(),
        })
    };
    daemon.engine.submit(parent, answer(Verdict::Approve)).await.unwrap();
    let (_, outcome) = heard.await.unwrap();
    assert_eq!(outcome.text, "written");
    daemon.recorded(parent, "turn_completed", 1).await;
    let granted = daemon.records(parent).await.into_iter().find_map(|record| match record.event {
        Event::Approval(ApprovalEvent::Granted { by, child: Some(child), .. }) => {
            Some((by, child.session_id))
        }
        _ => None,
    });
    assert_eq!(granted, Some(("somebody".to_owned(), id)));
    let again = daemon.engine.submit(parent, answer(Verdict::Deny)).await;
    assert_eq!(refusal_code(again), "not_waiting");
}

#[tokio::test]
async fn stopping_a_session_stops_all_below_it() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let parent = daemon.create().await;
    for (call, prompt) in [("c1", "child"), ("c2", "grandchild")] {
        let (told, _) = oneshot::channel();
        agent.push(move |turn| delegate(turn, child(call, prompt), told));
    }
    agent.push(|turn| async move {
        ostler_testing::agent::stream(&turn, turn.message_id(), 0, "half an ans");
        turn.canceled.cancelled().await;
        failed("canceled")
    });
    daemon.say(parent, "go").await;
    agent.started(3).await;
    let id = only_child(&daemon, parent).await;
    let below = only_child(&daemon, id).await;
    daemon.cancel(parent).await.unwrap();
    daemon.recorded(parent, "subagent_completed", 1).await;
    agent.ended(3).await;
    for (session, name) in [(parent, "turn_canceled"), (id, "turn_canceled"), (below, "turn_canceled")] {
        assert_eq!(daemon.names(session).await.iter().filter(|found| **found == name).count(), 1);
        let view = daemon.engine.view(session).await.unwrap();
        assert_eq!(view.running_turn_id, None);
        assert!(view.children.iter().all(|child| child.outcome.is_some()));
    }
    let [outcome] = outcomes(&daemon, id).await.try_into().unwrap();
    assert_eq!((outcome.status, outcome.text.as_str()), (ChildStatus::Canceled, "half an ans"));
}

#[tokio::test]
async fn a_question_that_nobody_answered_is_taken_back_with_its_turn() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let parent = daemon.create().await;
    let (told, heard) = oneshot::channel();
    agent.push(|turn| delegate(turn, child("c1", "write"), told));
    agent.push(ask_and_answer);
    daemon.say(parent, "go").await;
    daemon.recorded(parent, "approval_requested", 1).await;
    let id = only_child(&daemon, parent).await;
    daemon.cancel(id).await.unwrap();
    let (_, outcome) = heard.await.unwrap();
    assert_eq!(outcome.status, ChildStatus::Canceled);
    daemon.recorded(parent, "turn_completed", 1).await;
    let denied = daemon.records(parent).await.into_iter().find_map(|record| match record.event {
        Event::Approval(ApprovalEvent::Denied { by, child: Some(_), .. }) => Some(by),
        _ => None,
    });
    assert_eq!(denied.as_deref(), Some("canceled"));
}

#[tokio::test]
async fn a_child_that_cannot_be_started_has_an_outcome_all_the_same() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let parent = daemon.create().await;
    let (told, heard) = oneshot::channel();
    let nobody = NewChild { agent: Some("nobody".to_owned()), ..child("c1", "x") };
    agent.push(|turn| delegate(turn, nobody, told));
    daemon.say(parent, "go").await;
    let (id, outcome) = heard.await.unwrap();
    assert_eq!(outcome.status, ChildStatus::Failed);
    assert!(outcome.error.unwrap().contains("nobody"));
    assert!(daemon.engine.view(id).await.is_err());
    daemon.recorded(parent, "turn_completed", 1).await;
}

#[tokio::test]
async fn depth_and_time_are_limited() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let mut new = daemon.new_session();
    new.depth = ostler_types::MAX_SESSION_DEPTH;
    let deep = daemon.engine.create(new).await.unwrap().id;
    agent.push(|turn| async move {
        begin_task(&turn, "c1").await?;
        let refused = turn.start_child(child("c1", "x")).await.unwrap_err();
        end_task(&turn, "c1", &refused.to_string()).await?;
        done()
    });
    daemon.say(deep, "go").await;
    daemon.recorded(deep, "turn_completed", 1).await;
    let page = daemon.engine.messages(deep, None, 1).await.unwrap();
    assert!(page.messages[0].text().contains("starts no more"), "{}", page.messages[0].text());

    let parent = daemon.create().await;
    let (told, heard) = oneshot::channel();
    let budget = Budget { max_seconds: Some(0), ..Budget::default() };
    agent.push(move |turn| delegate(turn, NewChild { budget, ..child("c1", "x") }, told));
    agent.push(|turn| async move {
        turn.canceled.cancelled().await;
        done()
    });
    daemon.say(parent, "go").await;
    let (_, outcome) = heard.await.unwrap();
    assert_eq!(outcome.status, ChildStatus::Canceled);
    assert_eq!(outcome.error.as_deref(), Some("its time of 0 s is over"));
}

#[tokio::test]
async fn removing_a_session_removes_those_that_it_has_started() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let parent = daemon.create().await;
    for (call, prompt) in [("c1", "child"), ("c2", "grandchild")] {
        let (told, _) = oneshot::channel();
        agent.push(move |turn| delegate(turn, child(call, prompt), told));
    }
    agent.push(|turn| async move {
        turn.canceled.cancelled().await;
        done()
    });
    daemon.say(parent, "go").await;
    agent.started(3).await;
    let id = only_child(&daemon, parent).await;
    let below = only_child(&daemon, id).await;
    daemon.engine.purge(parent).await.unwrap();
    for session in [parent, id, below] {
        assert!(daemon.engine.view(session).await.is_err());
        assert!(!daemon.session_dir(session).is_symlink() && !daemon.session_dir(session).exists());
    }
    assert_eq!(daemon.engine.list(Default::default()).await.unwrap().sessions, []);
    assert_eq!(std::fs::read_dir(place.data().join("sessions")).unwrap().count(), 0);
    agent.ended(3).await;
}

#[tokio::test]
async fn what_a_parent_allows_its_child_may_do() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let parent = daemon.create().await;
    agent.push(|turn| async move {
        let call = propose(&turn, "w0", "write_file", json!({"path": "a", "content": "b"})).await?;
        run_call(&turn, &call, ToolKind::Write).await?;
        done()
    });
    daemon.say(parent, "write").await;
    let [asked] = daemon.approvals(1).await.try_into().unwrap();
    daemon.answer(&asked, Verdict::Approve, Scope::Session).await.unwrap();
    daemon.recorded(parent, "turn_completed", 1).await;
    let (told, heard) = oneshot::channel();
    agent.push(|turn| delegate(turn, child("c1", "write"), told));
    agent.push(ask_and_answer);
    daemon.say(parent, "delegate").await;
    let (id, outcome) = heard.await.unwrap();
    assert_eq!(outcome.text, "written", "the rule of the parent's session holds for its child");
    let policy: Policy = daemon.engine.view(id).await.unwrap().session.policy;
    assert_eq!(policy, daemon.engine.view(parent).await.unwrap().session.policy);
}

#[tokio::test]
async fn a_session_that_is_closed_or_whose_turn_failed_leaves_none_at_work() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    for closes in [false, true] {
        let parent = daemon.create().await;
        let held = Arc::new(Notify::new());
        let release = held.clone();
        agent.push(move |turn| async move {
            begin_task(&turn, "c1").await?;
            turn.start_child(NewChild { background: true, ..child("c1", "work") }).await?;
            held.notified().await;
            failed("broken")
        });
        agent.push(|turn| async move {
            turn.canceled.cancelled().await;
            done()
        });
        let before = agent.turns().len();
        daemon.say(parent, "go").await;
        agent.started(before + 2).await;
        if closes {
            let close = Command::Close { by: "test".to_owned() };
            daemon.engine.submit(parent, close).await.unwrap();
        }
        release.notify_one();
        daemon.recorded(parent, "subagent_completed", 1).await;
        let [outcome] = outcomes(&daemon, parent).await.try_into().unwrap();
        assert_eq!(outcome.status, ChildStatus::Canceled);
        agent.ended(before + 2).await;
    }
}

#[tokio::test]
async fn what_children_and_theirs_have_spent_is_known_to_the_turn_that_waits() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let parent = daemon.create().await;
    let (told, heard) = oneshot::channel();
    agent.push(|turn| async move {
        let before = turn.children_tokens.load(Ordering::Relaxed);
        begin_task(&turn, "c1").await?;
        let id = turn.start_child(child("c1", "delegate")).await?;
        let outcome = turn.wait_for_child(id).await?;
        let after = turn.children_tokens.load(Ordering::Relaxed);
        end_task(&turn, "c1", "x").await?;
        _ = told.send((before, outcome.usage.tokens(), after));
        done()
    });
    let (ignored, _) = oneshot::channel();
    agent.push(|turn| delegate(turn, child("c2", "do it"), ignored));
    agent.push_text("done");
    daemon.say(parent, "go").await;
    // A message is 15 tokens: two of the child, one of its own child.
    assert_eq!(heard.await.unwrap(), (0, 45, 45));
    daemon.recorded(parent, "turn_completed", 1).await;
    let view = daemon.engine.view(parent).await.unwrap();
    assert_eq!((view.children_usage.tokens(), view.session.usage.tokens()), (45, 15));
    let (told, heard) = oneshot::channel();
    agent.push(|turn| async move {
        _ = told.send(turn.children_tokens.load(Ordering::Relaxed));
        done()
    });
    daemon.say(parent, "again").await;
    assert_eq!(heard.await.unwrap(), 45);
}

#[tokio::test]
async fn a_policy_that_is_tightened_holds_for_children_at_work() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let mut new = daemon.new_session();
    new.policy.approval.require_for_kinds.clear();
    let call = ToolCall {
        id: ToolCallId("x".to_owned()),
        name: "shell".to_owned(),
        input: json!({"command": "make"}),
    };
    new.policy.approval.rules =
        vec![Rule::for_call(&call, &ostler_testing::agent::subject(&call)).in_workspace(&new.workspace_path)];
    let parent = daemon.engine.create(new.clone()).await.unwrap().id;
    let (go, gate) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, heard) = oneshot::channel();
    agent.push(|turn| delegate(turn, child("c1", "the work"), told));
    let (going, waits) = (go.clone(), gate.clone());
    agent.push(|turn| async move {
        let write = propose(&turn, "w1", "write_file", json!({"path": "a"})).await?;
        assert!(run_call(&turn, &write, ToolKind::Write).await?);
        going.notify_one();
        waits.notified().await;
        let write = propose(&turn, "w2", "write_file", json!({"path": "a"})).await?;
        run_call(&turn, &write, ToolKind::Write).await?;
        done()
    });
    daemon.say(parent, "go").await;
    go.notified().await;
    let id = only_child(&daemon, parent).await;
    assert_eq!(daemon.engine.approvals().await.unwrap().len(), 0, "so far it may write");

    let mut policy = new.policy.clone();
    policy.approval.require_for_kinds = vec![ToolKind::Write];
    policy.approval.require_for_tools = vec!["web_fetch".to_owned()];
    policy.approval.rules.clear();
    let change = SessionChange { policy: Some(policy.clone()), ..SessionChange::default() };
    daemon.engine.submit(parent, Command::Update(change)).await.unwrap();
    eventually("the child's policy follows", async || {
        daemon.engine.view(id).await.unwrap().session.policy.approval == policy.approval
    })
    .await;
    gate.notify_one();
    let waiting = daemon.approvals(1).await;
    assert_eq!(waiting[0].session_id, id);

    // What is loosened is loosened for the parent alone.
    let change = SessionChange { policy: Some(new.policy.clone()), ..SessionChange::default() };
    daemon.engine.submit(parent, Command::Update(change)).await.unwrap();
    daemon.answer(&waiting[0], Verdict::Deny, Scope::Once).await.unwrap();
    assert_eq!(heard.await.unwrap().1.status, ChildStatus::Completed);
    assert_eq!(daemon.engine.view(id).await.unwrap().session.policy.approval, policy.approval);
}
