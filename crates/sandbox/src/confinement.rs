//! What a sandbox needs for as long as its program runs, and the order in which it is taken away.
//!
//! The helper outside holds a lock on the lease while it lives, and writes a last word there when no
//! process of the sandbox is left. Only then is it safe to remove what the sandbox stood on. A
//! confinement that is dropped before is kept aside and cleaned up later.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::cgroup::Cgroup;
use crate::embedded::{ArmedRepository, Embedded};
use crate::placeholders::Held;
use crate::snapshot::Snapshot;
use crate::supervise::OVER;

/// The name of the lease in a sandbox's own directory.
pub(crate) const LEASE: &str = "lease";
/// How long a sandbox whose helper was killed is given to die with it.
const GRACE: Duration = Duration::from_secs(1);
/// How many are kept aside at most; beyond, the oldest is taken for dead.
const MAXIMUM_LEFT: usize = 256;

/// Belongs to one command. Keep it until the command's process is reaped, then [`Confinement::finish`]
/// it or let it drop. Dropping it earlier ends the sandbox.
#[derive(Debug)]
pub struct Confinement {
    parts: Option<Parts>,
    leftovers: Leftovers,
}

/// What was found when a sandbox was taken down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Aftermath {
    /// Protected paths that the program changed and that were put back. Only where the report says that
    /// they cannot be held; worth telling the model and its owner.
    pub restored: Vec<PathBuf>,
    /// Repositories inside the workspace that now have settings or hooks which run programs and had none
    /// when the command began. They are left as they are; people must be told, because their own git would
    /// run those programs.
    pub armed: Vec<ArmedRepository>,
}

impl Confinement {
    pub(crate) fn new(parts: Parts, leftovers: Leftovers) -> Confinement {
        Confinement { parts: Some(parts), leftovers }
    }

    /// Asks the sandbox to end: everything in it is killed, and the command's process ends after that.
    /// The way to kill a confined command; a SIGKILL would leave its processes to the kernel's pace.
    pub fn kill(&self) {
        if let Some(parts) = &self.parts {
            parts.kill();
        }
    }

    /// Takes down what the sandbox stood on.
    pub fn finish(mut self) -> Aftermath {
        self.end()
    }

    fn end(&mut self) -> Aftermath {
        let Some(parts) = self.parts.take() else {
            return Aftermath::default();
        };
        parts.kill();
        match parts.stage() {
            Stage::Over => parts.clean(),
            Stage::Running | Stage::Killed => {
                self.leftovers.push(parts);
                Aftermath::default()
            }
        }
    }
}

impl Drop for Confinement {
    fn drop(&mut self) {
        self.end();
    }
}

/// What one sandbox stands on.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) directory: TempDir,
    pub(crate) placeholders: Option<Held>,
    pub(crate) snapshot: Snapshot,
    pub(crate) cgroup: Option<Cgroup>,
    /// The repositories inside the workspace as they were; none where the program only reads.
    pub(crate) repositories: Option<Embedded>,
}

/// How far a sandbox has got.
#[derive(Debug, PartialEq, Eq)]
enum Stage {
    Running,
    /// Nothing of it is left, or it never began.
    Over,
    /// Its helper is gone without a last word.
    Killed,
}

impl Parts {
    fn stage(&self) -> Stage {
        let Ok(lease) = File::open(self.lease()) else {
            return Stage::Killed;
        };
        if flock(&lease, FlockOperation::NonBlockingLockShared).is_err() {
            return Stage::Running;
        }
        match fs::read_to_string(self.lease()) {
            Ok(text) if text.ends_with(OVER) => Stage::Over,
            Ok(_) | Err(_) => Stage::Killed,
        }
    }

    /// Whoever makes the lease first settles whether the sandbox begins. While the lease is locked, the
    /// process whose id is in it is alive.
    fn kill(&self) {
        if let Ok(mut lease) = File::create_new(self.lease()) {
            // Without the last word, cleaning up only waits a little.
            let _ = lease.write_all(OVER.as_bytes());
        }
        if self.stage() != Stage::Running {
            return;
        }
        let text = fs::read_to_string(self.lease()).unwrap_or_default();
        let process = text.lines().next().and_then(|line| line.parse().ok()).and_then(Pid::from_raw);
        if let Some(process) = process {
            // It may have ended just now.
            let _ = kill_process(process, Signal::TERM);
        }
    }

    fn clean(self) -> Aftermath {
        let Parts { directory, placeholders, snapshot, cgroup, repositories } = self;
        drop(cgroup);
        let restored = snapshot.restore();
        drop(placeholders);
        drop(directory);
        let armed = repositories.map(|before| before.armed_since()).unwrap_or_default();
        Aftermath { restored, armed }
    }

    fn lease(&self) -> PathBuf {
        Path::join(self.directory.path(), LEASE)
    }
}

/// Sandboxes that were let go of before they had ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leftovers(Arc<Mutex<Vec<(Instant, Parts)>>>);

impl Leftovers {
    /// Cleans up after those that have ended since.
    pub(crate) fn sweep(&self) {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let over = |since: &Instant, parts: &Parts| match parts.stage() {
            Stage::Over => true,
            Stage::Running => {
                parts.kill();
                false
            }
            Stage::Killed => since.elapsed() > GRACE,
        };
        let ended: Vec<_> = left.extract_if(.., |(since, parts)| over(since, parts)).collect();
        drop(left);
        for (_, parts) in ended {
            parts.clean();
        }
    }

    fn push(&self, parts: Parts) {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.push((Instant::now(), parts));
        let oldest = (left.len() > MAXIMUM_LEFT).then(|| left.remove(0));
        drop(left);
        if let Some((_, parts)) = oldest {
            parts.clean();
        }
    }
}
