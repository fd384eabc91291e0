//! Picking up a turn that waited, after the process that ran it has gone.

use ostler_testing::model::{calls, text};
use ostler_types::{Policy, ToolCallId, ToolResult, TurnReport, Verdict, results};
use serde_json::json;

use crate::fixture::world_with;

#[tokio::test]
async fn only_the_calls_that_have_no_result_run() {
    let batch = [
        ("c1", "echo", json!({"text": "one"})),
        ("c2", "exec", json!({"text": "two"})),
        ("c3", "echo", json!({"text": "three"})),
    ];
    let world = world_with(Policy::default(), [calls(&batch), text("done")]);
    let first = world.begin("go");
    world.host.recorded("approval_requested", 1).await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    assert_eq!(world.tools.seen().len(), 1);
    let state = world.host.state();
    assert!(state.turn.unwrap().is_resumable(&state.children));

    let second = world.resume();
    world.host.answer("c2", Verdict::Approve, None).unwrap();
    second.await.unwrap().unwrap();
    world.check();
    let ran: Vec<_> = world.tools.seen().into_iter().map(|(_, input)| input["text"].clone()).collect();
    assert_eq!(ran, ["one", "two", "three"]);
    assert_eq!(world.result_texts(), ["c1: one", "c2: two", "c3: three"]);
    assert_eq!((world.count("approval_requested"), world.count("tool_batch_started")), (1, 1));
    assert_eq!((world.count("tool_batch_completed"), world.model.requests().len()), (1, 2));
    let shown: Vec<String> = world.model.requests()[1].messages.iter().skip(2).map(|m| m.text()).collect();
    assert_eq!(shown, ["one", "two", "three"]);
}

#[tokio::test]
async fn an_answer_that_came_while_nobody_ran_is_heeded() {
    for (verdict, expected) in [(Verdict::Approve, "c1: x"), (Verdict::Deny, "c1: The user denied this call")]
    {
        let world =
            world_with(Policy::default(), [calls(&[("c1", "exec", json!({"text": "x"}))]), text("done")]);
        let first = world.begin("go");
        world.host.recorded("approval_requested", 1).await;
        first.abort();
        let _ = first.await;
        world.host.answer("c1", verdict, None).unwrap();
        world.resume().await.unwrap().unwrap();
        assert_eq!(world.result_texts(), [expected]);
        world.check();
    }
}

#[tokio::test]
async fn a_batch_that_was_halting_halts_on() {
    let batch = [("c1", "exec", json!({})), ("c2", "echo", json!({})), ("c3", "echo", json!({}))];
    let world = world_with(Policy::default(), [calls(&batch), text("done")]);
    let first = world.begin("go");
    world.host.recorded("approval_requested", 1).await;
    first.abort();
    let _ = first.await;
    // The process ended between the call's result and the record of the halt.
    world.host.answer("c1", Verdict::Deny, None).unwrap();
    let failed = ToolResult::failed(ToolCallId("c1".to_owned()), "no");
    let message_id = format!("msg_{}", "7".repeat(32)).parse().unwrap();
    world.host.report(TurnReport::CallFinished { result: failed, duration_ms: 0, message_id }).unwrap();

    world.resume().await.unwrap().unwrap();
    assert_eq!(world.result_texts()[1..], ["c2", "c3"].map(|id| format!("{id}: {}", results::HALTED)));
    assert_eq!(world.count("tool_batch_halted"), 1);
    assert!(world.tools.seen().is_empty());
    world.check();
}

#[tokio::test]
async fn steps_are_counted_over_the_restart() {
    let echo = |id: &'static str| calls(&[(id, "echo", json!({"text": "x"}))]);
    let asks = calls(&[("ask", "exec", json!({"text": "x"}))]);
    let mut answers: Vec<_> = ["a", "b", "c", "d", "e", "f", "g", "h"].map(echo).into();
    answers.extend([asks, echo("last")]);
    let world = world_with(Policy::default(), answers);
    let first = world.begin("go");
    world.host.recorded("approval_requested", 1).await;
    first.abort();
    let _ = first.await;
    world.host.answer("ask", Verdict::Approve, None).unwrap();
    let ended = world.resume().await.unwrap().unwrap();
    assert_eq!(ended.stop_reason, "max_steps");
    assert_eq!(world.model.requests().len(), 10);
    world.check();
}

#[tokio::test]
async fn calls_that_ran_side_by_side_still_do() {
    let batch =
        [("c1", "exec", json!({"text": "x", "_parallel": true})), ("c2", "exec", json!({"text": "y"}))];
    let world = world_with(Policy::default(), [calls(&batch), text("done")]);
    let first = world.begin("go");
    world.host.recorded("approval_requested", 2).await;
    first.abort();
    let _ = first.await;
    let second = world.resume();
    world.host.answer("c1", Verdict::Deny, None).unwrap();
    world.host.recorded("tool_call_completed", 1).await;
    world.host.answer("c2", Verdict::Approve, None).unwrap();
    second.await.unwrap().unwrap();
    assert_eq!(world.result_texts(), ["c1: The user denied this call", "c2: y"]);
    assert_eq!(world.count("tool_batch_halted"), 0);
    world.check();
}
