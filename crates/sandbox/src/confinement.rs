//! What a sandbox needs for as long as its program runs, and the order in which it is taken away.
//!
//! The helper outside holds a lock on the lease while it lives, and writes a last word there when no
//! process of the sandbox is left. Only then is it safe to remove what the sandbox stood on. A
//! confinement that is dropped before is kept aside and cleaned up later.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ostler_sandbox_helper::{LEASE_EXPOSED_PREFIX, LEASE_FILE, LEASE_OVER};
use ostler_workspace_fs::RootedTree;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::cgroup::Cgroup;
use crate::embedded_repositories::{EmbeddedRepositories, SuspectRepository};
use crate::placeholders::HeldPlaceholders;
use crate::run_directory::RunDirectory;
use crate::shared_snapshot::SnapshotShares;

/// The name of the directory for temporary files in a sandbox's own directory, where no mount makes one.
pub(crate) const TEMPORARY: &str = "tmp";
/// How long a sandbox whose helper was killed is given to die with it.
const DEATH_GRACE: Duration = Duration::from_secs(1);
/// How many are kept aside at most; beyond, the oldest is taken for dead.
const MAXIMUM_ABANDONED: usize = 256;

/// Belongs to one command. Keep it until the command's process is reaped, then [`Confinement::finish`]
/// it or let it drop. Dropping it earlier ends the sandbox.
#[derive(Debug)]
pub struct Confinement {
    parts: Option<SandboxParts>,
    abandoned: AbandonedSandboxes,
}

/// What was found when a sandbox was taken down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TeardownReport {
    /// Protected paths that this program, or another one beside it, changed and that were restored: where the
    /// report says that they cannot be held, modes of hidden places, and lists of a rebase that would have run
    /// something new. Worth telling the model and its owner.
    pub restored: Vec<PathBuf>,
    /// Repositories inside the workspace that now have settings or hooks which run programs and had none
    /// when the command began. They are left as they are; people must be told, because their own git would
    /// run those programs.
    pub suspect_repositories: Vec<SuspectRepository>,
    /// Protected paths that somebody else replaced, whereupon nothing protected them until the program was ended. People
    /// must look at them; git's own settings are among those that were put back if they start something new.
    pub exposed: Vec<PathBuf>,
}

impl Confinement {
    pub(crate) fn new(parts: SandboxParts, leftovers: AbandonedSandboxes) -> Confinement {
        Confinement { parts: Some(parts), abandoned: leftovers }
    }

    /// Asks the sandbox to end: everything in it is killed, and the command's process ends after that.
    /// The way to kill a confined command; a SIGKILL would leave its processes to the kernel's pace.
    pub fn kill(&self) {
        if let Some(parts) = &self.parts {
            parts.kill();
        }
    }

    /// Takes down what the sandbox stood on.
    pub fn finish(mut self) -> TeardownReport {
        self.end()
    }

