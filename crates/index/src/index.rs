//! The handle that the engine holds: it queues writes for the writer, and asks the readers.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use ostler_types::{Session, SessionId};
use rusqlite::OptionalExtension;
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::list::{self, Page};
use crate::readers::Readers;
use crate::schema::{self, SEQ_BITS};
use crate::update::Write;
use crate::usage;
use crate::writer::{Request, Writer};
use crate::{Filter, IndexError, Listing, Opened, Update, UsageQuery, UsageReport};

/// How many writes may wait for the writer.
const QUEUE: usize = 1024;
/// How many bytes those may hold. One that is larger waits until it is alone.
const QUEUE_BYTES: usize = 16 << 20;

/// The list of all sessions, the search in what was said in them, and what they used. Dropping it commits what is queued.
pub struct Index {
    requests: Option<mpsc::Sender<Request>>,
    room: Arc<Semaphore>,
    readers: Readers,
    lost: Arc<AtomicU64>,
    writer: Option<JoinHandle<()>>,
}

/// How much the index holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Sessions.
    pub sessions: u64,
    /// Messages that can be searched.
    pub texts: u64,
}

impl Index {
    /// Opens the index, in a time that does not depend on how much is in it. A file that cannot be used
    /// is moved aside to `<path>.bad-<n>` and replaced by an empty one.
    pub fn open(path: &Path) -> Result<(Index, Opened), IndexError> {
        let (connection, opened) = schema::open(path)?;
        let (sender, receiver) = mpsc::channel(QUEUE);
        let lost = Arc::new(AtomicU64::new(0));
        let writer = Writer::new(path, connection, lost.clone());
        let thread = std::thread::Builder::new()
            .name("index".to_owned())
            .spawn(move || writer.run(receiver))
            .map_err(|error| IndexError::Storage(format!("cannot start its thread: {error}")))?;
        let room = Arc::new(Semaphore::new(QUEUE_BYTES));
        let readers = Readers::new(path);
        Ok((Index { requests: Some(sender), room, readers, lost, writer: Some(thread) }, opened))
    }

    /// Queues an update, waiting for room in the queue. Updates of one session are applied in the order in
    /// which they were queued; one that brings nothing new changes nothing.
    pub async fn update(&self, update: Update) -> Result<(), IndexError> {
        self.write(Write::update(update)).await
    }

    /// Queues the removal of a session and of all that was said and used in it.
    pub async fn remove(&self, session: SessionId) -> Result<(), IndexError> {
        self.write(Write::Remove(session)).await
    }

    /// Returns once everything queued before is committed; with the reason when it cannot be. What
    /// could not be committed is kept, and tried again at the next call or after some more updates.
    pub async fn flushed(&self) -> Result<(), IndexError> {
        self.demand(Request::Flush).await
    }

    /// How many updates were given up since opening, because writing failed for too long. When it grows,
    /// compare [`Index::position`] with the logs; otherwise the next opening asks for a rebuild.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Empties the index, damaged or not, so that it can be fed anew. Until [`Index::rebuilt`] it opens
    /// as [`Opened::Empty`].
    pub async fn clear(&self) -> Result<(), IndexError> {
        let _alone = self.readers.alone().await?;
        self.demand(Request::Clear).await
    }

    /// Notes that every log has been fed, so that the next opening does not ask for it again.
    pub async fn rebuilt(&self) -> Result<(), IndexError> {
        self.demand(Request::Rebuilt).await
    }

    /// Up to which record all that a session's log says is committed; 0 when the session is not known.
    /// Updates that still wait do not count.
    pub async fn position(&self, session: SessionId) -> Result<u64, IndexError> {
        let question = move |connection: &rusqlite::Connection| {
            let sql = "SELECT position FROM sessions WHERE id = ?1";
            let position: Option<i64> = connection
                .prepare_cached(sql)?
                .query_row([session.to_string()], |row| row.get(0))
                .optional()?;
            Ok(position.map_or(0, i64::cast_unsigned))
        };
        self.readers.ask(question).await
    }

    /// The sessions that pass the filter, those with the newest activity first. Sees every update queued
    /// before the call, unless writing fails: then it shows what there is.
    pub async fn list(&self, filter: Filter) -> Result<Listing, IndexError> {
        let page = Page::new(filter)?;
        self.settle().await?;
        self.readers.ask(move |connection| list::list(connection, &page)).await
    }

    /// What models were used for, summed up. Takes as long as there are answers in the time that is asked
    /// for. Sees every update queued before the call, unless writing fails: then it shows what there is.
    pub async fn usage(&self, query: UsageQuery) -> Result<UsageReport, IndexError> {
        self.settle().await?;
        self.readers.ask(move |connection| usage::report(connection, &query)).await
    }

