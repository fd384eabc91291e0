//! The index of one machine: it queues writes for the writer, and asks the readers.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use futures_util::future::BoxFuture;
use ostler_types::{Session, SessionId};
use rusqlite::{OptionalExtension, params_from_iter};
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::list::{self, CheckedFilter};
use crate::readers::IndexReaders;
use crate::schema::{self, SEQ_BITS};
use crate::update::IndexWrite;
use crate::usage;
use crate::writer::{IndexWriter, IndexWriterRequest};
use crate::{
    Index, IndexError, IndexUpdate, ListFilter, OpenedIndex, SessionListing, UsageQuery, UsageReport,
};

/// How many writes may wait for the writer.
const QUEUE: usize = 1024;
/// How many bytes those may hold. One that is larger waits until it is alone.
const QUEUE_BYTES: usize = 16 << 20;

/// An index in a SQLite file. Dropping it commits what is queued.
pub struct SqliteIndex {
    requests: Option<mpsc::Sender<IndexWriterRequest>>,
    queue_permits: Arc<Semaphore>,
    readers: IndexReaders,
    lost: Arc<AtomicU64>,
    writer: Option<JoinHandle<()>>,
}

/// How much the index holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexCounts {
    /// Sessions.
    pub sessions: u64,
    /// Messages that can be searched.
    pub texts: u64,
}

impl SqliteIndex {
    /// Opens the index, in a time that does not depend on how much is in it. A file that cannot be used
    /// is moved aside to `<path>.bad-<n>` and replaced by an empty one.
    pub fn open(path: &Path) -> Result<(SqliteIndex, OpenedIndex), IndexError> {
        let (connection, opened) = schema::open(path)?;
        let (sender, receiver) = mpsc::channel(QUEUE);
        let lost = Arc::new(AtomicU64::new(0));
        let writer = IndexWriter::new(path, connection, lost.clone());
        let thread = std::thread::Builder::new()
            .name("index".to_owned())
            .spawn(move || writer.run(receiver))
            .map_err(|error| IndexError::Storage(format!("cannot start its thread: {error}")))?;
        let room = Arc::new(Semaphore::new(QUEUE_BYTES));
        let readers = IndexReaders::new(path);
        Ok((
            SqliteIndex { requests: Some(sender), queue_permits: room, readers, lost, writer: Some(thread) },
            opened,
        ))
    }

    /// How many updates were given up since opening, because writing failed for too long. When it grows,
    /// compare [`Index::position`] with the logs; otherwise the next opening asks for a rebuild.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Empties the index, damaged or not, so that it can be fed anew. Until [`Index::mark_rebuilt`] it opens
    /// as [`OpenedIndex::Empty`].
    pub async fn clear(&self) -> Result<(), IndexError> {
        let _alone = self.readers.exclusive().await?;
        self.request(IndexWriterRequest::Clear).await
    }

    /// How much there is. Reads through much of the file: for a doctor, not for every request.
    pub async fn counts(&self) -> Result<IndexCounts, IndexError> {
        self.wait_for_writes().await?;
        let question = |connection: &rusqlite::Connection| {
            let sql = format!(
                "SELECT (SELECT count(*) FROM sessions),
                        (SELECT count(*) FROM texts_docsize WHERE id & {} <> 0)",
                (1i64 << SEQ_BITS) - 1
            );
            let (sessions, texts): (i64, i64) =
                connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(IndexCounts { sessions: sessions.cast_unsigned(), texts: texts.cast_unsigned() })
        };
        self.readers.query(question).await
    }

    /// The id that a statement with these parameters finds first.
    async fn find(
        &self,
        sql: &'static str,
        parameters: Vec<String>,
    ) -> Result<Option<SessionId>, IndexError> {
        let question = move |connection: &rusqlite::Connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let id: Option<String> =
                statement.query_row(params_from_iter(parameters), |row| row.get(0)).optional()?;
            id.map(|id| id.parse().map_err(|error| IndexError::Damaged(format!("id {id}: {error}"))))
                .transpose()
        };
        self.readers.query(question).await
    }

    /// Waits for what is queued, but goes on without it when it cannot be written: an old answer is
    /// better than none, and the writer has said so in the daemon's log.
    async fn wait_for_writes(&self) -> Result<(), IndexError> {
        match self.flush().await {
            Err(IndexError::Stopped) => Err(IndexError::Stopped),
            Ok(()) | Err(IndexError::BadCursor | IndexError::Damaged(_) | IndexError::Storage(_)) => Ok(()),
        }
    }

    async fn write(&self, write: IndexWrite) -> Result<(), IndexError> {
        let bytes = u32::try_from(write.size().min(QUEUE_BYTES)).expect("the queue is smaller than 4 GiB");
        // A lost removal would leave a session that no log knows, so it is not kept waiting.
        let is_urgent = matches!(write, IndexWrite::Remove(_));
        let room = match self.queue_permits.clone().try_acquire_many_owned(bytes) {
            Ok(room) => room,
            Err(_) => {
                self.wake_writer();
                self.queue_permits.clone().acquire_many_owned(bytes).await.map_err(|_| IndexError::Stopped)?
            }
        };
        let is_filling = self.requests().capacity() <= QUEUE / 2;
        self.send(IndexWriterRequest::Write(write, room)).await?;
        if is_urgent || is_filling {
            self.wake_writer();
        }
        Ok(())
    }

    async fn request(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<(), IndexError>>) -> IndexWriterRequest,
    ) -> Result<(), IndexError> {
        let (done, result) = oneshot::channel();
        self.send(request(done)).await?;
        self.wake_writer();
        result.await.map_err(|_| IndexError::Stopped)?
    }

    async fn send(&self, request: IndexWriterRequest) -> Result<(), IndexError> {
        self.requests().send(request).await.map_err(|_| IndexError::Stopped)
    }

    fn requests(&self) -> &mpsc::Sender<IndexWriterRequest> {
        self.requests.as_ref().expect("the queue is open until the index is dropped")
    }

    /// Lets the writer gather no longer, if it does.
    fn wake_writer(&self) {
        if let Some(writer) = &self.writer {
            writer.thread().unpark();
        }
    }
}

