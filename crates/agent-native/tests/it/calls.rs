//! One call: what the tool sees, who is asked, what becomes of calls that cannot run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ostler_agent_native::NativeAgent;
use ostler_local_runner::LocalRunner;
use ostler_models::{Model, ModelEvent};
use ostler_testing::model::{ScriptedStep, call, calls, text};
use ostler_tools::Tools;
use ostler_types::{ApprovalEvent, CallEvent, DeltaKind, Event, Policy, Verdict, results};
use serde_json::{Value, json};

use crate::fixture::{stop, world, world_with};

#[tokio::test]
async fn arguments_for_the_loop_reach_neither_tool_nor_approval() {
    let input = json!({"text": "x", "_parallel": false, "_why": "because", "__": 1, "keep_": 2});
    let world = world_with(Policy::default(), [call("c1", "exec", &input), text("done")]);
    let host = world.host.clone().answering(|approval| {
        assert_eq!(approval.input, json!({"text": "x", "keep_": 2}));
        assert!(!approval.summary.contains('_') || approval.summary.contains("keep_"));
        Some((Verdict::Approve, None))
    });
    host.submit("go", ostler_types::Delivery::Queue);
    host.run(&*world.agent).await.unwrap();
    let stripped = json!({"text": "x", "keep_": 2});
    assert_eq!(world.tools.seen(), [("exec".to_owned(), stripped.clone())]);
    let Event::Call(CallEvent::Started { tool_call, .. }) = world.last("tool_call_started") else {
        unreachable!()
    };
    assert_eq!(tool_call.input, stripped);
    let Event::Approval(ApprovalEvent::Requested { tool_call, rule, .. }) = world.last("approval_requested")
    else {
        unreachable!()
    };
    assert_eq!(tool_call.input, stripped);
    assert!(!rule.subject.contains("_why"), "{}", rule.subject);
    world.check();
}

#[tokio::test]
async fn an_unknown_tool_is_a_result_and_halts_the_rest() {
    let world = world([calls(&[("c1", "nonsense", json!({})), ("c2", "echo", json!({}))]), text("sorry")]);
    world.ask("go").await.unwrap();
    assert_eq!(
        world.result_texts(),
        ["c1: Unknown skill: nonsense".to_owned(), format!("c2: {}", results::HALTED)]
    );
    assert_eq!(world.count("tool_call_started"), 0);
    assert_eq!(world.count("approval_requested"), 0);
}

#[tokio::test]
async fn input_that_is_no_object_is_a_result() {
    for fragment in ["{\"text\": ", "[1]", "7", "null", "\"text\"", "not json \u{2028}"] {
        let started =
            ModelEvent::CallStarted { index: 0, id: Some("c1".to_owned()), name: "echo".to_owned() };
        let input = ModelEvent::CallInput { index: 0, fragment: fragment.to_owned() };
        let world =
            world([vec![ScriptedStep::Event(started), ScriptedStep::Event(input), stop()], text("sorry")]);
        world.ask("go").await.unwrap();
        let said = world.result_texts().remove(0);
        assert!(said.contains("not a JSON object, so nothing was run"), "{fragment}: {said}");
        assert!(world.tools.seen().is_empty(), "{fragment}");
    }
}

#[tokio::test]
async fn input_comes_in_fragments_and_may_be_missing() {
    let started =
        |index| ModelEvent::CallStarted { index, id: Some(format!("c{index}")), name: "echo".to_owned() };
    let piece = |index, fragment: &str| ModelEvent::CallInput { index, fragment: fragment.to_owned() };
    let events = [
        started(0),
        started(1),
        started(2),
        piece(1, "{\"text\":"),
        piece(0, "{}"),
        piece(1, "\"b\"}"),
        piece(9, "to nobody"),
    ];
    let world = world([events.map(ScriptedStep::Event).into_iter().chain([stop()]).collect(), text("done")]);
    world.ask("go").await.unwrap();
    let inputs: Vec<Value> = world.tools.seen().into_iter().map(|(_, input)| input).collect();
    assert_eq!(inputs, [json!({}), json!({"text": "b"}), json!({})]);
}

#[tokio::test]
async fn a_denied_call_is_a_result_and_the_turn_goes_on() {
    let batch = [("c1", "exec", json!({"text": "rm"})), ("c2", "exec", json!({"text": "ls"}))];
    let world = world_with(Policy::default(), [calls(&batch), text("then not")]);
    let turn = world.begin("go");
    world.host.recorded("approval_requested", 1).await;
    world.host.answer("c1", Verdict::Deny, Some("too dangerous")).unwrap();
    turn.await.unwrap().unwrap();
    world.check();
    let denied = "c1: The user denied this call: too dangerous".to_owned();
    assert_eq!(world.result_texts(), [denied, format!("c2: {}", results::HALTED)]);
    assert!(world.tools.seen().is_empty());
    assert_eq!(world.count("tool_batch_halted"), 1);
    assert_eq!((world.count("approval_requested"), world.count("turn_completed")), (1, 1));
}

