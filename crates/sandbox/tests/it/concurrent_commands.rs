//! Commands that run in one workspace at the same time.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;

use ostler_sandbox::{Confinement, SandboxProfile, TeardownReport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::fixture::{PATH, SandboxWorld, everywhere, names};

everywhere! {
    what_one_plants_is_never_kept_by_another,
    a_repository_that_was_moved_away_is_not_taken_for_another,
    a_workspace_does_not_become_a_repository,
    a_command_ends_when_what_protects_a_file_is_gone,
    a_link_that_one_changes_is_not_kept_by_another,
    a_workspace_inside_another_is_kept_as_well,
}

/// A command that waits for a word before it ends.
struct RunningScript {
    child: tokio::process::Child,
    confinement: Confinement,
}

/// Runs a script and waits until it has done its work.
async fn start(world: &SandboxWorld, profile: &SandboxProfile, script: &str) -> RunningScript {
    let script = format!("{script}; echo done; read -r word");
    let confined = world.sandbox.command(profile, "/bin/bash", ["-c", &script]).unwrap();
    let (mut command, confinement) = confined.envs([("PATH", PATH)]).prepare();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut told = [0; 5];
    child.stdout.as_mut().unwrap().read_exact(&mut told).await.unwrap();
    assert_eq!(&told, b"done\n");
    RunningScript { child, confinement }
}

impl RunningScript {
    async fn end(mut self) -> TeardownReport {
        // It may have been ended before.
        let _ = self.child.stdin.take().unwrap().write_all(b"end\n").await;
        self.child.wait().await.unwrap();
        self.confinement.finish()
    }
}

const PLANT: &str = "printf '[core]\\nfsmonitor=touch pwned\\n' >> .git/config; echo x > .git/hooks/pre-commit; \
                     mkdir -p .ostler; echo x > .ostler/config.toml; echo x > .mcp.json";

async fn what_one_plants_is_never_kept_by_another(world: &SandboxWorld) {
    world.host_git(&world.workspace, &["init", "-q"]);
    let config = fs::read(world.workspace.join(".git/config")).unwrap();
    let as_it_was = |when: &str| {
        assert_eq!(fs::read(world.workspace.join(".git/config")).unwrap(), config, "{when}");
        assert!(!world.workspace.join(".git/hooks/pre-commit").exists(), "{when}");
        for name in [".ostler/config.toml", ".mcp.json/x"] {
            assert!(!world.workspace.join(name).exists(), "{when}");
        }
    };
    let first = start(world, &world.profile(), PLANT).await;
    let second = start(world, &world.profile(), "true").await;
    first.end().await;
    as_it_was("when the first has ended");
    let third = start(world, &world.profile(), PLANT).await;
    second.end().await;
    as_it_was("when the second has ended");
    let fourth = start(world, &world.profile(), "true").await;
    third.end().await;
    fourth.end().await;
    as_it_was("when all have ended");
    assert_eq!(names(&world.workspace), [".git"]);
}

async fn a_repository_that_was_moved_away_is_not_taken_for_another(world: &SandboxWorld) {
    world.host_git(&world.workspace, &["init", "-q"]);
    let config = fs::read(world.workspace.join(".git/config")).unwrap();
    let first = start(world, &world.profile(), "true").await;
    let swap = format!("mv .git old; mkdir .git; cp -r old/. .git/; rm .git/HEAD; {PLANT}; sleep 60");
    let outcome = world.sh(&swap).await;
    assert!(outcome.output.contains("ended by Ostler"), "{outcome:?}");
    first.end().await;
    assert_eq!(fs::read(world.workspace.join(".git/config")).unwrap(), config);
    assert!(!world.workspace.join(".git/hooks/pre-commit").exists());
    world.host_git(&world.workspace, &["status"]);
}

/// Makes the workspace's top a repository that runs a program.
const BARE: &str = "mkdir -p objects refs; echo 'ref: refs/heads/main' > HEAD; \
                    printf '[core]\nrepositoryformatversion=0\nbare=false\nworktree=.\nfsmonitor=\"touch pwned; false\"\n' > config";

async fn a_workspace_does_not_become_a_repository(world: &SandboxWorld) {
    // Ended at once, because it would run for long; or put right when it has ended before that was seen.
    for more in ["sleep 60", "true"] {
        world.sh(&format!("{BARE}; {more}")).await;
        world.host_git(&world.workspace, &["status"]);
        assert!(!world.workspace.join("pwned").exists(), "{more}");
        assert!(!world.workspace.join("HEAD").exists(), "{more}");
        world.sh("rm -rf objects refs config").await.ok();
    }
    world.host_git(&world.workspace, &["init", "-q"]);
    for broken in
        ["rm .git/HEAD", "echo x > .git/HEAD", "chmod 0 .git/HEAD", "chmod 0 .git", "mv .git/refs .git/r"]
    {
        for more in ["sleep 60", "true"] {
            world.sh(&format!("{BARE}; {broken}; {more}")).await;
            let status = world.host_git(&world.workspace, &["status"]);
            assert!(status.contains("On branch main"), "{broken}; {more}: {status}");
            assert!(!world.workspace.join("pwned").exists(), "{broken}; {more}");
        }
    }
    let nested = format!("mkdir -p sub/deep; cd sub/deep; {BARE}");
    let armed = world.sh(&nested).await.teardown.suspect_repositories;
    assert!(armed.iter().any(|armed| armed.path == world.workspace.join("sub/deep")), "{armed:?}");
}

async fn a_command_ends_when_what_protects_a_file_is_gone(world: &SandboxWorld) {
    world.host_git(&world.workspace, &["init", "-q"]);
    let profile = world.profile();
    let confined =
        world.sandbox.command(&profile, "/bin/bash", ["-c", "echo done; read -r word; echo over"]).unwrap();
    let (mut command, confinement) = confined.envs([("PATH", PATH)]).prepare();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut told = [0; 5];
    child.stdout.as_mut().unwrap().read_exact(&mut told).await.unwrap();
    world.host_git(&world.workspace, &["config", "branch.main.remote", "origin"]);
    if !world.sandbox.holds_protected_paths() {
        return;
    }
    // Its input stays open, so it would wait for ever.
    let stdin = child.stdin.take();
    let output = child.wait_with_output().await.unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains(".git/config while this one ran"), "{output:?}");
    drop(stdin);
    assert!(confinement.finish().restored.is_empty());
    let settings = fs::read_to_string(world.workspace.join(".git/config")).unwrap();
    assert!(settings.contains("origin"), "{settings}");
}

