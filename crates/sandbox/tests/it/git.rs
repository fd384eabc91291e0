//! Git inside the sandbox, and git that Ostler runs for itself.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ostler_sandbox::{hardened_git, hardened_git_calls};

use crate::fixture::{World, everywhere};

const COMMIT: &str = "echo x >> file && git add -A && git -c user.name=a -c user.email=a@b commit -qm more && git log --oneline | wc -l";

everywhere! {
    a_commit_works_and_holds_no_placeholder,
    hooks_and_settings_cannot_be_planted,
    the_repository_cannot_be_swapped,
    a_linked_worktree_works,
    a_worktree_that_nobody_vouches_for_opens_nothing,
    a_submodule_works,
    planted_settings_do_not_run_in_hardened_git,
    hardened_git_is_bounded_and_tells,
    several_calls_of_git_are_told_apart,
}

fn repository(world: &World, path: &Path) {
    fs::create_dir_all(path).unwrap();
    world.host_git(path, &["init", "-q"]);
    fs::write(path.join("file"), "1\n").unwrap();
    world.host_git(path, &["add", "."]);
    world.host_git(path, &["commit", "-qm", "first"]);
}

async fn a_commit_works_and_holds_no_placeholder(world: &World) {
    repository(world, &world.workspace);
    assert_eq!(world.sh(COMMIT).await.ok().trim(), "2");
    assert_eq!(world.host_git(&world.workspace, &["ls-files"]), "file\n");
    assert_eq!(world.host_git(&world.workspace, &["status", "--porcelain"]), "");
    world.sh("git checkout -qb other && git branch && git tag one && git stash list && git gc -q").await.ok();
    assert!(!world.workspace.join(".git/commondir").exists());
}

async fn hooks_and_settings_cannot_be_planted(world: &World) {
    repository(world, &world.workspace);
    let before = fs::read(world.workspace.join(".git/config")).unwrap();
    for attempt in [
        "printf '#!/bin/sh\\ntouch pwned\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit",
        "git config core.fsmonitor 'touch pwned; false'",
        "printf '[core]\\nfsmonitor=touch pwned\\n' >> .git/config",
        "mv .git/config .git/old && printf '[core]\\nfsmonitor=touch pwned\\n' > .git/config",
        "mkdir -p evil && printf '[core]\\nfsmonitor=touch pwned\\n' > evil/config && cp -r .git/objects .git/refs evil && echo ../evil > .git/commondir",
        "rm -rf .git/hooks && ln -s ../evil .git/hooks",
    ] {
        let outcome = world.sh(attempt).await;
        if !world.is_landlock() {
            outcome.failed();
        }
        world.host_git(&world.workspace, &["status"]);
        world.host_git(&world.workspace, &["commit", "--allow-empty", "-qm", "more"]);
        assert!(!world.workspace.join("pwned").exists(), "{attempt}: {outcome:?}");
    }
    assert_eq!(fs::read(world.workspace.join(".git/config")).unwrap(), before);
}

async fn the_repository_cannot_be_swapped(world: &World) {
    repository(world, &world.workspace);
    let swap = "mv .git old; mkdir .git; cp -r old/. .git/; printf '[core]\\nfsmonitor=touch pwned\\n' > .git/config; \
                printf '#!/bin/sh\\ntouch pwned\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/*; \
                rm -rf .git && printf 'gitdir: old\\n' > .git";
    world.sh(swap).await;
    world.host_git(&world.workspace, &["status"]);
    world.host_git(&world.workspace, &["checkout", "-qb", "other"]);
    assert!(!world.workspace.join("pwned").exists());
    assert!(world.workspace.join(".git").is_dir());
}

