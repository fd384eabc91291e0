//! `session.db` as a file: how it is opened and made, and what is stored under a key in it.
//!
//! The schema belongs to those who read such files, so nothing is added to it: what the views need for
//! themselves are rows of `metadata`. Between two commits all is in the one file, so that it can be copied as it lies
//! there.
//!
//! While the file is open for writing, SQLite keeps its rollback journal in memory: a journal on disk would double what
//! is written, for a file that can be made again. So a process that is killed in the middle of a commit leaves a torn
//! file, and nothing in it tells. Therefore the row [`DIRTY_KEY`] says that the file is being written to ([`begin`]), and is
//! taken back once it is whole ([`release`], [`mark_synced`]); those three commits have a journal on disk. A file that still
//! says so when it is opened is not trusted.
//!
//! A commit writes each page that it touches, so a new file has small pages.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use crate::RecorderError;

/// The file's name.
pub(super) const DATABASE: &str = "session.db";
/// The file, and what SQLite may have left beside it.
pub(super) const DATABASE_FILES: [&str; 4] =
    [DATABASE, "session.db-journal", "session.db-wal", "session.db-shm"];
/// The version of the schema.
pub(super) const VERSION: i64 = 1;
/// The key that is there while the file has not been synced. Its value is [`BEING_WRITTEN`], or the boot in which the file
/// was released.
pub(super) const DIRTY_KEY: &str = "written_in_boot";
/// No boot's name, so that versions that know only boots do not trust such a file either.
const BEING_WRITTEN: &str = "being written";
/// How long to wait for a program that reads the file. The write is tried again later anyway.
const LOCK_WAIT: Duration = Duration::from_millis(200);

/// A journal that is gone after each commit, and rolls back a commit that a crash has interrupted.
const JOURNAL_ON_DISK: &str = "PRAGMA journal_mode = DELETE;";
/// A journal that is lost in a crash.
const JOURNAL_IN_MEMORY: &str = "PRAGMA journal_mode = MEMORY;";

const SCHEMA: &str = "
CREATE TABLE schema_version (version INTEGER PRIMARY KEY);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    role TEXT NOT NULL,
    content TEXT NOT NULL,
    name TEXT,
    tool_call_id TEXT,
    tool_calls TEXT,
    tokens INTEGER,
    timestamp REAL NOT NULL,
    in_context INTEGER DEFAULT 1,
    summary_of TEXT
);
CREATE TABLE metadata (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id INTEGER,
    event_type TEXT NOT NULL,
    data TEXT,
    timestamp REAL NOT NULL,
    FOREIGN KEY (message_id) REFERENCES messages(id)
);
CREATE INDEX idx_messages_in_context ON messages(in_context);
CREATE INDEX idx_messages_role ON messages(role);
CREATE INDEX idx_events_type ON events(event_type);
CREATE INDEX idx_events_message ON events(message_id);
";

/// What there is at a path.
pub(super) enum DatabaseAtPath {
    /// A database.
    Usable(Connection),
    /// None, or something else.
    Nothing,
}

/// Opens the file if it is a database. Fails where that cannot be told, as with a folder that cannot be read.
pub(super) fn open(path: &Path) -> Result<DatabaseAtPath, RecorderError> {
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_file() && there.len() > 0 => {}
        Ok(there) if there.is_dir() => {
            let text = "a folder is in the way; move it away";
            return Err(failed(path, io::Error::other(text)));
        }
        Ok(_) => return Ok(DatabaseAtPath::Nothing),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(DatabaseAtPath::Nothing),
        Err(error) => return Err(failed(path, error)),
    }
    match connect(path) {
        Ok(connection) => Ok(DatabaseAtPath::Usable(connection)),
        Err(error) if is_damage(&error) => Ok(DatabaseAtPath::Nothing),
        Err(error) => Err(failed(path, to_io_error(error))),
    }
}

/// Makes the file, which must not be there.
pub(super) fn create(path: &Path) -> Result<Connection, RecorderError> {
    // `create_new` refuses to follow a link, and gives the permissions before there is anything to read.
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    made.map_err(|error| failed(path, error))?;
    let create = || {
        let mut connection = connect(path)?;
        // A torn beginning has no position, and is not trusted for that.
        connection.execute_batch(JOURNAL_IN_MEMORY)?;
        let transaction = connection.transaction()?;
        transaction.execute_batch(SCHEMA)?;
        transaction.execute("INSERT INTO schema_version VALUES (?1)", [VERSION])?;
        put(&transaction, DIRTY_KEY, Some(BEING_WRITTEN))?;
        transaction.commit()?;
        Ok(connection)
    };
    create().map_err(|error| failed(path, to_io_error(error)))
}

/// Says that the file is being written to. From now on commits have no journal on disk.
pub(super) fn mark_dirty(connection: &Connection) -> Result<(), rusqlite::Error> {
    put(connection, DIRTY_KEY, Some(BEING_WRITTEN))?;
    connection.execute_batch(JOURNAL_IN_MEMORY)
}

/// Says that the file is whole, for as long as the machine does not go down.
pub(super) fn mark_released(connection: &Connection, boot: &str) -> Result<(), rusqlite::Error> {
    connection.execute_batch(JOURNAL_ON_DISK)?;
    put(connection, DIRTY_KEY, Some(boot))
}

/// Says that the file is whole, and returns once all of it is on disk.
pub(super) fn mark_synced(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.execute_batch(JOURNAL_ON_DISK)?;
    connection.execute_batch("PRAGMA synchronous = FULL;")?;
    put(connection, DIRTY_KEY, None)
}

/// What is stored under a key.
pub(super) fn get(connection: &Connection, key: &str) -> Result<Option<String>, rusqlite::Error> {
    let mut statement = connection.prepare_cached("SELECT value FROM metadata WHERE key = ?1")?;
    statement.query_row([key], |row| row.get(0)).optional()
}

/// Stores something under a key, or nothing.
pub(super) fn put(connection: &Connection, key: &str, value: Option<&str>) -> Result<(), rusqlite::Error> {
    match value {
        Some(value) => connection
            .prepare_cached(
                "INSERT INTO metadata (key, value) VALUES (?1, ?2) \
                 ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            )?
            .execute(params![key, value])?,
        None => connection.prepare_cached("DELETE FROM metadata WHERE key = ?1")?.execute([key])?,
    };
    Ok(())
}

/// Whether the file is to blame, so that trying again is no use.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        // `Unknown` is what SQLite says of a table that is not there.
        Some(code) => {
            matches!(code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown)
        }
        None => true,
    }
}

/// An error of SQLite in the words that every other file uses.
pub(super) fn to_io_error(error: rusqlite::Error) -> io::Error {
    let kind = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => io::ErrorKind::StorageFull,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => io::ErrorKind::PermissionDenied,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => io::ErrorKind::ResourceBusy,
        // `Unknown` is what SQLite says of a table that is not there.
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown) => {
            io::ErrorKind::InvalidData
        }
        Some(_) | None => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

fn connect(path: &Path) -> Result<Connection, rusqlite::Error> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(LOCK_WAIT)?;
    connection.execute_batch(
        "PRAGMA page_size = 1024; PRAGMA synchronous = OFF; PRAGMA cache_size = -256; PRAGMA temp_store = MEMORY;",
    )?;
    connection.execute_batch(JOURNAL_ON_DISK)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
    Ok(connection)
}

fn failed(path: &Path, source: io::Error) -> RecorderError {
    RecorderError { path: path.to_owned(), source }
}
