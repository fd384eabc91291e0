//! The calls of one answer: in order and halting, or side by side.

use ostler_testing::model::{calls, text};
use ostler_types::{BatchEvent, Event, ToolCallId, results};
use serde_json::json;

use crate::fixture::{completed, world};

#[tokio::test]
async fn one_call_is_run_and_shown_to_the_model() {
    let world = world([calls(&[("c1", "echo", json!({"text": "hi"}))]), text("done")]);
    assert_eq!(world.ask("go").await, Ok(completed("end_turn", None)));
    let expected = [
        "session_created",
        "message_added",
        "turn_started",
        "model_output_completed",
        "tool_batch_started",
        "tool_call_started",
        "tool_call_completed",
        "tool_batch_completed",
        "model_output_completed",
        "turn_completed",
    ];
    assert_eq!(world.host.names(), expected);
    assert_eq!(world.last_shown(1), "hi");
}

#[tokio::test]
async fn calls_run_in_order_one_at_a_time() {
    let input = |gate: &str| json!({"gate": gate, "text": gate});
    let world = world([calls(&[("c1", "gate", input("a")), ("c2", "gate", input("b"))]), text("done")]);
    let turn = world.begin("go");
    world.tools.waiting(1).await;
    // The second gate is open, and still the second call does not begin before the first has ended.
    world.tools.open("b");
    assert_eq!(world.tools.seen().len(), 1);
    assert_eq!(world.count("tool_call_started"), 1);
    world.tools.open("a");
    turn.await.unwrap().unwrap();
    assert_eq!(world.result_texts(), ["c1: a", "c2: b"]);
    let Event::Batch(BatchEvent::Started { tool_calls, parallel }) = world.last("tool_batch_started") else {
        unreachable!()
    };
    assert_eq!(tool_calls, ["c1", "c2"].map(|id| ToolCallId(id.to_owned())));
    assert!(!parallel);
    world.check();
}

#[tokio::test]
async fn the_first_error_halts_the_rest() {
    let batch = [
        ("c1", "echo", json!({"text": "one"})),
        ("c2", "fail", json!({})),
        ("c3", "echo", json!({"text": "three"})),
        ("c4", "echo", json!({"text": "four"})),
    ];
    let world = world([calls(&batch), text("sorry")]);
    assert_eq!(world.ask("go").await, Ok(completed("end_turn", None)));
    let halted = "Did not execute: halted due to error in previous tool";
    assert_eq!(results::HALTED, halted);
    let expected = ["c1: one".to_owned(), "c2: it did not work".to_owned()];
    let expected = expected.into_iter().chain(["c3", "c4"].map(|id| format!("{id}: {halted}")));
    assert_eq!(world.result_texts(), expected.collect::<Vec<_>>());
    assert!(world.results()[1..].iter().all(|result| !result.ok && result.error.is_some()));
    assert_eq!(world.tools.seen().len(), 2);
    assert_eq!(world.count("tool_call_started"), 2);
    assert_eq!(world.count("tool_batch_halted"), 1);
    let Event::Batch(BatchEvent::Halted { tool_call_id }) = world.last("tool_batch_halted") else {
        unreachable!()
    };
    assert_eq!(tool_call_id.0, "c2");
    assert_eq!(world.last_shown(1), halted);
}

#[tokio::test]
async fn a_last_call_that_fails_halts_nothing_and_is_recorded_so() {
    let world = world([calls(&[("c1", "fail", json!({}))]), text("sorry")]);
    world.ask("go").await.unwrap();
    assert_eq!(world.result_texts(), ["c1: it did not work"]);
    // The source's callback fires at every error of a sequential batch, the last call's included.
    assert_eq!(world.count("tool_batch_halted"), 1);
}

#[tokio::test]
async fn parallel_in_any_call_runs_the_batch_side_by_side() {
    let batch = [
        ("c1", "gate", json!({"gate": "a", "text": "one"})),
        ("c2", "gate", json!({"gate": "b", "text": "fail", "_parallel": true})),
        ("c3", "gate", json!({"gate": "c", "text": "three"})),
    ];
    let world = world([calls(&batch), text("done")]);
    let turn = world.begin("go");
    // All three are inside their tools before any has ended.
    world.tools.waiting(3).await;
    assert_eq!(world.count("tool_call_completed"), 0);
    world.tools.open("b");
    world.host.recorded("tool_call_completed", 1).await;
    world.tools.open("c");
    world.host.recorded("tool_call_completed", 2).await;
    world.tools.open("a");
    turn.await.unwrap().unwrap();
    world.check();
    // The error of the second did not halt the others; results stand in the order of their ends.
    assert_eq!(world.result_texts(), ["c2: fail", "c3: three", "c1: one"]);
    assert_eq!(world.count("tool_batch_halted"), 0);
    let Event::Batch(BatchEvent::Started { parallel, .. }) = world.last("tool_batch_started") else {
        unreachable!()
    };
    assert!(parallel);
}

#[tokio::test]
async fn side_by_side_is_bounded() {
    let ids: Vec<String> = (0..12).map(|n| format!("c{n}")).collect();
    let input = json!({"gate": "all", "text": "x", "_parallel": true});
    let batch: Vec<_> = ids.iter().map(|id| (id.as_str(), "gate", input.clone())).collect();
    let world = world([calls(&batch), text("done")]);
    let turn = world.begin("go");
    world.tools.waiting(8).await;
    world.host.recorded("tool_call_started", 8).await;
    for ended in 1..=4 {
        assert_eq!(world.tools.seen().len(), 7 + ended);
        world.tools.open("all");
        world.tools.waiting(8 + ended).await;
    }
    (0..8).for_each(|_| world.tools.open("all"));
    turn.await.unwrap().unwrap();
    assert_eq!(world.results().len(), 12);
    world.check();
}

#[tokio::test]
async fn parallel_must_be_true() {
    for value in [json!(false), json!("true"), json!(1), json!(null)] {
        let batch = [("c1", "fail", json!({"_parallel": value})), ("c2", "echo", json!({}))];
        let world = world([calls(&batch), text("done")]);
        world.ask("go").await.unwrap();
        assert_eq!(world.result_texts()[1], format!("c2: {}", results::HALTED), "{value}");
    }
}