async fn a_linked_worktree_works(world: &World) {
    let main = world.outside.join("main");
    repository(world, &main);
    fs::remove_dir(&world.workspace).unwrap();
    world.host_git(&main, &["worktree", "add", "-q", world.workspace.to_str().unwrap()]);
    assert!(world.workspace.join(".git").is_file());
    assert_eq!(world.sh(COMMIT).await.ok().trim(), "2");
    let config = fs::read(main.join(".git/config")).unwrap();
    for attempt in [
        "git config core.fsmonitor 'touch pwned'",
        "echo x > \"$OUTSIDE/main/.git/hooks/pre-commit\"",
        "echo gitdir: evil > .git",
        "echo ../../../evil > \"$OUTSIDE/main/.git/worktrees/workspace/commondir\"",
    ] {
        let outcome = world.sh(attempt).await;
        if world.is_landlock() {
            assert!(!outcome.aftermath.restored.is_empty(), "{attempt}: {outcome:?}");
        } else {
            outcome.failed();
        }
    }
    assert_eq!(fs::read(main.join(".git/config")).unwrap(), config);
    assert!(!main.join(".git/hooks/pre-commit").exists());
    if !world.is_landlock() {
        world.sh("mv \"$OUTSIDE/main/.git/worktrees\" \"$OUTSIDE/main/.git/w2\"").await.failed();
        world.sh("mv \"$OUTSIDE/main/.git\" \"$OUTSIDE/main/other\"").await.failed();
    }
    // The other worktree's files are not the workspace's.
    world.sh("echo x > \"$OUTSIDE/main/file\"").await.failed();
    assert_eq!(world.host_git(&world.workspace, &["status", "--porcelain"]), "");
}

async fn a_worktree_that_nobody_vouches_for_opens_nothing(world: &World) {
    let victim = world.outside.join("victim");
    repository(world, &victim);
    fs::write(world.workspace.join(".git"), format!("gitdir: {}/.git\n", victim.display())).unwrap();
    world.sh("echo x > \"$OUTSIDE/victim/.git/planted\"").await.failed();
    // Neither does one with a directory of its own that leads there.
    let forged = world.workspace.join("forged/worktrees/one");
    fs::create_dir_all(&forged).unwrap();
    fs::write(world.workspace.join(".git"), format!("gitdir: {}\n", forged.display())).unwrap();
    fs::write(forged.join("gitdir"), world.workspace.join(".git").to_str().unwrap()).unwrap();
    fs::write(forged.join("commondir"), victim.join(".git").to_str().unwrap()).unwrap();
    world.sh("echo x > \"$OUTSIDE/victim/.git/planted\"").await.failed();
    assert!(!victim.join(".git/planted").exists());
}

async fn a_submodule_works(world: &World) {
    let (part, whole) = (world.outside.join("part"), world.outside.join("whole"));
    repository(world, &part);
    repository(world, &whole);
    let part = part.to_str().unwrap();
    world.host_git(&whole, &["-c", "protocol.file.allow=always", "submodule", "add", "-q", part, "sub"]);
    assert!(whole.join("sub/.git").is_file());
    let inside = World { workspace: whole.join("sub"), ..World::new(world.choice).await };
    assert_eq!(inside.sh(COMMIT).await.ok().trim(), "2");
    let config = whole.join(".git/modules/sub/config");
    let before = fs::read(&config).unwrap();
    inside.sh("git config core.fsmonitor 'touch pwned'").await;
    assert_eq!(fs::read(&config).unwrap(), before);
    // From the whole, the part's settings are protected as well.
    let around = World { workspace: whole, ..World::new(world.choice).await };
    around.sh("git -C sub config core.fsmonitor 'touch pwned'; echo gitdir: x > sub/.git").await;
    assert_eq!(fs::read(&config).unwrap(), before);
    assert!(fs::read_to_string(around.workspace.join("sub/.git")).unwrap().contains("modules/sub"));
}

