//! Several models for one session: who is asked, who takes over, and what is said of it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ostler_agent_native::NativeAgent;
use ostler_models::{Model, ModelError, ModelEvent};
use ostler_testing::model::{ScriptedModel, ScriptedStep, call, text};
use ostler_types::{
    Effort, Event, Message, Part, ResolvedBy, SessionChange, StepEvent, ToolCall, ToolCallId, Usage,
};
use serde_json::json;

use crate::fixture::{NativeAgentFixture, completed, said, stop, world};
use crate::tools::runner;

/// A session whose own model is `scripted:model`, with others to take its place.
fn with_fallbacks(
    first: Vec<Vec<ScriptedStep>>,
    others: Vec<(&str, Vec<Vec<ScriptedStep>>)>,
) -> NativeAgentFixture {
    let mut world = world(first);
    let names: Vec<String> = others.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut models: HashMap<String, Arc<dyn Model>> = HashMap::new();
    models.insert("scripted:model".to_owned(), world.model.clone());
    for (name, answers) in others {
        models.insert(name.to_owned(), ScriptedModel::new(answers));
    }
    let resolve = move |name: &str| {
        models.get(name).cloned().ok_or_else(|| ModelError::new("unknown_model", format!("no {name}")))
    };
    world.agent = Arc::new(NativeAgent::with_model(resolve, runner(&world.tools), 10));
    world.host.update(SessionChange { fallback_models: Some(names), ..SessionChange::default() });
    world
}

fn broken(code: &'static str) -> Vec<ScriptedStep> {
    vec![ScriptedStep::Error(ModelError::new(code, format!("it is {code}")))]
}

fn who(event: &Event) -> Option<String> {
    if let Event::Step(StepEvent::UsageRecorded { model, .. }) = event { Some(model.clone()) } else { None }
}

#[tokio::test]
async fn a_model_that_cannot_begin_hands_over_and_says_so() {
    let answer = vec![
        said("here"),
        ScriptedStep::Event(ModelEvent::Usage(Usage { input_tokens: 5, ..Usage::default() })),
        stop(),
    ];
    let world = with_fallbacks(vec![broken("overloaded")], vec![("other:one", vec![answer])]);
    assert_eq!(world.ask("go").await, Ok(completed("end_turn", None)));
    let Event::Step(StepEvent::ModelResolved { resolution }) = world.last("model_resolved") else {
        unreachable!()
    };
    assert_eq!((resolution.model.as_str(), resolution.reason), ("other:one", ResolvedBy::Failover));
    assert_eq!(resolution.instead_of.as_deref(), Some("scripted:model"));
    assert_eq!(resolution.error.map(|error| error.code).as_deref(), Some("overloaded"));
    assert_eq!(world.host.events().iter().filter_map(who).collect::<Vec<_>>(), ["other:one"]);
}

#[tokio::test]
async fn the_rest_of_the_turn_stays_with_the_one_that_answered_and_the_next_begins_anew() {
    let first = vec![broken("rate_limited"), text("I am back")];
    let other = vec![call("c1", "echo", &json!({"text": "x"})), text("done")];
    let world = with_fallbacks(first, vec![("other:one", other)]);
    world.ask("go").await.unwrap();
    assert_eq!(world.count("model_resolved"), 1);
    world.ask("again").await.unwrap();
    assert_eq!(world.model.requests().len(), 2, "its own model is asked first in each turn");
    assert_eq!(world.count("model_resolved"), 1);
}

