//! Verification: when it runs, what the model is told, when it gives up.

use std::path::PathBuf;
use std::sync::Arc;

use ostler_acceptance::Baselines;
use ostler_agent_native::NativeAgent;
use ostler_local_runner::LocalRunner;
use ostler_models::Model;
use ostler_testing::model::{ScriptedStep, call, text};
use ostler_tools::{ToolSettings, Tools};
use ostler_types::{Event, Policy, Role, ToolKind, TurnEvent, WorkspaceEvent};
use serde_json::json;

use crate::fixture::{NativeAgentFixture, completed, world_with};

fn checked(commands: &[&str], max_rounds: u32, answers: Vec<Vec<ScriptedStep>>) -> NativeAgentFixture {
    let mut policy = Policy::default();
    policy.approval.require_for_kinds.clear();
    policy.verify.commands = commands.iter().map(|&command| command.to_owned()).collect();
    policy.verify.max_rounds = max_rounds;
    world_with(policy, answers)
}

fn write(id: &str, path: &str) -> Vec<ScriptedStep> {
    call(id, "touch", &json!({"path": path, "text": ""}))
}

#[tokio::test]
async fn a_change_that_holds_is_verified() {
    let world = checked(&["true", "test -f a"], 3, vec![write("c1", "a"), text("done")]);
    assert_eq!(world.ask("go").await, Ok(completed("end_turn", Some(true))));
    let Event::Workspace(WorkspaceEvent::VerificationCompleted { round, ok, results }) =
        world.last("verification_completed")
    else {
        unreachable!()
    };
    assert_eq!((round, ok), (1, true));
    let codes: Vec<_> = results.iter().map(|result| (result.command.as_str(), result.exit_code)).collect();
    assert_eq!(codes, [("true", Some(0)), ("test -f a", Some(0))]);
    let Event::Turn(TurnEvent::Completed { verified, .. }) = world.last("turn_completed") else {
        unreachable!()
    };
    assert_eq!(verified, Some(true));
}

#[tokio::test]
async fn a_failure_goes_back_to_the_model_and_can_be_mended() {
    let command = "test -f b || { echo b is missing; exit 3; }";
    let answers = vec![write("c1", "a"), text("done"), write("c2", "b"), text("now it is")];
    let world = checked(&[command, "true"], 3, answers);
    assert_eq!(world.ask("go").await, Ok(completed("end_turn", Some(true))));
    let feedback = world.model.requests()[2].messages.last().unwrap().clone();
    assert_eq!(feedback.role, Role::User);
    assert!(feedback.text().contains("b is missing"), "{}", feedback.text());
    assert!(feedback.text().contains("exited with 3"), "{}", feedback.text());
    assert!(feedback.text().contains("round 1 of 3"), "{}", feedback.text());
    let Event::Workspace(WorkspaceEvent::VerificationStarted { round, .. }) =
        world.last("verification_started")
    else {
        unreachable!()
    };
    assert_eq!((round, world.count("verification_completed")), (2, 2));
    assert!(world.host.conversation().iter().any(|message| message.id == feedback.id));
}

#[tokio::test]
async fn what_is_never_mended_ends_unverified() {
    let answers = vec![write("c1", "a"), text("one"), text("two"), text("three"), text("four")];
    let world = checked(&["false"], 3, answers);
    assert_eq!(world.ask("go").await, Ok(completed("end_turn", Some(false))));
    // The first check, and one after each time that the failure went back.
    assert_eq!(world.count("verification_completed"), 4);
    assert_eq!(world.model.requests().len(), 5);
    // Nobody is told of the last failure who could not answer it.
    assert_eq!(world.host.conversation().last().unwrap().text(), "four");
}

#[tokio::test]
async fn nothing_is_checked_when_nothing_changed_or_nothing_can_be() {
    let unchanged = checked(&["false"], 3, vec![call("c1", "echo", &json!({})), text("done")]);
    assert_eq!(unchanged.ask("look").await, Ok(completed("end_turn", None)));
    assert_eq!(unchanged.count("verification_started"), 0);

    let no_commands = checked(&[], 3, vec![write("c1", "a"), text("done")]);
    assert_eq!(no_commands.ask("go").await, Ok(completed("end_turn", None)));

    let mut policy = Policy::default();
    policy.approval.require_for_kinds.clear();
    policy.verify.commands = vec!["false".to_owned()];
    policy.verify.auto = false;
    let off = world_with(policy, [write("c1", "a"), text("done")]);
    assert_eq!(off.ask("go").await, Ok(completed("end_turn", None)));
    assert_eq!(off.count("verification_started"), 0);
}

