//! The directory in which one process keeps what lives as long as its commands, and what has to be put right
//! should the process be killed: snapshots of protected paths and a list of placeholders.
//!
//! The process holds a lock in it for as long as it lives. A directory that nobody holds belongs to a process that died,
//! and is left to `ostler_sandbox_helper::recover`.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_sandbox_helper::{LEASE_FILE, LOCK_FILE, RUN_DIRECTORY_PREFIX};
use ostler_workspace_fs::{ConcurrentWriters, ReplaceOptions, replace_file};
use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use crate::spare_directories::SpareDirectories;

/// How many directories of commands that have ended are kept for others.
const MAXIMUM_IDLE: usize = 16;

/// The directory of this process. It is removed when nothing in it is needed any more.
#[derive(Debug)]
pub(crate) struct RunDirectory {
    directory: PathBuf,
    journals: AtomicU64,
    /// Directories of commands that have ended in order. To make one anew for every command would be slow where a file
    /// system passes over what was deleted lately.
    idle: Mutex<Vec<TempDir>>,
    pub(crate) spare: SpareDirectories,
    _lock: File,
}

impl RunDirectory {
    /// Makes it in the scratch directory, which is made if it is missing.
    pub(crate) fn begin(scratch: &Path) -> io::Result<RunDirectory> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(scratch)?;
        fs::set_permissions(scratch, Permissions::from_mode(0o700))?;
        // Under a name that no recovery looks at, until it is locked.
        let made = tempfile::Builder::new().prefix("new-").permissions(private()).tempdir_in(scratch)?;
        let lock = File::create_new(made.path().join(LOCK_FILE))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let made = made.keep();
        let name =
            made.file_name().unwrap_or_default().to_string_lossy().replace("new-", RUN_DIRECTORY_PREFIX);
        let directory = scratch.join(name);
        fs::rename(&made, &directory)?;
        let spare = SpareDirectories::new(&directory)?;
        Ok(RunDirectory {
            directory,
            spare,
            journals: AtomicU64::new(0),
            idle: Mutex::default(),
            _lock: lock,
        })
    }

    /// A directory for one command, with an empty lease in it.
    pub(crate) fn command_directory(&self) -> io::Result<TempDir> {
        let idle = self.idle().pop();
        // One that cannot be used any more is removed.
        if let Some(directory) = idle.filter(|directory| empty_lease(directory).is_ok()) {
            return Ok(directory);
        }
        let made =
            tempfile::Builder::new().prefix("sandbox-").permissions(private()).tempdir_in(&self.directory)?;
        File::create_new(made.path().join(LEASE_FILE))?;
        Ok(made)
    }

    /// Takes back a directory in which nothing is but the lease of a helper that has ended.
    pub(crate) fn recycle(&self, directory: TempDir) {
        let mut idle = self.idle();
        if idle.len() < MAXIMUM_IDLE {
            idle.push(directory);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<TempDir>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn empty_lease(directory: &TempDir) -> io::Result<()> {
    fs::OpenOptions::new().write(true).open(directory.path().join(LEASE_FILE))?.set_len(0)
}

/// What a directory of this process's own may be: nobody else's business.
fn private() -> Permissions {
    Permissions::from_mode(0o700)
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next process.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// A file that tells what to put right after a crash. It is removed when there is nothing to put right.
#[derive(Debug)]
pub(crate) struct CrashJournal {
    path: PathBuf,
    _run: Arc<RunDirectory>,
}

impl CrashJournal {
    /// Writes one, as a whole or not at all.
    pub(crate) fn write(run: &Arc<RunDirectory>, prefix: &str, content: &[u8]) -> io::Result<CrashJournal> {
        let number = run.journals.fetch_add(1, Ordering::Relaxed);
        let path = run.directory.join(format!("{prefix}{number}"));
        // A fixed temporary name would begin with the prefix, by which a recovery finds journals.
        let options = ReplaceOptions { writers: ConcurrentWriters::Several, ..ReplaceOptions::CACHE };
        replace_file(&path, content, options)?;
        Ok(CrashJournal { path, _run: Arc::clone(run) })
    }

    /// Adds to it.
    pub(crate) fn append(&self, content: &[u8]) -> io::Result<()> {
        fs::OpenOptions::new().append(true).open(&self.path)?.write_all(content)
    }
}

impl Drop for CrashJournal {
    fn drop(&mut self) {
        // It is done with; one that stays is gone with its directory.
        let _ = fs::remove_file(&self.path);
    }
}
