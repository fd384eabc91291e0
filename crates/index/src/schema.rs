//! The file: how it is opened, what is in it, and what becomes of one that cannot be used.
//!
//! `sessions` has a row per session: its JSON, and the columns that lists are filtered and sorted by.
//! Each index begins with what is filtered for, goes on with the order of listings, and ends with the
//! columns that may be filtered for besides, so that a listing walks one index and sorts nothing. `name` is
//! empty for a session that is closed: its name can be given again.
//!
//! `texts` is an FTS5 table that holds titles and messages, and it holds them only once: it keeps its own
//! content, from which snippets are cut, and no other table repeats it. (A contentless table could not
//! give snippets; one with content elsewhere must be told the old text at each deletion, and is
//! silently wrong when told another.) A text's rowid is made of its session's number and its seq, see
//! [`place`]: what a session said is then one range of rowids, which deletes it and finds it, a
//! search learns the session of a match without reading it, and feeding a text twice changes nothing.
//! The row with seq 0 is the title. Beginnings of words are indexed at three letters, which FTS5 also uses
//! for two; each further length would cost as much room again, and longer ones are few words each.
//!
//! `uses` has a row per answer of a model, in the order of time, so that a span of time is one range of it
//! however many sessions there are. A use has the same place as a text would have, and is found by it
//! when its session is removed or asked for. The sums are made when they are asked for: they depend on
//! where a day begins, which is the asker's to say.
//!
//! A commit writes each page that it touches, some twenty for a turn however short, so a new file has small pages: a
//! third as much is written as with pages of 4 KiB, and lists and searches take a few hundredths longer. A file keeps the
//! pages that it was made with.
//!
//! The file is never checked as a whole, since that would take as long as it is large: damage is noticed
//! by whoever comes upon it.

use std::ffi::OsString;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::IndexError;

/// What was found when the index was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenedIndex {
    /// An index that was complete once. It may lag behind sessions that were active at the end.
    Existing,
    /// There was none, or none that can be used, or updates were lost, or a rebuild did not come to its
    /// end. Feed it every log from its position on, then call [`Index::mark_rebuilt`](crate::Index::mark_rebuilt).
    Empty,
}

/// Raised with every change to [`SCHEMA`], to what is stored in it, or to the JSON of a session.
const VERSION: i64 = 5;
/// "ostl": marks the file as ours.
const APPLICATION: i64 = 0x6f73_746c;
/// Before this, WAL could corrupt a file when a checkpoint met a write.
const SQLITE_VERSION: i32 = 3_051_003;
/// How many unusable files are kept for whoever wants to know why.
const MAX_BAD_FILES: u32 = 9;
/// How long to wait for another program that has the file locked. Writes are tried again anyway.
const LOCK_WAIT: Duration = Duration::from_millis(100);

const SCHEMA: &str = "
CREATE TABLE sessions (
    num INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    updated_at INTEGER NOT NULL,
    archived INTEGER NOT NULL,
    pinned INTEGER NOT NULL,
    status TEXT NOT NULL,
    workspace TEXT NOT NULL,
    parent TEXT,
    name TEXT,
    idempotency_key TEXT,
    title TEXT,
    running_turn TEXT,
    last_seq INTEGER NOT NULL,
    position INTEGER NOT NULL,
    session TEXT NOT NULL
) STRICT;
CREATE INDEX by_activity ON sessions (updated_at, id, pinned);
CREATE INDEX by_top ON sessions (updated_at, id, archived, pinned, parent) WHERE parent IS NULL;
CREATE INDEX by_archived ON sessions (archived, updated_at, id, pinned, parent);
CREATE INDEX by_status ON sessions (status, updated_at, id, archived, pinned, parent);
CREATE INDEX by_workspace ON sessions (workspace, updated_at, id, archived, pinned, status, parent);
CREATE INDEX by_parent ON sessions (parent, updated_at, id, archived, pinned, status, workspace)
    WHERE parent IS NOT NULL;
CREATE INDEX by_pinned ON sessions (pinned, updated_at, id, archived, status, workspace, parent) WHERE pinned = 1;
CREATE INDEX by_name ON sessions (name, id) WHERE name IS NOT NULL;
CREATE INDEX by_key ON sessions (idempotency_key, id) WHERE idempotency_key IS NOT NULL;
CREATE INDEX by_agent ON sessions (session ->> 'agent_session_id', session ->> 'agent', id)
    WHERE session ->> 'agent_session_id' IS NOT NULL;
