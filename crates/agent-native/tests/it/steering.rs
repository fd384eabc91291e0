//! Messages that come while a turn runs and are to steer it.

use ostler_testing::model::{ScriptedStep, call, text};
use ostler_types::{Delivery, Role};
use serde_json::json;

use crate::fixture::{said, stop, world};

#[tokio::test]
async fn they_are_shown_before_the_next_step_in_order() {
    let world = world([call("c1", "gate", &json!({"gate": "a", "text": "x"})), text("turned")]);
    let turn = world.begin("go");
    world.tools.waiting(1).await;
    world.host.submit("left", Delivery::Steer);
    world.host.submit("then right", Delivery::Steer);
    world.host.submit("later", Delivery::Queue);
    world.tools.open("a");
    turn.await.unwrap().unwrap();
    let shown: Vec<(Role, String)> = world.model.requests()[1]
        .messages
        .iter()
        .skip(2)
        .map(|message| (message.role, message.text()))
        .collect();
    let expected = [(Role::Tool, "x"), (Role::User, "left"), (Role::User, "then right")];
    assert_eq!(shown, expected.map(|(role, text)| (role, text.to_owned())));
    // The queued one waited for its own turn.
    let state = world.host.state();
    assert_eq!((state.queue.len(), state.turns.len()), (0, 2));
    assert_eq!(world.host.conversation().last().unwrap().text(), "later");
}

#[tokio::test]
async fn one_that_comes_during_the_last_step_is_answered_in_the_same_turn() {
    let world = world([vec![said("nearly"), ScriptedStep::Wait("end".to_owned()), stop()], text("done")]);
    let turn = world.begin("go");
    world.host.until(|host| host.deltas().len() == 1).await;
    world.host.submit("wait", Delivery::Steer);
    world.model.open("end");
    turn.await.unwrap().unwrap();
    assert_eq!(world.model.requests().len(), 2);
    assert_eq!(world.last_shown(1), "wait");
    assert_eq!(world.host.state().turns.len(), 1, "it was promised an answer in this turn");
    world.check();
}
