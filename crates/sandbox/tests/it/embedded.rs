//! Repositories that a command makes inside the workspace, and what is told of them.

use std::fs;

use crate::fixture::{SandboxWorld, everywhere};

everywhere! {
    a_planted_repository_is_told,
    nothing_of_hidden_files_is_told,
    a_planted_repository_far_below_is_told,
    a_planted_repository_that_the_walk_does_not_reach_is_told,
    an_index_that_hides_what_it_names_is_told,
    repositories_without_programs_are_not_told,
    what_was_there_before_is_not_told_again,
}

const MAKE: &str = "git init -q $WHERE && cd $WHERE && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m a && cd \"$TOP\"";

fn make(place: &str, then: &str) -> String {
    format!("set -e; export TOP=\"$PWD\" WHERE={place}; {MAKE}; {then}")
}

async fn a_planted_repository_is_told(world: &SandboxWorld) {
    world.host_git(&world.workspace, &["init", "-q"]);
    let fsmonitor = "git -C sub config core.fsmonitor 'touch /tmp/x; false'";
    let outcome = world.sh(&make("sub", &format!("{fsmonitor}; git add sub"))).await;
    outcome.ok();
    let armed = &outcome.teardown.suspect_repositories;
    assert_eq!(armed.len(), 1, "{outcome:?}");
    assert_eq!(armed[0].path, world.workspace.join("sub"));
    assert_eq!(armed[0].reasons, ["core.fsmonitor"]);

    let outcome = world.sh(&make("hooked", "echo x > hooked/.git/hooks/pre-commit")).await;
    assert_eq!(outcome.teardown.suspect_repositories[0].reasons, ["hooks/pre-commit"], "{outcome:?}");

    let elsewhere =
        "mv other/.git ./meta; echo 'gitdir: ../meta' > other/.git; git config -f meta/config alias.x '!x'";
    let outcome = world.sh(&make("other", elsewhere)).await;
    assert_eq!(outcome.teardown.suspect_repositories[0].reasons, ["alias.x"], "{outcome:?}");
}

/// The daemon reads what a command may not, and tells the model what it finds: none of it is from a file that
/// a link leads to.
async fn nothing_of_hidden_files_is_told(world: &SandboxWorld) {
    world.host_git(&world.workspace, &["init", "-q"]);
    fs::create_dir(world.home.join(".kube")).unwrap();
    for name in [".ssh/config", ".kube/config"] {
        fs::write(world.home.join(name), "canary\ntoken = canary\n").unwrap();
    }
    for (number, then) in [
        "ln -sf \"$TESTED_HOME/.netrc\" $WHERE/.git/config",
        "ln -sf \"$TESTED_HOME/.netrc\" $WHERE/.git/config.worktree",
        "rm -r $WHERE/.git; ln -s \"$TESTED_HOME/.ssh\" $WHERE/.git",
        "rm -r $WHERE/.git; echo \"gitdir: $TESTED_HOME/.kube\" > $WHERE/.git",
        "echo \"$TESTED_HOME/.kube\" > $WHERE/.git/commondir",
        "rm -r $WHERE/.git/hooks; ln -s \"$TESTED_HOME/.ssh\" $WHERE/.git/hooks",
    ]
    .into_iter()
    .enumerate()
    {
        let outcome = world.sh(&make(&format!("sub{number}"), then)).await;
        outcome.ok();
        let told = format!("{:?}", outcome.teardown.suspect_repositories);
        assert!(!told.contains("canary") && !told.contains("hooks/id"), "{then}: {told}");
        assert!(told.contains("sub"), "{then}: {told}");
    }
}

/// However deep it lies, as long as there are not too many directories around it.
async fn a_planted_repository_far_below_is_told(world: &SandboxWorld) {
    world.host_git(&world.workspace, &["init", "-q"]);
    let place = "one/two/three/four/five/six/seven";
    let outcome = world.sh(&make(place, &format!("git -C {place} config core.fsmonitor x"))).await;
    outcome.ok();
    let paths: Vec<_> =
        outcome.teardown.suspect_repositories.iter().map(|armed| armed.path.clone()).collect();
    assert_eq!(paths, [world.workspace.join(place)], "{outcome:?}");
}

/// What the index names is found wherever it is: git goes there too.
async fn a_planted_repository_that_the_walk_does_not_reach_is_told(world: &SandboxWorld) {
    world.host_git(&world.workspace, &["init", "-q"]);
    for (number, version) in ["2", "4"].into_iter().enumerate() {
        let place = format!("node_modules/a/b/c/d/e{number}");
        let then = format!(
            "echo x > zz{number}; git update-index --index-version {version}; git add -f zz{number} {place}; \
             git -C {place} config filter.x.clean x"
        );
        let outcome = world.sh(&make(&place, &then)).await;
        outcome.ok();
        let paths: Vec<_> =
            outcome.teardown.suspect_repositories.iter().map(|armed| armed.path.clone()).collect();
        assert_eq!(paths, [world.workspace.join(&place)], "{outcome:?}");
    }
}

/// Git reads such an index, and enters the repositories that it names.
async fn an_index_that_hides_what_it_names_is_told(world: &SandboxWorld) {
    world.host_git(&world.workspace, &["init", "-q"]);
    let place = "node_modules/a/b";
    for (number, hide) in [
        "mv .git/index kept; ln -s ../kept .git/index",
        "git update-index --split-index; for f in .git/sharedindex.*; do mv $f kept; ln -s ../kept $f; done",
        "for n in $(seq 300); do printf '160000 %040d 0\\ta%03d\\n' 1 $n; done | git update-index --index-info",
    ]
    .into_iter()
    .enumerate()
    {
        let place = format!("{place}{number}");
        let then = format!("git -C {place} config core.fsmonitor x; rm -f .git/index; git add -f {place}; {hide}");
        let outcome = world.sh(&make(&place, &then)).await;
        outcome.ok();
        let told = format!("{:?}", outcome.teardown.suspect_repositories);
        assert!(told.contains("an index"), "{hide}: {told}");
        world.sh("rm -f .git/index").await.ok();
    }
}

async fn repositories_without_programs_are_not_told(world: &SandboxWorld) {
    world.host_git(&world.workspace, &["init", "-q"]);
    world.host_git(&world.workspace, &["config", "alias.st", "status"]);
    world.host_git(&world.workspace, &["commit", "-q", "--allow-empty", "-m", "a"]);
    // What leads worktrees to the repository cannot be changed from inside.
    world.host_git(&world.workspace, &["worktree", "add", "-q", "tree"]);
    let clone = "git clone -q sub copy; git -C copy config user.name a; git -C tree status";
    let outcome = world.sh(&make("sub", clone)).await;
    outcome.ok();
    assert!(world.workspace.join("tree/.git").exists());
    assert_eq!(outcome.teardown.suspect_repositories, []);
}

async fn what_was_there_before_is_not_told_again(world: &SandboxWorld) {
    world.host_git(&world.workspace, &["init", "-q"]);
    let sub = world.workspace.join("sub");
    fs::create_dir(&sub).unwrap();
    world.host_git(&sub, &["init", "-q"]);
    world.host_git(&sub, &["config", "core.pager", "less"]);
    assert_eq!(world.sh("echo x > sub/file").await.teardown.suspect_repositories, []);
}
