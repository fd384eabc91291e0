//! The helper outside the sandbox: starts it, waits for it, and leaves nothing of it behind.
//!
//! It ends only when every process of the sandbox is gone, those included that left their process group
//! or their session: they become its children when their parents die. So when the daemon has reaped the
//! helper, what the sandbox protected may be touched again. SIGTERM ends the sandbox, and so does the
//! death of the daemon.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, getppid, kill_process, pidfd_open, set_child_subreaper,
    wait,
};
use tokio::process::Command;
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

/// Runs the sandbox to its end.
pub(crate) fn run(order: &Supervise, program: &[OsString]) -> Result<ExitCode, String> {
    let mut lease = take_lease(&order.lease).map_err(|error| format!("its lease: {error}"))?;
    set_child_subreaper(Some(getpid())).map_err(|error| format!("becoming a reaper: {error}"))?;
    if let Some(JoinCgroup { join, .. }) = &order.cgroup {
        write_to_cgroup(join).map_err(|error| format!("joining its cgroup: {error}"))?;
    }
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

fn write_to_cgroup(procs: &Path) -> std::io::Result<()> {
    std::fs::write(procs, std::process::id().to_string())
}

async fn attend(order: &Supervise, program: &[OsString]) -> Result<u8, String> {
    let mut end =
        signal(SignalKind::terminate()).map_err(|error| format!("listening to signals: {error}"))?;
    watch_parent(order.parent)?;
    let (first, arguments) = program.split_first().ok_or("there is no program")?;
    let mut child = Command::new(first)
        .args(arguments)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("{}: {error}", first.display()))?;
    if let Some(JoinCgroup { leave: Some(leave), .. }) = &order.cgroup {
        // Staying inside only means to be counted.
        let _ = write_to_cgroup(leave);
    }
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
