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
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use ostler_process::{Invocation, Program};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, getppid, kill_process, pidfd_open, set_child_subreaper,
    wait,
};
use serde::Deserialize;
use tokio::process::Child;
use tokio::signal::unix::{SignalKind, signal};

use crate::environment;
use crate::gate::Gate;
use crate::mount_watch::{Lost, MountWatch};
use crate::orders::{JoinCgroup, Supervise};
use crate::processes::descendants;
use crate::repository_watch::RepositoryWatch;
use crate::{quota, run};

/// What a lease says when the sandbox has ended in order.
pub(crate) const OVER: &str = "over\n";
/// What a line of it begins with when something protected could be written to, which follows.
pub(crate) const EXPOSED: &str = "exposed ";
/// Stands for the helper inside, which is the very image that this process runs: nobody can have put something
/// else in its place, as in that of its file.
pub(crate) const INNER_HELPER: &str = "@helper@";
/// The image that a process runs.
const OWN_IMAGE: &str = "/proc/self/exe";
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
    let ended = runtime.block_on(attend(order, program));
    drop(runtime);
    if bury() {
        if let Ok(Ended::Exposed(path)) = &ended {
            let _ = writeln!(lease, "{EXPOSED}{}", path.display());
        }
        // A lease that cannot be written only delays the cleaning up.
        let _ = lease.write_all(OVER.as_bytes());
        drop(lease);
        let has_daemon = getppid().is_some_and(|parent| parent.as_raw_pid().unsigned_abs() == order.parent);
        if !has_daemon {
            run::recover_after(&order.lease);
        }
    }
    ended.map(|ended| match ended {
        Ended::Program(code) => ExitCode::from(code),
        Ended::Stopped | Ended::Exposed(_) => ExitCode::from(KILLED),
    })
}

