//! A log in memory that several engines share, as nodes share a database: whoever claims a session last owns it, and
//! the owners before are fenced out. It keeps the same lines as the log on disk.
//!
//! Everything that a test must know of ownership is counted here. Pauses and thefts are left to the test.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ostler_eventlog::{
    Blob, BlobEntry, BlobWrite, Claim, Epoch, FeedPosition, FeedRecord, Log, LogError, LogLine, seal_records,
    unseal_lines,
};
use ostler_types::{Delta, Event, EventName, NewRecord, SessionEvent, SessionId, TurnId};
use tokio::sync::watch;

/// Called with a session before it is claimed, as whatever another node does just then.
type BeforeClaim = Arc<dyn Fn(&SharedLog, SessionId) + Send + Sync>;

/// The log. Engines hold it in an `Arc`.
pub struct SharedLog {
    state: Mutex<SharedLogState>,
    feed_end: watch::Sender<FeedPosition>,
}

#[derive(Default)]
struct SharedLogState {
    sessions: HashMap<SessionId, StoredSession>,
    feed: Vec<(SessionId, LogLine)>,
    before_claim: Option<BeforeClaim>,
    /// What becomes of the next append whose answer is lost.
    lost_append: Option<LostAppend>,
    refused: u64,
}

/// What an append did whose answer does not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostAppend {
    /// The records were written all the same.
    Written,
    /// Nothing was written.
    Dropped,
}

#[derive(Default)]
struct StoredSession {
    epoch: u64,
    /// Whether the engine that claimed it last has not released it.
    is_owned: bool,
    lines: Vec<LogLine>,
    /// The epoch of each write, in order: lines, drafts, snapshots, files, releases.
    epochs: Vec<u64>,
    drafts: Vec<(TurnId, Delta)>,
    snapshot: Option<Bytes>,
    blobs: BTreeMap<String, Bytes>,
    parent: Option<SessionId>,
    /// What no other session may have.
    name: Option<String>,
    key: Option<String>,
    is_settled: bool,
    is_unfinished: bool,
}

impl Default for SharedLog {
    fn default() -> SharedLog {
        SharedLog { state: Mutex::default(), feed_end: watch::Sender::new(FeedPosition(0)) }
    }
}

impl SharedLog {
    /// Takes a session away from its owner, who is not told, and gives it up again.
    pub fn steal(&self, session: SessionId) -> Epoch {
        let mut kept = self.lock();
        let stored = kept.sessions.entry(session).or_default();
        stored.epoch += 1;
        stored.is_owned = false;
        Epoch(stored.epoch)
    }

    /// Whether the answer to the next append is lost, and what the append did.
    pub fn lose_next_append(&self, append: Option<LostAppend>) {
        self.lock().lost_append = append;
    }

    /// Takes a session away from its owner and appends to it, as another node does.
    pub fn steal_and_append(&self, session: SessionId, records: Vec<NewRecord>) -> Result<(), LogError> {
        let epoch = self.steal(session);
        let next = self.lock().sessions.get(&session).map_or(0, |stored| stored.lines.len()) as u64 + 1;
        self.append_now(session, epoch, next, records).map(drop)
    }

    /// Runs this before every claim.
    pub fn before_claim(&self, run: impl Fn(&SharedLog, SessionId) + Send + Sync + 'static) {
        self.lock().before_claim = Some(Arc::new(run));
    }

    /// Every line of a session.
    pub fn lines(&self, session: SessionId) -> Vec<LogLine> {
        self.lock().sessions.get(&session).map(|stored| stored.lines.clone()).unwrap_or_default()
    }

    /// The epoch of each write to a session: lines, drafts, snapshots, files, releases.
    pub fn epochs(&self, session: SessionId) -> Vec<u64> {
        self.lock().sessions.get(&session).map(|stored| stored.epochs.clone()).unwrap_or_default()
    }

    /// What no session has when all engines have stopped and all turns have ended: an owner, drafts, a log that was begun
    /// and never finished. And files of a session that does not exist.
    pub fn leftovers(&self) -> Vec<String> {
        let kept = self.lock();
        let found = kept.sessions.iter().flat_map(|(id, stored)| {
            let exists = !stored.lines.is_empty();
            let wrong = [
                (exists && stored.is_owned, "an owner"),
                (stored.is_unfinished, "a log that was never finished"),
                (!stored.drafts.is_empty(), "drafts"),
                (!exists && !stored.blobs.is_empty(), "files of no session"),
            ];
            wrong.into_iter().filter(|(is_left, _)| *is_left).map(move |(_, what)| format!("{id} has {what}"))
        });
        found.collect()
    }

