//! Keeps the views of many sessions in step with their logs, on a thread of its own, so that no turn ever waits
//! for them.
//!
//! It is told that there is more, and reads for itself what: a hint may be lost, doubled or late, and the views
//! are behind for a while at worst. What goes wrong harms the views of one session and nothing else; it is said
//! once in the daemon's own log and tried again later. Where logs and folders are is left to the [`RecordSource`].

mod open_views;
mod worker;

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ostler_types::{Record, SessionId};
use tokio::sync::oneshot;

use crate::RecorderError;
use worker::RecorderWorker;

/// How long the end of the daemon waits for the last writes; a disk that hangs must not hang it too.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// What a source says when it cannot answer.
pub type RecordSourceError = Box<dyn std::error::Error + Send + Sync>;

/// Where the recorder reads from and writes to. Called on the recorder's own thread, which it may block.
pub trait RecordSource: Send + Sync + 'static {
    /// The newest record of a session; 0 when there is no such session.
    fn last_seq(&self, session: SessionId) -> Result<u64, RecordSourceError>;

    /// Records from `from` on, in order: some of them, at least one if there is one. How many decides how
    /// much memory is used, and how much is written at once.
    fn read(&self, session: SessionId, from: u64) -> Result<Vec<Record>, RecordSourceError>;

    /// Where the session's views lie.
    fn folder(&self, session: SessionId) -> Result<ViewFolder, RecordSourceError>;
}

/// Where views lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ViewFolder {
    /// In a folder that is there, or else the session is gone.
    Existing(PathBuf),
    /// In a folder that is made if it is not there yet.
    Made(PathBuf),
}

/// How long a session's records wait for more while a turn goes on; so much longer for each [`SESSIONS_PER_DELAY`] sessions that
/// wait at a time, since nobody reads along in so many.
const DELAY_DURING_TURN: Duration = Duration::from_secs(1);
const SESSIONS_PER_DELAY: usize = 32;
/// How long they wait after a turn has ended. Long enough for a short turn, or several, to become one commit.
const DELAY_AFTER_TURN: Duration = Duration::from_millis(500);

/// How long what a hint tells of may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteDelay {
    /// A second, or longer with many sessions: a turn goes on.
    DuringTurn,
    /// Half a second: a turn has ended, or the session itself was changed.
    AfterTurn,
}

impl WriteDelay {
    fn wait(self, crowd: usize) -> Duration {
        match self {
            WriteDelay::DuringTurn => DELAY_DURING_TURN.saturating_mul(
                u32::try_from(crowd / SESSIONS_PER_DELAY).unwrap_or(u32::MAX).saturating_add(1),
            ),
            WriteDelay::AfterTurn => DELAY_AFTER_TURN,
        }
    }
}

/// The one who writes the views. Dropping it writes what is still to be written, within limits.
pub struct Recorder {
    shared: Arc<RecorderShared>,
}

impl Recorder {
    /// Starts the thread.
    pub fn start(source: Arc<dyn RecordSource>) -> io::Result<Recorder> {
        let shared = Arc::new(RecorderShared::default());
        let worker = RecorderWorker::new(source, Arc::clone(&shared));
        thread::Builder::new().name("recorder".to_owned()).spawn(move || worker.run())?;
        Ok(Recorder { shared })
    }

    /// Says that a session has more records. Cheap, and never waits for a disk.
    pub fn notify(&self, session: SessionId, pace: WriteDelay) {
        let mut inbox = self.shared.inbox();
        let due = Instant::now() + pace.wait(inbox.pending_count);
        let noted = inbox.due_sessions.entry(session).or_insert(due);
        *noted = due.min(*noted);
        let is_early = inbox.wakes_at.is_none_or(|wakes_at| due < wakes_at);
        drop(inbox);
        // Most records come while the thread waits for others of the same turn, and need not wake it.
        if is_early {
            self.shared.wakeup.notify_one();
        }
    }

    /// Brings the views of one session up to its log, and says whether that went well.
    pub async fn flush(&self, session: SessionId) -> Result<(), RecorderError> {
        self.ask(|done| RecorderRequest::Flush(Some(session), done)).await
    }

    /// The same for all sessions that were noted and not yet written; fails if one of them failed.
    pub async fn flush_all(&self) -> Result<(), RecorderError> {
        self.ask(|done| RecorderRequest::Flush(None, done)).await
    }

    /// Makes the views of a session anew from its log.
    pub async fn rebuild(&self, session: SessionId) -> Result<(), RecorderError> {
        self.ask(|done| RecorderRequest::Rebuild(session, done)).await
    }

    /// Lets go of a session's files as they are, without waiting for the disk: after a power failure they are
    /// made again. For the end of a daemon with many sessions, each of which would take several syncs.
    pub async fn release(&self, session: SessionId) {
        let _ = self.ask(|done| RecorderRequest::Release(session, done)).await;
    }

    /// Lets go of a session's files. When this returns, nothing is written to them until the next hint.
    pub async fn forget(&self, session: SessionId) {
        // It has nothing to fail at but the sync of views, which are then made again.
        let _ = self.ask(|done| RecorderRequest::Forget(session, done)).await;
    }

    async fn ask(&self, ask: impl FnOnce(RecorderReply) -> RecorderRequest) -> Result<(), RecorderError> {
        let (done, answer) = oneshot::channel();
        self.shared.send(ask(done));
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let mut inbox = self.shared.inbox();
        inbox.stopping = true;
        self.shared.wakeup.notify_one();
        let waited = self.shared.stopped.wait_timeout_while(inbox, STOP_TIMEOUT, |inbox| !inbox.stopped);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Who waits for an answer.
type RecorderReply = oneshot::Sender<Result<(), RecorderError>>;

/// What somebody waits for.
enum RecorderRequest {
    Flush(Option<SessionId>, RecorderReply),
    Rebuild(SessionId, RecorderReply),
    Forget(SessionId, RecorderReply),
    Release(SessionId, RecorderReply),
}

/// What the thread and its owner share. The lock is held for moments, never over a write.
#[derive(Default)]
struct RecorderShared {
    inbox: Mutex<RecorderInbox>,
    /// Rings when there is something in it.
    wakeup: Condvar,
    /// Rings when the thread has come to its end.
    stopped: Condvar,
}

/// What is to be done: at most one hint for each session, and those who wait.
#[derive(Default)]
struct RecorderInbox {
    /// When the sessions are to be written.
    due_sessions: HashMap<SessionId, Instant>,
    /// When the thread looks again by itself, if it waits.
    wakes_at: Option<Instant>,
    /// How many sessions were to be written when it last looked.
    pending_count: usize,
    requests: Vec<RecorderRequest>,
    stopping: bool,
    stopped: bool,
}

impl RecorderShared {
    fn inbox(&self) -> MutexGuard<'_, RecorderInbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the thread, if there is one left; what is dropped here is answered by that.
    fn send(&self, ask: RecorderRequest) {
        let mut inbox = self.inbox();
        if !inbox.stopped {
            inbox.requests.push(ask);
        }
        drop(inbox);
        self.wakeup.notify_one();
    }
}

fn stopped() -> RecorderError {
    let source = io::Error::other("the recorder has stopped");
    RecorderError { path: PathBuf::from("session.db"), source }
}
