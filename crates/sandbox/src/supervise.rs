//! The helper outside the sandbox: starts it, waits for it, and leaves nothing of it behind.
//!
//! It ends only when every process of the sandbox is gone, those included that left their process group
//! or their session: they become its children when their parents die. So when the daemon has reaped the
//! helper, what the sandbox protected may be touched again. SIGTERM ends the sandbox, and so does the
//! death of the daemon.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, getppid, kill_process, pidfd_open, set_child_subreaper,
    wait,
};
use serde::Deserialize;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use crate::orders::{JoinCgroup, Supervise};
use crate::processes::descendants;

/// What a lease says when the sandbox has ended in order.
pub(crate) const OVER: &str = "over\n";
/// What a killed sandbox ends with, as a shell would say it.
const KILLED: u8 = 128 + 9;
/// How long dying processes are awaited. One that hangs in the kernel is left to it.
const BURIAL_TIME: Duration = Duration::from_secs(10);
/// How often they are looked for.
const BURIAL_PAUSE: Duration = Duration::from_millis(2);
/// What ends with its sandbox is gone in a moment; finding it among all processes takes longer than that.
const MOMENT: Duration = Duration::from_millis(3);
const MOMENT_PAUSE: Duration = Duration::from_micros(100);

/// Runs the sandbox to its end.
pub(crate) fn run(order: &Supervise, program: &[OsString]) -> Result<ExitCode, String> {
    let mut lease = take_lease(&order.lease).map_err(|error| format!("its lease: {error}"))?;
    set_child_subreaper(Some(getpid())).map_err(|error| format!("becoming a reaper: {error}"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("its runtime: {error}"))?;
    let code = runtime.block_on(attend(order, program));
    drop(runtime);
    if bury() {
        // A lease that cannot be written only delays the cleaning up.
        let _ = lease.write_all(OVER.as_bytes());
    }
    code.map(ExitCode::from)
}

/// Makes the file, holds it for as long as this process lives, and says in it that it has begun. One
/// that is there already means that the daemon wants it no more.
fn take_lease(path: &Path) -> std::io::Result<File> {
    let mut lease = OpenOptions::new().append(true).create_new(true).open(path)?;
    flock(&lease, FlockOperation::NonBlockingLockExclusive)?;
    writeln!(lease, "{}", std::process::id())?;
    Ok(lease)
}

/// Ends this sandbox when the daemon ends: the process, not the thread of it that called, which is what
/// a parent-death signal would watch. The thread that waits for it lives as long as this process.
fn watch_parent(expected: u32) -> Result<(), String> {
    let parent = getppid().filter(|parent| parent.as_raw_pid().unsigned_abs() == expected);
    let watched = parent.and_then(|parent| pidfd_open(parent, PidfdFlags::empty()).ok());
    let watched = watched.filter(|_| getppid() == parent).ok_or("its daemon is gone")?;
    let watch = move || {
        while poll(&mut [PollFd::new(&watched, PollFlags::IN)], None) == Err(Errno::INTR) {}
        // What a signal to oneself can fail with does not happen.
        let _ = kill_process(getpid(), Signal::TERM);
    };
    let thread = std::thread::Builder::new().name("parent".to_owned()).spawn(watch);
    thread.map(drop).map_err(|error| format!("watching its daemon: {error}"))
}

/// Moves a process to a cgroup, or with 0 whoever asks.
fn move_to_cgroup(process: u32, members: &Path) -> Result<(), String> {
    std::fs::write(members, process.to_string()).map_err(|error| format!("joining its cgroup: {error}"))
}

/// Starts the sandbox, so that all of its program's processes are counted.
fn start(order: &Supervise, program: &[OsString]) -> Result<Child, String> {
    let (process, join, leave) = match &order.cgroup {
        None => return spawn(program, &[]),
        Some(JoinCgroup::Process { join, .. }) if order.has_gate => return start_at_gate(program, join),
        Some(JoinCgroup::Process { join, leave }) => (std::process::id(), join, leave.as_ref()),
        Some(JoinCgroup::Thread { join, leave }) => (0, join, Some(leave)),
    };
    move_to_cgroup(process, join)?;
    let child = spawn(program, &[])?;
    if let Some(leave) = leave {
        // Staying inside only means to be counted.
        let _ = move_to_cgroup(process, leave);
    }
    Ok(child)
}

/// What bubblewrap tells of itself.
#[derive(Deserialize)]
struct Told {
    #[serde(rename = "child-pid")]
    child: u32,
}

/// The kernel takes long to move a process, and bubblewrap to make a sandbox: the first process of the
/// sandbox is moved while it does that, and waits before the program until it has been.
fn start_at_gate(program: &[OsString], join: &Path) -> Result<Child, String> {
    let failed = |error: std::io::Error| format!("making its gate: {error}");
    let (gate, mut opener) = std::io::pipe().map_err(failed)?;
    let (mut told, teller) = std::io::pipe().map_err(failed)?;
    // This process starts no other program to which they could go as well.
    for end in [gate.as_fd(), teller.as_fd()] {
        fcntl_setfd(end, FdFlags::empty()).map_err(|errno| failed(errno.into()))?;
    }
    let number = |end: BorrowedFd<'_>| OsString::from(end.as_raw_fd().to_string());
    let words = ["--block-fd".into(), number(gate.as_fd()), "--info-fd".into(), number(teller.as_fd())];
    let child = spawn(program, &words)?;
    drop((gate, teller));
    let mut text = Vec::new();
    told.read_to_end(&mut text).map_err(failed)?;
    // One that could not make a sandbox tells nothing here, and says why on its way out.
    if let Ok(Told { child }) = serde_json::from_slice(&text) {
        move_to_cgroup(child, join)?;
    }
    // It may have ended just now.
    let _ = opener.write_all(b"x");
    Ok(child)
}

/// Starts a program with more words before its own.
fn spawn(program: &[OsString], words: &[OsString]) -> Result<Child, String> {
    let (first, arguments) = program.split_first().ok_or("there is no program")?;
    let mut command = Command::new(first);
    command.args(words).args(arguments).kill_on_drop(true);
    command.spawn().map_err(|error| format!("{}: {error}", first.display()))
}

async fn attend(order: &Supervise, program: &[OsString]) -> Result<u8, String> {
    let mut end =
        signal(SignalKind::terminate()).map_err(|error| format!("listening to signals: {error}"))?;
    watch_parent(order.parent)?;
    let mut child = start(order, program)?;
    tokio::select! {
        status = child.wait() => status.map(code).map_err(|error| format!("waiting: {error}")),
        _ = end.recv() => Ok(KILLED),
    }
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(KILLED)
}

/// Kills and reaps whatever is left. False where something could not be killed in time.
fn bury() -> bool {
    let started = Instant::now();
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => continue,
            Err(_) => return true,
            Ok(None) => {}
        }
        if started.elapsed() < MOMENT {
            std::thread::sleep(MOMENT_PAUSE);
            continue;
        }
        for process in descendants(std::process::id()) {
            if let Some(process) = i32::try_from(process).ok().and_then(Pid::from_raw) {
                // It may have died by itself meanwhile.
                let _ = kill_process(process, Signal::KILL);
            }
        }
        if started.elapsed() > BURIAL_TIME {
            return false;
        }
        std::thread::sleep(BURIAL_PAUSE);
    }
}
