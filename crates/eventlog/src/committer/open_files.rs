//! The files that the committer holds open: those used last.

use std::collections::HashMap;
use std::sync::Arc;

use ostler_types::SessionId;

use crate::disk::DiskFile;

/// Open files kept from group to group. One group may add as many sessions as it has requests, twice
/// (log and drafts), so that a limit of 1024 files for the process is enough.
const MAX_FILES: usize = 256;

/// Which file of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum LogFileKind {
    Log,
    Drafts,
}

#[derive(Debug, Default)]
pub(super) struct OpenLogFiles {
    open: HashMap<(SessionId, LogFileKind), (Arc<DiskFile>, u64)>,
    clock: u64,
}

impl OpenLogFiles {
    pub(super) fn get(&mut self, session: SessionId, kind: LogFileKind) -> Option<Arc<DiskFile>> {
        self.clock += 1;
        let (file, used) = self.open.get_mut(&(session, kind))?;
        *used = self.clock;
        Some(Arc::clone(file))
    }

    pub(super) fn put(&mut self, session: SessionId, kind: LogFileKind, file: DiskFile) -> Arc<DiskFile> {
        self.clock += 1;
        let file = Arc::new(file);
        self.open.insert((session, kind), (Arc::clone(&file), self.clock));
        file
    }

    /// Closes both files of a session.
    pub(super) fn close(&mut self, session: SessionId) {
        self.open.remove(&(session, LogFileKind::Log));
        self.open.remove(&(session, LogFileKind::Drafts));
    }

    /// Closes those that were not used for longest.
    pub(super) fn trim(&mut self) {
        if self.open.len() <= MAX_FILES {
            return;
        }
        let mut ages: Vec<u64> = self.open.values().map(|(_, used)| *used).collect();
        let surplus = ages.len() - MAX_FILES / 2;
        let (_, &mut oldest_kept, _) = ages.select_nth_unstable(surplus);
        self.open.retain(|_, (_, used)| *used >= oldest_kept);
    }
}
