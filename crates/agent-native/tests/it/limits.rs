//! At most so many steps.

use ostler_testing::model::{ScriptedStep, call, text};
use ostler_types::{Event, MessageEvent, Role, TurnEvent, results};
use serde_json::json;

use crate::fixture::{agent, completed, world, world_with};

fn loops(count: usize, tool: &str) -> Vec<Vec<ScriptedStep>> {
    (0..count).map(|n| call(&format!("c{n}"), tool, &json!({"text": "x", "path": "made"}))).collect()
}

#[tokio::test]
async fn after_the_last_step_the_loop_says_so_and_stops() {
    let world = world(loops(10, "echo"));
    assert_eq!(world.ask("go").await, Ok(completed("max_steps", None)));
    assert_eq!(world.model.requests().len(), 10);
    assert_eq!(world.results().len(), 10);
    assert_eq!(results::MAX_STEPS, "[Max tool iterations reached]");
    let Event::Message(MessageEvent::ModelOutputCompleted { message, stop_reason, .. }) =
        world.last("model_output_completed")
    else {
        unreachable!()
    };
    assert_eq!((message.role, message.text().as_str()), (Role::Assistant, results::MAX_STEPS));
    assert_eq!(stop_reason, "max_steps");
    let Event::Turn(TurnEvent::Completed { stop_reason, .. }) = world.last("turn_completed") else {
        unreachable!()
    };
    assert_eq!(stop_reason, "max_steps");
}

#[tokio::test]
async fn the_last_step_may_be_the_answer() {
    let mut answers = loops(9, "echo");
    answers.push(text("just in time"));
    let world = world(answers);
    assert_eq!(world.ask("go").await, Ok(completed("end_turn", None)));
    assert_eq!(world.model.requests().len(), 10);
}

#[tokio::test]
async fn the_limit_is_per_turn_and_can_be_set() {
    let mut world = world(loops(4, "echo"));
    world.agent = agent(&world.model, &world.tools, 2);
    assert_eq!(world.ask("go").await, Ok(completed("max_steps", None)));
    assert_eq!(world.ask("go on").await, Ok(completed("max_steps", None)));
    assert_eq!(world.model.requests().len(), 4);
    assert_eq!(
        world.model.requests()[2].messages.iter().filter(|m| m.text() == results::MAX_STEPS).count(),
        1
    );
}

#[tokio::test]
async fn a_turn_that_runs_out_of_steps_is_still_checked() {
    for (commands, verified) in
        [(vec![], None), (vec!["test -f made"], Some(true)), (vec!["false"], Some(false))]
    {
        let mut policy = ostler_types::Policy::default();
        policy.approval.require_for_kinds.clear();
        policy.verify.commands = commands.iter().map(|&command| command.to_owned()).collect();
        let world = world_with(policy, loops(10, "touch"));
        assert_eq!(world.ask("go").await, Ok(completed("max_steps", verified)), "{commands:?}");
        assert_eq!(world.count("verification_completed"), usize::from(verified.is_some()));
        assert_eq!(world.model.requests().len(), 10);
    }
}