impl Index for SqliteIndex {
    fn update(&self, update: IndexUpdate) -> BoxFuture<'_, Result<(), IndexError>> {
        Box::pin(self.write(IndexWrite::update(update)))
    }

    fn remove(&self, session: SessionId) -> BoxFuture<'_, Result<(), IndexError>> {
        Box::pin(self.write(IndexWrite::Remove(session)))
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), IndexError>> {
        Box::pin(self.request(IndexWriterRequest::Flush))
    }

    fn mark_rebuilt(&self) -> BoxFuture<'_, Result<(), IndexError>> {
        Box::pin(self.request(IndexWriterRequest::MarkRebuilt))
    }

    fn position(&self, session: SessionId) -> BoxFuture<'_, Result<u64, IndexError>> {
        let question = move |connection: &rusqlite::Connection| {
            let sql = "SELECT position FROM sessions WHERE id = ?1";
            let position: Option<i64> = connection
                .prepare_cached(sql)?
                .query_row([session.to_string()], |row| row.get(0))
                .optional()?;
            Ok(position.map_or(0, i64::cast_unsigned))
        };
        Box::pin(self.readers.query(question))
    }

    fn list(&self, filter: ListFilter) -> BoxFuture<'_, Result<SessionListing, IndexError>> {
        Box::pin(async move {
            let page = CheckedFilter::new(filter)?;
            self.wait_for_writes().await?;
            self.readers.query(move |connection| list::list(connection, &page)).await
        })
    }

    fn usage(&self, query: UsageQuery) -> BoxFuture<'_, Result<UsageReport, IndexError>> {
        Box::pin(async move {
            self.wait_for_writes().await?;
            self.readers.query(move |connection| usage::report(connection, &query)).await
        })
    }

    fn by_idempotency_key<'a>(
        &'a self,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<SessionId>, IndexError>> {
        const SQL: &str = "SELECT id FROM sessions WHERE idempotency_key = ?1 ORDER BY id LIMIT 1";
        Box::pin(async move {
            self.wait_for_writes().await?;
            self.find(SQL, vec![key.to_owned()]).await
        })
    }

    fn by_agent_session<'a>(
        &'a self,
        agent: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<SessionId>, IndexError>> {
        const SQL: &str = "SELECT id FROM sessions
                           WHERE session ->> 'agent_session_id' = ?1 AND session ->> 'agent' = ?2
                           ORDER BY id DESC LIMIT 1";
        Box::pin(async move {
            let parameters = vec![id.to_owned(), agent.to_owned()];
            if let Some(known) = self.find(SQL, parameters.clone()).await? {
                return Ok(Some(known));
            }
            self.wait_for_writes().await?;
            self.find(SQL, parameters).await
        })
    }

    fn by_name<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<SessionId>, IndexError>> {
        const SQL: &str = "SELECT id FROM sessions WHERE name = ?1 ORDER BY id LIMIT 1";
        Box::pin(self.find(SQL, vec![name.to_owned()]))
    }

    fn named_sessions<'a>(
        &'a self,
        after: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Session>, IndexError>> {
        let (after, limit) = (after.to_owned(), i64::try_from(limit).unwrap_or(i64::MAX));
        let question = move |connection: &rusqlite::Connection| {
            let sql = "SELECT session FROM sessions INDEXED BY by_name
                       WHERE name IS NOT NULL AND name > ?1 ORDER BY name, id LIMIT ?2";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map(rusqlite::params![after, limit], |row| row.get::<_, String>(0))?;
            let read = |json: String| {
                serde_json::from_str(&json)
                    .map_err(|error| IndexError::Damaged(format!("a session's row: {error}")))
            };
            rows.map(|row| read(row?)).collect()
        };
        Box::pin(async move {
            self.wait_for_writes().await?;
            self.readers.query(question).await
        })
    }
}

impl Drop for SqliteIndex {
    fn drop(&mut self) {
        self.readers.close();
        self.requests = None;
        self.wake_writer();
        if let Some(writer) = self.writer.take() {
            // A panic of the writer was reported when it happened.
            let _ = writer.join();
        }
    }
}

impl std::fmt::Debug for SqliteIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteIndex").field("lost", &self.lost()).finish_non_exhaustive()
    }
}