/// Neither the policy nor trust stands for a person who was told that nothing confines the check.
#[tokio::test]
async fn nothing_is_checked_where_nothing_confines() {
    for require_clean in [false, true] {
        let mut policy = Policy::default();
        policy.approval.require_for_kinds.clear();
        policy.verify.commands = vec!["touch checked".to_owned()];
        policy.verify.require_clean = require_clean;
        let write = call("c1", "write_file", &json!({"path": "a.txt", "content": "x"}));
        let mut world = world_with(policy, [write, text("done")]);
        let tools = Arc::new(Tools::new(ToolSettings::default()));
        let runner = Arc::new(LocalRunner::new(PathBuf::from("/nonexistent")).with_tools(tools));
        let model: Arc<dyn Model> = world.model.clone();
        world.agent = Arc::new(NativeAgent::with_model(move |_| Ok(model.clone()), runner, 10));
        assert_eq!(world.ask("go").await, Ok(completed("end_turn", None)));
        assert_eq!(world.count("verification_started"), 0);
        assert!(world.verification().unwrap().contains("nothing on this machine confines"));
        assert!(
            world.workspace.path().join("a.txt").exists(),
            "the turn changed nothing, so this shows nothing"
        );
        assert!(!world.workspace.path().join("checked").exists());
    }
}

#[tokio::test]
async fn a_change_of_an_earlier_turn_is_not_checked_again() {
    let world = checked(&["test -f a"], 3, vec![write("c1", "a"), text("done"), text("hello")]);
    assert_eq!(world.ask("go").await, Ok(completed("end_turn", Some(true))));
    assert_eq!(world.ask("hi").await, Ok(completed("end_turn", None)));
    assert_eq!(world.count("verification_started"), 1);
}

#[tokio::test]
async fn canceling_ends_the_command() {
    let world = checked(&["touch started; sleep 600"], 3, vec![write("c1", "a"), text("done")]);
    let turn = world.begin("go");
    world.host.recorded("verification_started", 1).await;
    world.host.cancel();
    assert!(turn.await.unwrap().is_err());
    assert_eq!(world.count("turn_canceled"), 1);
    assert_eq!(world.count("verification_completed"), 0);
    world.check();
}

#[tokio::test]
async fn the_end_of_a_turn_says_what_there_is_to_say() {
    let world = checked(&["true"], 3, vec![write("c1", "a"), text("done"), text("nothing to do")]);
    world.ask("go").await.unwrap();
    assert_eq!(world.verification().as_deref(), Some("verified after 1 round"));
    world.ask("just talk").await.unwrap();
    assert_eq!(world.verification(), None, "a turn that changed nothing has nothing to say");
    let world = checked(&["false"], 0, vec![write("c1", "a"), text("done")]);
    world.ask("go").await.unwrap();
    assert_eq!(world.verification().as_deref(), Some("not verified: it still fails after 1 round"));
    let world = checked(&[], 3, vec![write("c1", "a"), text("done")]);
    world.ask("go").await.unwrap();
    assert!(world.verification().unwrap().contains("nothing says how"), "{:?}", world.verification());
}

#[tokio::test]
async fn a_workspace_says_how_it_is_checked_once_it_is_trusted() {
    let answers = || vec![write("c1", "a"), text("done")];
    let makefile = "test:\n\t@test -f a && echo checked by make\n";
    let world = checked(&[], 3, answers());
    std::fs::write(world.workspace.path().join("Makefile"), makefile).unwrap();
    world.ask("go").await.unwrap();
    assert_eq!(world.count("verification_started"), 0, "nothing of an untrusted workspace is run");
    let note = world.verification().unwrap();
    assert!(note.contains("Makefile") && note.contains("not trusted"), "{note}");

    let world = checked(&[], 3, answers());
    std::fs::write(world.workspace.path().join("Makefile"), makefile).unwrap();
    world.host.trust(true);
    assert_eq!(world.ask("go").await, Ok(completed("end_turn", Some(true))));
    let Event::Workspace(WorkspaceEvent::VerificationCompleted { results, .. }) =
        world.last("verification_completed")
    else {
        unreachable!()
    };
    assert_eq!(results[0].command, "make test");
    assert!(results[0].output.contains("checked by make"), "{results:?}");

    let world = checked(&[], 3, answers());
    let agents = "# Shop\n\n## Verification\n\n```\ntest -f a\ntest -d .\n```\n";
    std::fs::write(world.workspace.path().join("AGENTS.md"), agents).unwrap();
    world.host.trust(true);
    world.ask("go").await.unwrap();
    let Event::Workspace(WorkspaceEvent::VerificationStarted { commands, .. }) =
        world.last("verification_started")
    else {
        unreachable!()
    };
    assert_eq!(commands, ["test -f a", "test -d ."]);
}

