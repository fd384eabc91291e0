//! The contract of a log: what the engine may ask of storage, and the words that both use for it.
//!
//! Nothing here knows of files. [`crate::FileLog`] is the implementation for one machine.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ostler_types::{Delta, EventName, NewRecord, Record, SessionId, TurnId};
use tokio::sync::watch;

use crate::sealed_line::{LineHeader, RecordChain};

/// Keeps the logs of all sessions, and decides by itself what is true.
///
/// An implementation is shared by every session; each of its methods may be called at any time, from
/// any task. Futures may be dropped: what was handed to [`Log::append`] is then written or not, but
/// never in part.
pub trait Log: Send + Sync + 'static {
    /// Takes ownership of a session, which may not exist yet. A later claim makes the epochs before it void.
    ///
    /// Claim first and read afterwards: what was read before the claim may be behind what another owner
    /// appended in between.
    fn claim(&self, session: SessionId) -> BoxFuture<'_, Result<Claim, LogError>>;

    /// Gives ownership up. `rested` says that no turn is open and the views hold all of the session, so that
    /// nobody has to look at it after a crash. Void when the epoch is.
    fn release(&self, session: SessionId, epoch: Epoch, rested: bool) -> BoxFuture<'_, Result<(), LogError>>;

    /// Appends records as `expected_seq` and after, all or nothing, and returns once they are on disk.
    /// The first append makes the session (`expected_seq` 1).
    fn append(
        &self,
        session: SessionId,
        epoch: Epoch,
        expected_seq: u64,
        records: Vec<NewRecord>,
    ) -> BoxFuture<'_, Result<Vec<LogLine>, LogError>>;

    /// Appends lines of the same session that another log sealed, byte for byte, all or nothing. They must follow
    /// what is there: each line is proven by its chain first.
    fn append_sealed(
        &self,
        session: SessionId,
        epoch: Epoch,
        lines: Vec<LogLine>,
    ) -> BoxFuture<'_, Result<(), LogError>>;

    /// Says that a session is about to be made by several appends. Until [`Log::finish_creation`] a crash leaves nothing
    /// of it.
    fn begin_creation(&self, session: SessionId, epoch: Epoch) -> BoxFuture<'_, Result<(), LogError>>;

    /// Says that a session which was begun is whole.
    fn finish_creation(&self, session: SessionId, epoch: Epoch) -> BoxFuture<'_, Result<(), LogError>>;

    /// Says that a session that is about to be made belongs into the folder of another one. Its first append
    /// makes it there; it is found by its id all the same, and removed with the other one.
    fn create_under(&self, session: SessionId, parent: SessionId) -> BoxFuture<'_, Result<(), LogError>>;

    /// The sessions in the folder of this one, in no order.
    fn sessions_under(&self, parent: SessionId) -> BoxFuture<'_, Result<Vec<SessionId>, LogError>>;

    /// Reads records from `from` on, in order, about `limit_bytes` of them and at least one if there
    /// is one. Only what has been appended is ever read, never a write in progress.
    fn read(
        &self,
        session: SessionId,
        from: u64,
        limit_bytes: usize,
    ) -> BoxFuture<'_, Result<Vec<LogLine>, LogError>>;

    /// The newest record's seq; 0 when the session does not exist.
    fn last_seq(&self, session: SessionId) -> BoxFuture<'_, Result<u64, LogError>>;

    /// Whether anything of a session is kept, even where its records are gone.
    fn has_session(&self, session: SessionId) -> BoxFuture<'_, Result<bool, LogError>>;

    /// Keeps text that streams, so that a crash loses little of it. Returns at once; a draft that
    /// cannot be written is lost and said so in the daemon's own log. One of a void epoch is dropped.
    fn save_draft(&self, session: SessionId, epoch: Epoch, turn: TurnId, delta: Delta);

    /// The drafts kept since the session's last record that finished a message, oldest first.
    fn drafts(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<(TurnId, Delta)>, LogError>>;

    /// Keeps a snapshot of the session's state in place of the one before. It is a cache: after a power failure it
    /// may be old or damaged, so its reader must be able to tell.
    fn save_snapshot(
        &self,
        session: SessionId,
        epoch: Epoch,
        content: Bytes,
    ) -> BoxFuture<'_, Result<(), LogError>>;

    /// The snapshot that was kept last.
    fn snapshot(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Bytes>, LogError>>;

    /// Keeps a file beside a session's log, whole or not at all, and returns once it is on disk.
    fn put_blob(
        &self,
        session: SessionId,
        name: String,
        content: Bytes,
        put: BlobWrite,
    ) -> BoxFuture<'_, Result<(), LogError>>;

    /// Opens such a file.
    fn open_blob(&self, session: SessionId, name: String) -> BoxFuture<'_, Result<Arc<dyn Blob>, LogError>>;

    /// The files whose names begin with `folder`, which ends with a slash, in the order of their names; `limit` of
    /// them at most. A session without such files has none.
    fn list_blobs(
        &self,
        session: SessionId,
        folder: String,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<BlobEntry>, LogError>>;

    /// Gives another session such a file, too, under the same name. One that it has already stays.
    fn share_blob(&self, from: SessionId, to: SessionId, name: String)
    -> BoxFuture<'_, Result<(), LogError>>;

    /// The sessions after this one, in the order of their ids; `limit` of them at most.
    fn sessions(
        &self,
        after: Option<SessionId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<SessionId>, LogError>>;

    /// The sessions that were appended to and not released as rested: after a crash, those that need a look.
    fn unsettled(&self) -> BoxFuture<'_, Result<Vec<SessionId>, LogError>>;

    /// Removes a session and all that lies beside it.
    fn remove(&self, session: SessionId, epoch: Epoch) -> BoxFuture<'_, Result<(), LogError>>;

    /// Reads the records of all sessions in the order in which they were appended, from a position on.
    fn read_feed(&self, from: FeedPosition, limit: usize)
    -> BoxFuture<'_, Result<Vec<FeedRecord>, LogError>>;

    /// The end of that order; changes with each append. A hint: reading tells what is there.
    fn feed_end(&self) -> watch::Receiver<FeedPosition>;
}

/// A file beside a session's log that can be read. It stays readable when its session is removed meanwhile.
pub trait Blob: Send + Sync {
    /// Its length in bytes.
    fn size(&self) -> u64;

    /// Reads from an offset, `limit` bytes at most; nothing at the end.
    fn read(&self, offset: u64, limit: usize) -> BoxFuture<'_, Result<Bytes, LogError>>;
}

/// A file in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobEntry {
    /// Its name, with the folders before it.
    pub name: String,
    /// Its length in bytes.
    pub size: u64,
}

/// Who keeps a file beside a log, and whether it may replace another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobWrite {
    /// Anybody, under a name that is free: otherwise [`LogError::Exists`].
    New,
    /// The owner, in place of a file of the same name.
    Owned(Epoch),
}

/// The number of a claim. Fences out an owner that has lost the session to a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch(pub u64);

/// Ownership of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// Goes with everything that the owner writes.
    pub epoch: Epoch,
    /// The newest record that could be read when it was claimed; 0 when the session does not exist.
    pub last_seq: u64,
}

