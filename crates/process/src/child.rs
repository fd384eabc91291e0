//! A child process that is spoken to over its pipes: its own group, its error output kept for diagnosis, nothing of
//! it left when it is stopped. What confines it is given by the caller, what is said to it is left to others.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::signal::unix::SignalKind;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::invocation::PreparedCommand;

/// How much of the error output is kept.
const STDERR_BYTES: usize = 64 * 1024;
/// How long a process is given to end by itself once its input is closed. Some save their state then, and what is
/// confined is killed in the middle of that when it is asked to end.
const CLOSED_GRACE: Duration = Duration::from_secs(3);
/// How long it is given once it is asked to end.
const GRACE: Duration = Duration::from_secs(1);
/// How long the last words of a process that has ended are waited for.
const STDERR_DRAIN_TIME: Duration = Duration::from_millis(300);

/// Looks whether a process has ended, without reaping it.
const POLL_EXIT: WaitIdOptions =
    WaitIdOptions::EXITED.union(WaitIdOptions::NOWAIT).union(WaitIdOptions::NOHANG);

/// A process that is ready to be started, but for its pipes and its process group.
pub struct PreparedChild {
    /// The command.
    pub command: PreparedCommand,
    /// What must outlive the process, as its confinement. Dropped when the process has been reaped.
    pub keep_alive: Box<dyn Any + Send>,
}

/// A running process. Dropping it kills it and all that it started.
pub struct ChildProcess {
    /// None once it is reaped. While it is not, its id names this group and no other, so the group is
    /// always killed first.
    process: Option<tokio::process::Child>,
    id: Pid,
    children: tokio::signal::unix::Signal,
    reader: JoinHandle<()>,
    keep_alive: Option<Box<dyn Any + Send>>,
}

impl ChildProcess {
    /// Starts it, in a process group of its own. Its error output goes to `stderr`. Others start children by a
    /// [`Supervisor`](crate::Supervisor), which bounds how many there are.
    pub(crate) fn start(
        prepared: PreparedChild,
        stderr: &StderrTail,
    ) -> io::Result<(ChildProcess, ChildStdout, ChildStdin)> {
        let children = tokio::signal::unix::signal(SignalKind::child())?;
        let PreparedChild { mut command, keep_alive: keep } = prepared;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.own_group().spawn()?;
        let id = process
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw)
            .expect("a child that was not awaited has an id");
        let stdin = process.stdin.take().expect("the input is piped");
        let stdout = process.stdout.take().expect("the output is piped");
        let errors = process.stderr.take().expect("the error output is piped");
        let reader = tokio::spawn(read_errors(errors, stderr.clone()));
        Ok((
            ChildProcess { process: Some(process), id, children, reader, keep_alive: Some(keep) },
            stdout,
            stdin,
        ))
    }

    /// Waits until the process has ended and what it said last has been read, and says how it ended.
    pub async fn ended(&mut self) -> String {
        let how = self.exited().await;
        if !self.reader.is_finished() {
            // Whatever it started may hold its error output open for ever.
            let _ = timeout(STDERR_DRAIN_TIME, &mut self.reader).await;
        }
        how
    }

    /// Waits until the process has exited, and says how. It is not reaped, so that its id stays its own.
    async fn exited(&mut self) -> String {
        loop {
            match waitid(WaitId::Pid(self.id), POLL_EXIT) {
                Ok(Some(status)) => return how_it_ended(status.exit_status(), status.terminating_signal()),
                Ok(None) => {}
                // There is no such child any more.
                Err(_) => return "it ended".to_owned(),
            }
            if self.children.recv().await.is_none() {
                return "it can no longer be watched".to_owned();
            }
        }
    }

    /// How it ended, where it has.
    pub async fn poll_ended(&mut self) -> Option<String> {
        timeout(2 * STDERR_DRAIN_TIME, self.ended()).await.ok()
    }

    /// Ends it, in this order: its input is closed already, it is asked, it is killed; then whatever is
    /// left of its group is killed with it.
    pub async fn stop(mut self) {
        if timeout(CLOSED_GRACE, self.exited()).await.is_err() {
            self.signal(Signal::TERM);
            // One that does not mind is killed below.
            let _ = timeout(GRACE, self.exited()).await;
        }
        self.signal(Signal::KILL);
        if let Some(process) = &mut self.process
            && timeout(GRACE, process.wait()).await.is_ok()
        {
            self.process = None;
        }
        // A process that hangs in the kernel is left to the drop.
    }

    fn signal(&self, signal: Signal) {
        if self.process.is_some() {
            // The only failure is that nobody is left.
            let _ = kill_process_group(self.id, signal);
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.reader.abort();
        let Some(process) = self.process.take() else {
            return;
        };
        let keep = self.keep_alive.take();
        match tokio::runtime::Handle::try_current() {
            // A killed child must still be awaited, or it stays in the process table. The task that does
            // so owns the child, and ends as soon as the kernel has let go of it.
            Ok(runtime) => {
                drop(runtime.spawn(AbandonedChild { process, id: self.id, keep_alive: keep }.end()))
            }
            Err(_) => drop(AbandonedChild { process, id: self.id, keep_alive: keep }),
        }
    }
}