#[tokio::test]
async fn a_policy_can_ask_for_a_clean_tree() {
    let git = |dir: &std::path::Path, arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.current_dir(dir).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(arguments);
        assert!(git.output().unwrap().status.success(), "git {arguments:?}");
    };
    let mut policy = Policy::default();
    policy.approval.require_for_kinds.clear();
    policy.verify.require_clean = true;
    policy.verify.max_rounds = 1;
    let answers = vec![write("c1", "a"), text("done"), text("I will not commit")];
    let world = world_with(policy, answers);
    git(world.workspace.path(), &["init", "-q"]);
    // Nothing confines git here, so that it runs only where somebody has agreed.
    world.host.trust(true);
    assert_eq!(world.ask("go").await, Ok(completed("end_turn", Some(false))));
    let feedback = world.model.requests()[2].messages.last().unwrap().text();
    assert!(feedback.contains("uncommitted changes") && feedback.contains("?? a"), "{feedback}");
}

/// A trusted workspace in which programs are only run after somebody agreed, and files are written unasked.
fn trusted(files: &[(&str, &str)], answers: Vec<Vec<ScriptedStep>>) -> NativeAgentFixture {
    let mut policy = Policy::default();
    policy.approval.require_for_kinds = vec![ToolKind::Exec];
    policy.verify.max_rounds = 0;
    let world = world_with(policy, answers);
    for (name, text) in files {
        std::fs::write(world.workspace.path().join(name), text).unwrap();
    }
    world.host.trust(true);
    world
}

fn put(id: &str, path: &str, text: &str) -> Vec<ScriptedStep> {
    call(id, "touch", &json!({"path": path, "text": text}))
}

#[tokio::test]
async fn a_check_that_the_model_wrote_is_not_run() {
    let agents = |command: &str| format!("## Verification\n```\n{command}\n```\n");
    let evil = agents("touch ran");
    for (before, path, content) in [
        (vec![], "AGENTS.md", evil.as_str()),
        (vec![], "Makefile", "test:\n\ttouch ran\n"),
        (vec![("Makefile", "test:\n\ttrue\n")], "Makefile", "test:\n\ttouch ran\n"),
        (vec![("Makefile", "test:\n\ttrue\n")], "GNUmakefile", "test:\n\ttouch ran\n"),
        (vec![("Makefile", "include x.mk\ntest:\n\ttrue\n"), ("x.mk", "")], "x.mk", "X != touch ran\n"),
        (vec![("AGENTS.md", &agents("sh ./check.sh")), ("check.sh", "true")], "check.sh", "touch ran"),
        (vec![("AGENTS.md", &agents("sh a.sh")), ("a.sh", "sh b.sh"), ("b.sh", "")], "b.sh", "touch ran"),
    ] {
        let world = trusted(&before, vec![put("c1", path, content), text("done")]);
        assert_eq!(world.ask("go").await, Ok(completed("end_turn", None)), "{path}");
        assert_eq!(world.count("verification_started"), 0, "{path}");
        assert!(!world.workspace.path().join("ran").exists(), "{path}");
        let note = world.verification().unwrap();
        let named = ["the Makefile", path].iter().any(|name| note.contains(name));
        assert!(note.starts_with("not verified: ") && named, "{note}");
    }
}

#[tokio::test]
async fn the_lines_that_are_run_are_those_of_the_start() {
    let agents = "## Verification\n```\ntest -f a\n```\n";
    let changed = "## Verification\n```\ntouch ran\n```\n";
    let answers = vec![put("c1", "AGENTS.md", changed), put("c2", "a", ""), text("done")];
    let world = trusted(&[("AGENTS.md", agents)], answers);
    assert_eq!(world.ask("go").await, Ok(completed("end_turn", Some(true))));
    let Event::Workspace(WorkspaceEvent::VerificationStarted { commands, .. }) =
        world.last("verification_started")
    else {
        unreachable!()
    };
    assert_eq!(commands, ["test -f a"]);
    assert!(!world.workspace.path().join("ran").exists());
}

#[tokio::test]
async fn a_check_with_which_nothing_happened_is_run() {
    let makefile = "test:\n\t@test -f a\n";
    let world = trusted(&[("Makefile", makefile)], vec![put("c1", "a", ""), text("done")]);
    assert_eq!(world.ask("go").await, Ok(completed("end_turn", Some(true))));
}

#[tokio::test]
async fn what_a_turn_wrote_does_not_check_the_next_turn_either() {
    let baselines = Arc::new(Baselines::default());
    let answers = vec![
        put("c1", "Makefile", "test:\n\ttouch ran\n"),
        text("done"),
        put("c2", "a", ""),
        text("more"),
        put("c3", "b", ""),
        text("more"),
    ];
    let mut world = trusted(&[], answers);
    let agent = Arc::try_unwrap(world.agent).ok().unwrap();
    world.agent = Arc::new(agent.with_baselines(Arc::clone(&baselines)));
    world.ask("go").await.unwrap();
    assert_eq!(world.ask("go on").await, Ok(completed("end_turn", None)));
    assert!(world.verification().unwrap().contains("Makefile"), "{:?}", world.verification());
    assert!(!world.workspace.path().join("ran").exists());
    baselines.accept(&world.workspace.path().display().to_string()).await;
    assert_eq!(world.ask("and on").await, Ok(completed("end_turn", Some(true))), "the owner accepted it");
}
