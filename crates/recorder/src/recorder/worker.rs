//! The recorder's thread: waits for hints, lets some time pass so that more can be written at once, and writes.

use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use ostler_types::{Record, SessionId};
use rustix::process::setpriority_process;

use super::open_views::{OpenViews, folder_of};
use super::{RecordSource, RecordSourceError, RecorderReply, RecorderRequest, RecorderShared};
use crate::{RecorderError, rebuild};

/// How many sessions are written before those who ask are heard again.
const BATCH: usize = 16;
/// The priority of the thread, as for `nice`.
const NICE: i32 = 10;
/// How long a session whose views could not be written is left alone, at first and at most.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(60);
/// How long the last writes may take.
const LAST_WRITES_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct RecorderWorker {
    source: Arc<dyn RecordSource>,
    shared: Arc<RecorderShared>,
    open: OpenViews,
    sessions: HashMap<SessionId, PendingWrite>,
}

/// What is known of a session that is to be written, or failed.
#[derive(Default)]
struct PendingWrite {
    /// When to write; none when there is nothing to write.
    due: Option<Instant>,
    /// How long to wait after the next failure; none when the last write went well.
    retry: Option<Duration>,
}

impl RecorderWorker {
    pub(super) fn new(source: Arc<dyn RecordSource>, shared: Arc<RecorderShared>) -> RecorderWorker {
        RecorderWorker { source, shared, open: OpenViews::default(), sessions: HashMap::new() }
    }

    pub(super) fn run(mut self) {
        // What a panic leaves must not keep the daemon from ending.
        let _ended = WorkerEndGuard(Arc::clone(&self.shared));
        // Turns go first. The priority is this thread's alone; without it, the views only cost turns more.
        let _ = setpriority_process(None, NICE);
        loop {
            let (asks, stopping) = self.wait();
            if stopping {
                break;
            }
            self.write_due(BATCH, |due, now| due <= now);
            asks.into_iter().for_each(|ask| self.answer(ask));
            self.open.close_idle(Instant::now());
            self.forget_idle_sessions();
        }
        let until = Instant::now() + LAST_WRITES_TIMEOUT;
        self.write_due(usize::MAX, |_, now| now < until);
        self.open.close_all(until);
    }