#[tokio::test]
async fn the_time_that_a_person_takes_to_answer_is_not_the_tools() {
    const WAIT: Duration = Duration::from_secs(12 * 60);
    tokio::time::pause();
    let world = world_with(Policy::default(), [call("c1", "exec", &json!({"text": "x"})), text("done")]);
    let turn = world.begin("go");
    world.host.recorded("approval_requested", 1).await;
    tokio::time::advance(WAIT).await;
    world.host.answer("c1", Verdict::Approve, None).unwrap();
    turn.await.unwrap().unwrap();
    let Event::Call(CallEvent::Completed { duration_ms, .. }) = world.last("tool_call_completed") else {
        unreachable!()
    };
    assert!(u128::from(duration_ms) < WAIT.as_millis(), "{duration_ms} ms");
}

#[tokio::test]
async fn a_command_that_reads_outside_of_the_workspace_is_asked_about() {
    let batch = [
        ("c1", "shell", json!({"command": "cat near.txt"})),
        ("c2", "shell", json!({"command": "cat link.txt", "timeout_seconds": 5})),
    ];
    let mut world = world_with(Policy::default(), [calls(&batch), text("then not")]);
    let model: Arc<dyn Model> = world.model.clone();
    let runner = LocalRunner::new(PathBuf::from("/nonexistent")).with_tools(Arc::new(Tools::builtin()));
    world.agent = Arc::new(NativeAgent::with_model(move |_| Ok(model.clone()), Arc::new(runner), 10));
    std::fs::write(world.workspace.path().join("near.txt"), "near").unwrap();
    std::os::unix::fs::symlink("/proc/self/environ", world.workspace.path().join("link.txt")).unwrap();
    let turn = world.begin("go");
    world.host.recorded("approval_requested", 1).await;
    world.host.answer("c2", Verdict::Deny, None).unwrap();
    turn.await.unwrap().unwrap();
    world.check();
    assert!(world.result_texts()[0].contains("near"), "{:?}", world.result_texts());
    assert_eq!(world.count("approval_requested"), 1);
}

#[tokio::test]
async fn ids_that_are_missing_empty_or_used_are_replaced() {
    let started = |index, id: Option<&str>| {
        ScriptedStep::Event(ModelEvent::CallStarted {
            index,
            id: id.map(str::to_owned),
            name: "echo".to_owned(),
        })
    };
    let first = vec![
        started(0, Some("same")),
        started(1, Some("same")),
        started(2, None),
        started(3, Some("")),
        stop(),
    ];
    let again = vec![started(0, Some("same")), stop()];
    let world = world([first, again.clone(), text("done"), again, text("done again")]);
    world.ask("one").await.unwrap();
    world.ask("two").await.unwrap();
    let ids: Vec<String> = world.results().into_iter().map(|result| result.id.0).collect();
    assert_eq!(ids.len(), 6);
    let unique: std::collections::HashSet<&String> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "{ids:?}");
    assert_eq!(ids[0], "same");
    assert!(ids[1..].iter().all(|id| id.starts_with("call_")), "{ids:?}");
}

#[tokio::test]
async fn a_tool_that_panics_has_failed() {
    for tool in ["panic", "panic_at_once"] {
        let world = world([calls(&[("c1", tool, json!({})), ("c2", "echo", json!({}))]), text("sorry")]);
        world.ask("go").await.unwrap();
        let texts = world.result_texts();
        assert!(texts[0].starts_with(&format!("c1: Tool {tool} crashed")), "{texts:?}");
        assert_eq!(texts[1], format!("c2: {}", results::HALTED));
    }
}

#[tokio::test]
async fn large_output_goes_beside_the_log() {
    let world = world([call("weird/../id", "large", &json!({})), text("done")]);
    world.ask("go").await.unwrap();
    let artifacts = world.host.artifacts();
    assert_eq!(artifacts.len(), 1);
    let (reference, content) = &artifacts[0];
    let turn_id = world.host.state().session.last_turn_id.unwrap();
    assert_eq!(*reference, format!("artifacts/{turn_id}/weird____id.txt"));
    assert_eq!(content, b"all of it, and more");
    let result = world.results().remove(0);
    assert_eq!((result.text().as_str(), &result.artifacts), ("head … tail", &vec![reference.clone()]));
    assert_eq!(result.details, Some(json!({"lines": 3})));
}

#[tokio::test]
async fn output_is_shown_as_it_comes_with_an_offset_per_stream() {
    let world = world([call("c1", "loud", &json!({})), text("done")]);
    world.ask("go").await.unwrap();
    let shown: Vec<(String, u64, String)> = world
        .host
        .deltas()
        .into_iter()
        .filter_map(|delta| match delta.kind {
            DeltaKind::ToolOutput { stream, .. } => Some((stream, delta.offset, delta.text)),
            DeltaKind::Text { .. } | DeltaKind::Reasoning { .. } => None,
        })
        .collect();
    let expected = [("stdout", 0, "öne "), ("stderr", 0, "oops"), ("stdout", 5, "two")];
    assert_eq!(shown, expected.map(|(stream, offset, text)| (stream.to_owned(), offset, text.to_owned())));
}

#[tokio::test]
async fn nothing_runs_that_is_not_recorded_first() {
    let world = world_with(Policy::default(), [call("c1", "exec", &json!({"text": "x"}))]);
    let turn = world.begin("go");
    world.host.recorded("approval_requested", 1).await;
    world.host.refuse_writes(true);
    world.host.answer("c1", Verdict::Approve, None).unwrap();
    let failed = turn.await.unwrap().unwrap_err();
    assert_eq!(failed.reason, "not_recorded");
    assert!(world.tools.seen().is_empty());
    assert_eq!(world.result_texts(), [format!("c1: {}", results::NOT_STARTED)]);
}
