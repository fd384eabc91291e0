//! The thread that writes. It gathers updates for a moment, commits all that waits in one transaction, keeps what it
//! could not commit, and goes on whatever happens to the disk.
//!
//! A commit writes some twenty pages, however little is in it: one that takes the updates of a whole turn, and of all
//! sessions that are busy meanwhile, costs as much as one that takes a single update. Nobody sees the delay: every
//! question that must know what was queued before asks for a flush, which ends the gathering.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use crate::apply::apply;
use crate::update::IndexWrite;
use crate::{IndexError, schema};

/// How many requests are taken together.
const MAX_GROUP: usize = 256;
/// How long an update waits for others, unless the thread is unparked.
const COMMIT_DELAY: Duration = Duration::from_millis(750);
/// How many writes are kept while none can be committed.
const MAX_KEPT_WRITES: usize = 4096;
/// How many bytes those may hold.
const MAX_KEPT_BYTES: usize = 32 << 20;
/// After a failure nothing is tried before so many further writes, unless somebody waits for it.
const RETRY_AFTER_WRITES: usize = 64;

/// What the writer can be asked for.
pub(crate) enum IndexWriterRequest {
    /// To write, some time soon. The permit is its room in the queue.
    Write(IndexWrite, OwnedSemaphorePermit),
    /// To say when everything before is committed.
    Flush(oneshot::Sender<Result<(), IndexError>>),
    /// To begin anew with an empty file, which nobody else has open.
    Clear(oneshot::Sender<Result<(), IndexError>>),
    /// To note that the index is complete.
    MarkRebuilt(oneshot::Sender<Result<(), IndexError>>),
}

pub(crate) struct IndexWriter {
    path: PathBuf,
    /// None after the file could not be made again; then each attempt to write tries to.
    connection: Option<Connection>,
    /// What is not committed yet, oldest first.
    waiting: Vec<IndexWrite>,
    /// Why the last attempt failed, if it did.
    failure: Option<IndexError>,
    /// How many writes wait before the next attempt, after a failure.
    retry_at: usize,
    lost: Arc<AtomicU64>,
    /// Whether the file is still to be marked as incomplete.
    incomplete: bool,
}

impl IndexWriter {
    pub(crate) fn new(path: &Path, connection: Connection, lost: Arc<AtomicU64>) -> IndexWriter {
        IndexWriter {
            path: path.to_owned(),
            connection: Some(connection),
            waiting: Vec::new(),
            failure: None,
            retry_at: 0,
            lost,
            incomplete: false,
        }
    }

    /// Serves requests until nobody can make any more. Who cannot wait unparks the thread after sending.
    pub(crate) fn run(mut self, mut requests: mpsc::Receiver<IndexWriterRequest>) {
        while let Some(first) = requests.blocking_recv() {
            if matches!(first, IndexWriterRequest::Write(IndexWrite::Update(_), _)) && may_gather(&requests) {
                // A wake-up that came too early or twice only makes this group smaller.
                thread::park_timeout(COMMIT_DELAY);
            }
            let mut flushes = Vec::new();
            let mut next = Some(first);
            let mut taken = 0;
            while let Some(request) = next {
                self.take(request, &mut flushes);
                taken += 1;
                next = if taken < MAX_GROUP { requests.try_recv().ok() } else { None };
            }
            if !flushes.is_empty() || self.waiting.len() >= self.retry_at {
                self.commit_waiting();
            }
            for done in flushes {
                let _ = done.send(self.failure.clone().map_or(Ok(()), Err));
            }
        }
        self.commit_waiting();
    }

    fn take(
        &mut self,
        request: IndexWriterRequest,
        flushes: &mut Vec<oneshot::Sender<Result<(), IndexError>>>,
    ) {
        match request {
            IndexWriterRequest::Write(write, _room) => self.waiting.push(write),
            IndexWriterRequest::Flush(done) => flushes.push(done),
            IndexWriterRequest::Clear(done) => {
                let _ = done.send(self.clear());
            }
            IndexWriterRequest::MarkRebuilt(done) => {
                self.commit_waiting();
                let result = match &self.failure {
                    Some(error) => Err(error.clone()),
                    None => self.mark_complete(),
                };
                let _ = done.send(result);
            }
        }
    }