async fn a_link_that_one_changes_is_not_kept_by_another(world: &SandboxWorld) {
    for directory in ["conf/claude", "evil"] {
        fs::create_dir_all(world.workspace.join(directory)).unwrap();
    }
    let link = world.workspace.join(".claude");
    symlink("conf/claude", &link).unwrap();
    let is_as_it_was = || fs::read_link(&link).is_ok_and(|target| target == Path::new("conf/claude"));
    for change in ["ln -sfn evil .claude", "rm .claude; mkdir .claude; echo x > .claude/settings.json"] {
        let first = start(world, &world.profile(), change).await;
        let second = start(world, &world.profile(), "true").await;
        assert!(first.end().await.restored.contains(&link));
        assert!(is_as_it_was(), "{change}");
        second.end().await;
        assert!(is_as_it_was(), "{change}");
        let first = start(world, &world.profile(), "true").await;
        let second = start(world, &world.profile(), change).await;
        first.end().await;
        second.end().await;
        assert!(is_as_it_was(), "{change}");
    }
}

async fn a_workspace_inside_another_is_kept_as_well(world: &SandboxWorld) {
    let inner = world.workspace.join("inner");
    fs::create_dir(&inner).unwrap();
    for place in [&world.workspace, &inner] {
        world.host_git(place, &["init", "-q"]);
    }
    let config = fs::read(inner.join(".git/config")).unwrap();
    for (outer_first, plant) in [(true, format!("cd inner; {PLANT}")), (false, PLANT.to_owned())] {
        let (around, inside) = (world.profile(), SandboxProfile::new(&inner));
        let (planter, other) = if outer_first { (&around, &inside) } else { (&inside, &around) };
        let first = start(world, planter, &plant).await;
        let second = start(world, other, "true").await;
        first.end().await;
        second.end().await;
        assert_eq!(fs::read(inner.join(".git/config")).unwrap(), config, "{outer_first}");
        assert!(!inner.join(".git/hooks/pre-commit").exists(), "{outer_first}");
    }
}

/// A nested repository that one command swaps for a link while another one starts: what is mounted there must not
/// open what the link leads to.
#[tokio::test]
async fn a_repository_that_is_swapped_for_a_link_opens_nothing() {
    let world = SandboxWorld::new(ostler_sandbox::BackendChoice::Bubblewrap).await;
    let victim = world.outside.join("victim");
    fs::create_dir(&victim).unwrap();
    world.host_git(&world.workspace, &["init", "-q"]);
    world.host_git(&victim, &["init", "-q"]);
    // Made by a command that runs, so that nothing holds it in place there.
    let swap = "git init -q sub; ln -s ../outside/victim link; (python3 -c \"\nimport ctypes\nlibc = ctypes.CDLL(None)\n\
                while True: libc.syscall(316, -100, b'sub', -100, b'link', 2)\" & )";
    let swapping = start(&world, &world.profile(), swap).await;
    let mut ran = 0;
    for _ in 0..150 {
        let script = "echo x > \"$OUTSIDE/victim/pwned\"";
        // To be refused is as good.
        let Ok(confined) = world.sandbox.command(&world.profile(), "/bin/bash", ["-c", script]) else {
            continue;
        };
        let (mut command, confinement) = confined.envs([("OUTSIDE", &world.outside)]).prepare();
        let output = command.output().await.unwrap();
        confinement.finish();
        ran += u32::from(output.status.code() == Some(1));
        assert!(!victim.join("pwned").exists(), "{output:?}");
    }
    assert!(ran > 0);
    swapping.end().await;
}
