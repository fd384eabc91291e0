//! What the tests share: a log in a directory of its own, records to append, and a plain way to read them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use ostler_eventlog::{Disk, Epoch, FeedPosition, FeedRecord, FileLog, Log, LogError, LogLine, RealDisk};
use ostler_types::{
    Delta, DeltaKind, Event, MessageId, NewRecord, SessionEvent, SessionId, TurnEvent, TurnId,
};
use tempfile::TempDir;
use uuid::Uuid;

pub(crate) const EPOCH: Epoch = Epoch(1);
pub(crate) const ALL: usize = usize::MAX;

/// A data directory that goes with the test.
pub(crate) struct LogFixture {
    directory: TempDir,
}

impl LogFixture {
    pub(crate) fn new() -> LogFixture {
        // Thousands of logs are opened here, and what a sync is worth is not tested: memory will do.
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        LogFixture { directory: directory.unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    pub(crate) fn open(&self) -> FileLog {
        open_at(&self.path())
    }

    pub(crate) fn open_on(&self, disk: Arc<dyn Disk>) -> FileLog {
        FileLog::open(&self.path(), disk).unwrap()
    }

    pub(crate) fn folder(&self, session: SessionId) -> PathBuf {
        self.path().join("sessions").join(session.to_string())
    }

    pub(crate) fn log_path(&self, session: SessionId) -> PathBuf {
        self.folder(session).join("events.ndjson")
    }
}

pub(crate) fn open_at(path: &Path) -> FileLog {
    FileLog::open(path, Arc::new(RealDisk)).unwrap()
}

pub(crate) fn session(number: u128) -> SessionId {
    SessionId::new(Uuid::from_u128(number))
}

pub(crate) fn turn(number: u128) -> TurnId {
    TurnId::new(Uuid::from_u128(number))
}

/// A record that says `text`.
pub(crate) fn record(text: &str) -> NewRecord {
    new_record(Event::Session(SessionEvent::Completed { by: text.to_owned() }))
}

/// A record that ends a turn, and with it the drafts.
pub(crate) fn turn_end() -> NewRecord {
    new_record(Event::Turn(TurnEvent::Canceled { by: "test".to_owned(), reason: None }))
}

fn new_record(event: Event) -> NewRecord {
    NewRecord { ts: "2026-11-15T12:00:00Z".parse().unwrap(), turn_id: None, event }
}

pub(crate) fn delta(offset: u64, text: &str) -> Delta {
    let kind = DeltaKind::Text { message_id: MessageId::new(Uuid::from_u128(1)), part: 0 };
    Delta { kind, offset, text: text.to_owned() }
}

/// The whole content of a file beside a log.
pub(crate) async fn get_blob(log: &FileLog, session: SessionId, name: String) -> Result<Bytes, LogError> {
    let blob = log.open_blob(session, name).await?;
    blob.read(0, ALL).await
}

/// What a line's record says.
pub(crate) fn said(line: &LogLine) -> String {
    match line.record().unwrap().event {
        Event::Session(SessionEvent::Completed { by }) => by,
        other => other.name().as_str().to_owned(),
    }
}

/// Appends one record each for the texts.
pub(crate) async fn append_each(log: &FileLog, session: SessionId, texts: &[&str]) {
    for text in texts {
        let next = log.last_seq(session).await.unwrap() + 1;
        log.append(session, EPOCH, next, vec![record(text)]).await.unwrap();
    }
}

/// Everything a session holds.
pub(crate) async fn read_all(log: &FileLog, session: SessionId) -> Vec<LogLine> {
    let mut lines: Vec<LogLine> = Vec::new();
    loop {
        match log.read(session, lines.len() as u64 + 1, ALL).await {
            Ok(more) if more.is_empty() => return lines,
            Ok(more) => lines.extend(more),
            Err(LogError::NotFound) => return lines,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Everything the feed holds.
pub(crate) async fn read_feed(log: &FileLog) -> Vec<FeedRecord> {
    let mut records: Vec<FeedRecord> = Vec::new();
    loop {
        let from = records.last().map_or(FeedPosition(0), |record| record.next);
        let more = log.read_feed(from, 100).await.unwrap();
        if more.is_empty() {
            return records;
        }
        records.extend(more);
    }
}

/// The feed holds every record of these sessions once, and each session's in their order.
pub(crate) async fn assert_feed_whole(log: &FileLog, sessions: &[SessionId]) {
    let feed = read_feed(log).await;
    for session in sessions {
        let in_feed: Vec<&LogLine> =
            feed.iter().filter(|r| r.session_id == *session).map(|r| &r.line).collect();
        let in_log = read_all(log, *session).await;
        assert_eq!(in_feed, in_log.iter().collect::<Vec<_>>(), "{session}");
    }
    assert_eq!(feed.iter().filter(|record| !sessions.contains(&record.session_id)).count(), 0);
}