    /// Commits all that waits, or keeps it and the reason why not.
    fn commit_waiting(&mut self) {
        // In the order of ids, which is nearly the order of rowids: FTS5 writes a segment whenever they go back.
        // The sort is stable, so each session's own order stays.
        self.waiting.sort_by_key(IndexWrite::session);
        self.waiting.dedup_by(|next, write| write.merge(next));
        let failure = self.commit().err();
        if failure.is_none() {
            self.waiting.clear();
            self.retry_at = 0;
        } else {
            self.bound_waiting();
            self.retry_at = self.waiting.len() + RETRY_AFTER_WRITES;
        }
        match (&self.failure, &failure) {
            (None, Some(error)) => tracing::warn!(%error, "the index falls behind"),
            (Some(_), None) => tracing::info!("the index is written again"),
            (None, None) | (Some(_), Some(_)) => {}
        }
        self.failure = failure;
    }

    /// Commits in one transaction. A write that can never succeed is left out, so that it does not
    /// hold up the others.
    fn commit(&mut self) -> Result<(), IndexError> {
        while !self.waiting.is_empty() || self.incomplete {
            let incomplete = self.incomplete;
            let connection = open_again(&mut self.connection, &self.path)?;
            match commit_all(connection, &self.waiting, incomplete) {
                Ok(()) => {
                    self.incomplete = false;
                    return Ok(());
                }
                Err((Some(at), error)) if !is_transient(&error) => {
                    let write = self.waiting.remove(at);
                    tracing::error!(session = %write.session(), %error, "an update cannot be indexed");
                    self.count_lost(1);
                }
                Err((_, error)) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Gives up updates when too much is kept, those of the oldest sessions first. Positions stay true, since
    /// the updates after a lost one do not connect to what is stored. Removals are small, and a lost one
    /// would leave a session that no log knows, so they go only when there is nothing else.
    fn bound_waiting(&mut self) {
        let before = self.waiting.len();
        let mut count = before;
        let mut bytes: usize = self.waiting.iter().map(IndexWrite::size).sum();
        let mut fits = |write: &IndexWrite| {
            let fits = count <= MAX_KEPT_WRITES && bytes <= MAX_KEPT_BYTES;
            if !fits {
                count -= 1;
                bytes -= write.size();
            }
            fits
        };
        self.waiting.retain(|write| matches!(write, IndexWrite::Remove(_)) || fits(write));
        self.waiting.truncate(MAX_KEPT_WRITES);
        let lost = before - self.waiting.len();
        if lost > 0 {
            self.count_lost(lost);
        }
    }

    fn count_lost(&mut self, writes: usize) {
        self.lost.fetch_add(writes as u64, Ordering::Relaxed);
        self.incomplete = true;
    }

    fn clear(&mut self) -> Result<(), IndexError> {
        self.waiting.clear();
        self.failure = None;
        self.retry_at = 0;
        self.incomplete = false;
        self.connection = None;
        schema::delete(&self.path)?;
        open_again(&mut self.connection, &self.path).map(|_| ())
    }

    fn mark_complete(&mut self) -> Result<(), IndexError> {
        let connection = open_again(&mut self.connection, &self.path)?;
        connection.execute("UPDATE rebuild SET complete = 1", [])?;
        Ok(())
    }
}

/// Whether it is worth waiting for more to commit.
fn may_gather(requests: &mpsc::Receiver<IndexWriterRequest>) -> bool {
    requests.len() < MAX_GROUP && !requests.is_closed()
}

fn open_again<'a>(
    connection: &'a mut Option<Connection>,
    path: &Path,
) -> Result<&'a mut Connection, IndexError> {
    match connection {
        Some(connection) => Ok(connection),
        None => Ok(connection.insert(schema::open(path)?.0)),
    }
}

/// On failure says which write failed, unless it was the transaction itself.
fn commit_all(
    connection: &mut Connection,
    writes: &[IndexWrite],
    incomplete: bool,
) -> Result<(), (Option<usize>, rusqlite::Error)> {
    let whole = |error| (None, error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(whole)?;
    for (at, write) in writes.iter().enumerate() {
        apply(&transaction, write).map_err(|error| (Some(at), error))?;
    }
    if incomplete {
        transaction.execute("UPDATE rebuild SET complete = 0", []).map_err(whole)?;
    }
    transaction.commit().map_err(whole)
}

/// Whether the failure is the disk's or the file's, so that the same write may succeed another time.
fn is_transient(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(code) => !matches!(
            code,
            ErrorCode::ConstraintViolation
                | ErrorCode::TypeMismatch
                | ErrorCode::TooBig
                | ErrorCode::ParameterOutOfRange
        ),
        None => false,
    }
}
