//! Waits for whatever happens first to a sandbox that was started: its program ends, somebody wants it to end, its mounts
//! are ready to be looked at, one of them is lost, a repository is broken, or its temporary files are too many.
//!
//! All of it in one thread: a second one would cost each short command its start.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::Child;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::gate::Gate;
use crate::mount_watch::MountWatch;
use crate::orders::SuperviseOrder;
use crate::quota::QuotaWatch;
use crate::repository_watch::RepositoryWatch;
use crate::supervise::{BubblewrapSandbox, SandboxEnd, exit_code};

/// What is waited for, and what became of it so far.
pub(crate) struct SandboxMonitor<'a> {
    order: &'a SuperviseOrder,
    /// Requests to end, the daemon, and the program: each becomes readable once.
    end_requests: OwnedFd,
    daemon: OwnedFd,
    program: OwnedFd,
    /// The first process of the sandbox, and its gate until that is opened.
    gate: Option<(u32, Gate)>,
    mounts: Option<MountWatch>,
    /// The protected path that the program has lost.
    lost_path: Option<PathBuf>,
    repositories: RepositoryWatch,
    quota: Option<QuotaWatch<'a>>,
}

/// What can happen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MonitorEvent {
    Requests,
    Daemon,
    Program,
    Gate,
    Mounts,
    Repositories,
}

impl<'a> SandboxMonitor<'a> {
    /// Waits for requests to end, the daemon and the program, in this order, and for the rest.
    pub(crate) fn new(
        order: &'a SuperviseOrder,
        [requests, daemon, program]: [OwnedFd; 3],
        bubblewrap: Option<BubblewrapSandbox>,
        repositories: RepositoryWatch,
    ) -> SandboxMonitor<'a> {
        let gate = bubblewrap.and_then(|made| Some((made.process?, made.gate)));
        let quota = order.quota.as_ref().map(QuotaWatch::new);
        SandboxMonitor {
            order,
            end_requests: requests,
            daemon,
            program,
            gate,
            mounts: None,
            lost_path: None,
            repositories,
            quota,
        }
    }

    /// Waits until the sandbox has ended, or has to.
    pub(crate) fn wait(mut self, child: &mut Child) -> Result<SandboxEnd, String> {
        loop {
            let happened = self.wait_for_events()?;
            let has = |source: MonitorEvent| happened.contains(&source);
            // Before the end of the program: it ends because of it.
            if has(MonitorEvent::Mounts)
                && let Some(lost) = self.mounts.as_mut().and_then(MountWatch::end_if_mount_lost)
            {
                (self.mounts, self.lost_path) = (None, Some(lost));
            }
            if has(MonitorEvent::Program) {
                let status = child.wait().map_err(|error| format!("waiting: {error}"))?;
                return Ok(self.ended(exit_code(status)));
            }
            if has(MonitorEvent::Requests) || has(MonitorEvent::Daemon) {
                return Ok(SandboxEnd::Stopped);
            }
            if has(MonitorEvent::Gate) {
                self.check_mounts_and_open_gate()?;
            }
            let broken =
                if has(MonitorEvent::Repositories) { self.repositories.check_events() } else { None };
            let now = Instant::now();
            let broken = broken.or_else(|| self.repositories.begin_if_due(now));
            if let Some(reason) = broken.or_else(|| self.quota.as_mut()?.exceeded_at(now)) {
                eprintln!("{reason}");
                return Ok(SandboxEnd::Stopped);
            }
        }
    }

    fn ended(self, code: u8) -> SandboxEnd {
        let Some(path) = self.lost_path else { return SandboxEnd::Program(code) };
        eprintln!(
            "ended by Ostler: another program replaced {} while this one ran, so this one could have changed it",
            path.display()
        );
        SandboxEnd::Exposed(path)
    }

    /// Waits for something to happen. Nothing has where it is only time for something.
    fn wait_for_events(&self) -> Result<Vec<MonitorEvent>, String> {
        let mut sources = vec![
            (MonitorEvent::Requests, PollFd::new(&self.end_requests, PollFlags::IN)),
            (MonitorEvent::Daemon, PollFd::new(&self.daemon, PollFlags::IN)),
            (MonitorEvent::Program, PollFd::new(&self.program, PollFlags::IN)),
        ];
        if let Some((_, gate)) = &self.gate {
            sources.push((MonitorEvent::Gate, PollFd::from_borrowed_fd(gate.descriptor(), PollFlags::IN)));
        }
        if let Some(mounts) = &self.mounts {
            // Such a list is always readable; only asked whether it has something urgent does it tell of changes.
            sources
                .push((MonitorEvent::Mounts, PollFd::from_borrowed_fd(mounts.descriptor(), PollFlags::PRI)));
        }
        if let Some(events) = self.repositories.events() {
            sources
                .push((MonitorEvent::Repositories, PollFd::from_borrowed_fd(events.as_fd(), PollFlags::IN)));
        }
        let due =
            self.repositories.begins_at().into_iter().chain(self.quota.as_ref().map(QuotaWatch::due)).min();
        let left = due.map(|due| due.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let (names, mut descriptors): (Vec<MonitorEvent>, Vec<PollFd<'_>>) = sources.into_iter().unzip();
        match poll(&mut descriptors, left.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(format!("waiting: {error}")),
        }
        let happened = names.into_iter().zip(&descriptors).filter(|(_, found)| !found.revents().is_empty());
        Ok(happened.map(|(source, _)| source).collect())
    }

    /// Lets the program start when its mounts are as they should be, and has them watched.
    fn check_mounts_and_open_gate(&mut self) -> Result<(), String> {
        let (Some(meant), Some((process, mut gate))) = (&self.order.mounts, self.gate.take()) else {
            return Ok(());
        };
        // A sandbox that could not be made says so, and ends.
        if !gate.is_ready() {
            return Ok(());
        }
        self.mounts = Some(MountWatch::begin(process, meant)?);
        gate.open().map_err(|error| format!("starting its program: {error}"))
    }
}
