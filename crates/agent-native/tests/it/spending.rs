//! What answers take is counted once, also when they are stopped; and a budget ends a turn.

use ostler_models::{ModelError, ModelEvent};
use ostler_testing::host::{TurnHost, child_answered};
use ostler_testing::model::{ScriptedStep, calls, text};
use ostler_types::{Budget, ChildOutcome, Event, NewSession, Policy, Role, StepEvent, Usage, results};
use serde_json::json;

use crate::fixture::{NativeAgentFixture, completed, said, world};

fn took(input_tokens: u64, output_tokens: u64) -> ScriptedStep {
    ScriptedStep::Event(ModelEvent::Usage(Usage { input_tokens, output_tokens, ..Usage::default() }))
}

fn with_budget(budget: Budget, answers: Vec<Vec<ScriptedStep>>) -> NativeAgentFixture {
    let mut world = world(answers);
    let mut policy = Policy::default();
    policy.approval.require_for_kinds.clear();
    let path = world.workspace.path().to_str().unwrap().to_owned();
    world.host = TurnHost::with_session(&path, |new| NewSession { budget: Some(budget), policy, ..new });
    world
}

fn recorded(world: &NativeAgentFixture) -> Vec<(u64, u64, bool)> {
    let usage = |event| match event {
        Event::Step(StepEvent::UsageRecorded { usage, message_id, .. }) => {
            Some((usage.input_tokens, usage.output_tokens, message_id.is_some()))
        }
        _ => None,
    };
    world.host.events().into_iter().filter_map(usage).collect()
}

#[tokio::test]
async fn a_stopped_answer_is_paid_for_with_what_it_had_said_of_itself_last() {
    let world = world([
        vec![took(100, 1), said("as far as"), took(100, 7), said(" this"), ScriptedStep::Hang],
        text("again"),
    ]);
    let turn = world.begin("go");
    world.host.until(|host| host.deltas().len() == 2).await;
    world.host.cancel();
    assert!(turn.await.unwrap().is_err());
    assert_eq!(recorded(&world), [(100, 7, false)]);
    let state = world.host.state();
    assert_eq!((state.session.usage.input_tokens, state.turns[0].usage.output_tokens), (100, 7));
    assert_eq!(world.host.names().last(), Some(&"usage_recorded"), "the turn was over before");
}

#[tokio::test]
async fn nothing_is_counted_twice() {
    // Between two steps, in a tool, after an error and without any usage there is nothing left to record.
    let gate = json!({"gate": "never", "text": "x"});
    let mut asks = calls(&[("c1", "gate", gate)]);
    asks.insert(0, took(10, 2));
    let world =
        world([asks, vec![took(5, 5), said("x"), ScriptedStep::Error(ModelError::new("overloaded", "no"))]]);
    let turn = world.begin("go");
    world.tools.waiting(1).await;
    world.host.cancel();
    assert!(turn.await.unwrap().is_err());
    assert_eq!(recorded(&world), [(10, 2, true)]);
    assert!(world.ask("and now").await.is_err());
    assert_eq!(recorded(&world)[1..], [(5, 5, false)]);
    assert_eq!(world.host.state().session.usage.input_tokens, 15);
}

#[tokio::test]
async fn a_budget_of_steps_is_a_limit_like_the_agents_own() {
    let echo = |id: &str| calls(&[(id, "echo", json!({"text": "x"}))]);
    let budget = Budget { max_steps: Some(2), ..Budget::default() };
    let world = with_budget(budget, vec![echo("a"), echo("b")]);
    assert_eq!(world.ask("go").await, Ok(completed("max_steps", None)));
    assert_eq!(world.host.conversation().last().unwrap().text(), results::MAX_STEPS);
}

#[tokio::test]
async fn a_budget_of_tokens_ends_the_turn_and_every_later_one() {
    let echo = |id: &str| {
        let mut answer = calls(&[(id, "echo", json!({"text": "x"}))]);
        answer.insert(0, took(300, 100));
        answer
    };
    let budget = Budget { max_tokens: Some(700), ..Budget::default() };
    let world = with_budget(budget, vec![echo("a"), echo("b")]);
    let failed = world.ask("go").await.unwrap_err();
    assert_eq!(failed.reason, "budget_spent");
    assert_eq!(failed.error.message, "the session has used 800 tokens, and its budget is 700");
    assert_eq!((world.results().len(), world.model.requests().len()), (2, 2));
    let failed = world.ask("go on").await.unwrap_err();
    assert_eq!((failed.reason.as_str(), world.model.requests().len()), ("budget_spent", 2));
}

#[tokio::test]
async fn a_model_that_spoke_last_is_asked_to_go_on_and_the_log_says_so() {
    let world = world([vec![said("as far as"), ScriptedStep::Hang], text("here"), text("bye")]);
    let turn = world.begin("go");
    world.host.until(|host| host.deltas().len() == 1).await;
    world.host.cancel();
    assert!(turn.await.unwrap().is_err());
    world.host.retry().unwrap();
    world.host.run(&*world.agent).await.unwrap();
    let shown = |request: usize| -> Vec<(Role, String)> {
        world.model.requests()[request].messages.iter().map(|m| (m.role, m.text())).collect()
    };
    let expected = [(Role::User, "go"), (Role::Assistant, "as far as"), (Role::User, "Continue.")];
    let expected = expected.map(|(role, text)| (role, text.to_owned()));
    assert_eq!(shown(1), expected);
    world.ask("thanks").await.unwrap();
    assert_eq!(shown(2)[..3], expected, "later requests begin with the same messages");
    assert_eq!(shown(2).len(), 5, "nobody who has something to answer is asked to go on");
}

#[tokio::test]
async fn what_other_sessions_take_counts_against_the_budget_of_the_one_that_started_them() {
    let task = json!({"description": "d", "prompt": "p"});
    let mut first = calls(&[("a", "task", task.clone()), ("b", "task", task)]);
    first.insert(0, took(300, 100));
    let budget = Budget { max_tokens: Some(1_000), ..Budget::default() };
    let mut world = with_budget(budget, vec![first]);
    let usage = Usage { input_tokens: 250, output_tokens: 50, ..Usage::default() };
    world.host = world.host.with_children(move |_| Some(ChildOutcome { usage, ..child_answered("done") }));
    // 400 of its own and twice 300: the model is not asked again, in this turn or in another one.
    for text in ["go", "go on"] {
        let failed = world.ask(text).await.unwrap_err();
        assert_eq!(failed.error.code, "budget_spent");
        let expected = "used 1000 tokens, 600 of them by sessions that it has started";
        assert!(failed.error.message.contains(expected), "{}", failed.error.message);
    }
    let given: Vec<_> = world.host.children().iter().map(|(_, child)| child.budget.max_tokens).collect();
    assert_eq!(given, [Some(600), Some(300)]);
    let state = world.host.state();
    assert_eq!((state.session.usage.tokens(), state.children_usage.tokens()), (400, 600));
}