    fn end(&mut self) -> TeardownReport {
        let Some(parts) = self.parts.take() else {
            return TeardownReport::default();
        };
        parts.kill();
        match parts.stage() {
            SandboxStage::Over => parts.take_down(),
            SandboxStage::Running | SandboxStage::Killed => {
                self.abandoned.push(parts);
                TeardownReport::default()
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
pub(crate) struct SandboxParts {
    pub(crate) directory: TempDir,
    /// Where the directory is in; dropped after it.
    pub(crate) run: Arc<RunDirectory>,
    pub(crate) placeholders: Option<HeldPlaceholders>,
    pub(crate) snapshot_shares: SnapshotShares,
    pub(crate) cgroup: Option<Cgroup>,
    /// The repositories inside the workspace as they were; none where the program only reads.
    pub(crate) repositories: Option<EmbeddedRepositories>,
}

/// How far a sandbox has got.
#[derive(Debug, PartialEq, Eq)]
enum SandboxStage {
    Running,
    /// Nothing of it is left, or it never began.
    Over,
    /// Its helper is gone without a last word.
    Killed,
}

impl SandboxParts {
    fn stage(&self) -> SandboxStage {
        let Ok(lease) = File::open(self.lease()) else {
            return SandboxStage::Killed;
        };
        if flock(&lease, FlockOperation::NonBlockingLockShared).is_err() {
            return SandboxStage::Running;
        }
        unlock(&lease);
        match fs::read_to_string(self.lease()) {
            Ok(text) if text.ends_with(LEASE_OVER) => SandboxStage::Over,
            Ok(_) | Err(_) => SandboxStage::Killed,
        }
    }

    /// Whoever writes to the lease first settles whether the sandbox begins. While the lease is locked, the
    /// process whose id is in it is alive.
    fn kill(&self) {
        if let Ok(mut lease) = OpenOptions::new().append(true).open(self.lease())
            && flock(&lease, FlockOperation::NonBlockingLockExclusive).is_ok()
        {
            if lease.metadata().is_ok_and(|found| found.len() == 0) {
                // Without the last word, cleaning up only waits a little.
                let _ = lease.write_all(LEASE_OVER.as_bytes());
            }
            unlock(&lease);
        }
        if self.stage() != SandboxStage::Running {
            return;
        }
        let text = fs::read_to_string(self.lease()).unwrap_or_default();
        let process = text.lines().next().and_then(|line| line.parse().ok()).and_then(Pid::from_raw);
        if let Some(process) = process {
            // It may have ended just now.
            let _ = kill_process(process, Signal::TERM);
        }
    }

    fn take_down(self) -> TeardownReport {
        let said = fs::read_to_string(self.lease()).unwrap_or_default();
        let exposed: Vec<PathBuf> = said
            .lines()
            .filter_map(|line| line.strip_prefix(LEASE_EXPOSED_PREFIX))
            .map(PathBuf::from)
            .collect();
        let SandboxParts { directory, run, placeholders, snapshot_shares: shares, cgroup, repositories } =
            self;
        drop(cgroup);
        let mut restored = shares.end();
        if !exposed.is_empty() {
            restored.extend(repositories.as_ref().and_then(EmbeddedRepositories::restore_own_settings));
        }
        drop(placeholders);
        // A helper that has begun and ended leaves it alone from now on; one that never began could still come.
        if said.ends_with(LEASE_OVER) && said != LEASE_OVER && clear_temporary_files(directory.path()) {
            run.recycle(directory);
        } else {
            drop(directory);
        }
        drop(run);
        let armed = repositories.map(|before| before.newly_suspect()).unwrap_or_default();
        TeardownReport { restored, suspect_repositories: armed, exposed }
    }

    fn lease(&self) -> PathBuf {
        Path::join(self.directory.path(), LEASE_FILE)
    }
}

/// Closing it would not do: a process that is just being started has a copy of the descriptor until it becomes its program,
/// and the next command's helper would find the lease locked.
fn unlock(lease: &File) {
    let _ = flock(lease, FlockOperation::Unlock);
}

/// Removes the temporary files of a command, and returns true where nothing but the lease is left of it. What is left is
/// left to the next start.
fn clear_temporary_files(directory: &Path) -> bool {
    if directory.join(TEMPORARY).symlink_metadata().is_ok() {
        // A directory that nobody may enter would keep its owner from removing it.
        let tree = directory.canonicalize().and_then(|path| Ok(RootedTree::open(&path)?));
        let _ = tree.map(|tree| tree.remove(Path::new(TEMPORARY)));
    }
    // A helper that ended early has not taken the program's environment.
    let names = fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    names.is_ok_and(|names| names.iter().all(|name| name.file_name() == LEASE_FILE))
}

/// Sandboxes that were let go of before they had ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct AbandonedSandboxes(Arc<Mutex<Vec<(Instant, SandboxParts)>>>);

impl AbandonedSandboxes {
    /// Cleans up after those that have ended since.
    pub(crate) fn sweep(&self) {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let over = |since: &Instant, parts: &SandboxParts| match parts.stage() {
            SandboxStage::Over => true,
            SandboxStage::Running => {
                parts.kill();
                false
            }
            SandboxStage::Killed => since.elapsed() > DEATH_GRACE,
        };
        let ended: Vec<_> = left.extract_if(.., |(since, parts)| over(since, parts)).collect();
        drop(left);
        for (_, parts) in ended {
            parts.take_down();
        }
    }

    fn push(&self, parts: SandboxParts) {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.push((Instant::now(), parts));
        let oldest = (left.len() > MAXIMUM_ABANDONED).then(|| left.remove(0));
        drop(left);
        if let Some((_, parts)) = oldest {
            parts.take_down();
        }
    }
}