/// How a sandbox has ended.
enum Ended {
    /// Its program ended, with this code.
    Program(u8),
    /// Its time was over, or its room.
    Stopped,
    /// It could have written to this, which is protected.
    Exposed(PathBuf),
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

/// A sandbox that was started, and where bubblewrap makes it, what is known of it.
struct Started {
    child: Child,
    bubblewrap: Option<Bubblewrapped>,
}

struct Bubblewrapped {
    /// The first process of the sandbox; none where it could not be made.
    process: Option<u32>,
    gate: Gate,
}

/// Starts the sandbox, so that all of its program's processes are counted.
fn start(order: &Supervise, program: &[OsString]) -> Result<Started, String> {
    let (process, join, leave) = match &order.cgroup {
        Some(JoinCgroup::Process { join, .. }) if order.mounts.is_some() => {
            return start_bubblewrap(order, program, Some(join));
        }
        None => return start_any(order, program),
        Some(JoinCgroup::Process { join, leave }) => (std::process::id(), join, leave.as_ref()),
        Some(JoinCgroup::Thread { join, leave }) => (0, join, Some(leave)),
    };
    move_to_cgroup(process, join)?;
    let started = start_any(order, program)?;
    if let Some(leave) = leave {
        // Staying inside only means to be counted.
        let _ = move_to_cgroup(process, leave);
    }
    Ok(started)
}

fn start_any(order: &Supervise, program: &[OsString]) -> Result<Started, String> {
    match order.mounts {
        Some(_) => start_bubblewrap(order, program, None),
        None => Ok(Started { child: spawn(order, program, Inherited::default())?, bubblewrap: None }),
    }
}

/// What bubblewrap tells of itself.
#[derive(Deserialize)]
struct Told {
    #[serde(rename = "child-pid")]
    child: u32,
}

/// The kernel takes long to move a process to a cgroup, and bubblewrap to make a sandbox: the first process of the
/// sandbox is moved while it does that, and waits before the program until it has been.
fn start_bubblewrap(order: &Supervise, program: &[OsString], join: Option<&Path>) -> Result<Started, String> {
    let failed = |error: std::io::Error| format!("making its gate: {error}");
    let (gate, inside) = Gate::new().map_err(failed)?;
    let (block, mut unblock) = std::io::pipe().map_err(failed)?;
    let (mut told, teller) = std::io::pipe().map_err(failed)?;
    // This process starts no other program to which they could go as well.
    for end in [block.as_fd(), teller.as_fd()] {
        inherited(end).map_err(failed)?;
    }
    for end in inside.descriptors() {
        inherited(end).map_err(failed)?;
    }
    let number = |end: BorrowedFd<'_>| OsString::from(end.as_raw_fd().to_string());
    let mut words = vec!["--info-fd".into(), number(teller.as_fd())];
    if join.is_some() {
        words.extend(["--block-fd".into(), number(block.as_fd())]);
    }
    let variables = inside.variables().to_vec();
    let child = spawn(order, program, Inherited { words, variables, has_image: true })?;
    drop((block, teller, inside));
    let mut text = Vec::new();
    told.read_to_end(&mut text).map_err(failed)?;
    // One that could not make a sandbox tells nothing here, and says why on its way out.
    let process = serde_json::from_slice::<Told>(&text).ok().map(|told| told.child);
    if let (Some(process), Some(join)) = (process, join) {
        move_to_cgroup(process, join)?;
        // It may have ended just now.
        let _ = unblock.write_all(b"x");
    }
    Ok(Started { child, bubblewrap: Some(Bubblewrapped { process, gate }) })
}

/// What bubblewrap inherits besides the program.
#[derive(Default)]
struct Inherited {
    /// Words before its own.
    words: Vec<OsString>,
    variables: Vec<(&'static str, String)>,
    /// It starts the inner helper by a descriptor of its image, others by the image of the process that starts it.
    has_image: bool,
}

fn spawn(order: &Supervise, program: &[OsString], more: Inherited) -> Result<Child, String> {
    let image = if more.has_image { Some(inherited_image()?) } else { None };
    let helper = match &image {
        Some(image) => format!("/proc/self/fd/{}", image.as_raw_fd()),
        None => OWN_IMAGE.to_owned(),
    };
    let named = |word: &OsString| if word == INNER_HELPER { OsString::from(&helper) } else { word.clone() };
    let mut all = program.iter().map(named);
    let first = all.next().map(PathBuf::from).ok_or("there is no program")?;
    if !first.is_absolute() {
        return Err(format!("{} is no absolute path", first.display()));
    }
    let invocation =
        Invocation::new(Program::at(first.clone())).args(more.words).args(all).envs(more.variables);
    let failed = |error: std::io::Error| format!("its program's environment: {error}");
    let variables = environment::take(&order.environment).map_err(failed)?;
    let (invocation, handed_on) = if order.confines {
        inherited(&variables).map_err(failed)?;
        let number = variables.as_raw_fd().to_string();
        (invocation.envs([(environment::DESCRIPTOR, number)]), Some(variables))
    } else {
        (invocation.envs(environment::read(variables).map_err(failed)?).in_own_directory(), None)
    };
    let mut command = invocation.prepare();
    command.stdin(Stdio::inherit());
    let spawned = command.spawn().map_err(|error| format!("{}: {error}", first.display()));
    drop(handed_on);
    spawned
}

/// Leaves a descriptor open in what this process starts. It starts nothing else.
fn inherited(descriptor: impl AsFd) -> std::io::Result<()> {
    Ok(fcntl_setfd(descriptor, FdFlags::empty())?)
}

/// This process's image, open for those that it starts.
fn inherited_image() -> Result<File, String> {
    let failed = |error: std::io::Error| format!("opening its own image: {error}");
    let image = File::open(OWN_IMAGE).map_err(failed)?;
    inherited(&image).map_err(failed)?;
    Ok(image)
}

async fn attend(order: &Supervise, program: &[OsString]) -> Result<Ended, String> {
    let mut end =
        signal(SignalKind::terminate()).map_err(|error| format!("listening to signals: {error}"))?;
    watch_parent(order.parent)?;
    let repositories = RepositoryWatch::of(&order.tops);
    let Started { mut child, bubblewrap } = start(order, program)?;
    let lost = Lost::default();
    let reason = tokio::select! {
        status = child.wait() => {
            let status = status.map_err(|error| format!("waiting: {error}"))?;
            let Some(path) = lost.get() else { return Ok(Ended::Program(code(status))) };
            eprintln!(
                "ended by Ostler: another program replaced {} while this one ran, so this one could have changed it",
                path.display()
            );
            return Ok(Ended::Exposed(path.clone()));
        }
        _ = end.recv() => return Ok(Ended::Stopped),
        refused = look_at_mounts(order, bubblewrap, Lost::clone(&lost)) => return Err(refused),
        reason = over_quota(order) => reason,
        reason = repositories.broken() => reason,
    };
    eprintln!("{reason}");
    Ok(Ended::Stopped)
}

/// Lets the program start when its mounts are as they should be, and has them watched. Returns only where they are not,
/// with the reason.
async fn look_at_mounts(order: &Supervise, bubblewrap: Option<Bubblewrapped>, lost: Lost) -> String {
    let (Some(mounts), Some(Bubblewrapped { process: Some(process), mut gate })) =
        (&order.mounts, bubblewrap)
    else {
        return std::future::pending().await;
    };
    // A sandbox that could not be made says so, and ends.
    if gate.ready().await.is_err() {
        return std::future::pending().await;
    }
    let watch = match MountWatch::begin(process, mounts) {
        Ok(watch) => watch,
        Err(reason) => return reason,
    };
    let watched = watch.start(mounts.watched.clone(), lost);
    let opened = match watched {
        Ok(()) => gate.open().await,
        Err(error) => Err(error),
    };
    match opened {
        Ok(()) => std::future::pending().await,
        Err(error) => format!("starting its program: {error}"),
    }
}

async fn over_quota(order: &Supervise) -> String {
    match &order.quota {
        Some(quota) => quota::exceeded(quota).await,
        None => std::future::pending().await,
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
