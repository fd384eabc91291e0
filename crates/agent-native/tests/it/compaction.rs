//! Making a conversation shorter: when it is due, when a provider says so, when somebody asks.

use std::sync::Arc;

use ostler_agent_native::NativeAgent;
use ostler_models::{Model, ModelError, ModelEvent};
use ostler_testing::model::{ScriptedModel, ScriptedStep, calls, text};
use ostler_types::{
    AgentEvent, Compaction, CompactionTrigger, Event, ModelInfo, Role, SessionChange, StepEvent, Usage,
    results,
};
use serde_json::json;

use crate::fixture::{NativeAgentFixture, completed, said, world};
use crate::tools::runner;

/// A world whose model has a window of so many tokens.
fn with_window(window: Option<u64>, answers: Vec<Vec<ScriptedStep>>) -> NativeAgentFixture {
    let mut world = world(answers);
    let model: Arc<dyn Model> = world.model.clone();
    let agent = NativeAgent::with_model(move |_| Ok(model.clone()), runner(&world.tools), 10);
    let info = move |name: &str| ModelInfo { context_window: window, ..ModelInfo::unknown(name) };
    world.agent = Arc::new(agent.with_model_info(info));
    world
}

fn overflow() -> Vec<ScriptedStep> {
    vec![ScriptedStep::Error(ModelError::new(
        "context_overflow",
        "the conversation is too long for the model",
    ))]
}

fn compactions(world: &NativeAgentFixture) -> Vec<Compaction> {
    let compacted = |event| match event {
        Event::Agent(AgentEvent::ContextCompacted { compaction }) => Some(compaction),
        _ => None,
    };
    world.host.events().into_iter().filter_map(compacted).collect()
}

fn shown(world: &NativeAgentFixture, request: usize) -> Vec<(Role, String)> {
    world.model.requests()[request].messages.iter().map(|m| (m.role, m.text())).collect()
}

/// Some talk of about a thousand tokens an answer.
fn talk(number: usize) -> Vec<ScriptedStep> {
    text(&format!("answer {number} {}", "word ".repeat(900)))
}

#[tokio::test]
async fn a_conversation_that_would_fill_the_window_is_summarised_before_the_step() {
    let usage = Usage { input_tokens: 3_000, output_tokens: 40, ..Usage::default() };
    let notes = [ScriptedStep::Event(ModelEvent::Usage(usage)), said("## Goal\nto count")];
    let notes = notes.into_iter().chain(text(" sheep")).collect();
    let world =
        with_window(Some(6_000), vec![talk(0), talk(1), talk(2), notes, text("fourth"), text("fifth")]);
    for (number, wish) in ["count sheep", "with DB_PASSWORD=hunter2", "in twos", "to ten"].iter().enumerate()
    {
        world.ask(wish).await.unwrap();
        assert_eq!(compactions(&world).len(), usize::from(number == 3));
    }
    let requests = world.model.requests();
    assert!(
        requests[3].tools.is_empty() && requests[3].system.is_none(),
        "the summary is asked for without tools"
    );
    let asked = requests[3].messages[0].text();
    assert!(asked.contains("USER: count sheep") && asked.contains("answer 0"), "{asked}");
    assert!(!asked.contains("hunter2"));
    let after = shown(&world, 4);
    assert_eq!(after[0].0, Role::System);
    for kept in ["## Goal\nto count sheep", "- count sheep", "- with DB_PASSWORD="] {
        assert!(after[0].1.contains(kept), "{kept}: {}", after[0].1);
    }
    assert!(!after[0].1.contains("hunter2") && !after.iter().any(|(_, text)| text.starts_with("answer 0")));
    assert_eq!(after.last().unwrap(), &(Role::User, "to ten".to_owned()));
    let compaction = &compactions(&world)[0];
    assert_eq!(compaction.trigger, CompactionTrigger::Threshold);
    assert!(compaction.tokens_before >= 5_100 && compaction.tokens_after < 4_000, "{compaction:?}");
    assert_eq!(compaction.summary_message_id, compaction.summary.as_ref().map(|summary| summary.id));
    let spent = world.host.events().into_iter().find_map(|event| match event {
        Event::Step(StepEvent::UsageRecorded { model, message_id: None, usage }) => {
            Some((model, usage.output_tokens))
        }
        _ => None,
    });
    assert_eq!(spent, Some(("scripted:model".to_owned(), 40)));
    // The next turn goes on from what is recorded.
    world.ask("thanks").await.unwrap();
    assert_eq!(shown(&world, 5)[..after.len()], after);
}

