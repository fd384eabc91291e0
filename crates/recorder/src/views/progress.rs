//! How far the views have come: what is stored beside the rows so that they can go on from there.

use jiff::Timestamp;
use ostler_types::{EventName, SessionId};
use rusqlite::{Connection, OptionalExtension};

use super::boot;
use super::database::{DIRTY_KEY, get, put};

/// Raised with every change to what the views say of the same records; views of another number start over.
const FORMAT: &str = "1";

/// The files that hold text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextFile {
    Context,
    Transcript,
    Verbose,
}

impl TextFile {
    pub(super) const ALL: [TextFile; 3] = [TextFile::Context, TextFile::Transcript, TextFile::Verbose];

    pub(super) fn name(self) -> &'static str {
        match self {
            TextFile::Context => "context.md",
            TextFile::Transcript => "transcript.jsonl",
            TextFile::Verbose => "verbose.md",
        }
    }
}

/// Text that is about to be appended.
#[derive(Debug, Default)]
pub(super) struct PendingTexts {
    pub(super) context: String,
    pub(super) transcript: String,
    pub(super) verbose: String,
}

impl PendingTexts {
    pub(super) fn text(&self, file: TextFile) -> &str {
        match file {
            TextFile::Context => &self.context,
            TextFile::Transcript => &self.transcript,
            TextFile::Verbose => &self.verbose,
        }
    }
}

/// What the fold of the records so far has come to, beside the rows and the text.
#[derive(Debug, Clone)]
pub(super) struct ViewProgress {
    session: SessionId,
    /// The newest record that is in the views.
    pub(super) position: u64,
    lengths: [u64; 3],
    /// Whether the verbose stream is on.
    pub(super) verbose: bool,
    /// When the open turn began.
    pub(super) turn_started: Option<Timestamp>,
    /// The row of the session's own instructions, which no compaction touches.
    pub(super) system_row: Option<i64>,
}

impl ViewProgress {
    /// Nothing yet.
    pub(super) fn new(session: SessionId) -> ViewProgress {
        ViewProgress {
            session,
            position: 0,
            lengths: [0; 3],
            verbose: false,
            turn_started: None,
            system_row: None,
        }
    }

    /// What is stored; `None` when it is of another session, or from before the machine went down.
    pub(super) fn load(
        connection: &Connection,
        session: SessionId,
    ) -> Result<Option<ViewProgress>, rusqlite::Error> {
        let version: Option<i64> =
            connection.query_row("SELECT version FROM schema_version", [], |row| row.get(0)).optional()?;
        let whose = get(connection, "session_id")?;
        let left_open = get(connection, DIRTY_KEY)?;
        let format = get(connection, "views_format")?;
        let trusted = format.as_deref() == Some(FORMAT)
            && version == Some(super::database::VERSION)
            && whose == Some(session.to_string())
            && left_open.is_none_or(|then| boot::is_current_boot(&then));
        if !trusted {
            return Ok(None);
        }
        let number = |key: &str| get(connection, key).map(|value| value.and_then(|value| value.parse().ok()));
        let Some(position) = number("position")? else { return Ok(None) };
        let mut progress = ViewProgress { position, ..ViewProgress::new(session) };
        for file in TextFile::ALL {
            let Some(length) = number(&length_key(file))? else { return Ok(None) };
            progress.lengths[file as usize] = length;
        }
        progress.verbose = get(connection, "verbose")?.is_some_and(|value| value == "1");
        progress.turn_started =
            get(connection, EventName::TurnStarted.as_str())?.and_then(|value| value.parse().ok());
        progress.system_row = get(connection, "system_row")?.and_then(|value| value.parse().ok());
        Ok(Some(progress))
    }

    /// Stores it, in the transaction of the rows that it tells of.
    pub(super) fn store(&self, connection: &Connection) -> Result<(), rusqlite::Error> {
        put(connection, "views_format", Some(FORMAT))?;
        put(connection, "session_id", Some(&self.session.to_string()))?;
        put(connection, "position", Some(&self.position.to_string()))?;
        for file in TextFile::ALL {
            put(connection, &length_key(file), Some(&self.length(file).to_string()))?;
        }
        put(connection, "verbose", Some(if self.verbose { "1" } else { "0" }))?;
        put(
            connection,
            EventName::TurnStarted.as_str(),
            self.turn_started.map(|at| at.to_string()).as_deref(),
        )?;
        put(connection, "system_row", self.system_row.map(|row| row.to_string()).as_deref())
    }

    /// How long a file is.
    pub(super) fn length(&self, file: TextFile) -> u64 {
        self.lengths[file as usize]
    }

    pub(super) fn lengthen(&mut self, file: TextFile, by: u64) {
        self.lengths[file as usize] += by;
    }
}

/// Where the length of a file is stored.
pub(super) fn length_key(file: TextFile) -> String {
    format!("bytes:{}", file.name())
}
