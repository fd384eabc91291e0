//! A copy of `session.db` that is whole, whoever writes to it meanwhile.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

/// How long to wait for a write to be over.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Writes the database of a folder of views. `scratch` is a path that is free to be used meanwhile.
pub fn write_sqlite(views: &Path, scratch: &Path, out: &mut dyn Write) -> io::Result<()> {
    let copy = DatabaseCopy::make(views, scratch)?;
    io::copy(&mut File::open(&copy.path)?, out)?;
    Ok(())
}

/// A copy of a database, removed when it is dropped.
pub(super) struct DatabaseCopy {
    pub(super) path: PathBuf,
}

impl DatabaseCopy {
    pub(super) fn make(views: &Path, scratch: &Path) -> io::Result<DatabaseCopy> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(views.join("session.db"), flags).map_err(to_io_error)?;
        connection.busy_timeout(LOCK_WAIT).map_err(to_io_error)?;
        match fs::remove_file(scratch) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let copy = DatabaseCopy { path: scratch.to_owned() };
        // An empty file is filled, and keeps the permissions that it has.
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(scratch)?;
        let name = scratch.to_str().ok_or_else(|| io::Error::other("the path is not UTF-8"))?;
        connection.execute("VACUUM INTO ?1", [name]).map_err(to_io_error)?;
        Ok(copy)
    }

    /// How long a text file is that belongs to this state of the database.
    pub(super) fn length_of(&self, file: &str) -> io::Result<u64> {
        let connection = Connection::open(&self.path).map_err(to_io_error)?;
        let sql = "SELECT CAST(value AS INTEGER) FROM metadata WHERE key = 'bytes:' || ?1";
        let length: i64 = connection.query_row(sql, [file], |row| row.get(0)).map_err(to_io_error)?;
        Ok(u64::try_from(length).unwrap_or(0))
    }
}

impl Drop for DatabaseCopy {
    fn drop(&mut self) {
        // A scratch file that stays is replaced by the next copy.
        let _ = fs::remove_file(&self.path);
    }
}

fn to_io_error(error: rusqlite::Error) -> io::Error {
    io::Error::other(error)
}
