//! One answer of the model: text, reasoning, cost, and the ways in which an answer breaks.

use ostler_models::{ModelError, ModelEvent};
use ostler_testing::model::{ScriptedStep, call, text};
use ostler_types::{DeltaKind, Event, MessageEvent, Part, Role, StateLimits, Usage};
use serde_json::json;

use crate::fixture::{completed, said, stop, world};

#[tokio::test]
async fn a_text_is_streamed_and_recorded_whole() {
    let usage = Usage { input_tokens: 7, output_tokens: 3, ..Usage::default() };
    let world =
        world([vec![said("Grüß "), said("Gott"), ScriptedStep::Event(ModelEvent::Usage(usage)), stop()]]);
    assert_eq!(world.ask("hello").await, Ok(completed("end_turn", None)));

    let Event::Message(MessageEvent::ModelOutputCompleted { message, stop_reason, usage: cost }) =
        world.last("model_output_completed")
    else {
        unreachable!()
    };
    assert_eq!((message.text().as_str(), stop_reason.as_str(), cost), ("Grüß Gott", "end_turn", usage));
    let offsets: Vec<_> = world.host.deltas().into_iter().map(|delta| (delta.offset, delta.text)).collect();
    assert_eq!(offsets, [(0, "Grüß ".to_owned()), (7, "Gott".to_owned())]);
    assert_eq!(world.host.state().session.usage, usage);
    let request = &world.model.requests()[0];
    assert_eq!(request.messages.last().unwrap().text(), "hello");
    assert!(request.system.as_ref().unwrap().contains(world.workspace.path().to_str().unwrap()));
    assert!(request.tools.iter().any(|tool| tool.name == "echo"));
}

#[tokio::test]
async fn deltas_name_the_part_that_the_message_has_in_the_end() {
    let thought = |text: &str| ScriptedStep::Event(ModelEvent::Reasoning(text.to_owned()));
    // Providers send empty pieces, and those make no part.
    let world =
        world([vec![said(""), thought("hm"), thought("m"), said(""), said("yes"), thought(""), stop()]]);
    world.ask("think").await.unwrap();
    let Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) =
        world.last("model_output_completed")
    else {
        unreachable!()
    };
    let reasoning = Part::Reasoning { text: "hmm".to_owned(), opaque: None };
    assert_eq!(message.parts, [reasoning, Part::text("yes")]);
    let parts: Vec<(u32, String)> = world
        .host
        .deltas()
        .into_iter()
        .map(|delta| match delta.kind {
            DeltaKind::Text { part, .. } | DeltaKind::Reasoning { part, .. } => (part, delta.text),
            DeltaKind::ToolOutput { .. } => unreachable!(),
        })
        .collect();
    assert_eq!(parts, [(0, "hm".to_owned()), (0, "m".to_owned()), (1, "yes".to_owned())]);
    assert_eq!(world.count("reasoning_completed"), 1);
}

#[tokio::test]
async fn what_the_provider_wants_back_stays_with_its_reasoning() {
    let thought = |text: &str| ScriptedStep::Event(ModelEvent::Reasoning(text.to_owned()));
    let opaque = |n: u32| json!({"provider": "anthropic", "block": {"n": n}});
    let cue = |n| ScriptedStep::Event(ModelEvent::ReasoningOpaque(opaque(n)));
    let answer =
        vec![thought("hm"), cue(1), thought("so"), cue(2), cue(3), said("yes"), thought("?"), cue(4), stop()];
    let world = world([answer, text("done")]);
    world.ask("think").await.unwrap();
    let reasoning = |text: &str, n| Part::Reasoning { text: text.to_owned(), opaque: Some(opaque(n)) };
    let expected =
        [reasoning("hm", 1), reasoning("so", 2), reasoning("", 3), Part::text("yes"), reasoning("?", 4)];
    let Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) =
        world.last("model_output_completed")
    else {
        unreachable!()
    };
    assert_eq!(message.parts, expected);
    let shown: Vec<String> = world.host.deltas().into_iter().map(|delta| delta.text).collect();
    assert_eq!(shown, ["hm", "so", "yes", "?"], "it is not for people");

    world.ask("and now?").await.unwrap();
    let requests = world.model.requests();
    assert!(requests[1].messages.iter().any(|message| message.parts == expected), "the model gets it back");
}

#[tokio::test]
async fn the_next_turn_is_shown_the_one_before() {
    let world = world([call("c1", "echo", &json!({"text": "x"})), text("first"), text("second")]);
    world.ask("one").await.unwrap();
    world.ask("two").await.unwrap();
    let shown: Vec<(Role, String)> =
        world.model.requests()[2].messages.iter().map(|message| (message.role, message.text())).collect();
    let expected = [
        (Role::User, "one"),
        (Role::Assistant, ""),
        (Role::Tool, "x"),
        (Role::Assistant, "first"),
        (Role::User, "two"),
    ];
    assert_eq!(shown, expected.map(|(role, text)| (role, text.to_owned())));
}

