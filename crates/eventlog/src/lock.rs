//! The lock that makes one process the only writer of a data directory.
//!
//! The kernel drops it with the process, so that a crash leaves none behind. It is held twice: on the directory itself,
//! which nobody can replace without taking all data along, and on the file `lock`, which daemons before this one knew.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::disk::{Disk, DiskFile};
use crate::file_log::OpenError;
use crate::layout::DataLayout;

/// The held lock; released when dropped.
#[derive(Debug)]
pub(crate) struct DataLock {
    root: LockedPath,
    lock: LockedPath,
}

/// A name, and the file that was locked under it.
#[derive(Debug)]
struct LockedPath {
    path: PathBuf,
    file: File,
}

impl DataLock {
    /// Takes the lock, or says who has it.
    pub(crate) fn take(disk: &dyn Disk, layout: &DataLayout) -> Result<DataLock, OpenError> {
        let failed = |path: &Path, error: io::Error| OpenError::Io(format!("{}: {error}", path.display()));
        // The directory comes first: a process that cannot have it must not make a new file in place of one that was
        // removed, or the daemon that holds the directory would believe that it had been replaced.
        let root = File::open(&layout.root).map_err(|error| failed(&layout.root, error))?;
        match flock(&root, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(OpenError::Locked { pid: File::open(&layout.lock).ok().and_then(owner) });
            }
            // Some network file systems lock no directories; the file is what is left then.
            Err(error) => tracing::warn!(%error, "the data directory itself cannot be locked"),
        }
        let DiskFile { file, path } = disk.open(&layout.lock).map_err(|error| failed(&layout.lock, error))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(OpenError::Locked { pid: owner(file) }),
            Err(error) => return Err(failed(&path, error.into())),
        }
        let signed = DiskFile { file, path };
        let pid = format!("{}\n", std::process::id());
        let written = disk.truncate(&signed, 0).and_then(|()| disk.write_at(&signed, pid.as_bytes(), 0));
        if let Err(error) = written {
            tracing::warn!(%error, "the lock is held, but could not be signed with this process's id");
        }
        let lock = LockedPath { path: signed.path, file: signed.file };
        Ok(DataLock { root: LockedPath { path: layout.root.clone(), file: root }, lock })
    }

    /// Whether the names still lead to what was locked. Where another directory or another lock file has taken their
    /// place, another process may write there. A lock file that is only gone is no such sign: the directory is locked.
    pub(crate) fn holds(&self) -> bool {
        self.root.is_still_at_path() == Some(true) && self.lock.is_still_at_path() != Some(false)
    }
}

impl LockedPath {
    /// None when nothing has the name.
    fn is_still_at_path(&self) -> Option<bool> {
        let (named, held) = (std::fs::metadata(&self.path).ok()?, self.file.metadata().ok()?);
        Some((named.dev(), named.ino()) == (held.dev(), held.ino()))
    }
}

/// The process that wrote its id into the lock.
fn owner(file: File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
