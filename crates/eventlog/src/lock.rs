//! The lock that makes one process the only writer of a data directory.
//!
//! The kernel drops it with the process, so that a crash leaves none behind.

use std::io::{self, Read};

use rustix::fs::{FlockOperation, flock};

use crate::disk::{Disk, DiskFile};
use crate::file_log::OpenError;
use crate::layout::Layout;

/// The held lock; released when dropped.
#[derive(Debug)]
pub(crate) struct DataLock {
    _file: DiskFile,
}

impl DataLock {
    /// Takes the lock, or says who has it.
    pub(crate) fn take(disk: &dyn Disk, layout: &Layout) -> Result<DataLock, OpenError> {
        let failed = |error: io::Error| OpenError::Io(format!("{}: {error}", layout.lock.display()));
        let file = disk.open(&layout.lock).map_err(failed)?;
        match flock(&file.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(OpenError::Locked { pid: owner(&file) }),
            Err(error) => return Err(failed(error.into())),
        }
        let pid = format!("{}\n", std::process::id());
        let written = disk.truncate(&file, 0).and_then(|()| disk.write_at(&file, pid.as_bytes(), 0));
        if let Err(error) = written {
            tracing::warn!(%error, "the lock is held, but could not be signed with this process's id");
        }
        Ok(DataLock { _file: file })
    }
}

/// The process that wrote its id into the lock.
fn owner(file: &DiskFile) -> Option<u32> {
    let mut text = String::new();
    (&file.file).take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
