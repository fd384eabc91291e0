//! The helper outside the sandbox: starts it, waits for it, and leaves nothing of it behind.
//!
//! It ends only when every process of the sandbox is gone, those included that left their process group
//! or their session: they become its children when their parents die. So when the daemon has reaped the
//! helper, what the sandbox protected may be touched again. SIGTERM ends the sandbox, and so does the
//! death of the daemon.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{PipeReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, getppid, kill_process, pidfd_open, set_child_subreaper,
    wait,
};
use serde::Deserialize;
use signal_hook::consts::SIGTERM;

use crate::environment;
use crate::gate::Gate;
use crate::orders::{JoinCgroup, SuperviseOrder};
use crate::processes::descendants;
use crate::recovery;
use crate::repository_watch::RepositoryWatch;
use crate::sandbox_monitor::SandboxMonitor;

/// What a lease says when the sandbox has ended in order.
pub const LEASE_OVER: &str = "over\n";
/// What a line of it begins with when something protected could be written to, which follows.
pub const LEASE_EXPOSED_PREFIX: &str = "exposed ";
/// Stands for the helper inside, which is the very image that this process runs: nobody can have put something
/// else in its place, as in that of its file.
pub const INNER_HELPER: &str = "@helper@";
/// The image that a process runs.
const OWN_IMAGE: &str = "/proc/self/exe";
/// What a killed sandbox ends with, as a shell would say it.
const KILLED_CODE: u8 = 128 + 9;
/// How long dying processes are awaited. One that hangs in the kernel is left to it.
const REAP_TIMEOUT: Duration = Duration::from_secs(10);
/// How often they are looked for.
const REAP_INTERVAL: Duration = Duration::from_millis(2);
/// How long the first process of a sandbox may take to die with it, before all that is left is looked for.
const FIRST_PROCESS_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// What ends with its sandbox is gone in a moment; finding it among all processes takes longer than that.
const QUICK_EXIT_TIME: Duration = Duration::from_millis(3);
const QUICK_EXIT_INTERVAL: Duration = Duration::from_micros(100);

/// Runs the sandbox to its end.
pub(crate) fn run(order: &SuperviseOrder, program: &[OsString]) -> Result<ExitCode, String> {
    let mut lease = take_lease(&order.lease).map_err(|error| format!("its lease: {error}"))?;
    set_child_subreaper(Some(getpid())).map_err(|error| format!("becoming a reaper: {error}"))?;
    let ended = monitor(order, program);
    if kill_and_reap_rest() {
        if let Ok(SandboxEnd::Exposed(path)) = &ended {
            let _ = writeln!(lease, "{LEASE_EXPOSED_PREFIX}{}", path.display());
        }
        // A lease that cannot be written only delays the cleaning up.
        let _ = lease.write_all(LEASE_OVER.as_bytes());
        drop(lease);
        let has_daemon = getppid().is_some_and(|parent| parent.as_raw_pid().unsigned_abs() == order.parent);
        if !has_daemon {
            recovery::recover_after(&order.lease);
        }
    }
    ended.map(|ended| match ended {
        SandboxEnd::Program(code) => ExitCode::from(code),
        SandboxEnd::Stopped | SandboxEnd::Exposed(_) => ExitCode::from(KILLED_CODE),
    })
}

/// How a sandbox has ended.
pub(crate) enum SandboxEnd {
    /// Its program ended, with this code.
    Program(u8),
    /// Its time was over, or its room.
    Stopped,
    /// It could have written to this, which is protected.
    Exposed(PathBuf),
}

/// Holds the file for as long as this process lives, and says in it that it has begun. One that says something already
/// means that the daemon wants it no more.
fn take_lease(path: &Path) -> std::io::Result<File> {
    let mut lease = OpenOptions::new().append(true).open(path)?;
    flock(&lease, FlockOperation::NonBlockingLockExclusive)?;
    if lease.metadata()?.len() > 0 {
        return Err(std::io::Error::other("it was given up before it began"));
    }
    writeln!(lease, "{}", std::process::id())?;
    Ok(lease)
}

