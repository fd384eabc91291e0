//! What the model is told of its workspace, and what is never sent to it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostler_agent_native::{NativeAgent, TurnContextSettings};
use ostler_local_runner::LocalRunner;
use ostler_models::Model;
use ostler_testing::model::{ScriptedStep, calls, text};
use ostler_types::{Delivery, Message, Part, Role, TurnReport};
use serde_json::json;

use crate::fixture::{NativeAgentFixture, stop, world};
use crate::tools::runner;

fn with_context(settings: TurnContextSettings, answers: Vec<Vec<ScriptedStep>>) -> NativeAgentFixture {
    let mut world = world(answers);
    use_context(&mut world, settings, Vec::new());
    world
}

fn use_context(
    world: &mut NativeAgentFixture,
    settings: TurnContextSettings,
    skill_directories: Vec<PathBuf>,
) {
    let gathered = ostler_local_runner::ContextGatherSettings { skill_directories, ..Default::default() };
    let runner = LocalRunner::clone(&runner(&world.tools)).with_context(gathered);
    let model: Arc<dyn Model> = world.model.clone();
    let agent = NativeAgent::with_model(move |_| Ok(model.clone()), Arc::new(runner), 10);
    world.agent = Arc::new(agent.with_context(settings));
}

fn skill(directory: &Path, name: &str) {
    let folder = directory.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let text = format!("---\nname: {name}\ndescription: how to {name}\n---\nFirst {name}, then rest.\n");
    std::fs::write(folder.join("SKILL.md"), text).unwrap();
}

/// What nobody said and the model was told, in a request.
fn told(world: &NativeAgentFixture, request: usize) -> Vec<String> {
    let messages = &world.model.requests()[request].messages;
    messages.iter().filter(|message| message.role == Role::System).map(|message| message.text()).collect()
}

#[tokio::test]
async fn the_first_turn_is_told_and_later_ones_only_what_is_new() {
    let answers = (0..5).map(|number| text(&format!("answer {number} {}", "word ".repeat(400)))).collect();
    let world = with_context(TurnContextSettings::default(), answers);
    let agents = world.workspace.path().join("AGENTS.md");
    std::fs::write(&agents, "Speak softly.\n").unwrap();
    world.ask("hello").await.unwrap();
    assert_eq!(told(&world, 0).len(), 1);
    assert!(told(&world, 0)[0].contains("Speak softly."), "{}", told(&world, 0)[0]);
    let roles: Vec<Role> = world.model.requests()[0].messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::System]);
    world.ask("again").await.unwrap();
    assert_eq!(told(&world, 1), told(&world, 0), "nothing is new, and what was told stays as it was");
    std::fs::write(&agents, "Speak up!\n").unwrap();
    world.ask("and now").await.unwrap();
    assert_eq!(told(&world, 2).len(), 2);
    assert!(told(&world, 2)[1].contains("Speak up!"));
    // Once the conversation has been made shorter, the model has to be told anew.
    world.model.push(text("last"));
    world.host.compact();
    world.host.run(&*world.agent).await.unwrap();
    world.ask("once more").await.unwrap();
    let told = told(&world, 4);
    assert!(told[0].starts_with("[Summary"), "{told:?}");
    assert!(told.last().unwrap().contains("Speak up!"), "{told:?}");
    world.check();
}

#[tokio::test]
async fn without_settings_and_without_anything_to_tell_nothing_is_told() {
    let mut worlds = [world([text("hi")]), with_context(TurnContextSettings::default(), vec![text("hi")])];
    std::fs::write(worlds[0].workspace.path().join("AGENTS.md"), "Speak softly.\n").unwrap();
    let off = TurnContextSettings { bundle: false, ..TurnContextSettings::default() };
    let silent = with_context(off, vec![text("hi")]);
    std::fs::write(silent.workspace.path().join("AGENTS.md"), "Speak softly.\n").unwrap();
    for world in worlds.iter_mut().chain([&mut { silent }]) {
        world.ask("hello").await.unwrap();
        assert_eq!(world.model.requests()[0].messages.len(), 1);
    }
}

