//! Runs one command to its end: its own process group, a bounded time, bounded output.
//!
//! Nothing of the group outlives the call, however it ends. A process that leaves the group (by
//! `setsid`) does: holding it is for a sandbox, which this is not.

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::signal::unix::SignalKind;
use tokio::time::{Instant, sleep_until};

use crate::Failed;
use crate::environment::child_environment;
use crate::output::{Capture, Decoder, OutputSink};
use crate::path::Workspace;

/// How long output is awaited after the command is over.
const DRAIN_TIME: Duration = Duration::from_millis(500);
/// How much is read at once.
const READ_BYTES: usize = 16 * 1024;

/// Runs a shell command in a workspace and waits for it. Dropping the future kills the whole process
/// group. A command that cannot be started is an outcome too, not an error.
pub async fn run_command(
    workspace: &Path,
    command: &str,
    timeout: Duration,
    output: &OutputSink,
) -> CommandOutcome {
    match Workspace::open(workspace).and_then(|workspace| workspace.directory(".")) {
        Ok(directory) => run_in(&directory, command, timeout, output).await,
        Err(Failed(reason)) => CommandOutcome::not_started(reason),
    }
}

/// How a command went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    /// How it ended.
    pub ending: Ending,
    /// How long it took.
    pub duration_ms: u64,
    /// What it printed, both streams as they came, head and tail where it is long.
    pub output: String,
    /// All that was kept of what it printed, where `output` leaves some out.
    pub whole: Option<Vec<u8>>,
    /// Whether it left processes behind that held its output open and were killed.
    pub left_processes: bool,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal, which came from elsewhere.
    Signaled(i32),
    /// Killed here, after this time.
    TimedOut(Duration),
    /// It never ran, for this reason.
    NotStarted(String),
}

impl CommandOutcome {
    /// Whether the command ran and said that it succeeded.
    pub fn ok(&self) -> bool {
        self.ending == Ending::Exited(0)
    }

    /// Its exit code, if it exited.
    pub fn exit_code(&self) -> Option<i32> {
        match self.ending {
            Ending::Exited(code) => Some(code),
            Ending::Signaled(_) | Ending::TimedOut(_) | Ending::NotStarted(_) => None,
        }
    }

    /// The signal that ended it, if one did.
    pub fn signal(&self) -> Option<i32> {
        match self.ending {
            Ending::Signaled(signal) => Some(signal),
            Ending::Exited(_) | Ending::TimedOut(_) | Ending::NotStarted(_) => None,
        }
    }

    /// Whether it ran out of time.
    pub fn timed_out(&self) -> bool {
        matches!(self.ending, Ending::TimedOut(_))
    }

    /// The output and how it ended, for a model.
    pub fn text(&self) -> String {
        let mut text = self.output.clone();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        if self.left_processes {
            text.push_str(
                "[Processes that the command left behind held its output open; they were killed.]\n",
            );
        }
        text.push_str(&match &self.ending {
            Ending::Exited(code) => format!("exit code {code}"),
            Ending::Signaled(signal) => format!("killed by signal {signal}"),
            Ending::TimedOut(after) => {
                format!("timed out after {} s; the command and its children were killed", after.as_secs_f64())
            }
            Ending::NotStarted(reason) => format!("The command was not started: {reason}"),
        });
        text
    }

    pub(crate) fn not_started(reason: String) -> CommandOutcome {
        let ending = Ending::NotStarted(reason);
        CommandOutcome { ending, duration_ms: 0, output: String::new(), whole: None, left_processes: false }
    }
}

/// Runs a command in an open directory.
pub(crate) async fn run_in(
    directory: &OwnedFd,
    command: &str,
    timeout: Duration,
    output: &OutputSink,
) -> CommandOutcome {
    let started = Instant::now();
    let mut group = match Group::spawn(directory, command) {
        Ok(group) => group,
        Err(error) => return CommandOutcome::not_started(format!("{error}.")),
    };
    let mut capture = Capture::new(output);
    let (timed_out, left_processes) = attend(&mut group, started + timeout, &mut capture).await;
    let ending = match group.end().await {
        Some(_) | None if timed_out => Ending::TimedOut(timeout),
        Some(status) => ending(status),
        None => Ending::Signaled(Signal::KILL.as_raw()),
    };
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let captured = capture.finish();
    CommandOutcome { ending, duration_ms, output: captured.text, whole: captured.whole, left_processes }
}

fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, signal) => Ending::Signaled(signal.unwrap_or(0)),
    }
}

