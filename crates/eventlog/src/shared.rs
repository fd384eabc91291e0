//! What the committer and the readers share. Neither waits for the other: each part of it is locked
//! for a moment only.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::disk::Disk;
use crate::feed::Feed;
use crate::layout::DataLayout;
use crate::lock::DataLock;
use crate::log::LogError;
use crate::log_heads::LogHeads;
use crate::quarantine::Quarantine;

/// The parts of an open data directory. The lock is among them, so that it is held for as long as
/// anybody can still write.
pub(crate) struct FileLogShared {
    pub(crate) layout: DataLayout,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) heads: LogHeads,
    pub(crate) quarantine: Quarantine,
    pub(crate) feed: Feed,
    pub(crate) bytes_read: AtomicU64,
    pub(crate) lock: DataLock,
}

/// Says in the log's words what the disk said.
pub(crate) fn disk_error(what: &str, error: &io::Error) -> LogError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => LogError::Full,
        _ => LogError::Io(format!("{what}: {error}")),
    }
}
