//! What has to be put right when a process with running commands was killed: protected paths that have changed, and
//! placeholders that were left. The directory of a run holds a journal for each.
//!
//! The process holds a lock in the directory for as long as it lives. A directory that nobody holds belongs to a process
//! that died; the helper of its last command puts right what is in it, or else the next process to start.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ostler_workspace_fs::RootedTree;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::placeholder::remove_listed;
use crate::protected_snapshot::ProtectedSnapshot;

/// What the name of the directory of a run begins with.
pub const RUN_DIRECTORY_PREFIX: &str = "run-";
/// The file in it that its process locks.
pub const LOCK_FILE: &str = "lock";
/// What the names of journals begin with that hold a snapshot, or a list of placeholders.
pub const SNAPSHOT_PREFIX: &str = "snapshot-";
/// See [`SNAPSHOT_PREFIX`].
pub const PLACEHOLDERS_PREFIX: &str = "placeholders-";
/// The name of the lease in the directory of a command.
pub const LEASE_FILE: &str = "lease";
/// How long the commands of a process that died are given to die with it.
pub const RECOVERY_TIMEOUT: Duration = Duration::from_secs(12);
const PAUSE: Duration = Duration::from_millis(5);
/// How long a snapshot of a workspace that is not there is kept: it may be on a disk that is not mounted.
const SNAPSHOT_RETENTION: Duration = Duration::from_secs(30 * 24 * 3600);

/// Puts right what processes left behind that died while commands ran, and says which paths that were. Waits
/// for those commands to be gone, for at most this time; what still runs then is left for later.
pub fn recover(scratch: &Path, patience: Duration) -> Vec<PathBuf> {
    let until = Instant::now() + patience;
    let mut restored = Vec::new();
    for entry in fs::read_dir(scratch).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(RUN_DIRECTORY_PREFIX.as_bytes()) {
            restored.extend(recover_one(&entry.path(), until).unwrap_or_default());
        }
    }
    restored
}

/// The same for the helper of a command whose daemon has died.
pub(crate) fn recover_after(lease: &Path) {
    let mut above = lease.ancestors().skip(2);
    if let Some(directory) = above.next().filter(|directory| directory.join(LOCK_FILE).exists()) {
        // Another helper that is still busy does it when it is done.
        let _ = recover_one(directory, Instant::now());
    }
}

fn recover_one(directory: &Path, until: Instant) -> io::Result<Vec<PathBuf>> {
    let lock = File::open(directory.join(LOCK_FILE))?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    while has_running_helper(directory) {
        if Instant::now() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(PAUSE);
    }
    let (mut restored, mut is_done) = (Vec::new(), true);
    for entry in fs::read_dir(directory)?.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if name.as_encoded_bytes().starts_with(SNAPSHOT_PREFIX.as_bytes()) {
            match ProtectedSnapshot::read(&path) {
                Ok(snapshot) => restored.extend(snapshot.restore_until_stable()),
                Err(error) => is_done &= error.kind() != io::ErrorKind::NotFound || is_old(&path),
            }
        } else if name.as_encoded_bytes().starts_with(PLACEHOLDERS_PREFIX.as_bytes()) {
            remove_listed(&path);
        }
    }
    if is_done {
        let (parent, name) = (directory.parent().unwrap_or(directory), directory.file_name());
        let parent = RootedTree::open(&parent.canonicalize()?)?;
        parent.remove(Path::new(name.unwrap_or_default()))?;
    }
    Ok(restored)
}

/// Whether a helper is still at work.
fn has_running_helper(directory: &Path) -> bool {
    let commands = fs::read_dir(directory).into_iter().flatten().flatten();
    commands
        .filter_map(|command| File::open(command.path().join(LEASE_FILE)).ok())
        .any(|lease| flock(&lease, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK))
}

fn is_old(path: &Path) -> bool {
    let age = fs::metadata(path).and_then(|found| found.modified()).map(|time| time.elapsed());
    age.is_ok_and(|age| age.is_ok_and(|age| age > SNAPSHOT_RETENTION))
}