#[tokio::test]
async fn old_output_goes_first_and_no_model_is_asked_for_that() {
    let mut answers: Vec<_> =
        (0..9).map(|n| calls(&[(format!("c{n}").as_str(), "long", json!({"lines": 1_000}))])).collect();
    answers.push(text("done"));
    let world = with_window(Some(12_000), answers);
    assert_eq!(world.ask("go").await, Ok(completed("end_turn", None)));
    assert_eq!(world.model.requests().len(), 10, "nobody was asked for a summary");
    let compactions = compactions(&world);
    assert!(!compactions.is_empty() && compactions.iter().all(|compaction| compaction.summary.is_none()));
    assert_eq!(compactions[0].pruned[0].0, "c0");
    let last = shown(&world, 9);
    assert_eq!(last[2], (Role::Tool, results::PRUNED.to_owned()));
    assert!(last.last().unwrap().1.starts_with("line\n"), "the newest output is as it was");
    assert_eq!(last.len(), 19, "no message is gone");
    // The log still has all of it, and reads the same afterwards.
    assert!(world.results().iter().all(|result| result.text().starts_with("line\n")));
    let again: Vec<String> = world.host.conversation().iter().take(19).map(|m| m.text()).collect();
    assert_eq!(again, last.into_iter().map(|(_, text)| text).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_a_provider_calls_too_long_is_made_shorter_and_asked_again_once() {
    let world =
        with_window(None, vec![talk(0), talk(1), overflow(), text("notes"), text("better"), text("on")]);
    world.ask("one").await.unwrap();
    world.ask("two").await.unwrap();
    assert_eq!(world.ask("three").await, Ok(completed("end_turn", None)));
    assert_eq!(compactions(&world)[0].trigger, CompactionTrigger::Overflow);
    assert_eq!(shown(&world, 4).last().unwrap().1, "three");
    assert!(shown(&world, 4)[0].1.contains("notes"));
    world.ask("four").await.unwrap();
    assert_eq!(world.model.requests().len(), 6);
}

#[tokio::test]
async fn what_stays_too_long_fails_clearly_and_the_session_goes_on() {
    let world =
        with_window(None, vec![talk(0), talk(1), overflow(), text("notes"), overflow(), text("at last")]);
    world.ask("one").await.unwrap();
    world.ask("two").await.unwrap();
    let failed = world.ask("three").await.unwrap_err();
    assert_eq!(failed.reason, "context_overflow");
    assert!(failed.error.message.ends_with("also after it was made shorter"), "{}", failed.error.message);
    assert!(failed.error.hint.unwrap().contains("larger window"));
    world.ask("shorter").await.unwrap();
    assert_eq!(world.host.conversation().last().unwrap().text(), "at last");
}

#[tokio::test]
async fn a_message_that_is_too_long_by_itself_is_refused_without_a_summary() {
    let world = with_window(None, vec![overflow()]);
    let failed = world.ask("one").await.unwrap_err();
    assert_eq!((failed.reason.as_str(), world.model.requests().len()), ("context_overflow", 1));
    assert!(compactions(&world).is_empty());
}

#[tokio::test]
async fn a_model_that_writes_no_notes_does_not_leave_the_session_stuck() {
    let broken = vec![
        said("half"),
        ScriptedStep::Error(ModelError::new("overloaded", "too busy with sk-abcdefghij0123456789abcd")),
    ];
    for (notes, told) in
        [(broken, "(too busy with"), (text("  "), "(it wrote nothing)"), (vec![said("cut")], "ended before")]
    {
        let first = calls(&[("c1", "echo", json!({"text": "x"}))]);
        let world = with_window(Some(6_000), vec![first, talk(0), talk(1), talk(2), notes, text("done")]);
        for wish in ["count sheep", "in twos", "quickly", "to ten"] {
            world.ask(wish).await.unwrap();
        }
        let summary = compactions(&world)[0].summary.clone().unwrap().text();
        for kept in [told, "- echo {\"text\":\"x\"}", "- count sheep", "could not be summarized by a model"] {
            assert!(summary.contains(kept), "{kept}: {summary}");
        }
        assert!(!summary.contains("sk-abc") && !summary.contains("half"));
        assert_eq!(world.host.conversation().last().unwrap().text(), "done");
    }
}

#[tokio::test]
async fn a_model_that_may_take_its_place_writes_the_notes_when_it_cannot() {
    let broken = vec![said("half"), ScriptedStep::Error(ModelError::new("overloaded", "too busy"))];
    let mut world = with_window(None, vec![talk(0), talk(1), talk(2), broken, text("done")]);
    let usage = Usage { input_tokens: 70, output_tokens: 7, ..Usage::default() };
    let notes =
        [ScriptedStep::Event(ModelEvent::Usage(usage))].into_iter().chain(text("notes of another")).collect();
    let (first, other): (Arc<dyn Model>, _) = (world.model.clone(), ScriptedModel::new([notes]));
    let second: Arc<dyn Model> = other.clone();
    let resolve = move |name: &str| match name {
        "other:one" => Ok(second.clone()),
        "other:missing" => Err(ModelError::new("unknown_model", "no such model")),
        _ => Ok(first.clone()),
    };
    let agent = NativeAgent::with_model(resolve, runner(&world.tools), 10);
    let window = |name: &str| if name == "other:one" { 1_000 } else { 6_000 };
    let info = move |name: &str| ModelInfo { context_window: Some(window(name)), ..ModelInfo::unknown(name) };
    world.agent = Arc::new(agent.with_model_info(info));
    let names = Some(vec!["other:missing".to_owned(), "other:one".to_owned()]);
    world.host.update(SessionChange { fallback_models: names, ..SessionChange::default() });
    for wish in ["count sheep", "in twos", "quickly", "to ten"] {
        world.ask(wish).await.unwrap();
    }
    let summary = compactions(&world)[0].summary.clone().unwrap().text();
    assert!(
        summary.contains("notes of another") && !summary.contains("could not be summarized"),
        "{summary}"
    );
    // Its window is smaller, so it is shown less; and the turn stays with the model that it has.
    let asked = other.requests()[0].messages[0].text();
    assert!(asked.len() < 3_500, "{}", asked.len());
    assert_eq!(world.host.conversation().last().unwrap().text(), "done");
    let spent = |event: &Event| matches!(event, Event::Step(StepEvent::UsageRecorded { model, message_id: None, .. }) if model == "other:one");
    assert_eq!(world.host.events().iter().filter(|event| spent(event)).count(), 1);
    assert_eq!(world.count("model_resolved"), 0);
}

#[tokio::test]
async fn somebody_can_ask_for_it() {
    let world = with_window(None, vec![talk(0), talk(1), text("my notes"), text("on")]);
    world.ask("one").await.unwrap();
    world.ask("two").await.unwrap();
    world.host.compact();
    let ended = world.host.run(&*world.agent).await.unwrap();
    assert_eq!(ended.stop_reason, "compacted");
    assert_eq!(compactions(&world)[0].trigger, CompactionTrigger::Asked);
    let state = world.host.state();
    assert_eq!(state.context.tokens, Some(compactions(&world)[0].tokens_after));
    world.ask("three").await.unwrap();
    let after = shown(&world, 3);
    assert!(after[0].1.contains("my notes") && after[0].1.contains("- one"), "{after:?}");
    assert_eq!(after.last().unwrap().1, "three");
    world.check();
}

#[tokio::test]
async fn a_short_conversation_has_nothing_to_be_made_shorter() {
    let world = with_window(Some(100_000), vec![text("hello")]);
    for _ in 0..2 {
        world.host.compact();
        let ended = world.host.run(&*world.agent).await.unwrap();
        assert_eq!(ended.stop_reason, "nothing_to_compact");
        if world.model.requests().is_empty() {
            world.ask("hi").await.unwrap();
        }
    }
    assert_eq!((compactions(&world).len(), world.model.requests().len()), (0, 1));
    world.check();
}

#[tokio::test]
async fn canceling_a_summary_leaves_the_conversation_as_it_was() {
    let usage = Usage { input_tokens: 900, output_tokens: 1, ..Usage::default() };
    let slow = vec![ScriptedStep::Event(ModelEvent::Usage(usage)), said("no"), ScriptedStep::Hang];
    let world = with_window(None, vec![talk(0), talk(1), slow, text("on")]);
    world.ask("one").await.unwrap();
    world.ask("two").await.unwrap();
    let before = world.host.conversation();
    world.host.compact();
    let turn = world.resume();
    world.model.requested(3).await;
    // Its first words have come by the time that the model is waited for.
    tokio::task::yield_now().await;
    world.host.cancel();
    assert!(turn.await.unwrap().is_err());
    world.model.ended(3).await;
    assert_eq!(world.host.conversation(), before);
    assert_eq!((compactions(&world).len(), world.count("usage_recorded")), (0, 1));
    assert!(world.host.deltas().iter().all(|delta| delta.text != "no"), "notes are not shown as an answer");
    world.ask("three").await.unwrap();
}

#[tokio::test]
async fn of_an_unknown_window_nothing_is_assumed() {
    let world = with_window(None, (0..20).map(talk).collect());
    for number in 0..20 {
        world.ask(&format!("wish {number}")).await.unwrap();
    }
    assert!(compactions(&world).is_empty());
    assert_eq!(world.model.requests().len(), 20);
}

#[tokio::test]
async fn what_the_provider_counts_is_what_counts() {
    // By our own estimate the conversation is small; the provider says that it fills the window.
    let counted = |tokens: u64, number: usize| {
        let usage = Usage { input_tokens: tokens, output_tokens: 10, ..Usage::default() };
        let mut answer = calls(&[(format!("c{number}").as_str(), "echo", json!({"text": "x ".repeat(500)}))]);
        answer.insert(0, ScriptedStep::Event(ModelEvent::Usage(usage)));
        answer
    };
    let answers = vec![counted(1_000, 0), counted(3_000, 1), counted(9_000, 2), text("notes"), text("done")];
    let world = with_window(Some(10_000), answers);
    world.ask("go").await.unwrap();
    assert_eq!(compactions(&world).len(), 1);
    assert_eq!(compactions(&world)[0].trigger, CompactionTrigger::Threshold);
}