#[tokio::test]
async fn after_the_first_word_nobody_takes_over() {
    let cut = vec![said("I begin"), ScriptedStep::Error(ModelError::new("cut_stream", "gone"))];
    let world = with_fallbacks(vec![cut], vec![("other:one", vec![text("never")])]);
    assert_eq!(world.ask("go").await.unwrap_err().error.code, "cut_stream");
    assert_eq!(world.count("model_resolved"), 0);
    assert_eq!(world.host.conversation().last().unwrap().text(), "I begin", "what was said is kept");
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_not_moved_to_another_model() {
    let world = with_fallbacks(vec![broken("context_overflow")], vec![("other:one", vec![text("never")])]);
    assert_eq!(world.ask("go").await.unwrap_err().reason, "context_overflow");
}

#[tokio::test]
async fn when_all_fail_all_are_named() {
    let world = with_fallbacks(
        vec![broken("overloaded")],
        vec![("missing:one", vec![]), ("other:two", vec![broken("unauthorized")])],
    );
    // A name that nobody knows fails over like any other.
    world.host.update(SessionChange {
        fallback_models: Some(vec!["nobody:x".to_owned(), "other:two".to_owned()]),
        ..SessionChange::default()
    });
    let failed = world.ask("go").await.unwrap_err();
    assert_eq!(failed.error.code, "unauthorized");
    for words in ["scripted:model: it is overloaded", "nobody:x: no nobody:x", "other:two: it is unauth"] {
        assert!(failed.error.message.contains(words), "{}", failed.error.message);
    }
    assert_eq!(world.count("model_resolved"), 2);
}

#[tokio::test]
async fn a_wait_is_recorded_for_clients_to_show() {
    let error = ModelError::new("rate_limited", "slow down").hint("wait");
    let wait = Duration::from_millis(1500);
    let waiting = ScriptedStep::Event(ModelEvent::Waiting { attempt: 1, attempts: 4, wait, error });
    let world = world([vec![waiting, said("ok"), stop()]]);
    world.ask("go").await.unwrap();
    let Event::Step(StepEvent::ModelWaiting { model, attempt, attempts, wait_ms, error }) =
        world.last("model_waiting")
    else {
        unreachable!()
    };
    assert_eq!((model.as_str(), attempt, attempts, wait_ms), ("scripted:model", 1, 4, 1500));
    assert_eq!((error.code.as_str(), error.hint.as_deref()), ("rate_limited", Some("wait")));
}

#[tokio::test]
async fn what_a_failed_answer_took_is_counted_once() {
    let usage = Usage { input_tokens: 9, output_tokens: 1, ..Usage::default() };
    let spent = ScriptedStep::Event(ModelEvent::Usage(usage));
    let cut = vec![said("I begin"), spent, ScriptedStep::Error(ModelError::new("cut_stream", "gone"))];
    let world = world([cut]);
    world.ask("go").await.unwrap_err();
    assert_eq!(world.count("usage_recorded"), 1);
    assert_eq!(world.host.state().session.usage, usage);
    assert_eq!(world.host.state().turns.back().unwrap().usage, usage);
}

#[tokio::test]
async fn effort_key_and_files_reach_the_model() {
    let world = world([text("I see")]);
    world.host.update(SessionChange { effort: Some(Some(Effort::High)), ..SessionChange::default() });
    world.host.put_file("attachments/a.png", b"\x89PNG");
    let image = Part::Image { reference: "attachments/a.png".to_owned(), mime_type: "image/png".to_owned() };
    let gone = Part::File { reference: "attachments/gone".to_owned(), mime_type: "text/plain".to_owned() };
    world.host.submit_parts(vec![Part::text("look"), image, gone]);
    world.host.run(&*world.agent).await.unwrap();
    let request = &world.model.requests()[0];
    assert_eq!(request.effort, Some(Effort::High));
    assert_eq!(request.cache_key, Some(world.host.state().session.id.to_string()));
    assert_eq!(request.files.keys().collect::<Vec<_>>(), ["attachments/a.png"]);
}

#[tokio::test]
async fn calls_keep_their_place_among_the_other_parts() {
    let thought = |text: &str| ScriptedStep::Event(ModelEvent::Reasoning(text.to_owned()));
    let sealed = |n: u32| ScriptedStep::Event(ModelEvent::ReasoningOpaque(json!({"n": n})));
    let begin = |index, id: &str| {
        ScriptedStep::Event(ModelEvent::CallStarted {
            index,
            id: Some(id.to_owned()),
            name: "echo".to_owned(),
        })
    };
    let input = |index, fragment: &str| {
        ScriptedStep::Event(ModelEvent::CallInput { index, fragment: fragment.to_owned() })
    };
    let answer = vec![
        thought("first"),
        sealed(1),
        begin(0, "c1"),
        input(0, "{\"text\":"),
        thought("then"),
        sealed(2),
        begin(1, "c2"),
        input(1, "{}"),
        input(0, "\"x\"}"),
        said("both"),
        stop(),
    ];
    let world = world([answer, text("done")]);
    world.ask("go").await.unwrap();
    let message: Arc<Message> =
        world.host.conversation().into_iter().find(|message| message.tool_calls().count() == 2).unwrap();
    let reasoning =
        |text: &str, n: u32| Part::Reasoning { text: text.to_owned(), opaque: Some(json!({"n": n})) };
    let called = |id: &str, input| Part::ToolCall {
        call: ToolCall { id: ToolCallId(id.to_owned()), name: "echo".to_owned(), input },
    };
    let expected = [
        reasoning("first", 1),
        called("c1", json!({"text": "x"})),
        reasoning("then", 2),
        called("c2", json!({})),
        Part::text("both"),
    ];
    assert_eq!(message.parts, expected);
}
