//! The directory in which one process keeps what lives as long as its commands, and what has to be put right
//! should the process be killed: snapshots of protected paths and a list of placeholders.
//!
//! The process holds a lock in it for as long as it lives. A directory that nobody holds belongs to a process
//! that died; the helper of its last command puts right what is in it, or else the next process to start.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ostler_workspace_fs::{ReplaceOptions, Tree, Writers, replace_file};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tempfile::TempDir;

use crate::confinement::LEASE;
use crate::placeholders;
use crate::snapshot::Snapshot;

const PREFIX: &str = "run-";
const LOCK: &str = "lock";
/// What the names of snapshots and of lists of placeholders begin with.
pub(crate) const SNAPSHOT: &str = "snapshot-";
pub(crate) const PLACEHOLDERS: &str = "placeholders-";
/// How long the commands of a process that died are given to die with it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(12);
const PAUSE: Duration = Duration::from_millis(5);
/// How long a snapshot of a workspace that is not there is kept: it may be on a disk that is not mounted.
const KEPT_TIME: Duration = Duration::from_secs(30 * 24 * 3600);

/// The directory of this process. It is removed when nothing in it is needed any more.
#[derive(Debug)]
pub(crate) struct Run {
    directory: PathBuf,
    journals: AtomicU64,
    _lock: File,
}

impl Run {
    /// Makes it in the scratch directory, which is made if it is missing.
    pub(crate) fn begin(scratch: &Path) -> io::Result<Run> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(scratch)?;
        fs::set_permissions(scratch, Permissions::from_mode(0o700))?;
        // Under a name that no recovery looks at, until it is locked.
        let made = tempfile::Builder::new().prefix("new-").permissions(private()).tempdir_in(scratch)?;
        let lock = File::create_new(made.path().join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let made = made.keep();
        let name = made.file_name().unwrap_or_default().to_string_lossy().replace("new-", PREFIX);
        let directory = scratch.join(name);
        fs::rename(&made, &directory)?;
        Ok(Run { directory, journals: AtomicU64::new(0), _lock: lock })
    }

    /// A directory for one command.
    pub(crate) fn command_directory(&self) -> io::Result<TempDir> {
        tempfile::Builder::new().prefix("sandbox-").permissions(private()).tempdir_in(&self.directory)
    }
}

/// What a directory of this process's own may be: nobody else's business.
fn private() -> Permissions {
    Permissions::from_mode(0o700)
}

impl Drop for Run {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next process.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// A file that tells what to put right after a crash. It is removed when there is nothing to put right.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    _run: Arc<Run>,
}

impl Journal {
    /// Writes one, as a whole or not at all.
    pub(crate) fn write(run: &Arc<Run>, prefix: &str, content: &[u8]) -> io::Result<Journal> {
        let number = run.journals.fetch_add(1, Ordering::Relaxed);
        let path = run.directory.join(format!("{prefix}{number}"));
        // A fixed temporary name would begin with the prefix, by which a recovery finds journals.
        let options = ReplaceOptions { writers: Writers::Several, ..ReplaceOptions::CACHE };
        replace_file(&path, content, options)?;
        Ok(Journal { path, _run: Arc::clone(run) })
    }

    /// Adds to it.
    pub(crate) fn append(&self, content: &[u8]) -> io::Result<()> {
        fs::OpenOptions::new().append(true).open(&self.path)?.write_all(content)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // It is done with; one that stays is gone with its directory.
        let _ = fs::remove_file(&self.path);
    }
}

/// Puts right what processes left behind that died while commands ran, and says which paths that were. Waits
/// for those commands to be gone, for at most this time; what still runs then is left for later.
pub(crate) fn recover(scratch: &Path, patience: Duration) -> Vec<PathBuf> {
    let until = Instant::now() + patience;
    let mut restored = Vec::new();
    for entry in fs::read_dir(scratch).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            restored.extend(recover_one(&entry.path(), until).unwrap_or_default());
        }
    }
    restored
}

/// The same for the helper of a command whose daemon has died.
pub(crate) fn recover_after(lease: &Path) {
    let mut above = lease.ancestors().skip(2);
    if let Some(directory) = above.next().filter(|directory| directory.join(LOCK).exists()) {
        // Another helper that is still busy does it when it is done.
        let _ = recover_one(directory, Instant::now());
    }
}

fn recover_one(directory: &Path, until: Instant) -> io::Result<Vec<PathBuf>> {
    let lock = File::open(directory.join(LOCK))?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    while has_running(directory) {
        if Instant::now() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(PAUSE);
    }
    let (mut restored, mut is_done) = (Vec::new(), true);
    for entry in fs::read_dir(directory)?.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if name.as_encoded_bytes().starts_with(SNAPSHOT.as_bytes()) {
            match Snapshot::read(&path) {
                Ok(snapshot) => restored.extend(snapshot.restore_for_good()),
                Err(error) => is_done &= error.kind() != io::ErrorKind::NotFound || is_old(&path),
            }
        } else if name.as_encoded_bytes().starts_with(PLACEHOLDERS.as_bytes()) {
            placeholders::remove_listed(&path);
        }
    }
    if is_done {
        let (parent, name) = (directory.parent().unwrap_or(directory), directory.file_name());
        let parent = Tree::open(&parent.canonicalize()?)?;
        parent.remove(Path::new(name.unwrap_or_default()))?;
    }
    Ok(restored)
}

/// Whether a helper is still at work.
fn has_running(directory: &Path) -> bool {
    let commands = fs::read_dir(directory).into_iter().flatten().flatten();
    commands
        .filter_map(|command| File::open(command.path().join(LEASE)).ok())
        .any(|lease| flock(&lease, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK))
}

fn is_old(path: &Path) -> bool {
    let age = fs::metadata(path).and_then(|found| found.modified()).map(|time| time.elapsed());
    age.is_ok_and(|age| age.is_ok_and(|age| age > KEPT_TIME))
}
