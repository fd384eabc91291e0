//! What a command can do to other things of its user: other processes, terminals, modes, shared memory.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::fixture::{SandboxWorld, everywhere, mode, names};

everywhere! {
    other_processes_cannot_be_limited,
    nothing_is_made_that_runs_as_its_owner,
    modes_of_what_is_hidden_are_put_right,
    terminals_of_the_user_are_out_of_reach,
    shared_memory_is_out_of_reach,
    temporary_files_are_bounded_and_removed,
    a_thread_may_be_moved_and_limits_be_lowered,
}

/// Somebody else's program, as far as the sandbox is concerned.
struct OtherProgram(Child);

impl OtherProgram {
    fn new() -> OtherProgram {
        OtherProgram(Command::new("sleep").arg("1000").spawn().unwrap())
    }
}

impl Drop for OtherProgram {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

async fn other_processes_cannot_be_limited(world: &SandboxWorld) {
    let other = OtherProgram::new();
    let pid = other.0.id();
    let state = || {
        let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
        let status = read("status");
        let cores = status.lines().find(|line| line.starts_with("Cpus_allowed:")).unwrap().to_owned();
        let nice = read("stat").rsplit_once(')').unwrap().1.split_whitespace().nth(16).unwrap().to_owned();
        (read("limits"), cores, nice)
    };
    let before = state();
    let script = format!(
        "
import ctypes, os, resource
pid = {pid}
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, call):
    try:
        if call() == 0:
            print('did', name)
    except OSError:
        pass
attempt('prlimit', lambda: resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, 0)) and 0)
attempt('affinity', lambda: os.sched_setaffinity(pid, [0]) or 0)
attempt('scheduler', lambda: os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0)) or 0)
attempt('priority', lambda: os.setpriority(os.PRIO_PROCESS, pid, 19) or 0)
attempt('priority of the user', lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19) or 0)
attempt('ioprio', lambda: libc.syscall(251, 1, pid, 3 << 13))
attempt('ioprio of the user', lambda: libc.syscall(251, 3, os.getuid(), 3 << 13))
attempt('migrate', lambda: libc.syscall(256, pid, 0, 0, 0))
attempt('robust list', lambda: libc.syscall(274, pid, ctypes.create_string_buffer(8), ctypes.create_string_buffer(8)))
attempt('x32 prlimit', lambda: libc.syscall(302 | 0x40000000, pid, 1, ctypes.create_string_buffer(16), 0))
"
    );
    let outcome = world.python(&world.profile(), &script).await;
    let done = outcome.ok();
    // Of the user's processes a namespace shows only the sandbox's own.
    let done: Vec<&str> =
        done.lines().filter(|line| world.is_landlock() || !line.ends_with("user")).collect();
    assert!(done.is_empty(), "{done:?}");
    assert_eq!(state(), before);
}

async fn nothing_is_made_that_runs_as_its_owner(world: &SandboxWorld) {
    let attempts = [
        "cp /bin/true x; chmod u+s x",
        "cp /bin/true x; chmod 2755 x",
        "cp /bin/true x; chmod 6777 x",
        "install -m 4755 /bin/true x",
        "python3 -c \"import os; os.open('x', os.O_CREAT | os.O_WRONLY, 0o4755)\"",
        "python3 -c \"import os; os.mknod('x', 0o104755)\"",
        "touch x; python3 -c \"import os; os.fchmod(os.open('x', os.O_RDONLY), 0o4755)\"",
        "touch x; python3 -c \"import ctypes; print(ctypes.CDLL(None).syscall(452, -100, b'x', 0o4755, 0))\"",
        "python3 -c \"import ctypes, struct; ctypes.CDLL(None).syscall(437, -100, b'x', struct.pack('QQQ', 0o102, 0o4755, 0), 24)\"",
        "python3 -c \"import ctypes; ctypes.CDLL(None).syscall(85 | 0x40000000, b'x', 0o4755)\"",
        "python3 -c \"import os; f = os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o4755); os.link(f'/proc/self/fd/{f}', 'x')\"",
    ];
    for attempt in attempts {
        world.sh(attempt).await;
        let path = world.workspace.join("x");
        assert!(!path.exists() || mode(&path) & 0o6000 == 0, "{attempt}: {:o}", mode(&path));
        let _ = fs::remove_file(path);
    }
    world.sh("touch y; chmod +x y; mkdir -m 2755 d; umask 022; cp -a y z; tar c y | tar xp -C d").await.ok();
    assert_eq!(mode(&world.workspace.join("z")), 0o755);
}

