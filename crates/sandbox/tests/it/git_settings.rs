//! Files that git obeys though nobody has made them yet, and lists of commands that it would run.

use std::fs;
use std::path::Path;

use crate::fixture::{SandboxWorld, everywhere, names};

everywhere! {
    settings_that_are_included_and_missing_cannot_be_made,
    hooks_whose_directory_is_missing_cannot_be_made,
    settings_of_the_user_lead_nowhere_new,
    what_is_obeyed_in_a_nested_repository_cannot_be_made,
    a_rebase_runs_nothing_that_a_command_added,
    a_rebase_works_inside,
    the_worktrees_of_others_cannot_be_changed,
}

const COMMIT: &str = "echo x >> file && git add -A && git -c user.name=a -c user.email=a@b commit -qm more && git status --porcelain";
const SETTINGS: &str = "printf '[core]\\n\\tfsmonitor = touch pwned; false\\n'";
const HOOK: &str = "printf '#!/bin/sh\\ntouch pwned\\n'";

fn repository(world: &SandboxWorld, path: &Path) {
    fs::create_dir_all(path).unwrap();
    world.host_git(path, &["init", "-q"]);
    fs::write(path.join("file"), "1\n").unwrap();
    world.host_git(path, &["add", "."]);
    world.host_git(path, &["commit", "-qm", "first"]);
}

/// Runs what would plant something, and then the user's own git.
async fn plant(world: &SandboxWorld, repository: &Path, script: &str) {
    world.sh(script).await;
    for arguments in [&["status"][..], &["commit", "--allow-empty", "-qm", "by the user"]] {
        world.host_git(repository, arguments);
    }
    for place in [repository, &world.workspace] {
        assert!(!place.join("pwned").exists(), "{script}");
    }
}

async fn settings_that_are_included_and_missing_cannot_be_made(world: &SandboxWorld) {
    repository(world, &world.workspace);
    fs::write(world.workspace.join(".gitignore"), "/.gitconfig.local\n").unwrap();
    for (target, place) in [
        ("../.gitconfig.local", ".gitconfig.local"),
        ("../conf/git/local # mine", "conf/git/local"),
        ("more", ".git/more"),
    ] {
        let config = world.workspace.join(".git/config");
        let before = fs::read_to_string(&config).unwrap();
        for section in ["include", "includeIf \"gitdir:**\""] {
            fs::write(&config, format!("{before}[{section}]\n\tpath = {target}\n")).unwrap();
            assert_eq!(world.sh(COMMIT).await.ok(), "", "{target}");
            let parent = Path::new(place).parent().unwrap().display().to_string();
            plant(world, &world.workspace, &format!("mkdir -p ./{parent}; {SETTINGS} > {place}")).await;
            plant(
                world,
                &world.workspace,
                &format!("rm -rf {place}; {SETTINGS} > x; mv -f x {place}; rm -f x"),
            )
            .await;
            assert!(!world.workspace.join(place).exists(), "{target}");
        }
        // What an included file includes counts as well.
        fs::write(&config, format!("{before}[include]\n\tpath = ../team\n")).unwrap();
        fs::write(world.workspace.join("team"), format!("[include]\n\tpath = {place}\n")).unwrap();
        let parent = Path::new(place).parent().unwrap().display().to_string();
        plant(world, &world.workspace, &format!("mkdir -p ./{parent}; {SETTINGS} > {place}")).await;
        fs::write(&config, before).unwrap();
    }
    assert_eq!(world.host_git(&world.workspace, &["ls-files"]), ".gitignore\nfile\nteam\n");
}

async fn hooks_whose_directory_is_missing_cannot_be_made(world: &SandboxWorld) {
    repository(world, &world.workspace);
    for path in [".githooks", "tools/hooks", "./a/../hooks"] {
        world.host_git(&world.workspace, &["config", "core.hooksPath", path]);
        assert_eq!(world.sh(COMMIT).await.ok(), "", "{path}");
        let hook = format!("mkdir -p {path}; {HOOK} > {path}/pre-commit; chmod +x {path}/pre-commit");
        plant(world, &world.workspace, &hook).await;
        plant(
            world,
            &world.workspace,
            &format!("mkdir -p x; {HOOK} > x/pre-commit; chmod +x x/*; mv -T x {path}"),
        )
        .await;
        fs::remove_dir_all(world.workspace.join("x")).unwrap_or_default();
    }
    // Settings of one worktree count like the others.
    world.host_git(&world.workspace, &["config", "--unset", "core.hooksPath"]);
    world.host_git(&world.workspace, &["config", "extensions.worktreeConfig", "true"]);
    world.host_git(&world.workspace, &["config", "--worktree", "core.hooksPath", ".own"]);
    plant(world, &world.workspace, &format!("mkdir -p .own; {HOOK} > .own/pre-commit; chmod +x .own/*"))
        .await;
}