    /// The session that was made under this key; the first one if there are several.
    pub async fn by_idempotency_key(&self, key: &str) -> Result<Option<SessionId>, IndexError> {
        self.settle().await?;
        let key = key.to_owned();
        let question = move |connection: &rusqlite::Connection| {
            let sql = "SELECT id FROM sessions WHERE idempotency_key = ?1 ORDER BY id LIMIT 1";
            let id: Option<String> =
                connection.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional()?;
            id.map(|id| id.parse().map_err(|error| IndexError::Damaged(format!("id {id}: {error}"))))
                .transpose()
        };
        self.readers.ask(question).await
    }

    /// The session that an agent knows by an id of its own; the newest one if there are several. Who has just been told
    /// that id may ask at once: where nothing is found, what has not been written yet is waited for.
    pub async fn by_agent_session(&self, agent: &str, id: &str) -> Result<Option<SessionId>, IndexError> {
        if let Some(known) = self.written_by_agent_session(agent, id).await? {
            return Ok(Some(known));
        }
        self.settle().await?;
        self.written_by_agent_session(agent, id).await
    }

    async fn written_by_agent_session(&self, agent: &str, id: &str) -> Result<Option<SessionId>, IndexError> {
        let (agent, id) = (agent.to_owned(), id.to_owned());
        let question = move |connection: &rusqlite::Connection| {
            let sql = "SELECT id FROM sessions
                       WHERE session ->> 'agent_session_id' = ?1 AND session ->> 'agent' = ?2
                       ORDER BY id DESC LIMIT 1";
            let id: Option<String> =
                connection.prepare_cached(sql)?.query_row([id, agent], |row| row.get(0)).optional()?;
            id.map(|id| id.parse().map_err(|error| IndexError::Damaged(format!("id {id}: {error}"))))
                .transpose()
        };
        self.readers.ask(question).await
    }

    /// The open session of this name; the first one if there are several. What has not been written yet is not
    /// waited for.
    pub async fn by_name(&self, name: &str) -> Result<Option<SessionId>, IndexError> {
        let name = name.to_owned();
        let question = move |connection: &rusqlite::Connection| {
            let sql = "SELECT id FROM sessions WHERE name = ?1 ORDER BY id LIMIT 1";
            let id: Option<String> =
                connection.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()?;
            id.map(|id| id.parse().map_err(|error| IndexError::Damaged(format!("id {id}: {error}"))))
                .transpose()
        };
        self.readers.ask(question).await
    }

    /// The open sessions that have a name, in the order of their names: those after `after`, at most `limit`.
    pub async fn named(&self, after: &str, limit: usize) -> Result<Vec<Session>, IndexError> {
        self.settle().await?;
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
        self.readers.ask(question).await
    }

    /// How much there is. Reads through much of the file: for a doctor, not for every request.
    pub async fn counts(&self) -> Result<Counts, IndexError> {
        self.settle().await?;
        let question = |connection: &rusqlite::Connection| {
            let sql = format!(
                "SELECT (SELECT count(*) FROM sessions),
                        (SELECT count(*) FROM texts_docsize WHERE id & {} <> 0)",
                (1i64 << SEQ_BITS) - 1
            );
            let (sessions, texts): (i64, i64) =
                connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(Counts { sessions: sessions.cast_unsigned(), texts: texts.cast_unsigned() })
        };
        self.readers.ask(question).await
    }

    /// Waits for what is queued, but goes on without it when it cannot be written: an old answer is
    /// better than none, and the writer has said so in the daemon's log.
    async fn settle(&self) -> Result<(), IndexError> {
        match self.flushed().await {
            Err(IndexError::Stopped) => Err(IndexError::Stopped),
            Ok(()) | Err(IndexError::BadCursor | IndexError::Damaged(_) | IndexError::Storage(_)) => Ok(()),
        }
    }

    async fn write(&self, write: Write) -> Result<(), IndexError> {
        let bytes = u32::try_from(write.size().min(QUEUE_BYTES)).expect("the queue is smaller than 4 GiB");
        let room = self.room.clone().acquire_many_owned(bytes).await.map_err(|_| IndexError::Stopped)?;
        self.send(Request::Write(write, room)).await
    }

    async fn demand(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<(), IndexError>>) -> Request,
    ) -> Result<(), IndexError> {
        let (done, result) = oneshot::channel();
        self.send(request(done)).await?;
        result.await.map_err(|_| IndexError::Stopped)?
    }

    async fn send(&self, request: Request) -> Result<(), IndexError> {
        let requests = self.requests.as_ref().expect("the queue is open until the index is dropped");
        requests.send(request).await.map_err(|_| IndexError::Stopped)
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.readers.close();
        self.requests = None;
        if let Some(writer) = self.writer.take() {
            // A panic of the writer was reported when it happened.
            let _ = writer.join();
        }
    }
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("lost", &self.lost()).finish_non_exhaustive()
    }
}