async fn modes_of_what_is_hidden_are_put_right(world: &SandboxWorld) {
    let data = world.place.path().join("data");
    fs::set_permissions(world.home.join(".ssh"), fs::Permissions::from_mode(0o700)).unwrap();
    let script = "chmod 0755 ../data ../data/* \"$TESTED_HOME/.ssh\" \"$TESTED_HOME/.ssh/id\"";
    let outcome = world.sh(script).await;
    assert_eq!((mode(&data), mode(&data.join("token"))), (0o700, 0o600), "{outcome:?}");
    assert_eq!((mode(&world.home.join(".ssh")), mode(&world.home.join(".ssh/id"))), (0o700, 0o644));
    if world.is_landlock() {
        assert!(outcome.teardown.restored.contains(&data.canonicalize().unwrap()), "{outcome:?}");
        let readable = world.home.join("readable");
        fs::write(&readable, "").unwrap();
        world.sh("chmod 0666 \"$TESTED_HOME/readable\"").await.failed();
        world.sh("setfattr -n user.x -v y \"$TESTED_HOME/readable\" a; cp -a /etc/hostname b").await;
        assert!(world.workspace.join("b").exists());
        assert_eq!(mode(&readable) & 0o002, 0);
    }
}

async fn terminals_of_the_user_are_out_of_reach(world: &SandboxWorld) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    // Held open, so that what is written stays to be read.
    let held = fs::OpenOptions::new().read(true).write(true).open(&name).unwrap();
    for script in ["echo canary > NAME", "echo canary >> NAME", "head -c 1 < NAME", "exec 3<> NAME"] {
        world.sh(&script.replace("NAME", &name)).await.failed();
    }
    rustix::io::ioctl_fionbio(&terminal, true).unwrap();
    let mut read = [0; 64];
    let nothing = fs::File::from(terminal).read(&mut read).unwrap_err();
    assert_eq!(nothing.kind(), std::io::ErrorKind::WouldBlock);
    drop(held);
}

async fn shared_memory_is_out_of_reach(world: &SandboxWorld) {
    let name = format!("/dev/shm/ostler-test-{}", world.place.path().file_name().unwrap().display());
    let own = format!("{name}-own");
    fs::write(&name, "canary").unwrap();
    let read = world.sh(&format!("cat '{name}'")).await;
    world.sh(&format!("echo x > '{own}'; echo x >> '{name}'")).await;
    let (text, is_made) = (fs::read_to_string(&name).unwrap(), fs::exists(&own).unwrap());
    let _ = (fs::remove_file(&name), fs::remove_file(&own));
    assert_eq!((text.as_str(), is_made), ("canary", false));
    assert!(!read.failed().contains("canary"));
    let segment = "import ctypes; print(ctypes.CDLL(None).shmget(0x5eed, 4096, 0o1600))";
    let made = world.python(&world.profile(), segment).await;
    if world.is_landlock() {
        assert_eq!(made.ok(), "-1\n");
    }
}

async fn temporary_files_are_bounded_and_removed(world: &SandboxWorld) {
    let mut profile = world.profile();
    profile.limits.tmp_bytes = 8 << 20;
    let fill = "mkdir -p \"$TMPDIR/a/b\"; head -c 64M /dev/zero > \"$TMPDIR/a/b/c\" || exit 9; sleep 1000";
    let outcome = world.sh_with(&profile, fill).await;
    if world.is_landlock() {
        assert!(outcome.failed().contains("temporary files took more than 8 MiB"), "{outcome:?}");
    } else {
        assert_eq!(outcome.code, Some(9), "{outcome:?}");
    }
    let script =
        "mkdir -p \"$TMPDIR/a/b\"; echo x > \"$TMPDIR/a/b/c\"; chmod 0 \"$TMPDIR/a/b\" \"$TMPDIR/a\"";
    world.sh_with(&profile, script).await.ok();
    let scratch = world.place.path().join("data/scratch");
    for run in names(&scratch).iter().filter(|name| name.starts_with("run-")) {
        let run = scratch.join(run);
        // Directories that the next command uses again hold nothing of the last one.
        for name in names(&run).iter().filter(|name| *name != "lock") {
            let left = names(&run.join(name));
            assert!(left.is_empty() && name.starts_with("spare-") || left == ["lease"], "{name}: {left:?}");
        }
    }
}

/// What programs do to themselves every day.
async fn a_thread_may_be_moved_and_limits_be_lowered(world: &SandboxWorld) {
    let script = "import os, resource; os.sched_setaffinity(0, os.sched_getaffinity(0)); os.nice(1); \
                  resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); resource.prlimit(0, resource.RLIMIT_NOFILE); print('fine')";
    assert_eq!(world.python(&world.profile(), script).await.ok(), "fine\n");
    world.sh("ulimit -n 100; nice -n 3 true; kill -0 $$; sleep 100 & kill $!; wait").await;
}