async fn settings_of_the_user_lead_nowhere_new(world: &SandboxWorld) {
    repository(world, &world.workspace);
    fs::write(world.home.join(".gitconfig"), "[core]\n\thooksPath = .githooks\n").unwrap();
    let hook = format!("mkdir -p .githooks; {HOOK} > .githooks/pre-commit; chmod +x .githooks/*");
    plant(world, &world.workspace, &hook).await;
    assert!(!world.workspace.join(".githooks").exists());
}

async fn what_is_obeyed_in_a_nested_repository_cannot_be_made(world: &SandboxWorld) {
    repository(world, &world.workspace);
    let nested = world.workspace.join("one/nested");
    repository(world, &nested);
    world.host_git(&nested, &["config", "include.path", "../local"]);
    world.host_git(&nested, &["config", "core.hooksPath", "hooks"]);
    plant(world, &nested, &format!("cd one/nested; {SETTINGS} > local")).await;
    plant(
        world,
        &nested,
        &format!("cd one/nested; mkdir hooks; {HOOK} > hooks/pre-commit; chmod +x hooks/*"),
    )
    .await;
    assert_eq!(names(&nested), [".git", "file"]);
}

const BREAK: &str =
    "GIT_SEQUENCE_EDITOR='echo break >' git -c user.name=a -c user.email=a@b rebase -qi HEAD~1";

async fn a_rebase_runs_nothing_that_a_command_added(world: &SandboxWorld) {
    repository(world, &world.workspace);
    world.host_git(&world.workspace, &["commit", "--allow-empty", "-qm", "second"]);
    let outcome =
        world.sh(&format!("{BREAK}; echo 'exec touch pwned' >> .git/rebase-merge/git-rebase-todo")).await;
    let todo = world.workspace.join(".git/rebase-merge/git-rebase-todo");
    assert!(outcome.teardown.restored.contains(&todo), "{outcome:?}");
    let told = world.host_git(&world.workspace, &["rebase", "--continue"]);
    assert!(!world.workspace.join("pwned").exists(), "{told}");
    assert!(!todo.exists(), "{told}");
    // As a whole, where none was under way.
    let forged = "mkdir .git/rebase-merge; cd .git/rebase-merge; git rev-parse HEAD | tee onto > orig-head; \
                  echo refs/heads/main > head-name; touch interactive; echo 1 | tee msgnum > end; touch done; \
                  echo 'x touch pwned' > git-rebase-todo";
    world.sh(forged).await.ok();
    let told = world.host_git(&world.workspace, &["rebase", "--continue"]);
    assert!(!world.workspace.join("pwned").exists(), "{told}");
}

async fn a_rebase_works_inside(world: &SandboxWorld) {
    repository(world, &world.workspace);
    world.host_git(&world.workspace, &["commit", "--allow-empty", "-qm", "second"]);
    let whole = format!("{BREAK} && git rebase --continue && git log --format=%s");
    assert!(world.sh(&whole).await.ok().contains("first\n"));
    // One that the user has begun is the user's, with all that it starts.
    let begun = "git rebase -q -x 'touch one' -x 'false' -x 'touch two' --root";
    world.host_git(&world.workspace, &begun.replace('\'', "").split(' ').collect::<Vec<_>>());
    let todo = world.workspace.join(".git/rebase-merge/git-rebase-todo");
    if let Ok(before) = fs::read(&todo) {
        assert_eq!(world.sh("git status").await.teardown.restored, [""; 0].map(Path::new));
        assert_eq!(fs::read(&todo).unwrap(), before);
    }
}

async fn the_worktrees_of_others_cannot_be_changed(world: &SandboxWorld) {
    let main = world.outside.join("main");
    repository(world, &main);
    fs::remove_dir(&world.workspace).unwrap();
    let other = world.outside.join("other");
    for path in [&world.workspace, &other] {
        world.host_git(&main, &["worktree", "add", "-q", path.to_str().unwrap()]);
    }
    assert_eq!(world.sh(COMMIT).await.ok(), "");
    let place = main.join(".git/worktrees/other");
    let before = (fs::read(place.join("commondir")).unwrap(), fs::read(place.join("gitdir")).unwrap());
    let script = "cd \"$OUTSIDE/main/.git/worktrees/other\"; echo ../../../evil > commondir; echo evil > gitdir; \
                  rm -rf ../workspace/gitdir; echo x > ../workspace/commondir";
    world.sh(script).await;
    let after = (fs::read(place.join("commondir")).unwrap(), fs::read(place.join("gitdir")).unwrap());
    assert_eq!(after, before);
    if !world.is_landlock() {
        world.sh("echo x > \"$OUTSIDE/main/.git/worktrees/other/HEAD\"").await.failed();
        // Beside the main worktree nothing can be made that leads another one elsewhere.
        let around = SandboxWorld { workspace: main, ..SandboxWorld::new(world.choice).await };
        around.sh("mkdir .git/worktrees/evil").await.failed();
        around.sh("mv .git/worktrees .git/w2").await.failed();
    }
    assert_eq!(world.host_git(&other, &["status", "--porcelain"]), "");
}