CREATE VIRTUAL TABLE texts USING fts5 (
    text, message_id UNINDEXED, role UNINDEXED,
    tokenize = \"unicode61 remove_diacritics 2\", prefix = '3'
);
CREATE TABLE uses (
    at INTEGER NOT NULL,
    place INTEGER NOT NULL,
    model TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    cost INTEGER,
    PRIMARY KEY (at, place)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX by_place ON uses (place);
CREATE TABLE rebuild (complete INTEGER NOT NULL) STRICT;
INSERT INTO rebuild VALUES (0);
";

/// Opens the index for writing, and makes it first where there is none that can be used.
pub(crate) fn open(path: &Path) -> Result<(Connection, OpenedIndex), IndexError> {
    assert!(rusqlite::version_number() >= SQLITE_VERSION, "SQLite {} is too old", rusqlite::version());
    match try_open(path) {
        Err(IndexError::Damaged(why)) => {
            let aside = move_aside(path).map_err(|error| storage_error(path, &error))?;
            tracing::warn!(aside = %aside.display(), why, "the index could not be used and was moved aside");
            try_open(path)
        }
        result => result,
    }
}

/// Opens a connection that only reads.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, IndexError> {
    // Not read-only, which WAL does not go well with; but never one to make the file.
    let flags = OpenFlags::default().difference(OpenFlags::SQLITE_OPEN_CREATE);
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(LOCK_WAIT)?;
    connection
        .execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -1024; PRAGMA temp_store = MEMORY;")?;
    Ok(connection)
}

/// Removes the file. Nobody may have it open.
pub(crate) fn delete(path: &Path) -> Result<(), IndexError> {
    // The file goes first: SQLite throws away a WAL that has no file, but a file without its WAL is damaged.
    for file in [path.to_owned(), with_suffix(path, "-wal"), with_suffix(path, "-shm")] {
        remove(&file).map_err(|error| storage_error(&file, &error))?;
    }
    Ok(())
}

/// Where in `texts` and `uses` a session's record is; `None` beyond what a rowid has room for.
pub(crate) fn record_rowid(num: i64, seq: u64) -> Option<i64> {
    let seq = i64::try_from(seq).ok().filter(|seq| *seq < 1 << SEQ_BITS)?;
    Some(num << SEQ_BITS | seq)
}

/// How many bits of a rowid hold the seq. The bits above number the session.
pub(crate) const SEQ_BITS: u32 = 24;

fn try_open(path: &Path) -> Result<(Connection, OpenedIndex), IndexError> {
    // SQLite gives the files beside it the same permissions.
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    file.and_then(|file| file.set_permissions(Permissions::from_mode(0o600)))
        .map_err(|error| storage_error(path, &error))?;
    let mut connection = connect(path)?;
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    let empty = number("SELECT count(*) FROM sqlite_schema")? == 0;
    if application == APPLICATION && version != VERSION {
        drop(connection);
        delete(path)?;
        return try_open(path);
    }
    if application != APPLICATION && !empty {
        return Err(IndexError::Damaged("the file is some other database".to_owned()));
    }
    // Not in the schema's transaction, since the journal cannot be changed inside one.
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
    if empty {
        create(&mut connection)?;
    }
    let complete = connection.query_row("SELECT complete FROM rebuild", [], |row| row.get::<_, bool>(0))?;
    Ok((connection, if complete { OpenedIndex::Existing } else { OpenedIndex::Empty }))
}

fn connect(path: &Path) -> Result<Connection, IndexError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(LOCK_WAIT)?;
    connection.execute_batch(
        "PRAGMA page_size = 1024; PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -2048;
         PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY;",
    )?;
    Ok(connection)
}

fn create(connection: &mut Connection) -> Result<(), IndexError> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(SCHEMA)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(())
}

fn move_aside(path: &Path) -> io::Result<PathBuf> {
    let name = |n: u32| with_suffix(path, &format!(".bad-{n}"));
    let free = name((1..=MAX_BAD_FILES).find(|n| !name(*n).exists()).unwrap_or(MAX_BAD_FILES));
    fs::rename(path, &free)?;
    remove(&with_suffix(path, "-wal"))?;
    remove(&with_suffix(path, "-shm"))?;
    Ok(free)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn storage_error(path: &Path, error: &io::Error) -> IndexError {
    IndexError::Storage(format!("{}: {error}", path.display()))
}
