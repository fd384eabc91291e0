//! What stays as it is inside a writable workspace.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use ostler_sandbox::{PROTECTED_NAMES, explain_denial, is_placeholder};

use crate::fixture::{World, everywhere, names};

everywhere! {
    settings_that_do_not_exist_cannot_be_made,
    settings_that_exist_cannot_be_changed,
    a_link_is_put_back,
    commands_in_one_workspace_do_not_uncover_each_other,
    placeholders_of_a_crash_are_removed,
}

/// Asserts that a script left a path alone, by refusal or by putting it back.
async fn refused(world: &World, script: &str, touched: &str) {
    let outcome = world.sh(script).await;
    if world.is_landlock() {
        let restored = &outcome.aftermath.restored;
        assert!(
            restored.iter().any(|path| path.starts_with(world.workspace.join(touched))),
            "{script}: {outcome:?}"
        );
        let gaps = &world.sandbox.report().not_enforced;
        assert!(gaps.iter().any(|gap| gap.contains("put back when it has ended")), "{gaps:?}");
    } else {
        outcome.failed();
        assert!(outcome.aftermath.restored.is_empty());
        // Some ways end in words that also mean something else.
        let plain = ["Read-only file system", "Device or resource busy"];
        if plain.iter().any(|words| outcome.output.contains(words)) {
            let told = explain_denial(&world.profile(), outcome.code, &outcome.output);
            assert!(told.is_some_and(|told| told.contains(touched)), "{script}: {outcome:?}");
        }
    }
}

async fn settings_that_do_not_exist_cannot_be_made(world: &World) {
    for name in PROTECTED_NAMES {
        refused(world, &format!("mkdir -p {name} && touch {name}/x"), name).await;
        refused(world, &format!("echo x > made && mv -T made {name}"), name).await;
        world.sh("rm -f made").await;
    }
    refused(world, "rmdir .claude; mkdir .claude && touch .claude/settings.json", ".claude").await;
    refused(world, "git init -q . && git config core.fsmonitor 'touch pwned'", ".git").await;
    assert!(names(&world.workspace).is_empty(), "{:?}", names(&world.workspace));
    world.host_git(&world.workspace, &["status"]);
    assert!(!world.workspace.join("pwned").exists());
}

async fn settings_that_exist_cannot_be_changed(world: &World) {
    let directory = world.workspace.join(".claude");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("settings.json"), "{}").unwrap();
    fs::write(world.workspace.join(".mcp.json"), "{}").unwrap();
    refused(world, "echo x > .claude/settings.json", ".claude").await;
    refused(world, "rm .claude/settings.json", ".claude").await;
    refused(world, "touch .claude/more", ".claude").await;
    refused(world, "mv .claude .other && mkdir .claude", ".claude").await;
    refused(world, "echo x > .mcp.json", ".mcp.json").await;
    refused(world, "echo x > made; mv made .mcp.json", ".mcp.json").await;
    refused(world, "ln .mcp.json linked && echo x > linked", ".mcp.json").await;
    assert_eq!(fs::read_to_string(directory.join("settings.json")).unwrap(), "{}");
    assert_eq!(fs::read_to_string(world.workspace.join(".mcp.json")).unwrap(), "{}");
    assert_eq!(world.sh("cat .claude/settings.json .mcp.json").await.ok(), "{}{}");
}

async fn a_link_is_put_back(world: &World) {
    fs::create_dir(world.workspace.join("settings")).unwrap();
    fs::write(world.workspace.join("settings/one"), "as it was").unwrap();
    symlink("settings", world.workspace.join(".vscode")).unwrap();
    world.sh("echo x > settings/one; rm .vscode; mkdir .vscode; echo x > .vscode/tasks.json").await;
    assert_eq!(fs::read_link(world.workspace.join(".vscode")).unwrap(), Path::new("settings"));
    assert_eq!(fs::read_to_string(world.workspace.join("settings/one")).unwrap(), "as it was");
    assert_eq!(names(&world.workspace.join("settings")), ["one"]);
}

async fn commands_in_one_workspace_do_not_uncover_each_other(world: &World) {
    let profile = world.profile();
    let first = world.sandbox.command(&profile, "true", [""; 0]).unwrap();
    let second = world.sh("true").await;
    second.ok();
    let held = names(&world.workspace);
    let mut placeholders = held.clone();
    placeholders.retain(|name| is_placeholder(&world.workspace.join(name)));
    drop(first);
    if world.is_landlock() {
        assert!(held.is_empty(), "{held:?}");
    } else {
        assert!(held.iter().all(|name| placeholders.contains(name)), "{held:?} {placeholders:?}");
        assert!(held.contains(&".claude".to_owned()) && held.contains(&".git".to_owned()), "{held:?}");
    }
    assert!(names(&world.workspace).is_empty());
}

async fn placeholders_of_a_crash_are_removed(world: &World) {
    let confined = world.sandbox.command(&world.profile(), "true", [""; 0]).unwrap();
    // A daemon that is killed removes nothing.
    std::mem::forget(confined);
    let after = World { workspace: world.workspace.clone(), ..World::new(world.choice).await };
    after.sh("true").await.ok();
    assert!(names(&world.workspace).is_empty(), "{:?}", names(&world.workspace));
    // What only looks like one stays.
    fs::create_dir(world.workspace.join(".claude")).unwrap();
    after.sh("true").await.ok();
    assert_eq!(names(&world.workspace), [".claude"]);
    assert!(!is_placeholder(&world.workspace.join(".claude")));
}