/// A place in the order of all records of all sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FeedPosition(pub u64);

/// A record with its place in the order of all records.
#[derive(Debug, Clone)]
pub struct FeedRecord {
    /// The position after it: where reading goes on.
    pub next: FeedPosition,
    /// The session.
    pub session_id: SessionId,
    /// The record.
    pub line: LogLine,
}

/// A record as it stands on disk, without its line feed. Clients are shown these very bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Its seq.
    pub seq: u64,
    /// Its bytes: one JSON object, `chain` included.
    pub bytes: Bytes,
}

impl LogLine {
    /// The name of the event in it, found by the fixed order of the members instead of by parsing the
    /// whole line; none when these are not the bytes of a record that this version knows.
    pub fn name(&self) -> Option<EventName> {
        LineHeader::parse(&self.bytes)?.name.parse().ok()
    }

    /// The same as it stands there, for those who hand it on; empty when these are not the bytes of a record.
    pub fn event_type(&self) -> &str {
        LineHeader::parse(&self.bytes).map_or("", |header| header.name)
    }

    /// The chain that it ends with, which stands for it and for every record before it; empty when these are not the
    /// bytes of a record.
    pub fn chain(&self) -> &str {
        let chain = RecordChain::claimed(&self.bytes)
            .map(|_| &self.bytes[self.bytes.len() - 18..self.bytes.len() - 2]);
        chain.and_then(|digits| std::str::from_utf8(digits).ok()).unwrap_or_default()
    }

    /// The record in it.
    pub fn record(&self) -> Result<Record, serde_json::Error> {
        serde_json::from_slice(&self.bytes)
    }
}

/// What can go wrong with a log.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LogError {
    /// There is no such session.
    #[error("no such session")]
    NotFound,
    /// Somebody else appended first.
    #[error("the log has moved on: expected to write record {expected}, but the next one is {next}")]
    Conflict {
        /// What the caller expected.
        expected: u64,
        /// What would be next.
        next: u64,
    },
    /// Another node owns the session and is alive, so it cannot be claimed.
    #[error("the session is owned by node {node}")]
    Owned {
        /// That node.
        node: String,
    },
    /// This process owned the session, and another owner has claimed it since. Nothing was written.
    #[error("this process no longer owns the session")]
    Fenced,
    /// It is not known whether the records were written: the connection to the storage was lost. The owner must give the
    /// session up and read it again.
    #[error("the connection to the storage was lost while writing")]
    Lost,
    /// Another session has the same idempotency key, or else the same name.
    #[error("session {by} has it already")]
    Taken {
        /// That session.
        by: SessionId,
    },
    /// The session has a file of that name.
    #[error("a file of that name is there already")]
    Exists,
    /// A record is larger than a log takes.
    #[error("a record of {size} bytes is larger than the limit of {limit}")]
    TooLarge {
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// The log is damaged from this record on. What is before it can be read; nothing can be appended.
    #[error("the log is damaged at record {seq}{}: {what}", .offset.map(|offset| format!(" (byte {offset})")).unwrap_or_default())]
    Damaged {
        /// The first record that cannot be trusted.
        seq: u64,
        /// Where it begins in the file, if that is known.
        offset: Option<u64>,
        /// What is wrong with it.
        what: String,
    },
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// The disk failed.
    #[error("the disk failed: {0}")]
    Io(String),
}