/// A process that nobody uses any more. Dropping it kills its group.
struct AbandonedChild {
    process: tokio::process::Child,
    id: Pid,
    keep_alive: Option<Box<dyn Any + Send>>,
}

impl AbandonedChild {
    /// Ends it. A confined process takes its whole sandbox down in order when it is asked to, so that it is
    /// asked first.
    async fn end(mut self) {
        let _ = kill_process_group(self.id, Signal::TERM);
        let until = tokio::time::Instant::now() + GRACE;
        while matches!(waitid(WaitId::Pid(self.id), POLL_EXIT), Ok(None))
            && tokio::time::Instant::now() < until
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let _ = kill_process_group(self.id, Signal::KILL);
        let _ = self.process.wait().await;
    }
}

impl Drop for AbandonedChild {
    fn drop(&mut self) {
        // Once the process is reaped, its id may be another's.
        if self.process.id().is_some() {
            let _ = kill_process_group(self.id, Signal::KILL);
        }
        drop(self.keep_alive.take());
    }
}

fn how_it_ended(code: Option<i32>, signal: Option<i32>) -> String {
    match (code, signal) {
        (Some(code), _) => format!("it ended with exit code {code}"),
        (None, Some(signal)) => format!("it was killed by signal {signal}"),
        (None, None) => "it ended".to_owned(),
    }
}

/// The last of what a process printed on its error output.
#[derive(Debug, Clone, Default)]
pub struct StderrTail(Arc<Mutex<VecDeque<u8>>>);

impl StderrTail {
    /// All that is kept of it.
    pub fn text(&self) -> String {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        String::from_utf8_lossy(bytes.make_contiguous()).into_owned()
    }

    /// The last lines, in so many bytes.
    pub fn last(&self, bytes: usize) -> String {
        let text = self.text();
        let text = text.trim_end();
        let from = text.ceil_char_boundary(text.len().saturating_sub(bytes));
        text[from..].to_owned()
    }

    fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(bytes);
        let over = kept.len().saturating_sub(STDERR_BYTES);
        kept.drain(..over);
    }
}

async fn read_errors(mut stderr: ChildStderr, tail: StderrTail) {
    let mut buffer = vec![0; 8 * 1024];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        tail.push(&buffer[..count]);
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::{Pid, test_kill_process};
    use tokio::io::{AsyncBufReadExt, BufReader};

    use super::{ChildProcess, PreparedChild, STDERR_BYTES, StderrTail};
    use crate::{Invocation, Program};

    #[test]
    fn only_the_last_of_the_error_output_is_kept() {
        let tail = StderrTail::default();
        for number in 0..10_000 {
            tail.push(format!("line {number}\n").as_bytes());
        }
        let text = tail.text();
        assert!(text.ends_with("line 9999\n") && text.len() <= STDERR_BYTES, "{}", text.len());
    }

    #[tokio::test]
    async fn nothing_is_left_of_a_process_that_minds_nothing() {
        // The shell and its child ignore the end of input and the request to end.
        let script = "trap '' TERM; (trap '' TERM; while :; do sleep 100; done) & echo $!; while :; do sleep 100; done";
        let bash = Program::from_system("bash").expect("bash is installed");
        let path = [("PATH", "/usr/local/bin:/usr/bin:/bin")];
        let command = Invocation::new(bash).args(["-c", script]).envs(path).prepare();
        let prepared = PreparedChild { command, keep_alive: Box::new(()) };
        let (child, stdout, stdin) =
            ChildProcess::start(prepared, &StderrTail::default()).expect("bash starts");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).await.expect("it prints");
        let grandchild = Pid::from_raw(line.trim().parse().expect("an id")).expect("an id");
        test_kill_process(grandchild).expect("it runs");
        drop(stdin);
        child.stop().await;
        let mut tries = 0;
        // It is dead, but whoever adopted it may not have reaped it yet.
        while is_alive(grandchild) && tries < 10_000 {
            tokio::task::yield_now().await;
            tries += 1;
        }
        assert!(!is_alive(grandchild));
    }

    fn is_alive(process: Pid) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    }
}