/// Reads what the command prints until it is over and its pipes are closed, or time is up. Says
/// whether the command timed out, and whether its pipes were still open at the end.
async fn attend(group: &mut Group, deadline: Instant, capture: &mut Capture<'_>) -> (bool, bool) {
    let (mut stdout, mut stderr) =
        (Pipe::new("stdout", group.stdout.take()), Pipe::new("stderr", group.stderr.take()));
    let (mut exited, mut timed_out) = (false, false);
    let timer = sleep_until(deadline);
    tokio::pin!(timer);
    while !exited || stdout.is_open() || stderr.is_open() {
        tokio::select! {
            () = stdout.read(), if stdout.is_open() => stdout.show(capture),
            () = stderr.read(), if stderr.is_open() => stderr.show(capture),
            () = group.exit.wait(), if !exited => {
                exited = true;
                timer.as_mut().reset(Instant::now() + DRAIN_TIME);
            }
            () = &mut timer => {
                if exited || timed_out {
                    break;
                }
                timed_out = true;
                group.kill();
                timer.as_mut().reset(Instant::now() + DRAIN_TIME);
            }
        }
    }
    let left_open = exited && !timed_out && (stdout.is_open() || stderr.is_open());
    stdout.close(capture);
    stderr.close(capture);
    (timed_out, left_open)
}

/// One stream of a command.
struct Pipe<R> {
    name: &'static str,
    reader: Option<R>,
    decoder: Decoder,
    buffer: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Pipe<R> {
    fn new(name: &'static str, reader: Option<R>) -> Pipe<R> {
        Pipe { name, reader, decoder: Decoder::default(), buffer: Vec::with_capacity(READ_BYTES) }
    }

    fn is_open(&self) -> bool {
        self.reader.is_some()
    }

    /// Reads once. Loses nothing when it is dropped while it waits.
    async fn read(&mut self) {
        let Some(reader) = &mut self.reader else {
            return;
        };
        match reader.read_buf(&mut self.buffer).await {
            Ok(0) | Err(_) => self.reader = None,
            Ok(_) => {}
        }
    }

    fn show(&mut self, capture: &mut Capture<'_>) {
        capture.push(self.name, &self.decoder.push(&self.buffer));
        self.buffer.clear();
    }

    fn close(&mut self, capture: &mut Capture<'_>) {
        self.reader = None;
        capture.push(self.name, self.decoder.finish());
    }
}

/// A running command and all that it starts. Dropping it kills them.
struct Group {
    /// None once it is reaped. While it is not, its id names this group and no other, so the group
    /// is always killed first.
    child: Option<Child>,
    id: Pid,
    exit: Exit,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

impl Group {
    fn spawn(directory: &OwnedFd, command: &str) -> std::io::Result<Group> {
        let children = tokio::signal::unix::signal(SignalKind::child())?;
        let mut child = Command::new(shell())
            .arg("-c")
            .arg(command)
            // The descriptor names the directory that was checked, whatever its path names by now.
            .current_dir(format!("/proc/self/fd/{}", directory.as_raw_fd()))
            .env_clear()
            .envs(child_environment(std::env::vars_os()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let id = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw)
            .expect("a child that was not awaited has an id");
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        Ok(Group { child: Some(child), id, exit: Exit { id, children }, stdout, stderr })
    }

    fn kill(&self) {
        if self.child.is_some() {
            // The only failure is that nobody is left.
            let _ = kill_process_group(self.id, Signal::KILL);
        }
    }

    /// Kills what is left and reaps the command. None where it cannot be reaped in time, as one that
    /// hangs in the kernel; dropping the group sees to it then.
    async fn end(mut self) -> Option<ExitStatus> {
        self.kill();
        let child = self.child.as_mut()?;
        let status = tokio::time::timeout(DRAIN_TIME, child.wait()).await.ok()?.ok();
        self.child = None;
        status
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        // A killed child must still be awaited, or it stays in the process table. The task that does
        // so owns the child, and ends as soon as the kernel has let go of it.
        if let (Some(mut child), Ok(runtime)) = (self.child.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move { child.wait().await });
        }
    }
}

/// Tells when a command is over without reaping it, so that its id stays its own.
struct Exit {
    id: Pid,
    children: tokio::signal::unix::Signal,
}

impl Exit {
    async fn wait(&mut self) {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        // An error means that there is no such child any more.
        while let Ok(None) = waitid(WaitId::Pid(self.id), options) {
            if self.children.recv().await.is_none() {
                return;
            }
        }
    }
}

/// By absolute path, so that a `bash` in the workspace is not taken for it.
fn shell() -> &'static str {
    ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"]
        .into_iter()
        .find(|shell| Path::new(shell).exists())
        .unwrap_or("/bin/sh")
}