#[tokio::test]
async fn an_error_before_the_first_token_fails_the_turn_with_its_cause() {
    let error = ModelError::new("overloaded", "the provider is overloaded").hint("try later");
    let world = world([vec![ScriptedStep::Error(error)]]);
    let failed = world.ask("hello").await.unwrap_err();
    assert_eq!((failed.reason.as_str(), failed.error.code.as_str()), ("overloaded", "overloaded"));
    assert_eq!(failed.error.message, "the provider is overloaded");
    assert_eq!(failed.error.hint.as_deref(), Some("try later"));
    assert_eq!(world.count("model_output_completed"), 0);
}

#[tokio::test]
async fn an_error_after_the_first_token_keeps_the_text() {
    let world = world([
        vec![said("half of"), ScriptedStep::Error(ModelError::new("reset", "connection reset"))],
        text("all"),
    ]);
    let failed = world.ask("hello").await.unwrap_err();
    assert_eq!(failed.reason, "reset");
    assert_eq!(world.host.deltas()[0].text, "half of");
    world.ask("go on").await.unwrap();
    let shown: Vec<String> =
        world.model.requests()[1].messages.iter().map(|message| message.text()).collect();
    assert_eq!(shown, ["hello", "half of", "go on"]);
}

#[tokio::test]
async fn a_cut_stream_is_a_failure() {
    let world = world([vec![said("and then")]]);
    let failed = world.ask("hello").await.unwrap_err();
    assert_eq!(failed.reason, "cut_stream");
    let Event::Message(MessageEvent::ModelOutputCompleted { message, stop_reason, .. }) =
        world.last("model_output_completed")
    else {
        unreachable!()
    };
    assert_eq!((message.text().as_str(), stop_reason.as_str()), ("and then", "error"));
}

#[tokio::test]
async fn a_cut_stream_runs_no_half_call() {
    let started = ModelEvent::CallStarted { index: 0, id: Some("c1".to_owned()), name: "echo".to_owned() };
    let world = world([vec![ScriptedStep::Event(started)]]);
    assert_eq!(world.ask("hello").await.unwrap_err().reason, "cut_stream");
    assert!(world.tools.seen().is_empty());
    assert_eq!(world.count("tool_call_started"), 0);
}

#[tokio::test]
async fn an_answer_without_end_is_ended() {
    let piece = "x".repeat(64 * 1024);
    let mut answer: Vec<ScriptedStep> = (0..64).map(|_| said(&piece)).collect();
    answer.push(stop());
    let world = world([answer]);
    let failed = world.ask("talk").await.unwrap_err();
    assert_eq!(failed.reason, "answer_too_long");
    world.model.ended(1).await;
    let shown: usize = world.host.deltas().iter().map(|delta| delta.text.len()).sum();
    assert!(shown <= StateLimits::MESSAGE_BYTES, "{shown}");
}

#[tokio::test]
async fn as_many_calls_as_are_allowed_run_and_no_more() {
    let calls = |count: usize| -> Vec<ScriptedStep> {
        let name = "echo".to_owned();
        let events = (0..count).flat_map(|index| {
            let started =
                ModelEvent::CallStarted { index, id: Some(format!("c{index}")), name: name.clone() };
            [started, ModelEvent::CallInput { index, fragment: "{}".to_owned() }]
        });
        events.map(ScriptedStep::Event).chain([stop()]).collect()
    };
    let fits = world([calls(StateLimits::CALLS), text("done")]);
    fits.ask("go").await.unwrap();
    assert_eq!(fits.results().len(), StateLimits::CALLS);

    let over = world([calls(StateLimits::CALLS + 1)]);
    let failed = over.ask("go").await.unwrap_err();
    assert_eq!(failed.reason, "too_many_calls");
    assert!(over.tools.seen().is_empty());
}

#[tokio::test]
async fn an_unknown_model_fails_the_turn() {
    let world = world([]);
    let models = std::sync::Arc::new(ostler_models::ModelRegistry::new(Vec::new()));
    let agent = ostler_agent_native::NativeAgent::new(models, crate::tools::runner(&world.tools), 10);
    world.host.submit("hello", ostler_types::Delivery::Queue);
    let failed = world.host.run(&agent).await.unwrap_err();
    assert_eq!(failed.reason, "unknown_model");
    assert!(failed.error.message.contains("scripted:model"), "{}", failed.error.message);
}