    /// Waits until there is something to do. Returns who asked for what, and whether this is the end.
    fn wait(&mut self) -> (Vec<RecorderRequest>, bool) {
        let shared = Arc::clone(&self.shared);
        let mut inbox = shared.inbox();
        loop {
            inbox.due_sessions.drain().for_each(|(session, due)| self.schedule(session, due));
            if !inbox.requests.is_empty() || inbox.stopping {
                return (std::mem::take(&mut inbox.requests), inbox.stopping);
            }
            let next = self.sessions.values().filter_map(|pending| pending.due).chain(self.open.next_idle());
            let (next, now) = (next.min(), Instant::now());
            (inbox.wakes_at, inbox.pending_count) = (next, self.sessions.len());
            inbox = match next {
                Some(next) if next <= now => return (Vec::new(), false),
                Some(next) => {
                    let waited = shared.wakeup.wait_timeout(inbox, next - now);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => shared.wakeup.wait(inbox).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn schedule(&mut self, session: SessionId, at: Instant) {
        let pending = self.sessions.entry(session).or_default();
        // After a failure the time of the next attempt is fixed.
        if pending.retry.is_none() {
            pending.due = Some(pending.due.map_or(at, |due| due.min(at)));
        }
    }

    /// Writes the sessions whose time has come, so many at most, those first that have waited longest.
    fn write_due(&mut self, most: usize, is_due: impl Fn(Instant, Instant) -> bool) {
        let now = Instant::now();
        let due = |(id, pending): (&SessionId, &PendingWrite)| Some((pending.due?, *id));
        let mut due: Vec<(Instant, SessionId)> =
            self.sessions.iter().filter_map(due).filter(|(due, _)| is_due(*due, now)).collect();
        due.sort_unstable();
        for (_, session) in due.into_iter().take(most) {
            // Asked again for the last writes, which have only so much time in all.
            let still = self.sessions.get(&session).and_then(|pending| pending.due);
            if still.is_some_and(|due| is_due(due, Instant::now())) {
                // A failure has been dealt with where it was noticed.
                let _ = self.write(session);
            }
        }
    }

    fn answer(&mut self, ask: RecorderRequest) {
        let answer = |done: RecorderReply, result| {
            // Who no longer waits need not be told.
            let _ = done.send(result);
        };
        match ask {
            RecorderRequest::Flush(Some(session), done) => answer(done, self.write(session)),
            RecorderRequest::Flush(None, done) => {
                let waiting = self.sessions.iter().filter(|(_, pending)| pending.due.is_some());
                let sessions: Vec<SessionId> = waiting.map(|(id, _)| *id).collect();
                let written: Vec<_> = sessions.into_iter().map(|session| self.write(session)).collect();
                answer(done, written.into_iter().collect());
            }
            RecorderRequest::Rebuild(session, done) => answer(done, self.rebuild(session)),
            RecorderRequest::Forget(session, done) => {
                self.sessions.remove(&session);
                answer(done, self.open.close(session));
            }
            RecorderRequest::Release(session, done) => {
                self.sessions.remove(&session);
                self.open.release(session);
                answer(done, Ok(()));
            }
        }
    }

    /// Brings one session's views up to its log, and remembers how that went.
    fn write(&mut self, session: SessionId) -> Result<(), RecorderError> {
        let written = catch_unwind(AssertUnwindSafe(|| self.catch_up(session)))
            .unwrap_or_else(|_| Err(from_source("writing the views panicked".into())));
        let pending = self.sessions.entry(session).or_default();
        match &written {
            Ok(()) => {
                if pending.retry.take().is_some() {
                    tracing::info!(%session, "the views of a session are written again");
                }
                pending.due = None;
            }
            Err(error) => {
                let wait = pending.retry.unwrap_or(FIRST_RETRY);
                let busy = error.source.kind() == io::ErrorKind::ResourceBusy;
                // Somebody who reads the database for a while is no failure.
                if pending.retry.is_none() && !busy {
                    tracing::warn!(%session, %error, "the views of a session fall behind its log");
                }
                pending.retry = Some((wait * 2).min(MAX_RETRY));
                pending.due = Some(Instant::now() + wait);
            }
        }
        written
    }

    fn catch_up(&mut self, session: SessionId) -> Result<(), RecorderError> {
        let last_seq = self.source.last_seq(session).map_err(from_source)?;
        if last_seq == 0 {
            // The session is gone, and its folder with it.
            return self.open.close(session).or(Ok(()));
        }
        let folder = self.source.folder(session).map_err(from_source)?;
        let mut views = self.open.take(session, &folder)?;
        if views.position() > last_seq {
            // The log was cut back, so what the views hold beyond it never happened.
            drop(views);
            self.rebuild(session)?;
            views = self.open.take(session, &folder)?;
        }
        while views.position() < last_seq {
            let records = self.source.read(session, views.position() + 1).map_err(from_source)?;
            if records.is_empty() {
                break;
            }
            match views.apply(&records) {
                // Somebody reads the database; the views stand where they stood.
                Err(error) if error.source.kind() == io::ErrorKind::ResourceBusy => {
                    self.open.put_back(session, views, Instant::now());
                    return Err(error);
                }
                Err(error) if error.source.kind() == io::ErrorKind::InvalidData => {
                    tracing::warn!(%session, %error, "the views of a session are damaged and made again");
                    drop(views);
                    return self.rebuild(session);
                }
                applied => applied?,
            }
        }
        self.open.put_back(session, views, Instant::now());
        Ok(())
    }

    fn rebuild(&mut self, session: SessionId) -> Result<(), RecorderError> {
        // They are about to be replaced, whatever state they are in.
        let _ = self.open.close(session);
        let folder = self.source.folder(session).map_err(from_source)?;
        let dir: PathBuf = folder_of(&folder)?;
        rebuild(&dir, session, RecordPages::new(&*self.source, session))
    }

    /// Forgets sessions of which nothing is to be remembered.
    fn forget_idle_sessions(&mut self) {
        self.sessions.retain(|_, pending| pending.due.is_some() || pending.retry.is_some());
    }
}

/// All records of a session, read a page at a time.
struct RecordPages<'a> {
    source: &'a dyn RecordSource,
    session: SessionId,
    next: u64,
    page: std::vec::IntoIter<Record>,
}

impl<'a> RecordPages<'a> {
    fn new(source: &'a dyn RecordSource, session: SessionId) -> RecordPages<'a> {
        RecordPages { source, session, next: 1, page: Vec::new().into_iter() }
    }
}

impl Iterator for RecordPages<'_> {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<io::Result<Record>> {
        if self.page.len() == 0 {
            match self.source.read(self.session, self.next) {
                Ok(records) => self.page = records.into_iter(),
                Err(error) => return Some(Err(io::Error::other(error))),
            }
        }
        let record = self.page.next()?;
        self.next = record.seq + 1;
        Some(Ok(record))
    }
}

/// Says that the thread is at its end, however it came to it.
struct WorkerEndGuard(Arc<RecorderShared>);

impl Drop for WorkerEndGuard {
    fn drop(&mut self) {
        let mut inbox = self.0.inbox();
        inbox.stopped = true;
        // Nobody will answer them; dropped, they are told so.
        inbox.requests.clear();
        drop(inbox);
        self.0.stopped.notify_all();
    }
}

fn from_source(error: RecordSourceError) -> RecorderError {
    RecorderError { path: Path::new("session.db").to_owned(), source: io::Error::other(error) }
}
