//! What stays as it is inside a writable workspace.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use ostler_sandbox::{PROTECTED_NAMES, SandboxProfile, explain_denial, is_placeholder};

use crate::fixture::{SandboxWorld, everywhere, names};

everywhere! {
    settings_that_do_not_exist_cannot_be_made,
    a_long_lived_program_makes_no_rare_name,
    settings_that_exist_cannot_be_changed,
    a_link_is_put_back,
    commands_in_one_workspace_do_not_uncover_each_other,
    nothing_that_a_program_makes_is_a_placeholder,
    settings_further_down_cannot_be_changed,
}

/// Asserts that a script left a path alone, by refusal or by putting it back.
async fn refused(world: &SandboxWorld, script: &str, touched: &str) {
    let outcome = world.sh(script).await;
    if world.is_landlock() {
        let restored = &outcome.teardown.restored;
        assert!(
            restored.iter().any(|path| path.starts_with(world.workspace.join(touched))),
            "{script}: {outcome:?}"
        );
        let gaps = &world.sandbox.report().not_enforced;
        assert!(gaps.iter().any(|gap| gap.contains("restored when it has ended")), "{gaps:?}");
    } else {
        outcome.failed();
        assert!(outcome.teardown.restored.is_empty());
        // Some ways end in words that also mean something else.
        let plain = ["Read-only file system", "Device or resource busy"];
        if plain.iter().any(|words| outcome.output.contains(words)) {
            let told = explain_denial(&world.profile(), outcome.code, &outcome.output);
            let name = touched.rsplit('/').next().unwrap();
            assert!(told.is_some_and(|told| told.contains(name)), "{script}: {outcome:?}");
        }
    }
}

/// So many of the names have their place held; what is made under the others is taken away.
const HELD: usize = 13;

async fn settings_that_do_not_exist_cannot_be_made(world: &SandboxWorld) {
    for name in &PROTECTED_NAMES[HELD..] {
        let outcome = world.sh(&format!("mkdir {name}; touch {name}/x; rm -r {name}; echo x > {name}")).await;
        assert_eq!(outcome.teardown.restored, [world.workspace.join(name)]);
        assert!(!world.workspace.join(name).exists());
        fs::write(world.workspace.join(name), "mine").unwrap();
        refused(world, &format!("echo x > {name}"), name).await;
        assert_eq!(fs::read_to_string(world.workspace.join(name)).unwrap(), "mine");
        fs::remove_file(world.workspace.join(name)).unwrap();
    }
    for name in &PROTECTED_NAMES[..HELD] {
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

/// A program that runs for hours makes none of the names that agents and editors obey, not even for a moment.
async fn a_long_lived_program_makes_no_rare_name(world: &SandboxWorld) {
    if world.is_landlock() {
        return;
    }
    let profile = SandboxProfile { long_lived: true, ..world.profile() };
    let script = "for name in .qwen .goose .devcontainer opencode.json .exrc .nvim.lua .crush.json; do \
                  { mkdir $name/x || echo x > $name; } 2> /dev/null && echo $name; done; true";
    assert_eq!(world.sh_with(&profile, script).await.ok(), "");
    assert!(names(&world.workspace).is_empty(), "{:?}", names(&world.workspace));
}

async fn settings_that_exist_cannot_be_changed(world: &SandboxWorld) {
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

async fn a_link_is_put_back(world: &SandboxWorld) {
    fs::create_dir(world.workspace.join("settings")).unwrap();
    fs::write(world.workspace.join("settings/one"), "as it was").unwrap();
    symlink("settings", world.workspace.join(".vscode")).unwrap();
    world.sh("echo x > settings/one; rm .vscode; mkdir .vscode; echo x > .vscode/tasks.json").await;
    assert_eq!(fs::read_link(world.workspace.join(".vscode")).unwrap(), Path::new("settings"));
    assert_eq!(fs::read_to_string(world.workspace.join("settings/one")).unwrap(), "as it was");
    assert_eq!(names(&world.workspace.join("settings")), ["one"]);
}

async fn commands_in_one_workspace_do_not_uncover_each_other(world: &SandboxWorld) {
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

/// Whatever a program does to a file of its own, it does not become a placeholder, which nobody would look at.
async fn nothing_that_a_program_makes_is_a_placeholder(world: &SandboxWorld) {
    let running = world.sandbox.command(&world.profile(), "true", [""; 0]).unwrap();
    let script = "mkdir made; printf xx > file; touch empty; touch -d @417417417 made file empty; \
                  touch -r .claude made empty 2>/dev/null; cp -a .claude copy 2>/dev/null; true";
    world.sh(script).await.ok();
    for name in ["made", "file", "empty", "copy"] {
        assert!(!is_placeholder(&world.workspace.join(name)), "{name}");
    }
    assert_eq!(is_placeholder(&world.workspace.join(".claude")), !world.is_landlock());
    drop(running);
    assert!(!is_placeholder(&world.workspace.join(".claude")));
    // What only looks like one stays.
    fs::create_dir(world.workspace.join(".claude")).unwrap();
    world.sh("true").await.ok();
    assert!(world.workspace.join(".claude").exists());
}

/// Below the top of a workspace those are held that exist.
async fn settings_further_down_cannot_be_changed(world: &SandboxWorld) {
    for path in ["one/.vscode", "one/two/.claude"] {
        fs::create_dir_all(world.workspace.join(path)).unwrap();
        fs::write(world.workspace.join(path).join("settings.json"), "{}").unwrap();
        refused(world, &format!("echo x > {path}/settings.json"), path).await;
        refused(world, &format!("mv {path} gone && mkdir {path}"), path).await;
        assert_eq!(fs::read_to_string(world.workspace.join(path).join("settings.json")).unwrap(), "{}");
        let _ = fs::remove_dir_all(world.workspace.join("gone"));
    }
}
