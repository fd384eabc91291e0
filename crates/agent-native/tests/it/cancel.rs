//! Canceling: the stream ends, the tool's future is dropped, the text is kept, calls are repaired.

use ostler_testing::model::{ScriptedStep, calls, text};
use ostler_types::{Event, MessageEvent, Policy, results};
use serde_json::json;

use crate::fixture::{said, world, world_with};

#[tokio::test]
async fn in_mid_stream_the_request_ends_and_the_text_is_kept() {
    let world = world([vec![said("as far as"), ScriptedStep::Hang], text("again")]);
    let turn = world.begin("go");
    world.host.until(|host| host.deltas().len() == 1).await;
    world.host.cancel();
    assert!(turn.await.unwrap().is_err());
    world.model.ended(1).await;
    world.check();
    assert_eq!(world.count("turn_canceled"), 1);
    assert_eq!(world.count("turn_failed"), 0);
    let Event::Message(MessageEvent::ModelOutputCompleted { message, stop_reason, .. }) =
        world.last("model_output_completed")
    else {
        unreachable!()
    };
    assert_eq!((message.text().as_str(), stop_reason.as_str()), ("as far as", "canceled"));

    world.ask("and now").await.unwrap();
    let shown: Vec<String> =
        world.model.requests()[1].messages.iter().map(|message| message.text()).collect();
    assert_eq!(shown, ["go", "as far as", "and now"]);
}

#[tokio::test]
async fn in_mid_tool_the_call_is_dropped_and_the_rest_do_not_run() {
    let batch = [
        ("c1", "echo", json!({"text": "one"})),
        ("c2", "gate", json!({"gate": "never", "text": "two"})),
        ("c3", "echo", json!({"text": "three"})),
    ];
    let world = world([calls(&batch), text("again")]);
    let turn = world.begin("go");
    world.tools.waiting(1).await;
    world.host.cancel();
    assert!(turn.await.unwrap().is_err());
    world.tools.dropped(1).await;
    let canceled = "Cancelled by user: tool execution was interrupted";
    assert_eq!(results::CANCELED, canceled);
    assert_eq!(
        world.result_texts(),
        ["c1: one".to_owned(), format!("c2: {canceled}"), format!("c3: {canceled}")]
    );
    assert_eq!(world.tools.seen().len(), 2);

    world.ask("and now").await.unwrap();
    assert_eq!(world.model.requests()[1].messages.len(), 6);
}

#[tokio::test]
async fn side_by_side_all_calls_are_dropped() {
    let input = json!({"gate": "never", "text": "x", "_parallel": true});
    let world = world([calls(&[("c1", "gate", input.clone()), ("c2", "gate", input)]), text("again")]);
    let turn = world.begin("go");
    world.tools.waiting(2).await;
    world.host.cancel();
    assert!(turn.await.unwrap().is_err());
    world.tools.dropped(2).await;
    world.ask("and now").await.unwrap();
}

#[tokio::test]
async fn while_an_approval_waits_nothing_runs() {
    let world =
        world_with(Policy::default(), [calls(&[("c1", "exec", json!({"text": "x"}))]), text("again")]);
    let turn = world.begin("go");
    world.host.recorded("approval_requested", 1).await;
    world.host.cancel();
    assert!(turn.await.unwrap().is_err());
    assert!(world.tools.seen().is_empty());
    assert_eq!(world.result_texts(), [format!("c1: {}", results::CANCELED)]);
    assert_eq!(world.host.state().pending_approvals().count(), 0);
    let late = world.host.answer("c1", ostler_types::Verdict::Approve, None).unwrap_err();
    assert_eq!(late.kind, ostler_types::RefusalKind::NotFound);
    world.ask("and now").await.unwrap();
}