    /// How many writes of owners that had lost their session were refused.
    pub fn refused(&self) -> u64 {
        self.lock().refused
    }

    fn append_now(
        &self,
        session: SessionId,
        epoch: Epoch,
        expected_seq: u64,
        records: Vec<NewRecord>,
    ) -> Result<Vec<LogLine>, LogError> {
        let mut kept = self.lock();
        kept.check_owner(session, epoch)?;
        let lost = kept.lost_append.take();
        if lost == Some(LostAppend::Dropped) {
            return Err(LogError::Lost);
        }
        let stored = kept.sessions.entry(session).or_default();
        let next = stored.lines.len() as u64 + 1;
        if expected_seq != next {
            let expected = expected_seq;
            return Err(LogError::Conflict { expected, next });
        }
        let previous = stored.lines.last().cloned();
        kept.take_names(session, &records)?;
        let lines = seal_records(session, expected_seq, previous.as_ref(), records)?;
        self.add(&mut kept, session, epoch, &lines);
        if lost.is_some() { Err(LogError::Lost) } else { Ok(lines) }
    }

    fn add(&self, kept: &mut SharedLogState, session: SessionId, epoch: Epoch, lines: &[LogLine]) {
        let stored = kept.sessions.entry(session).or_default();
        stored.is_settled = false;
        let ends = |line: &LogLine| {
            line.name().is_some_and(|name| name == EventName::ModelOutputCompleted || name.ends_turn())
        };
        if lines.iter().any(ends) {
            stored.drafts.clear();
        }
        stored.lines.extend(lines.iter().cloned());
        stored.epochs.push(epoch.0);
        kept.feed.extend(lines.iter().map(|line| (session, line.clone())));
        self.feed_end.send_replace(FeedPosition(kept.feed.len() as u64));
    }

    fn lock(&self) -> MutexGuard<'_, SharedLogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SharedLogState {
    /// Refuses what a former owner writes.
    fn check_owner(&mut self, session: SessionId, epoch: Epoch) -> Result<(), LogError> {
        let is_owner = self.sessions.get(&session).is_some_and(|stored| Epoch(stored.epoch) == epoch);
        self.refused += u64::from(!is_owner);
        if is_owner { Ok(()) } else { Err(LogError::Fenced) }
    }

    /// Decides that a name and an idempotency key belong to one session.
    fn take_names(&mut self, session: SessionId, records: &[NewRecord]) -> Result<(), LogError> {
        for record in records {
            let (name, key) = match &record.event {
                Event::Session(SessionEvent::Created { session }) => {
                    (session.name.clone(), session.idempotency_key.clone())
                }
                Event::Session(SessionEvent::Updated { session }) => {
                    (session.name.clone(), session.idempotency_key.clone())
                }
                Event::Session(SessionEvent::Completed { .. }) => (None, None),
                _ => continue,
            };
            let others = || self.sessions.iter().filter(|(id, _)| **id != session);
            let by_key = others().find(|(_, stored)| key.is_some() && stored.key == key);
            let by_name = || others().find(|(_, stored)| name.is_some() && stored.name == name);
            if let Some((by, _)) = by_key.or_else(by_name) {
                return Err(LogError::Taken { by: *by });
            }
            let stored = self.sessions.entry(session).or_default();
            stored.name = name;
            // A key stays when its session is closed.
            stored.key = key.or_else(|| stored.key.take());
        }
        Ok(())
    }

    /// What the owner changes.
    fn change(
        &mut self,
        session: SessionId,
        epoch: Epoch,
        change: impl FnOnce(&mut StoredSession),
    ) -> Result<(), LogError> {
        self.check_owner(session, epoch)?;
        let stored = self.sessions.get_mut(&session).ok_or(LogError::NotFound)?;
        stored.epochs.push(epoch.0);
        change(stored);
        Ok(())
    }

    fn existing(&self, session: SessionId) -> Result<&StoredSession, LogError> {
        self.sessions.get(&session).filter(|stored| !stored.lines.is_empty()).ok_or(LogError::NotFound)
    }
}

/// A file in memory.
struct MemoryBlob(Bytes);

impl Blob for MemoryBlob {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, offset: u64, limit: usize) -> BoxFuture<'_, Result<Bytes, LogError>> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.0.len());
        let end = start.saturating_add(limit).min(self.0.len());
        ready(Ok(self.0.slice(start..end)))
    }
}

/// A future that is over at once.
fn ready<'a, T: Send + 'a>(result: Result<T, LogError>) -> BoxFuture<'a, Result<T, LogError>> {
    Box::pin(std::future::ready(result))
}