#[tokio::test]
async fn skills_are_listed_and_read_when_they_are_used() {
    let own = tempfile::tempdir().unwrap();
    skill(own.path(), "sail");
    let batch = [
        ("c1", "skill", json!({"name": "sail", "_parallel": true})),
        ("c2", "skill", json!({"name": "fly"})),
        ("c3", "skill", json!({"name": "row"})),
        ("c4", "skill", json!({})),
    ];
    let answers = [calls(&batch), text("done"), calls(&[("c5", "skill", json!({"name": "row"}))]), text("x")];
    let mut world = world(answers);
    use_context(&mut world, TurnContextSettings::default(), vec![own.path().to_owned()]);
    skill(&world.workspace.path().join(".ostler/skills"), "row");
    world.ask("sail away").await.unwrap();
    let mut texts = world.result_texts();
    texts.sort();
    assert!(texts[0].starts_with("c1: ") && texts[0].contains("First sail, then rest."), "{texts:?}");
    assert_eq!(texts[1], "c2: Unknown skill: fly");
    assert_eq!(texts[2], "c3: Unknown skill: row", "nobody trusts the workspace");
    assert!(texts[3].contains("missing field `name`"), "{texts:?}");
    assert!(told(&world, 0)[0].contains("- sail: how to sail"));
    let request = &world.model.requests()[0];
    assert!(request.tools.iter().any(|spec| spec.name == "skill"));
    assert!(request.system.as_ref().unwrap().contains("`skill`"));
    // Once it is trusted, its skills are told of, and can be read.
    world.host.trust(true);
    world.ask("row").await.unwrap();
    assert!(told(&world, 2)[1].contains("- row: how to row"), "{:?}", told(&world, 2));
    assert!(world.results().last().unwrap().text().contains("First row"));
}

#[tokio::test]
async fn without_skills_there_is_no_such_tool() {
    let world = with_context(
        TurnContextSettings::default(),
        vec![calls(&[("c1", "skill", json!({"name": "x"}))]), text("x")],
    );
    world.ask("go").await.unwrap();
    assert!(!world.model.requests()[0].tools.iter().any(|spec| spec.name == "skill"));
    assert_eq!(world.result_texts(), ["c1: Unknown skill: skill"]);
}

#[tokio::test]
async fn the_system_prompt_says_where_the_work_is_done_and_stays_the_same() {
    let world = world([calls(&[("c1", "echo", json!({}))]), text("a"), text("b")]);
    world.ask("one").await.unwrap();
    world.ask("two").await.unwrap();
    let prompts: Vec<_> = world.model.requests().into_iter().filter_map(|request| request.system).collect();
    assert!(prompts[0].contains(world.workspace.path().to_str().unwrap()));
    assert!(prompts.len() == 3 && prompts.iter().all(|prompt| *prompt == prompts[0]));
}

#[tokio::test]
async fn a_conversation_that_breaks_the_rules_is_not_sent() {
    let world = world([text("never")]);
    world.host.submit("hello", Delivery::Queue);
    let twin = Message::clone(&world.host.conversation()[0]);
    world.host.report(TurnReport::NoteAdded { message: twin }).unwrap();
    let failed = world.host.run(&*world.agent).await.unwrap_err();
    assert_eq!((failed.reason.as_str(), failed.error.code.as_str()), ("context_invalid", "context_invalid"));
    assert!(failed.error.message.contains("its id was used before"), "{}", failed.error.message);
    assert!(world.model.requests().is_empty());
    assert_eq!(world.count("turn_failed"), 1);
}

#[tokio::test]
async fn a_model_that_said_nothing_is_not_quoted() {
    let world = world([vec![stop()], text("hello")]);
    world.ask("one").await.unwrap();
    world.ask("two").await.unwrap();
    let shown: Vec<String> =
        world.model.requests()[1].messages.iter().map(|message| message.text()).collect();
    assert_eq!(shown, ["one", "two"]);
    assert_eq!(world.host.conversation()[1].parts, Vec::<Part>::new(), "the log says what happened");
}
