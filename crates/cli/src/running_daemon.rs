//! The process of a running daemon: found by the lock and proved by its socket, watched and signalled through a pidfd, so
//! that a process id that was given to another program in between is never signalled.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use ostler_daemon::socket_path;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::net::UnixStream;

/// How often a process that is to end is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A running daemon.
pub(crate) struct RunningDaemon {
    pub(crate) pid: u32,
    process: OwnedFd,
}

/// What holds a data directory.
pub(crate) enum DataDirOwner {
    /// Nothing.
    Nobody,
    /// A daemon that accepts connections.
    Daemon(RunningDaemon),
    /// A process that holds the lock and does not listen; its id is only what the lock file says.
    Silent(Option<u32>),
}

/// Finds the process that holds a data directory.
pub(crate) async fn data_dir_owner(data_dir: &Path) -> anyhow::Result<DataDirOwner> {
    let Ok(stream) = UnixStream::connect(socket_path(data_dir)).await else {
        return Ok(if is_locked(data_dir) {
            DataDirOwner::Silent(lock_owner(data_dir))
        } else {
            DataDirOwner::Nobody
        });
    };
    let peer = stream.peer_cred()?.pid().and_then(Pid::from_raw);
    let peer = peer.context("the system does not tell which process the daemon is")?;
    let process = pidfd_open(peer, PidfdFlags::empty());
    let process = process.with_context(|| format!("process {peer} cannot be watched"))?;
    // The socket still belongs to that process after the pidfd was opened, so the pidfd is that process.
    let again = UnixStream::connect(socket_path(data_dir)).await?.peer_cred()?.pid();
    anyhow::ensure!(
        again == Some(peer.as_raw_nonzero().get()),
        "the daemon was replaced while it was looked at; try again"
    );
    let pid = peer.as_raw_nonzero().get().unsigned_abs();
    let owner = lock_owner(data_dir);
    anyhow::ensure!(
        owner == Some(pid),
        "the socket in {} belongs to process {pid}, but its lock to {}; nothing was signalled",
        data_dir.display(),
        owner.map_or_else(|| "nobody".to_owned(), |owner| format!("process {owner}"))
    );
    Ok(DataDirOwner::Daemon(RunningDaemon { pid, process }))
}

impl RunningDaemon {
    pub(crate) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        pidfd_send_signal(&self.process, signal)
            .with_context(|| format!("process {} cannot be signalled", self.pid))
    }

    /// Waits until the process has ended and the data directory is free; false when that takes too long.
    pub(crate) async fn wait_until_stopped(&self, data_dir: &Path, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        while !self.has_ended() || is_locked(data_dir) {
            if Instant::now() >= end {
                return false;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        true
    }

    fn has_ended(&self) -> bool {
        let mut watched = [PollFd::new(&self.process, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut watched, Some(&at_once)).is_ok_and(|ready| ready > 0)
    }

    /// The values of flags that a daemon was started with. Nothing where the system does not tell.
    pub(crate) fn flag_value(&self, flag: &str) -> Option<String> {
        let words = std::fs::read(format!("/proc/{}/cmdline", self.pid)).ok()?;
        let words: Vec<&str> =
            words.split(|byte| *byte == 0).filter_map(|word| std::str::from_utf8(word).ok()).collect();
        let after = words.iter().position(|word| *word == flag).and_then(|at| words.get(at + 1).copied());
        let joined = || words.iter().find_map(|word| word.strip_prefix(flag)?.strip_prefix('='));
        after.or_else(joined).map(str::to_owned)
    }
}

/// Whether a process holds the lock. It is taken for a moment, shared, and released.
fn is_locked(data_dir: &Path) -> bool {
    let Ok(directory) = File::open(data_dir) else { return false };
    flock(&directory, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
}

/// The process that wrote its id into the lock file.
fn lock_owner(data_dir: &Path) -> Option<u32> {
    let mut text = String::new();
    File::open(data_dir.join("lock")).ok()?.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
