//! The index as the engine uses it: fed with updates, asked for lists.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod concurrent;
mod feed;
mod file;
mod list;
mod rebuild;
mod search;
mod usage;

use std::path::PathBuf;

use jiff::Timestamp;
use ostler_index::{
    Index, IndexUpdate, IndexedText, ListFilter, OpenedIndex, SessionListing, SqliteIndex, UsageQuery,
    UsageReport,
};
use ostler_types::{Event, MessageId, NewSession, Role, Session, SessionEvent, SessionId, create};
use tempfile::TempDir;
use uuid::Uuid;

/// An index in a folder of its own.
struct IndexFixture {
    dir: TempDir,
    index: SqliteIndex,
}

impl IndexFixture {
    fn new() -> IndexFixture {
        let dir = tempfile::tempdir().unwrap();
        let (index, opened) = SqliteIndex::open(&dir.path().join("index.db")).unwrap();
        assert_eq!(opened, OpenedIndex::Empty);
        IndexFixture { dir, index }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("index.db")
    }

    /// Closes the index, and opens it again.
    fn reopen(self) -> (IndexFixture, OpenedIndex) {
        let IndexFixture { dir, index } = self;
        drop(index);
        let (index, opened) = SqliteIndex::open(&dir.path().join("index.db")).unwrap();
        (IndexFixture { dir, index }, opened)
    }

    async fn add(&self, session: Session) {
        self.index.update(update(session, 0, 1, &[])).await.unwrap();
    }

    async fn list(&self, filter: ListFilter) -> SessionListing {
        self.index.list(filter).await.unwrap()
    }

    async fn usage(&self, query: UsageQuery) -> UsageReport {
        self.index.usage(query).await.unwrap()
    }

    /// The sessions that a search finds, newest activity first.
    async fn search(&self, q: &str) -> Vec<u128> {
        numbers(&self.list(ListFilter { q: Some(q.to_owned()), ..ListFilter::default() }).await)
    }
}

fn id(n: u128) -> SessionId {
    SessionId::new(Uuid::from_u128(n))
}

/// A session, active `at` so many seconds after the epoch.
fn session(n: u128, at: i64) -> Session {
    let at = Timestamp::from_second(at).unwrap();
    let new = NewSession { mode: "repl".into(), ..NewSession::new(id(n), at, "/work", "test:model") };
    match create(new).unwrap().remove(0) {
        Event::Session(SessionEvent::Created { session }) => session,
        other => panic!("{other:?}"),
    }
}

fn titled(n: u128, at: i64, title: &str) -> Session {
    Session { title: Some(title.to_owned()), ..session(n, at) }
}

fn update(session: Session, after_seq: u64, last_seq: u64, texts: &[(u64, &str)]) -> IndexUpdate {
    let texts = texts.iter().map(|(seq, said)| text(*seq, said)).collect();
    IndexUpdate { session, running_turn_id: None, after_seq, last_seq, texts, uses: Vec::new() }
}

fn text(seq: u64, said: &str) -> IndexedText {
    let message_id = MessageId::new(Uuid::from_u128(u128::from(seq)));
    IndexedText { seq, message_id, role: Role::User, text: said.to_owned() }
}

fn numbers(listing: &SessionListing) -> Vec<u128> {
    listing.sessions.iter().map(|listed| listed.session.id.uuid().as_u128()).collect()
}