/// The daemon, whose end ends this sandbox: the process, not the thread of it that called, which is what
/// a parent-death signal would watch.
fn open_daemon(expected: u32) -> Result<OwnedFd, String> {
    let parent = getppid().filter(|parent| parent.as_raw_pid().unsigned_abs() == expected);
    let watched = parent.and_then(|parent| pidfd_open(parent, PidfdFlags::empty()).ok());
    watched.filter(|_| getppid() == parent).ok_or_else(|| "its daemon is gone".to_owned())
}

/// Becomes readable when this process is asked to end.
fn end_request_pipe() -> std::io::Result<PipeReader> {
    let (requests, request) = std::io::pipe()?;
    signal_hook::low_level::pipe::register(SIGTERM, request)?;
    Ok(requests)
}

/// Moves a process to a cgroup, or with 0 whoever asks.
fn move_to_cgroup(process: u32, members: &Path) -> Result<(), String> {
    std::fs::write(members, process.to_string()).map_err(|error| format!("joining its cgroup: {error}"))
}

/// A sandbox that was started, and where bubblewrap makes it, what is known of it.
struct StartedSandbox {
    child: Child,
    bubblewrap: Option<BubblewrapSandbox>,
}

pub(crate) struct BubblewrapSandbox {
    /// The first process of the sandbox; none where it could not be made.
    pub(crate) process: Option<u32>,
    pub(crate) gate: Gate,
}

impl BubblewrapSandbox {
    /// The first process, if it is there.
    fn open_first_process(&self) -> Option<OwnedFd> {
        let process = i32::try_from(self.process?).ok().and_then(Pid::from_raw)?;
        pidfd_open(process, PidfdFlags::empty()).ok()
    }
}

/// Starts the sandbox, so that all of its program's processes are counted.
fn start(order: &SuperviseOrder, program: &[OsString]) -> Result<StartedSandbox, String> {
    let (process, join, leave) = match &order.cgroup {
        Some(JoinCgroup::Process { join, .. }) if order.mounts.is_some() => {
            return start_bubblewrap(order, program, Some(join));
        }
        None => return start_uncounted(order, program),
        Some(JoinCgroup::Process { join, leave }) => (std::process::id(), join, leave.as_ref()),
        Some(JoinCgroup::Thread { join, leave }) => (0, join, Some(leave)),
    };
    move_to_cgroup(process, join)?;
    let started = start_uncounted(order, program)?;
    if let Some(leave) = leave {
        // Staying inside only means to be counted.
        let _ = move_to_cgroup(process, leave);
    }
    Ok(started)
}

fn start_uncounted(order: &SuperviseOrder, program: &[OsString]) -> Result<StartedSandbox, String> {
    match order.mounts {
        Some(_) => start_bubblewrap(order, program, None),
        None => Ok(StartedSandbox {
            child: spawn(order, program, BubblewrapExtras::default())?,
            bubblewrap: None,
        }),
    }
}

/// What bubblewrap tells of itself.
#[derive(Deserialize)]
struct BubblewrapInfo {
    #[serde(rename = "child-pid")]
    child: u32,
}

/// The kernel takes long to move a process to a cgroup, and bubblewrap to make a sandbox: the first process of the
/// sandbox is moved while it does that, and waits before the program until it has been.
fn start_bubblewrap(
    order: &SuperviseOrder,
    program: &[OsString],
    join: Option<&Path>,
) -> Result<StartedSandbox, String> {
    let failed = |error: std::io::Error| format!("making its gate: {error}");
    let (gate, inside) = Gate::new().map_err(failed)?;
    let (block, mut unblock) = std::io::pipe().map_err(failed)?;
    let (mut told, teller) = std::io::pipe().map_err(failed)?;
    // This process starts no other program to which they could go as well.
    for end in [block.as_fd(), teller.as_fd()] {
        make_inheritable(end).map_err(failed)?;
    }
    for end in inside.descriptors() {
        make_inheritable(end).map_err(failed)?;
    }
    let number = |end: BorrowedFd<'_>| OsString::from(end.as_raw_fd().to_string());
    let mut words = vec!["--info-fd".into(), number(teller.as_fd())];
    if join.is_some() {
        words.extend(["--block-fd".into(), number(block.as_fd())]);
    }
    let variables = inside.variables().to_vec();
    let child = spawn(order, program, BubblewrapExtras { words, variables, has_image: true })?;
    drop((block, teller, inside));
    let mut text = Vec::new();
    told.read_to_end(&mut text).map_err(failed)?;
    // One that could not make a sandbox tells nothing here, and says why on its way out.
    let process = serde_json::from_slice::<BubblewrapInfo>(&text).ok().map(|told| told.child);
    if let (Some(process), Some(join)) = (process, join) {
        move_to_cgroup(process, join)?;
        // It may have ended just now.
        let _ = unblock.write_all(b"x");
    }
    Ok(StartedSandbox { child, bubblewrap: Some(BubblewrapSandbox { process, gate }) })
}