impl Log for SharedLog {
    fn claim(&self, session: SessionId) -> BoxFuture<'_, Result<Claim, LogError>> {
        let before = self.lock().before_claim.clone();
        if let Some(before) = before {
            before(self, session);
        }
        let mut kept = self.lock();
        let stored = kept.sessions.entry(session).or_default();
        stored.epoch += 1;
        stored.is_owned = true;
        ready(Ok(Claim { epoch: Epoch(stored.epoch), last_seq: stored.lines.len() as u64 }))
    }

    fn release(&self, session: SessionId, epoch: Epoch, rested: bool) -> BoxFuture<'_, Result<(), LogError>> {
        ready(self.lock().change(session, epoch, |stored| {
            stored.is_settled |= rested;
            stored.is_owned = false;
        }))
    }

    fn append(
        &self,
        session: SessionId,
        epoch: Epoch,
        expected_seq: u64,
        records: Vec<NewRecord>,
    ) -> BoxFuture<'_, Result<Vec<LogLine>, LogError>> {
        ready(self.append_now(session, epoch, expected_seq, records))
    }

    fn append_sealed(
        &self,
        session: SessionId,
        epoch: Epoch,
        lines: Vec<LogLine>,
    ) -> BoxFuture<'_, Result<(), LogError>> {
        let mut kept = self.lock();
        let proven = kept.check_owner(session, epoch).and_then(|()| {
            let stored = kept.sessions.get(&session);
            unseal_lines(session, stored.and_then(|stored| stored.lines.last()), &lines)
        });
        if proven.is_ok() {
            self.add(&mut kept, session, epoch, &lines);
        }
        ready(proven.map(drop))
    }

    fn begin_creation(&self, session: SessionId, epoch: Epoch) -> BoxFuture<'_, Result<(), LogError>> {
        ready(self.lock().change(session, epoch, |stored| stored.is_unfinished = true))
    }

    fn finish_creation(&self, session: SessionId, epoch: Epoch) -> BoxFuture<'_, Result<(), LogError>> {
        ready(self.lock().change(session, epoch, |stored| stored.is_unfinished = false))
    }

    fn create_under(&self, session: SessionId, parent: SessionId) -> BoxFuture<'_, Result<(), LogError>> {
        let mut kept = self.lock();
        let exists = kept.existing(parent).map(drop);
        if exists.is_ok() {
            kept.sessions.entry(session).or_default().parent = Some(parent);
        }
        ready(exists)
    }

    fn sessions_under(&self, parent: SessionId) -> BoxFuture<'_, Result<Vec<SessionId>, LogError>> {
        let kept = self.lock();
        let placed = kept.sessions.iter().filter(|(_, stored)| stored.parent == Some(parent));
        ready(Ok(placed.map(|(session, _)| *session).collect()))
    }

    fn read(
        &self,
        session: SessionId,
        from: u64,
        limit_bytes: usize,
    ) -> BoxFuture<'_, Result<Vec<LogLine>, LogError>> {
        let kept = self.lock();
        let mut room = limit_bytes;
        let page = kept.existing(session).map(|stored| {
            let lines = stored.lines.iter().filter(|line| line.seq >= from).enumerate();
            let fits = |(index, line): &(usize, &LogLine)| {
                let fits = *index == 0 || line.bytes.len() <= room;
                room = room.saturating_sub(line.bytes.len());
                fits
            };
            lines.take_while(fits).map(|(_, line)| line.clone()).collect()
        });
        ready(page)
    }

    fn last_seq(&self, session: SessionId) -> BoxFuture<'_, Result<u64, LogError>> {
        ready(Ok(self.lock().sessions.get(&session).map_or(0, |stored| stored.lines.len() as u64)))
    }

    fn has_session(&self, session: SessionId) -> BoxFuture<'_, Result<bool, LogError>> {
        ready(Ok(self.lock().existing(session).is_ok()))
    }

    fn save_draft(&self, session: SessionId, epoch: Epoch, turn: TurnId, delta: Delta) {
        // One of a former owner is dropped.
        _ = self.lock().change(session, epoch, |stored| stored.drafts.push((turn, delta)));
    }

    fn drafts(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<(TurnId, Delta)>, LogError>> {
        ready(Ok(self.lock().sessions.get(&session).map(|stored| stored.drafts.clone()).unwrap_or_default()))
    }

    fn save_snapshot(
        &self,
        session: SessionId,
        epoch: Epoch,
        content: Bytes,
    ) -> BoxFuture<'_, Result<(), LogError>> {
        ready(self.lock().change(session, epoch, |stored| stored.snapshot = Some(content)))
    }

    fn snapshot(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Bytes>, LogError>> {
        ready(Ok(self.lock().sessions.get(&session).and_then(|stored| stored.snapshot.clone())))
    }

    fn put_blob(
        &self,
        session: SessionId,
        name: String,
        content: Bytes,
        put: BlobWrite,
    ) -> BoxFuture<'_, Result<(), LogError>> {
        let mut kept = self.lock();
        let allowed = kept.existing(session).map(drop).and_then(|()| match put {
            BlobWrite::New => Ok(()),
            BlobWrite::Owned(epoch) => kept.check_owner(session, epoch),
        });
        let stored = kept.sessions.get_mut(&session);
        let stored = allowed.and_then(|()| stored.ok_or(LogError::NotFound));
        ready(stored.and_then(|stored| match stored.blobs.contains_key(&name) && put == BlobWrite::New {
            true => Err(LogError::Exists),
            false => {
                stored.blobs.insert(name, content);
                if let BlobWrite::Owned(epoch) = put {
                    stored.epochs.push(epoch.0);
                }
                Ok(())
            }
        }))
    }

    fn open_blob(&self, session: SessionId, name: String) -> BoxFuture<'_, Result<Arc<dyn Blob>, LogError>> {
        let blob = self.lock().sessions.get(&session).and_then(|stored| stored.blobs.get(&name).cloned());
        ready(blob.map(|content| Arc::new(MemoryBlob(content)) as Arc<dyn Blob>).ok_or(LogError::NotFound))
    }

    fn list_blobs(
        &self,
        session: SessionId,
        folder: String,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<BlobEntry>, LogError>> {
        let kept = self.lock();
        let blobs = kept.sessions.get(&session).into_iter().flat_map(|stored| &stored.blobs);
        let inside = blobs.filter(|(name, _)| name.starts_with(&folder)).take(limit);
        let entry =
            |(name, content): (&String, &Bytes)| BlobEntry { name: name.clone(), size: content.len() as u64 };
        ready(Ok(inside.map(entry).collect()))
    }

    fn share_blob(
        &self,
        from: SessionId,
        to: SessionId,
        name: String,
    ) -> BoxFuture<'_, Result<(), LogError>> {
        let mut kept = self.lock();
        let blob = kept.sessions.get(&from).and_then(|stored| stored.blobs.get(&name).cloned());
        let shared = blob.ok_or(LogError::NotFound).and_then(|blob| {
            let stored = kept.sessions.get_mut(&to).filter(|stored| !stored.lines.is_empty());
            stored.ok_or(LogError::NotFound)?.blobs.entry(name).or_insert(blob);
            Ok(())
        });
        ready(shared)
    }

    fn sessions(
        &self,
        after: Option<SessionId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<SessionId>, LogError>> {
        let kept = self.lock();
        let made = kept.sessions.iter().filter(|(_, stored)| !stored.lines.is_empty());
        let mut found: Vec<SessionId> =
            made.map(|(session, _)| *session).filter(|session| Some(*session) > after).collect();
        found.sort_unstable();
        found.truncate(limit);
        ready(Ok(found))
    }

    fn unsettled(&self) -> BoxFuture<'_, Result<Vec<SessionId>, LogError>> {
        let kept = self.lock();
        let open = kept.sessions.iter().filter(|(_, stored)| !stored.lines.is_empty() && !stored.is_settled);
        ready(Ok(open.map(|(session, _)| *session).collect()))
    }

    fn remove(&self, session: SessionId, epoch: Epoch) -> BoxFuture<'_, Result<(), LogError>> {
        let mut kept = self.lock();
        let exists = kept.existing(session).map(drop);
        let allowed = kept.check_owner(session, epoch);
        if allowed.is_ok() {
            // A session that was begun and has no record yet is removed, too.
            kept.sessions.remove(&session);
        }
        ready(exists.and(allowed))
    }

    fn read_feed(
        &self,
        from: FeedPosition,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<FeedRecord>, LogError>> {
        let kept = self.lock();
        let start = usize::try_from(from.0).unwrap_or(usize::MAX);
        let records = kept.feed.iter().zip(1..).skip(start).take(limit);
        let record = |((session_id, line), next): (&(SessionId, LogLine), u64)| FeedRecord {
            next: FeedPosition(next),
            session_id: *session_id,
            line: line.clone(),
        };
        ready(Ok(records.map(record).collect()))
    }

    fn feed_end(&self) -> watch::Receiver<FeedPosition> {
        self.feed_end.subscribe()
    }
}
