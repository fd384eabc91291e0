//! One running program and all that it started: how it is started, killed and reaped. What it prints is
//! left to `attend`.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use ostler_sandbox::{Confinement, TeardownReport};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::Child;
use tokio::signal::unix::SignalKind;

use super::terminal::PseudoTerminal;
use crate::program_confiner::PreparedProgram;

/// How long a killed program is awaited. The sandbox takes its time to bury all that was in it.
const REAP_TIMEOUT: Duration = Duration::from_secs(5);

/// What a program prints on.
pub(super) type ProgramOutput = Box<dyn AsyncRead + Send + Unpin>;
/// What a program reads from.
pub(super) type ProgramStdin = Box<dyn AsyncWrite + Send + Unpin>;

/// A running program and all that it started. Dropping it kills them.
pub(super) struct ProgramGroup {
    /// None once it is reaped. While it is not, its id names this group and no other, so the group
    /// is always killed first.
    child: Option<Child>,
    id: Pid,
    confinement: Option<Confinement>,
    pub(super) exit_watcher: ExitWatcher,
    pub(super) stdout: Option<ProgramOutput>,
    pub(super) stderr: Option<ProgramOutput>,
    pub(super) stdin: Option<ProgramStdin>,
}

/// How a program ended.
#[derive(Debug, Default)]
pub(super) struct EndedProgram {
    /// None where it could not be reaped in time, as one that hangs in the kernel.
    pub(super) status: Option<ExitStatus>,
    /// What its sandbox found when it was taken down.
    pub(super) teardown: TeardownReport,
}

impl ProgramGroup {
    /// Starts a prepared program: at a terminal of its own, or with pipes, of which the one for its input
    /// is there on demand.
    pub(super) fn spawn(
        prepared: PreparedProgram,
        terminal: bool,
        reads: bool,
    ) -> std::io::Result<ProgramGroup> {
        let PreparedProgram { mut command, confinement, .. } = prepared;
        let children = tokio::signal::unix::signal(SignalKind::child())?;
        let terminal = if terminal { Some(PseudoTerminal::open(&mut command)?) } else { None };
        if terminal.is_none() {
            command.stdin(if reads { Stdio::piped() } else { Stdio::null() });
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let mut child = command.spawn()?;
        let id = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw)
            .expect("a child that was not awaited has an id");
        let (stdout, stderr, stdin): (Option<ProgramOutput>, Option<ProgramOutput>, Option<ProgramStdin>) =
            match terminal {
                Some(PseudoTerminal { output, input }) => {
                    (Some(Box::new(output)), None, Some(Box::new(input)))
                }
                None => (
                    child.stdout.take().map(|pipe| Box::new(pipe) as ProgramOutput),
                    child.stderr.take().map(|pipe| Box::new(pipe) as ProgramOutput),
                    child.stdin.take().map(|pipe| Box::new(pipe) as ProgramStdin),
                ),
            };
        let exit = ExitWatcher { id, children };
        Ok(ProgramGroup { child: Some(child), id, confinement, exit_watcher: exit, stdout, stderr, stdin })
    }

    /// Kills all of it. The sandbox is asked to, because it knows those that left the group.
    pub(super) fn kill(&self) {
        match &self.confinement {
            Some(confinement) => confinement.kill(),
            None if self.child.is_some() => {
                // The only failure is that nobody is left.
                let _ = kill_process_group(self.id, Signal::KILL);
            }
            None => {}
        }
    }

    /// Kills what is left, reaps the program and takes down its sandbox. Where it cannot be reaped in time,
    /// dropping the group sees to it.
    pub(super) async fn end(mut self) -> EndedProgram {
        self.kill();
        let Some(child) = self.child.as_mut() else {
            return EndedProgram::default();
        };
        let Ok(status) = tokio::time::timeout(REAP_TIMEOUT, child.wait()).await else {
            return EndedProgram::default();
        };
        self.child = None;
        EndedProgram { status: status.ok(), teardown: finish_confinement(self.confinement.take()).await }
    }
}

impl Drop for ProgramGroup {
    fn drop(&mut self) {
        self.kill();
        // A killed child must still be awaited, or it stays in the process table, and its sandbox stays
        // behind. The task that does so owns both, and ends as soon as the kernel has let go of the child.
        if let (Some(mut child), Ok(runtime)) = (self.child.take(), tokio::runtime::Handle::try_current()) {
            let confinement = self.confinement.take();
            runtime.spawn(async move {
                // A child that cannot be awaited was reaped by somebody else.
                let _ = child.wait().await;
                finish_confinement(confinement).await;
            });
        }
    }
}

/// Takes down what a sandbox stood on, on a thread that may wait for the disk.
async fn finish_confinement(confinement: Option<Confinement>) -> TeardownReport {
    let Some(confinement) = confinement else {
        return TeardownReport::default();
    };
    let finished = tokio::task::spawn_blocking(move || confinement.finish());
    finished.await.unwrap_or_default()
}

/// Tells when a program is over without reaping it, so that its id stays its own.
pub(super) struct ExitWatcher {
    id: Pid,
    children: tokio::signal::unix::Signal,
}

impl ExitWatcher {
    pub(super) async fn wait(&mut self) {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        // An error means that there is no such child any more.
        while let Ok(None) = waitid(WaitId::Pid(self.id), options) {
            if self.children.recv().await.is_none() {
                return;
            }
        }
    }
}
