//! Counts all processes of one sandbox together, where this process may make cgroups: version 2 with
//! the pids controller, else the pids hierarchy of version 1. Machines where it may not have the limits
//! of `limits` alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ostler_sandbox_helper::JoinCgroup;

use crate::profile::SandboxLimits;

const VERSION_2: &[&str] = &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
const VERSION_1_PIDS: &str = "/sys/fs/cgroup/pids";
const PROCS: &str = "cgroup.procs";
/// The members one by one, which only version 1 has.
const THREADS: &str = "tasks";
/// What the names begin with, before the id of the process that made them.
const PREFIX: &str = "ostler-";
/// How many are tried again; one beyond is left to the next start.
const MAXIMUM_STALE: usize = 1024;

/// How many were made, by all sandboxes of this process.
static CGROUPS_MADE: AtomicU64 = AtomicU64::new(0);

/// Where cgroups can be made.
#[derive(Debug, Clone)]
pub(crate) struct Cgroups {
    parent: PathBuf,
    /// Where this process is itself.
    own: PathBuf,
    /// Whether memory is limited too.
    pub(crate) memory: bool,
    /// Those that could not be removed at once: the kernel takes a moment longer to count their last
    /// process out than to report its end.
    stale: Arc<Mutex<Vec<PathBuf>>>,
}

impl Cgroups {
    /// Finds a place by making a cgroup there and removing it.
    pub(crate) fn probe() -> Option<Cgroups> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = |prefix: &str| {
            groups
                .lines()
                .find_map(|line| line.split_once(':')?.1.strip_prefix(prefix))
                .map(|path| path.trim_start_matches('/'))
        };
        let mut candidates = Vec::new();
        if let Some(path) = own(":") {
            for place in VERSION_2.iter().map(|mount| Path::new(mount).join(path)) {
                // Beside this process where a group with processes cannot have others below it.
                candidates.push((place.clone(), place.clone()));
                candidates.extend(place.parent().map(|parent| (parent.to_owned(), place.clone())));
            }
        }
        if let Some(path) = own("pids:") {
            let place = Path::new(VERSION_1_PIDS).join(path);
            candidates.push((place.clone(), place));
        }
        candidates.into_iter().find_map(|(parent, own)| {
            let mut cgroups = Cgroups { parent, own, memory: false, stale: Arc::default() };
            if !cgroups.own.join(PROCS).exists() || !cgroups.parent.join(PROCS).exists() {
                return None;
            }
            let cgroup = cgroups.make(&SandboxLimits::default()).ok()?;
            cgroups.remove_abandoned();
            cgroups.memory = cgroup.directory.join("memory.max").exists();
            Some(cgroups)
        })
    }

    /// Makes one with limits.
    pub(crate) fn make(&self, limits: &SandboxLimits) -> std::io::Result<Cgroup> {
        self.remove_stale();
        let number = CGROUPS_MADE.fetch_add(1, Ordering::Relaxed);
        let directory = self.parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&directory)?;
        let cgroup = Cgroup { directory, own: self.own.clone(), stale: self.stale.clone() };
        fs::write(cgroup.directory.join("pids.max"), limits.processes.to_string())?;
        if self.memory {
            fs::write(cgroup.directory.join("memory.max"), limits.memory_bytes.to_string())?;
        }
        Ok(cgroup)
    }

    /// Removes those that have become empty since they were given up.
    pub(crate) fn remove_stale(&self) {
        let mut stale = self.stale.lock().unwrap_or_else(PoisonError::into_inner);
        stale.retain(|directory| fs::remove_dir(directory).is_err() && directory.exists());
    }

    /// Removes those of processes that are gone, if they are empty.
    fn remove_abandoned(&self) {
        for entry in fs::read_dir(&self.parent).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
            if owner.is_some_and(|owner| !Path::new("/proc").join(owner).exists()) {
                // One that is in use after all stays.
                let _ = fs::remove_dir(entry.path());
            }
        }
    }
}

/// One cgroup. Dropping it kills what is in it and removes it, now or with the next one.
#[derive(Debug)]
pub(crate) struct Cgroup {
    directory: PathBuf,
    own: PathBuf,
    stale: Arc<Mutex<Vec<PathBuf>>>,
}

impl Cgroup {
    /// How the helper has its sandbox counted.
    pub(crate) fn join(&self) -> JoinCgroup {
        let threads = self.directory.join(THREADS);
        if threads.exists() {
            return JoinCgroup::Thread { join: threads, leave: self.own.join(THREADS) };
        }
        let counts_memory = self.directory.join("memory.max").exists();
        let leave = counts_memory.then(|| self.own.join(PROCS));
        JoinCgroup::Process { join: self.directory.join(PROCS), leave }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Only version 2 has it; elsewhere the helper has left nothing.
        let _ = fs::write(self.directory.join("cgroup.kill"), "1");
        if fs::remove_dir(&self.directory).is_err() && self.directory.exists() {
            let mut stale = self.stale.lock().unwrap_or_else(PoisonError::into_inner);
            stale.push(self.directory.clone());
            if stale.len() > MAXIMUM_STALE {
                stale.remove(0);
            }
        }
    }
}
