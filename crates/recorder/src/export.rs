//! A session as one file to take away: `ndjson`, `md`, `html`, `sqlite` or `zip`.
//!
//! Every writer is handed the records and the place to write to, and holds no more than a record or a block of a
//! file at a time. Reading the log, and bringing the views up to it first, is left to the caller.

mod archive;
mod database_copy;
mod html;
mod html_page;
mod session_files;

use std::io::{self, Write};

use ostler_types::Record;

use crate::text::context;

pub use archive::{ArchiveFolders, write_zip};
pub use database_copy::write_sqlite;
pub use html_page::write_html;
pub use session_files::{OpenSessionFile, SessionFiles};

/// What a session can be exported as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionExportFormat {
    /// The records, one a line, just as the log has them.
    Ndjson,
    /// The conversation to read, like `context.md`.
    Md,
    /// The conversation to look at, with all it shows in the file itself.
    Html,
    /// `session.db`.
    Sqlite,
    /// All files of the session.
    Zip,
}

impl SessionExportFormat {
    /// All of them.
    pub const ALL: [SessionExportFormat; 5] = [
        SessionExportFormat::Ndjson,
        SessionExportFormat::Md,
        SessionExportFormat::Html,
        SessionExportFormat::Sqlite,
        SessionExportFormat::Zip,
    ];

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<SessionExportFormat> {
        SessionExportFormat::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The word that asks for it.
    pub fn name(self) -> &'static str {
        match self {
            SessionExportFormat::Ndjson => "ndjson",
            SessionExportFormat::Md => "md",
            SessionExportFormat::Html => "html",
            SessionExportFormat::Sqlite => "sqlite",
            SessionExportFormat::Zip => "zip",
        }
    }

    /// How a file of it ends.
    pub fn extension(self) -> &'static str {
        match self {
            SessionExportFormat::Ndjson => "ndjson",
            SessionExportFormat::Md => "md",
            SessionExportFormat::Html => "html",
            SessionExportFormat::Sqlite => "db",
            SessionExportFormat::Zip => "zip",
        }
    }

    /// What it is called in a `Content-Type`.
    pub fn media_type(self) -> &'static str {
        match self {
            SessionExportFormat::Ndjson => "application/x-ndjson",
            SessionExportFormat::Md => "text/markdown; charset=utf-8",
            SessionExportFormat::Html => "text/html; charset=utf-8",
            SessionExportFormat::Sqlite => "application/vnd.sqlite3",
            SessionExportFormat::Zip => "application/zip",
        }
    }
}

/// Writes the lines of a log as they are, each without its line feed.
pub fn write_ndjson<L: AsRef<[u8]>>(
    lines: impl IntoIterator<Item = io::Result<L>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    for line in lines {
        out.write_all(line?.as_ref())?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Writes the conversation for people to read: what `context.md` holds.
pub fn write_markdown(
    records: impl IntoIterator<Item = io::Result<Record>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = String::new();
    for record in records {
        context::write(&record?, &mut page);
        out.write_all(page.as_bytes())?;
        page.clear();
    }
    Ok(())
}
