//! What becomes of a confined program's processes, and what they may do to others.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Instant;

use ostler_process::Program;
use ostler_sandbox::BackendChoice;

use crate::fixture::{PATH, SandboxWorld, TEST_DIRECTORY_VARIABLE, everywhere};

/// Tells a test that is run again to play a daemon, and with what.
const DAEMON: &str = "OSTLER_SANDBOX_TEST_DAEMON";

everywhere! {
    privileged_calls_are_denied,
    nothing_outlives_a_command,
    a_killed_command_takes_all_with_it,
    a_sandbox_that_is_let_go_of_ends,
    a_fork_bomb_is_bounded,
    the_code_of_a_program_is_passed_on,
    other_processes_cannot_be_signalled,
    memory_has_a_limit,
    nesting_takes_leave,
    what_a_start_costs,
}

async fn privileged_calls_are_denied(world: &SandboxWorld) {
    let script = "
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, *arguments):
    ctypes.set_errno(0)
    print(name, getattr(libc, name)(*arguments), ctypes.get_errno())
attempt('ptrace', 0, 0, 0, 0)
attempt('mount', b'none', b'/tmp', b'tmpfs', 0, None)
attempt('umount2', b'/proc', 2)
attempt('unshare', 0x10000000)
attempt('unshare', 0x00020000)
attempt('chroot', b'/')
attempt('syscall', 425, 8, 0)
attempt('syscall', 321, 0, 0, 0)
attempt('syscall', 250, 0, 0, 0, 0, 0)
attempt('syscall', 323, 0)
print(open('/proc/self/status').read())
";
    let outcome = world.python(&world.profile(), script).await;
    let lines: Vec<&str> = outcome.ok().lines().collect();
    assert!(lines[..10].iter().all(|line| line.ends_with(" -1 1")), "{:?}", &lines[..10]);
    let status = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name)).unwrap().trim();
    assert_eq!(status("NoNewPrivs:"), "1");
    assert_eq!(status("Seccomp:"), "2");
    if !world.is_landlock() {
        for set in ["CapEff:", "CapPrm:", "CapInh:", "CapBnd:", "CapAmb:"] {
            assert_eq!(status(set), "0000000000000000", "{set}");
        }
    }
    // The new way to make a process cannot be looked into, so programs are told to use the old one.
    let clone3 = "import ctypes; l = ctypes.CDLL(None, use_errno=True); l.syscall(435, 0, 0); print(ctypes.get_errno())";
    assert_eq!(world.python(&world.profile(), clone3).await.ok(), "38\n");
}

async fn nothing_outlives_a_command(world: &SandboxWorld) {
    let mark = world.workspace.join("mark").display().to_string();
    let outcome = world
        .sh("for way in setsid nohup 'setsid setsid'; do \
               $way sh -c 'touch started; while :; do sleep 0.05; done' sleeper mark > /dev/null 2>&1 & \
             done; (setsid sh -c 'sleep 1000 &' &) ; until [ -e started ]; do sleep 0.01; done; echo \"$PWD/mark\"")
        .await;
    assert_eq!(outcome.ok().trim(), mark);
    assert_eq!(living_in(&world.workspace), 0);
}

async fn a_killed_command_takes_all_with_it(world: &SandboxWorld) {
    let (mut child, confinement) = endless(world).await;
    assert!(living_in(&world.workspace) > 0);
    confinement.kill();
    assert_eq!(child.wait().await.unwrap().code(), Some(137));
    assert_eq!(living_in(&world.workspace), 0);
    confinement.finish();
    assert_eq!(std::fs::read_dir(&world.workspace).unwrap().count(), 1);
}

async fn a_sandbox_that_is_let_go_of_ends(world: &SandboxWorld) {
    let (mut child, confinement) = endless(world).await;
    drop(confinement);
    assert_eq!(child.wait().await.unwrap().code(), Some(137));
    assert_eq!(living_in(&world.workspace), 0);
    world.sandbox.clean_up_abandoned();
    assert_eq!(std::fs::read_dir(&world.workspace).unwrap().count(), 1);
    // One that never began leaves nothing either.
    drop(world.sandbox.command(&world.profile(), "true", [""; 0]).unwrap());
    assert_eq!(std::fs::read_dir(&world.workspace).unwrap().count(), 1);
    // And once it is let go of, it cannot begin any more.
    let confined = world.sandbox.command(&world.profile(), "true", [""; 0]).unwrap();
    let (mut command, confinement) = confined.prepare();
    drop(confinement);
    assert_eq!(command.output().await.unwrap().status.code(), Some(125));
}