/// What bubblewrap inherits besides the program.
#[derive(Default)]
struct BubblewrapExtras {
    /// Words before its own.
    words: Vec<OsString>,
    variables: Vec<(&'static str, String)>,
    /// It starts the inner helper by a descriptor of its image, others by the image of the process that starts it.
    has_image: bool,
}

fn spawn(order: &SuperviseOrder, program: &[OsString], more: BubblewrapExtras) -> Result<Child, String> {
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
    let mut command = Command::new(&first);
    command.args(more.words).args(all).env_clear().envs(more.variables);
    let failed = |error: std::io::Error| format!("its program's environment: {error}");
    let variables = environment::open_and_remove(&order.environment).map_err(failed)?;
    let handed_on = if order.confines {
        make_inheritable(&variables).map_err(failed)?;
        command.env(environment::DESCRIPTOR_VARIABLE, variables.as_raw_fd().to_string()).current_dir("/");
        Some(variables)
    } else {
        // It starts where it was meant to, which is where this process is.
        command.envs(environment::read(variables).map_err(failed)?);
        None
    };
    let spawned = command.spawn().map_err(|error| format!("{}: {error}", first.display()));
    drop(handed_on);
    spawned
}

/// Leaves a descriptor open in what this process starts. It starts nothing else.
fn make_inheritable(descriptor: impl AsFd) -> std::io::Result<()> {
    Ok(fcntl_setfd(descriptor, FdFlags::empty())?)
}

/// This process's image, open for those that it starts.
fn inherited_image() -> Result<File, String> {
    let failed = |error: std::io::Error| format!("opening its own image: {error}");
    let image = File::open(OWN_IMAGE).map_err(failed)?;
    make_inheritable(&image).map_err(failed)?;
    Ok(image)
}

fn monitor(order: &SuperviseOrder, program: &[OsString]) -> Result<SandboxEnd, String> {
    let requests = end_request_pipe().map_err(|error| format!("listening to signals: {error}"))?;
    let daemon = open_daemon(order.parent)?;
    let repositories = RepositoryWatch::new(&order.tops);
    let StartedSandbox { mut child, bubblewrap } = start(order, program)?;
    let first = bubblewrap.as_ref().and_then(|made| made.open_first_process());
    let watched = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
    let ended = watched.map_err(|error| format!("watching its program: {error}")).and_then(|watched| {
        SandboxMonitor::new(order, [requests.into(), daemon, watched], bubblewrap, repositories)
            .wait(&mut child)
    });
    // Nothing happens to one that has ended, and was awaited, already.
    let _ = child.kill();
    if let Some(first) = first {
        // It dies with bubblewrap, and all others have died before it has. What is left otherwise is looked for.
        let _ = poll(&mut [PollFd::new(&first, PollFlags::IN)], Some(&FIRST_PROCESS_TIMEOUT));
    }
    ended
}

/// What a program's end comes to.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(KILLED_CODE)
}

/// Kills and reaps whatever is left. False where something could not be killed in time.
fn kill_and_reap_rest() -> bool {
    let started = Instant::now();
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => continue,
            Err(_) => return true,
            Ok(None) => {}
        }
        if started.elapsed() < QUICK_EXIT_TIME {
            std::thread::sleep(QUICK_EXIT_INTERVAL);
            continue;
        }
        for process in descendants(std::process::id()) {
            if let Some(process) = i32::try_from(process).ok().and_then(Pid::from_raw) {
                // It may have died by itself meanwhile.
                let _ = kill_process(process, Signal::KILL);
            }
        }
        if started.elapsed() > REAP_TIMEOUT {
            return false;
        }
        std::thread::sleep(REAP_INTERVAL);
    }
}
