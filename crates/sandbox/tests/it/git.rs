//! Git inside the sandbox, and git that Ostler runs for itself.

use std::fs;
use std::path::Path;

use crate::fixture::{SandboxWorld, everywhere};

const COMMIT: &str = "echo x >> file && git add -A && git -c user.name=a -c user.email=a@b commit -qm more && git log --oneline | wc -l";

everywhere! {
    a_commit_works_and_holds_no_placeholder,
    hooks_and_settings_cannot_be_planted,
    the_repository_cannot_be_swapped,
    a_linked_worktree_works,
    a_worktree_that_nobody_vouches_for_opens_nothing,
    a_submodule_works,
}

fn repository(world: &SandboxWorld, path: &Path) {
    fs::create_dir_all(path).unwrap();
    world.host_git(path, &["init", "-q"]);
    fs::write(path.join("file"), "1\n").unwrap();
    world.host_git(path, &["add", "."]);
    world.host_git(path, &["commit", "-qm", "first"]);
}

async fn a_commit_works_and_holds_no_placeholder(world: &SandboxWorld) {
    repository(world, &world.workspace);
    assert_eq!(world.sh(COMMIT).await.ok().trim(), "2");
    assert_eq!(world.host_git(&world.workspace, &["ls-files"]), "file\n");
    assert_eq!(world.host_git(&world.workspace, &["status", "--porcelain"]), "");
    world.sh("git checkout -qb other && git branch && git tag one && git stash list && git gc -q").await.ok();
    assert!(!world.workspace.join(".git/commondir").exists());
}

async fn hooks_and_settings_cannot_be_planted(world: &SandboxWorld) {
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

async fn the_repository_cannot_be_swapped(world: &SandboxWorld) {
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

async fn a_linked_worktree_works(world: &SandboxWorld) {
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
            assert!(!outcome.teardown.restored.is_empty(), "{attempt}: {outcome:?}");
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

async fn a_worktree_that_nobody_vouches_for_opens_nothing(world: &SandboxWorld) {
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

async fn a_submodule_works(world: &SandboxWorld) {
    let (part, whole) = (world.outside.join("part"), world.outside.join("whole"));
    repository(world, &part);
    repository(world, &whole);
    let part = part.to_str().unwrap();
    world.host_git(&whole, &["-c", "protocol.file.allow=always", "submodule", "add", "-q", part, "sub"]);
    assert!(whole.join("sub/.git").is_file());
    let inside = SandboxWorld { workspace: whole.join("sub"), ..SandboxWorld::new(world.choice).await };
    assert_eq!(inside.sh(COMMIT).await.ok().trim(), "2");
    let config = whole.join(".git/modules/sub/config");
    let before = fs::read(&config).unwrap();
    inside.sh("git config core.fsmonitor 'touch pwned'").await;
    assert_eq!(fs::read(&config).unwrap(), before);
    // From the whole, the part's settings are protected as well.
    let around = SandboxWorld { workspace: whole, ..SandboxWorld::new(world.choice).await };
    around.sh("git -C sub config core.fsmonitor 'touch pwned'; echo gitdir: x > sub/.git").await;
    assert_eq!(fs::read(&config).unwrap(), before);
    assert!(fs::read_to_string(around.workspace.join("sub/.git")).unwrap().contains("modules/sub"));
}
