//! A turn that carries out a plan: in the order of what depends on what, so many at once, over a restart.

use ostler_testing::host::{TurnHost, child_answered, child_failed};
use ostler_types::{Plan, Policy, Role, Subtask};

use crate::fixture::{NativeAgentFixture, completed, world};

fn subtask(id: &str, depends_on: &[&str]) -> Subtask {
    Subtask {
        id: id.to_owned(),
        description: None,
        prompt: format!("do {id}"),
        agent: None,
        model: None,
        worktree: false,
        depends_on: depends_on.iter().map(|&name| name.to_owned()).collect(),
        budget: None,
    }
}

fn plan(concurrency: Option<u32>, subtasks: Vec<Subtask>) -> Plan {
    Plan { subtasks, concurrency }
}

fn planned(plan: Plan) -> NativeAgentFixture {
    let world = world([]);
    world.host.run_plan(plan);
    world
}

/// The names of the subtasks that were begun, in order.
fn begun(host: &TurnHost) -> Vec<String> {
    host.children().into_iter().filter_map(|(_, child)| child.subtask).collect()
}

fn end(host: &TurnHost, name: &str, outcome: ostler_types::ChildOutcome) {
    let found = host.children().into_iter().find(|(_, child)| child.subtask.as_deref() == Some(name));
    host.end_child(found.unwrap().0, outcome);
}

#[tokio::test]
async fn what_depends_on_others_begins_when_they_are_completed_and_hears_what_they_said() {
    let subtasks = vec![
        subtask("join", &["left", "right"]),
        subtask("left", &[]),
        subtask("right", &[]),
        subtask("last", &["join"]),
    ];
    let world = planned(plan(None, subtasks));
    let turn = world.resume();
    world.host.started_children(2).await;
    assert_eq!(begun(&world.host), ["left", "right"]);
    end(&world.host, "right", child_answered("R"));
    end(&world.host, "left", child_answered("L"));
    world.host.started_children(3).await;
    let prompt = world.host.children()[2].1.prompt.clone();
    assert!(
        prompt.starts_with("do join\n\n")
            && prompt.contains("depends on:\nL")
            && prompt.contains("depends on:\nR")
    );
    end(&world.host, "join", child_answered("J"));
    world.host.started_children(4).await;
    end(&world.host, "last", child_answered("Z"));
    assert_eq!(turn.await.unwrap(), Ok(completed("subtasks_completed", None)));
    world.check();
    let told = world.host.conversation().last().unwrap().clone();
    assert_eq!(told.role, Role::System);
    let link = format!("`left`: completed (sessions/{})\nL", world.host.children()[0].0);
    assert!(told.text().contains(&link), "{}", told.text());
    assert!(world.model.requests().is_empty());
}

#[tokio::test]
async fn no_more_are_at_work_than_the_plan_says() {
    let subtasks = ["a", "b", "c", "d", "e"].map(|name| subtask(name, &[])).into();
    let world = planned(plan(Some(2), subtasks));
    let turn = world.resume();
    for (ended, name) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
        let at_work = (ended + 2).min(5);
        world.host.started_children(at_work).await;
        assert_eq!(world.host.children().len(), at_work);
        end(&world.host, name, child_answered(name));
    }
    assert_eq!(turn.await.unwrap(), Ok(completed("subtasks_completed", None)));
}

#[tokio::test]
async fn what_depends_on_a_failure_is_not_begun_and_the_rest_is() {
    let subtasks = vec![
        subtask("bad", &[]),
        subtask("after", &["bad"]),
        subtask("later", &["good", "after"]),
        subtask("good", &[]),
    ];
    let mut world = planned(plan(None, subtasks));
    world.host = world.host.with_children(|child| {
        let bad = child.subtask.as_deref() == Some("bad");
        Some(if bad { child_failed("no luck") } else { child_answered("fine") })
    });
    let failed = world.host.run(&*world.agent).await.unwrap_err();
    assert_eq!(begun(&world.host), ["bad", "good"]);
    assert_eq!((failed.reason.as_str(), failed.error.code.as_str()), ("subtasks_failed", "subtasks_failed"));
    assert_eq!(failed.error.message, "3 of 4 subtasks were not completed: `bad`, `after`, `later`");
    let told = world.host.conversation().last().unwrap().text();
    assert!(told.contains("`bad`: failed: no luck (sessions/sess_"), "{told}");
    assert!(told.contains("`after`: not started: `bad`, which it depends on, was not completed"), "{told}");
    assert!(told.contains("`later`: not started: `after`, which"), "{told}");
    assert!(told.contains("`good`: completed"), "{told}");
    world.check();
}

#[tokio::test]
async fn it_goes_on_after_a_restart() {
    let subtasks = vec![subtask("a", &[]), subtask("b", &[]), subtask("c", &["a", "b"])];
    let world = planned(plan(None, subtasks));
    let first = world.resume();
    world.host.started_children(2).await;
    end(&world.host, "a", child_answered("A"));
    first.abort();
    let _ = first.await;
    assert!(world.host.recover());
    let second = world.resume();
    end(&world.host, "b", child_answered("B"));
    world.host.started_children(3).await;
    end(&world.host, "c", child_answered("C"));
    assert_eq!(second.await.unwrap(), Ok(completed("subtasks_completed", None)));
    assert_eq!(begun(&world.host), ["a", "b", "c"], "none was begun twice");
    world.check();
}

#[tokio::test]
async fn canceling_ends_it() {
    let world = planned(plan(None, vec![subtask("a", &[])]));
    let turn = world.resume();
    world.host.started_children(1).await;
    world.host.cancel();
    assert!(turn.await.unwrap().is_err());
    assert_eq!(world.count("turn_canceled"), 1);
    world.check();
}

#[tokio::test]
async fn however_much_is_said_the_conversation_hears_a_bounded_part_of_each() {
    let subtasks: Vec<Subtask> = (0..200).map(|number| subtask(&format!("s{number}"), &[])).collect();
    let mut world = planned(plan(None, subtasks));
    let long = "é".repeat(30_000);
    world.host = world.host.with_children(move |_| Some(child_answered(&long)));
    assert!(world.host.run(&*world.agent).await.is_ok());
    let told = world.host.conversation().last().unwrap().text();
    assert!(told.len() < 200_000, "{}", told.len());
    assert!((0..200).all(|number| told.contains(&format!("`s{number}`: completed"))));
}

#[tokio::test]
async fn a_plan_in_a_new_session_leaves_a_conversation_that_can_go_on() {
    let mut world = world([ostler_testing::model::text("hello")]);
    world.host = TurnHost::new(world.workspace.path().to_str().unwrap(), Policy::default())
        .with_children(|_| Some(child_answered("fine")));
    world.host.run_plan(plan(None, vec![subtask("a", &[])]));
    assert!(world.host.run(&*world.agent).await.is_ok());
    world.ask("what came of it?").await.unwrap();
    let roles: Vec<Role> = world.model.requests()[0].messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::System, Role::User]);
}