/// A command that runs until it is killed, once it does.
async fn endless(world: &SandboxWorld) -> (tokio::process::Child, ostler_sandbox::Confinement) {
    let script = "(setsid sh -c 'while :; do sleep 0.05; done' &); echo started | tee started; sleep 1000";
    let confined = world.sandbox.command(&world.profile(), "/bin/sh", ["-c", script]).unwrap();
    let (mut command, confinement) = confined.envs([("PATH", PATH)]).prepare();
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut first = [0];
    tokio::io::AsyncReadExt::read_exact(child.stdout.as_mut().unwrap(), &mut first).await.unwrap();
    while !world.workspace.join("started").exists() {
        tokio::task::yield_now().await;
    }
    (child, confinement)
}

#[tokio::test]
async fn a_daemon_that_is_killed_takes_its_sandboxes_with_it() {
    match std::env::var(DAEMON).as_deref() {
        Ok("bubblewrap") => endless_daemon(BackendChoice::Bubblewrap).await,
        Ok("landlock") => endless_daemon(BackendChoice::Landlock).await,
        Ok("attended") => endless_attended_daemon().await,
        Ok(other) => panic!("{other}"),
        Err(_) => ["bubblewrap", "landlock", "attended"].into_iter().for_each(kill_daemon),
    }
}

/// Runs the test again as a daemon, and kills that.
fn kill_daemon(backend: &str) {
    // What it leaves is removed with this directory.
    let place = tempfile::tempdir_in(crate::place::beside_tmp(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .arg("processes::a_daemon_that_is_killed_takes_its_sandboxes_with_it")
        .args(["--exact", "--nocapture"])
        .env(TEST_DIRECTORY_VARIABLE, place.path())
        .env(DAEMON, backend)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(output.any(|line| line.unwrap().contains("started")));
    child.kill().unwrap();
    child.wait().unwrap();
    // The pipe is closed when the last process that had it is gone.
    assert_eq!(output.count(), 0);
}

async fn endless_daemon(choice: BackendChoice) {
    let world = SandboxWorld::new(choice).await;
    let script = "(setsid sh -c 'while :; do sleep 0.05; done' &); echo started; sleep 1000";
    let confined = world.sandbox.command(&world.profile(), "/bin/sh", ["-c", script]).unwrap();
    let (mut command, _confinement) = confined.envs([("PATH", PATH)]).prepare();
    let _child = command.spawn().unwrap();
    std::future::pending::<()>().await;
}

async fn endless_attended_daemon() {
    let world = SandboxWorld::new(BackendChoice::Best).await;
    let script = "(setsid sh -c 'while :; do sleep 0.05; done' &); echo started; sleep 1000";
    let confined = world
        .sandbox
        .unconfined_command(&world.workspace, &Program::at("/bin/sh".into()), ["-c", script])
        .unwrap();
    let (mut command, _confinement) = confined.envs([("PATH", PATH)]).prepare();
    let _child = command.spawn().unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn an_attended_program_is_not_confined_but_leaves_nothing_behind() {
    let world = SandboxWorld::new(BackendChoice::Best).await;
    let script =
        "(setsid sh -c 'while :; do sleep 0.05; done' &); cat > ../outside/written; pwd; echo $KEPT; exit 3";
    let confined = world
        .sandbox
        .unconfined_command(&world.workspace, &Program::at("/bin/sh".into()), ["-c", script])
        .unwrap();
    let (mut command, confinement) = confined.envs([("PATH", PATH), ("KEPT", "kept")]).prepare();
    let output = command.output().await.unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{}\nkept\n", world.workspace.display()));
    assert!(world.outside.join("written").exists());
    assert_eq!(living_in(&world.workspace), 0);
    confinement.finish();
}

/// How many processes work in a directory.
fn living_in(directory: &std::path::Path) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|entry| std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == directory))
        .count()
}

