//! The committer: the one thread that writes logs, drafts, markers and the feed.
//!
//! It takes all that waits as one group: stages it, writes each file once, syncs, and only then tells the
//! callers. Nothing is retried here: a failed write is taken back, a failed sync makes its logs suspect,
//! and the callers are told.

mod group;
mod maintenance;
mod open_files;
mod open_log;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use ostler_types::SessionId;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use crate::check::SalvageReport;
use crate::log::{Epoch, LogError, LogLine};
use crate::shared::FileLogShared;

use group::CommitGroup;
use open_files::OpenLogFiles;

/// The epoch of the only owner that a locked data directory can have.
pub(crate) const EPOCH: Epoch = Epoch(1);
/// The most that one group takes.
const MAX_REQUESTS: usize = 256;
const MAX_BYTES: usize = 16 << 20;

/// Where an answer goes. The caller may be gone; then nobody needs it.
pub(crate) type LogReply<T> = oneshot::Sender<Result<T, LogError>>;

/// All that the committer can be asked to do.
pub(crate) enum CommitRequest {
    /// Append records.
    Append(AppendRequest),
    /// Keep a line of drafts.
    Draft { session: SessionId, line: Vec<u8>, _room: OwnedSemaphorePermit },
    /// Remove a session's marker.
    Settle { session: SessionId, reply: LogReply<()> },
    /// Note that a session is being made by several appends, or that it is whole.
    SetUnfinished { session: SessionId, unfinished: bool, reply: LogReply<()> },
    /// Make the folder of a new session inside that of another one.
    CreateNested { session: SessionId, parent: SessionId, reply: LogReply<()> },
    /// Move a session out of sight; the answer says where to, for it to be deleted.
    Remove { session: SessionId, reply: LogReply<PathBuf> },
    /// Repair the feed, if it is broken.
    RepairFeed { reply: LogReply<()> },
    /// Save what is good of a damaged log.
    Salvage { session: SessionId, reply: LogReply<SalvageReport> },
}

/// Records to append.
pub(crate) struct AppendRequest {
    pub(crate) session: SessionId,
    pub(crate) epoch: Epoch,
    pub(crate) expected_seq: u64,
    /// The records as JSON, with their seqs, without their chains; at least one.
    pub(crate) records: Vec<Vec<u8>>,
    /// Whether they hold the end of a message, which makes the drafts before it needless.
    pub(crate) ends_message: bool,
    pub(crate) reply: LogReply<Vec<LogLine>>,
    /// Its part of what may wait.
    pub(crate) _room: OwnedSemaphorePermit,
}

/// The committer's state. Lives on its thread.
pub(crate) struct Committer {
    shared: Arc<FileLogShared>,
    requests: mpsc::Receiver<CommitRequest>,
    files: OpenLogFiles,
    /// The sessions whose markers are on disk.
    marked: HashSet<SessionId>,
    /// Those that are being made by several appends.
    unfinished: HashSet<SessionId>,
}

impl Committer {
    pub(crate) fn new(
        shared: Arc<FileLogShared>,
        requests: mpsc::Receiver<CommitRequest>,
        marked: HashSet<SessionId>,
    ) -> Committer {
        Committer { shared, requests, files: OpenLogFiles::default(), marked, unfinished: HashSet::new() }
    }

    /// Works until nobody can ask for anything any more.
    pub(crate) fn run(mut self) {
        while let Some(first) = self.requests.blocking_recv() {
            let mut group = CommitGroup::default();
            let mut next = Some(first);
            for _ in 0..MAX_REQUESTS {
                let Some(request) = next.take() else { break };
                self.take(&mut group, request);
                if group.size >= MAX_BYTES {
                    break;
                }
                next = self.requests.try_recv().ok();
            }
            if let Some(request) = next {
                self.take(&mut group, request);
            }
            self.commit(group);
            self.files.trim();
            self.shared.heads.trim();
        }
    }

    /// Adds a request to the group. What is no append, draft or settling ends the group first: requests take effect in
    /// the order in which they came. Sessions settle after all that the group appends, so a session to which something
    /// is appended later ends the group, too.
    fn take(&mut self, group: &mut CommitGroup, request: CommitRequest) {
        match request {
            CommitRequest::Append(append) => {
                if group.settles(append.session) {
                    self.commit(std::mem::take(group));
                }
                self.stage(group, append);
            }
            CommitRequest::Draft { session, line, _room } => {
                if group.ends_message(session) || group.settles(session) {
                    self.commit(std::mem::take(group));
                }
                group.add_draft(session, &line);
            }
            CommitRequest::Settle { session, reply } => group.add_settling(session, reply),
            CommitRequest::SetUnfinished { session, unfinished, reply } => {
                self.commit(std::mem::take(group));
                let _ = reply.send(self.set_unfinished(session, unfinished));
            }
            CommitRequest::CreateNested { session, parent, reply } => {
                self.commit(std::mem::take(group));
                let _ = reply.send(self.create_nested(session, parent));
            }
            CommitRequest::Remove { session, reply } => {
                self.commit(std::mem::take(group));
                let _ = reply.send(self.remove(session));
            }
            CommitRequest::RepairFeed { reply } => {
                self.commit(std::mem::take(group));
                let _ = reply.send(self.repair_feed());
            }
            CommitRequest::Salvage { session, reply } => {
                self.commit(std::mem::take(group));
                let _ = reply.send(self.salvage(session));
            }
        }
    }

    fn stage(&mut self, group: &mut CommitGroup, append: AppendRequest) {
        let result = self.open_for(group, &append).and_then(|index| group.stage(index, &append));
        match result {
            Ok(staged) => group.add_waiter(staged, append.reply),
            Err(error) => {
                let _ = append.reply.send(Err(error));
            }
        }
    }

    /// The place in the group of the append's session, opened if need be.
    fn open_for(&mut self, group: &mut CommitGroup, append: &AppendRequest) -> Result<usize, LogError> {
        if append.epoch != EPOCH {
            return Err(LogError::Fenced);
        }
        if let Some(damage) = self.shared.quarantine.known(append.session) {
            return Err(damage.into());
        }
        match group.find(append.session) {
            Some(index) => Ok(index),
            None => {
                let (file, head) = self.open(append.session, append.expected_seq)?;
                Ok(group.add(append.session, file, head))
            }
        }
    }
}
