//! The tools `task` and `task_control`: sessions that work for the one under test.

use ostler_agent::WorktreeEnd;
use ostler_testing::host::{TurnHost, child_answered, child_failed};
use ostler_testing::model::{calls, text};
use ostler_types::{
    ApprovalEvent, Budget, ChildOutcome, ChildStatus, Event, Moment, NewSession, PatchReviewMode, Policy,
    ToolKind, Usage, Verdict,
};
use serde_json::json;

use crate::checkpoints::{AgentCheckpointFixture, kept, moments};
use crate::fixture::{NativeAgentFixture, completed, world, world_with};

/// A world whose session has other settings, in which no call asks.
fn world_of(
    set: impl FnOnce(NewSession) -> NewSession,
    answers: Vec<Vec<ostler_testing::model::ScriptedStep>>,
) -> NativeAgentFixture {
    let mut world = world(answers);
    let mut policy = Policy::default();
    policy.approval.require_for_kinds.clear();
    let path = world.workspace.path().to_str().unwrap().to_owned();
    world.host = TurnHost::with_session(&path, |new| set(NewSession { policy, ..new }));
    world
}

#[tokio::test]
async fn what_the_other_session_answered_is_the_result() {
    let input = json!({"description": "count", "prompt": "Count the files.", "model": "m:x", "agent": "a",
        "max_steps": 3, "max_tokens": 1000, "max_seconds": 60});
    // Another agent is asked about, unless the policy lets programs run.
    let mut world = world_of(|new| new, vec![calls(&[("c1", "task", input)]), text("done")]);
    world.host = world.host.with_children(|_| Some(child_answered("There are 7.")));
    assert_eq!(world.ask("go").await, Ok(completed("end_turn", None)));
    let children = world.host.children();
    let (id, child) = &children[0];
    assert_eq!(
        (children.len(), child.prompt.as_str(), child.description.as_str()),
        (1, "Count the files.", "count")
    );
    assert_eq!((child.model.as_deref(), child.agent.as_deref()), (Some("m:x"), Some("a")));
    assert_eq!(child.tool_call_id.as_ref().map(|id| id.0.as_str()), Some("c1"));
    let budget = Budget { max_steps: Some(3), max_tokens: Some(1000), max_seconds: Some(60) };
    assert_eq!((child.worktree, child.background, child.budget), (false, false, budget));
    let result = &world.results()[0];
    assert_eq!(result.text(), format!("There are 7.\n\n[sessions/{id}: 100 tokens read, 10 written]"));
    assert!(result.ok);
    let details = result.details.as_ref().unwrap();
    assert_eq!(
        (details["session_id"].as_str(), details["status"].as_str()),
        (Some(id.to_string().as_str()), Some("completed"))
    );
    assert_eq!(world.count("subagent_started") + world.count("subagent_completed"), 2);
}

#[tokio::test]
async fn one_that_failed_or_was_stopped_is_a_failed_result_with_what_it_had() {
    let stopped = ChildOutcome { status: ChildStatus::Canceled, ..child_answered("half") };
    for (outcome, expected) in [
        (child_failed("no model"), "The task failed: no model\n\n["),
        (stopped, "The task was stopped.\n\nPartial answer:\nhalf\n\n["),
        (child_answered(" "), "The task ended without an answer.\n\n["),
    ] {
        let ok = outcome.status == ChildStatus::Completed;
        let mut world =
            world([calls(&[("c1", "task", json!({"description": "d", "prompt": "p"}))]), text("done")]);
        world.host = world.host.with_children(move |_| Some(outcome.clone()));
        world.ask("go").await.unwrap();
        let result = &world.results()[0];
        assert!(result.text().starts_with(expected), "{}", result.text());
        assert_eq!(result.ok, ok);
    }
}

#[tokio::test]
async fn twenty_work_side_by_side() {
    let input = json!({"description": "d", "prompt": "p", "worktree": true, "_parallel": true});
    let ids: Vec<String> = (0..20).map(|number| format!("c{number}")).collect();
    let batch: Vec<_> = ids.iter().map(|id| (id.as_str(), "task", input.clone())).collect();
    let world = world([calls(&batch), text("done")]);
    let turn = world.begin("go");
    // All of them are at work before any has ended.
    world.host.started_children(20).await;
    assert_eq!(world.count("tool_call_completed"), 0);
    for (number, (id, child)) in world.host.children().into_iter().enumerate() {
        assert!(child.worktree);
        let changed_files = Some(u64::from(number > 0));
        world.host.end_child(id, ChildOutcome { changed_files, ..child_answered("done") });
    }
    turn.await.unwrap().unwrap();
    world.check();
    let results = world.results();
    assert!(results.len() == 20 && results.iter().all(|result| result.ok));
    let changed = |id: &str| results.iter().find(|result| result.id.0 == id).unwrap().text();
    assert!(changed("c0").ends_with("[It changed no files in its git worktree.]"), "{}", changed("c0"));
    assert!(changed("c1").contains("[It changed 1 file.]\n"), "{}", changed("c1"));
    assert!(changed("c1").contains("action merge or drop"), "{}", changed("c1"));
}