async fn a_fork_bomb_is_bounded(world: &SandboxWorld) {
    let report = world.sandbox.report();
    let unlimited =
        report.not_enforced.iter().any(|line| line.contains("number of processes is not limited"));
    if unlimited {
        // Nothing to try then, but it must be said.
        assert!(rustix::process::geteuid().is_root());
        return;
    }
    let mut profile = world.profile();
    profile.limits.processes = 60;
    let script = "
import os, time
made = 0
try:
    while made < 500:
        if os.fork() == 0:
            time.sleep(1000)
        made += 1
except OSError as error:
    print('stopped', error.errno)
print(made)
";
    let outcome = world.python(&profile, script).await;
    let lines: Vec<&str> = outcome.ok().lines().collect();
    assert_eq!(lines[0], "stopped 11");
    assert!(lines[1].parse::<u32>().unwrap() <= 60, "{lines:?}");
    assert_eq!(living_in(&world.workspace), 0);
    let told =
        ostler_sandbox::explain_denial(&profile, Some(1), "fork: retry: Resource temporarily unavailable");
    assert!(told.unwrap().contains("60 processes"));

    let bomb = world.sh_with(&profile, "bomb() { bomb | bomb & }; bomb 2> /dev/null; sleep 0.3").await;
    assert!(bomb.code.is_some());
    assert_eq!(living_in(&world.workspace), 0);
    assert_eq!(world.sh("echo alive").await.ok(), "alive\n");
}

async fn the_code_of_a_program_is_passed_on(world: &SandboxWorld) {
    assert_eq!(world.sh("exit 3").await.code, Some(3));
    assert_eq!(world.sh("kill -TERM $$").await.code, Some(128 + 15));
    assert_eq!(world.run(&world.profile(), "/no/such/program", &[]).await.code, Some(127));
    assert_eq!(world.run(&world.profile(), "/etc/passwd", &[]).await.code, Some(126));
    assert_eq!(
        world.run(&world.profile(), "printf", &["%s|", "a b", "", "$(x)'\""]).await.ok(),
        "a b||$(x)'\"|"
    );
}

async fn other_processes_cannot_be_signalled(world: &SandboxWorld) {
    let mut other = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let scoped = !world.sandbox.report().not_enforced.iter().any(|line| line.contains("signalling"));
    let outcome = world.sh(&format!("kill -9 {}", other.id())).await;
    let status = other.try_wait().unwrap();
    other.kill().unwrap();
    other.wait().unwrap();
    if scoped {
        outcome.failed();
        assert_eq!(status, None);
    }
}

async fn memory_has_a_limit(world: &SandboxWorld) {
    let mut profile = world.profile();
    profile.limits.memory_bytes = 256 << 20;
    profile.limits.tmp_bytes = 8 << 20;
    let outcome = world.python(&profile, "bytearray(1 << 30)").await;
    assert!(outcome.failed().contains("MemoryError"), "{outcome:?}");
    assert_eq!(world.python(&profile, "print(len(bytearray(1 << 26)))").await.ok(), "67108864\n");
    if !world.is_landlock() {
        let full = world.sh_with(&profile, "dd if=/dev/zero of=/tmp/x bs=1M count=16 status=none").await;
        assert!(full.failed().contains("No space left"), "{full:?}");
    }
}

async fn nesting_takes_leave(world: &SandboxWorld) {
    let nested = "bwrap --unshare-user --unshare-pid --ro-bind / / --dev /dev --proc /proc echo nested";
    world.sh(nested).await.failed();
    let mut profile = world.profile();
    profile.may_nest_sandboxes = true;
    let outcome = world.sh_with(&profile, nested).await;
    if world.is_landlock() || rustix::process::geteuid().is_root() {
        // Landlock forbids mounts whatever is said, and root cannot map itself without capabilities.
        outcome.failed();
    } else {
        assert_eq!(outcome.ok(), "nested\n");
        world.sh_with(&profile, "bwrap --bind / / touch \"$OUTSIDE/x\"").await.failed();
    }
}

async fn what_a_start_costs(world: &SandboxWorld) {
    let mut times = Vec::new();
    for _ in 0..20 {
        let started = Instant::now();
        assert_eq!(world.run(&world.profile(), "true", &[]).await.code, Some(0));
        times.push(started.elapsed());
    }
    times.sort();
    println!(
        "{}: `true` took {:?} (median), {:?} (worst)",
        world.sandbox.report().name(),
        times[10],
        times[19]
    );
}