async fn planted_settings_do_not_run_in_hardened_git(world: &World) {
    repository(world, &world.workspace);
    // Where it may be written even from inside, so that a program that ran would be seen.
    let canary = world.workspace.join("canary");
    let program = world.workspace.join("evil.sh");
    fs::write(&program, "#!/bin/sh\ntouch /tmp/canary; echo RAN >&2; echo RAN; cat\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let evil = program.to_str().unwrap();
    let quoted = format!("'{evil}'");
    for (key, value) in [
        ("core.fsmonitor", evil),
        ("core.pager", evil),
        ("core.sshCommand", quoted.as_str()),
        ("diff.external", evil),
        ("diff.evil.command", quoted.as_str()),
        ("diff.evil.textconv", quoted.as_str()),
        ("filter.evil.clean", quoted.as_str()),
        ("filter.evil.smudge", quoted.as_str()),
        ("filter.evil.process", quoted.as_str()),
        ("filter.evil.required", "true"),
        ("gpg.program", evil),
        ("log.showSignature", "true"),
        ("core.hooksPath", world.workspace.to_str().unwrap()),
    ] {
        world.host_git(&world.workspace, &["config", key, value]);
    }
    fs::copy(&program, world.workspace.join("post-index-change")).unwrap();
    fs::write(world.workspace.join(".gitattributes"), "* filter=evil diff=evil\n").unwrap();
    fs::create_dir_all(world.workspace.join(".git/info")).unwrap();
    fs::write(world.workspace.join(".git/info/attributes"), "* filter=evil diff=evil\n").unwrap();
    fs::write(world.workspace.join("file"), "2\n").unwrap();
    for arguments in [
        &["status", "--porcelain=v2"][..],
        &["diff"],
        &["log", "-p"],
        &["show"],
        &["blame", "file"],
        &["diff", "--stat"],
        &["ls-files", "-m"],
    ] {
        let output = hardened_git(&world.sandbox, &world.workspace, arguments).await.unwrap();
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {text}");
        assert!(!text.contains("RAN"), "{arguments:?}: {text}");
        assert!(!output.stdout.is_empty(), "{arguments:?}");
    }
    assert!(!canary.exists());
    // The trap is live: git of the owner's falls into it.
    assert!(world.host_git(&world.workspace, &["status"]).contains("RAN"));
}

async fn hardened_git_is_bounded_and_tells(world: &World) {
    repository(world, &world.workspace);
    let wrong = hardened_git(&world.sandbox, &world.workspace, &["rev-parse", "--verify", "nothing"]).await;
    let wrong = wrong.unwrap();
    assert_eq!(wrong.status.code(), Some(128), "{wrong:?}");
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("fatal"), "{wrong:?}");
    fs::write(world.workspace.join("large"), "line\n".repeat(2_000_000)).unwrap();
    world.host_git(&world.workspace, &["add", "large"]);
    let output = hardened_git(&world.sandbox, &world.workspace, &["diff", "--cached"]).await.unwrap();
    assert!(output.truncated && output.stdout.len() <= 4 << 20);
    let written =
        hardened_git(&world.sandbox, &world.workspace, &["commit", "--allow-empty", "-m", "x"]).await;
    assert!(!written.unwrap().status.success());
}

async fn several_calls_of_git_are_told_apart(world: &World) {
    repository(world, &world.workspace);
    fs::write(world.workspace.join("it's new"), "1\n").unwrap();
    let calls: [&[&str]; 4] = [
        &["status", "--porcelain=v2", "-z"],
        &["rev-parse", "--verify", "it's nothing"],
        &["log", "--format=%s"],
        &["rev-parse", "--is-inside-work-tree"],
    ];
    let together = hardened_git_calls(&world.sandbox, &world.workspace, &calls).await.unwrap();
    assert_eq!(together.len(), calls.len());
    for (arguments, together) in calls.into_iter().zip(together) {
        let alone = hardened_git(&world.sandbox, &world.workspace, arguments).await.unwrap();
        assert_eq!(together.stdout, alone.stdout, "{arguments:?}");
        assert_eq!(together.stderr, alone.stderr, "{arguments:?}");
        assert_eq!(together.status.code(), alone.status.code(), "{arguments:?}");
    }
    fs::write(world.workspace.join("large"), "line\n".repeat(2_000_000)).unwrap();
    world.host_git(&world.workspace, &["add", "large"]);
    let calls: [&[&str]; 3] = [&["log", "--format=%s"], &["diff", "--cached"], &["log", "--format=%s"]];
    let together = hardened_git_calls(&world.sandbox, &world.workspace, &calls).await.unwrap();
    let cut: Vec<bool> = together.iter().map(|output| output.truncated).collect();
    assert_eq!(cut, [false, true]);
}