#[tokio::test]
async fn in_the_background_it_returns_at_once_and_can_be_waited_for() {
    let input = json!({"description": "d", "prompt": "p", "background": true});
    let world = world([calls(&[("c1", "task", input), ("g", "gate", json!({"gate": "on", "text": ""}))])]);
    let turn = world.begin("go");
    world.tools.waiting(1).await;
    let (id, child) = world.host.children().remove(0);
    assert!(child.background);
    world.model.push(calls(&[("c2", "task_control", json!({"task_id": id.to_string(), "action": "wait"}))]));
    world.model.push(text("done"));
    world.tools.open("on");
    // The model is asked again while the session is still at work.
    world.host.recorded("tool_call_started", 3).await;
    world.host.end_child(id, child_answered("at last"));
    turn.await.unwrap().unwrap();
    world.check();
    assert!(world.results()[0].text().contains(&format!("sessions/{id}")));
    assert!(world.results()[2].text().starts_with("at last\n"), "{}", world.results()[2].text());
}

#[tokio::test]
async fn a_restart_finds_the_session_again_and_goes_on_waiting() {
    let batch = [
        ("c1", "echo", json!({"text": "one", "_parallel": true})),
        ("c2", "task", json!({"description": "d", "prompt": "p"})),
        ("c3", "task", json!({"description": "e", "prompt": "q"})),
    ];
    let world = world([calls(&batch), text("done")]);
    let first = world.begin("go");
    world.host.started_children(2).await;
    world.host.recorded("tool_call_completed", 1).await;
    first.abort();
    let _ = first.await;
    assert!(world.host.recover(), "a turn that only waits for sessions goes on");
    // One of them ended while nobody ran the turn.
    let (id, _) = world.host.children().remove(0);
    world.host.end_child(id, child_answered("meanwhile"));
    let second = world.resume();
    world.host.recorded("tool_call_completed", 2).await;
    world.host.end_child(world.host.children()[1].0, child_answered("later"));
    second.await.unwrap().unwrap();
    world.check();
    assert_eq!(world.host.children().len(), 2, "none was started twice");
    assert_eq!(world.tools.seen().len(), 1);
    let texts: Vec<String> = world.result_texts();
    assert!(texts[1].starts_with("c2: meanwhile") && texts[2].starts_with("c3: later"), "{texts:?}");
}

#[tokio::test]
async fn any_other_call_that_had_started_is_not_run_again() {
    let batch = [
        ("c1", "gate", json!({"gate": "never", "text": "x", "_parallel": true})),
        ("c2", "task", json!({"description": "d", "prompt": "p"})),
    ];
    let world = world([calls(&batch), text("again")]);
    let first = world.begin("go");
    world.host.started_children(1).await;
    world.tools.waiting(1).await;
    first.abort();
    let _ = first.await;
    assert!(!world.host.recover());
    assert_eq!(world.count("turn_failed"), 1);
    world.ask("and now").await.unwrap();
    assert_eq!(world.tools.seen().len(), 1);
}

#[tokio::test]
async fn canceling_pairs_the_calls() {
    let world = world([calls(&[("c1", "task", json!({"description": "d", "prompt": "p"}))]), text("again")]);
    let turn = world.begin("go");
    world.host.started_children(1).await;
    world.host.cancel();
    assert!(turn.await.unwrap().is_err());
    world.ask("and now").await.unwrap();
}

#[tokio::test]
async fn it_asks_nobody_by_itself_but_merging_does() {
    let start = json!({"description": "d", "prompt": "p"});
    let mut world = world_with(
        Policy::default(),
        [calls(&[("c1", "task", start), ("g", "gate", json!({"gate": "on", "text": ""}))])],
    );
    world.host = world.host.with_children(|_| Some(child_answered("done")));
    let turn = world.begin("go");
    world.tools.waiting(1).await;
    assert_eq!(world.count("approval_requested"), 0);
    let id = world.host.children()[0].0;
    let control = |action: &str| json!({"task_id": format!("sessions/{id}"), "action": action});
    world.model.push(calls(&[("c2", "task_control", control("merge"))]));
    world.model.push(calls(&[("c3", "task_control", control("drop"))]));
    world.model.push(text("done"));
    world.tools.open("on");
    for (number, call) in ["c2", "c3"].into_iter().enumerate() {
        world.host.recorded("approval_requested", number + 1).await;
        let Event::Approval(ApprovalEvent::Requested { kind, summary, .. }) =
            world.last("approval_requested")
        else {
            unreachable!()
        };
        assert_eq!(kind, ToolKind::Write);
        assert!(summary.contains(&id.to_string()), "{summary}");
        world.host.answer(call, Verdict::Approve, None).unwrap();
    }
    turn.await.unwrap().unwrap();
    world.check();
    assert_eq!(world.host.ended_worktrees(), [(id, WorktreeEnd::Merge), (id, WorktreeEnd::Drop)]);
    assert_eq!(world.result_texts()[2], "c2: Merge: 2 files");
}

#[tokio::test]
async fn what_cannot_be_done_is_a_result() {
    let wait = |id: &str| json!({"task_id": id, "action": "wait"});
    let unknown = format!("sess_{}", "0".repeat(32));
    let batch = [
        ("c1", "task", json!({"description": "d", "_parallel": true})),
        ("c2", "task", json!({"description": "d".repeat(2_000), "prompt": "p"})),
        ("c3", "task_control", wait("7")),
        ("c4", "task_control", wait(&unknown)),
        ("c5", "task_control", json!({"task_id": unknown, "action": "sing"})),
    ];
    let world = world([calls(&batch), text("done")]);
    world.ask("go").await.unwrap();
    let mut texts = world.result_texts();
    texts.sort();
    for (told, expected) in texts.iter().zip([
        "c1: Invalid input: missing field `prompt`",
        "c2: The task was not started: description is larger",
        "c3: `7` is not a task id",
        "c4: Cannot wait for the task: there is no task sess_0",
        "c5: Invalid input: unknown variant `sing`",
    ]) {
        assert!(told.starts_with(expected), "{told}");
    }
    assert!(world.host.children().is_empty());
}

#[tokio::test]
async fn only_a_session_that_may_start_others_is_told_of_it() {
    for (depth, offered) in [(0, true), (4, true), (5, false)] {
        let set = |new| NewSession { depth, ..new };
        let world = world_of(
            set,
            vec![calls(&[("c1", "task", json!({"description": "d", "prompt": "p"}))]), text("x")],
        );
        let mut world = world;
        world.host = world.host.with_children(|_| Some(child_answered("ok")));
        world.ask("go").await.unwrap();
        let specs = &world.model.requests()[0].tools;
        assert_eq!(specs.iter().any(|spec| spec.name == "task"), offered, "{depth}");
        assert_eq!(specs.iter().any(|spec| spec.name == "task_control"), offered, "{depth}");
        assert_eq!(world.results()[0].ok, offered);
        assert_eq!(world.results()[0].text() == "Unknown skill: task", !offered);
    }
}

#[tokio::test]
async fn its_budget_is_at_most_what_is_left_of_this_sessions() {
    let budget = Budget { max_steps: Some(5), max_tokens: Some(1_000), max_seconds: None };
    let set = |new| NewSession { budget: Some(budget), ..new };
    let usage = Usage { input_tokens: 100, output_tokens: 50, ..Usage::default() };
    let mut first = calls(&[
        ("c1", "task", json!({"description": "d", "prompt": "p", "max_steps": 9, "max_tokens": 5000})),
        ("c2", "task", json!({"description": "d", "prompt": "p", "max_steps": 2, "max_tokens": 300})),
        ("c3", "task", json!({"description": "d", "prompt": "p"})),
    ]);
    first.insert(0, ostler_testing::model::ScriptedStep::Event(ostler_models::ModelEvent::Usage(usage)));
    let mut world = world_of(set, vec![first, text("done")]);
    world.host = world.host.with_children(|_| Some(child_answered("ok")));
    world.ask("go").await.unwrap();
    let given: Vec<_> = world
        .host
        .children()
        .iter()
        .map(|(_, child)| (child.budget.max_steps, child.budget.max_tokens))
        .collect();
    assert_eq!(given, [(Some(5), Some(850)), (Some(2), Some(300)), (Some(5), Some(630))]);
}

#[tokio::test]
async fn what_it_changes_in_the_workspace_can_be_undone_and_is_checked() {
    for (worktree, changes) in [(false, true), (false, false), (true, false)] {
        let input = json!({"description": "d", "prompt": "p", "worktree": worktree});
        let answers = vec![calls(&[("c1", "task", input)]), text("done")];
        let AgentCheckpointFixture { mut world, store: _store } =
            kept(PatchReviewMode::Off, &["test -f made"], answers);
        let made = world.workspace.path().join("made");
        world.host = world.host.with_children(move |_| {
            if changes {
                std::fs::write(&made, "by the other session").unwrap();
            }
            Some(child_answered("done"))
        });
        let verified = changes.then_some(true);
        assert_eq!(world.ask("go").await, Ok(completed("end_turn", verified)), "{worktree} {changes}");
        let expected: &[Moment] = if worktree { &[] } else { &[Moment::Before, Moment::After] };
        assert_eq!(moments(&world), expected);
    }
}
