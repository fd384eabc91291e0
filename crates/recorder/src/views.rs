//! The readable views of one session: `session.db`, `context.md`, `transcript.jsonl`, and `verbose.md` while the
//! session asks for it.
//!
//! They are a pure function of the session's records, however these are handed over. Rows and position are
//! committed in one transaction, which also says how long each text file is then. Text is written before it
//! is committed, so whatever a failed write leaves behind is cut off. Nothing is synced until a view is closed, and
//! commits have no journal on disk; so views that were open when the process was killed or the machine went down
//! cannot be trusted and start over. When to write is left to [`crate::Recorder`].

mod boot;
mod compaction;
mod database;
mod progress;
mod rebuild;
mod rows;
mod text_file;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ostler_types::{AgentEvent, Event, Record, SessionEvent, SessionId, TurnEvent};
use rusqlite::{Connection, TransactionBehavior};

use crate::RecorderError;
use crate::text::{context, transcript, verbose};
use database::{DATABASE, DatabaseAtPath};
use progress::{PendingTexts, TextFile, ViewProgress};
use rows::RowWriter;

pub use rebuild::rebuild;

/// The views of one session, open to be brought up to its log. One owner at a time.
pub struct SessionViews {
    dir: PathBuf,
    connection: Connection,
    progress: ViewProgress,
    /// Whether the database says that it is being written to.
    is_dirty: bool,
}

impl Drop for SessionViews {
    /// Lets go of the files without waiting for the disk: they are as good as closed ones, unless the machine goes
    /// down soon after.
    fn drop(&mut self) {
        if self.is_dirty {
            // A file that is still marked is made again.
            let _ = database::mark_released(&self.connection, &boot::boot_id());
        }
    }
}

impl SessionViews {
    /// Opens the views in a folder, which must exist. What cannot be trusted (damage, another session's
    /// files, a text file that is too short) is removed, and the position is 0 again.
    pub fn open(dir: &Path, session: SessionId) -> Result<SessionViews, RecorderError> {
        let (connection, progress, marked) = match open_trusted(dir, session)? {
            Some((connection, progress)) => (connection, progress, false),
            None => {
                remove(dir)?;
                let connection = database::create(&dir.join(DATABASE))?;
                (connection, ViewProgress::new(session), true)
            }
        };
        Ok(SessionViews { dir: dir.to_owned(), connection, progress, is_dirty: marked })
    }

    /// The newest record that the views hold; 0 when they hold none.
    pub fn position(&self) -> u64 {
        self.progress.position
    }

    /// Brings the views on by these records, all or nothing. Records that are there already are passed over;
    /// the first new one must follow the position. After an error they stand where they stood before.
    pub fn apply(&mut self, records: &[Record]) -> Result<(), RecorderError> {
        let position = self.progress.position;
        let new = &records[records.partition_point(|record| record.seq <= position)..];
        let Some(first) = new.first() else { return Ok(()) };
        if first.seq != position + 1 {
            let text = format!("record {} was handed over after record {position}", first.seq);
            return Err(self.failed(DATABASE, io::Error::other(text)));
        }
        let applied = self.write(new);
        if applied.is_err() {
            // What was appended in vain; what cannot be cut now is cut at the next opening.
            for file in TextFile::ALL {
                let _ = text_file::truncate(&self.dir.join(file.name()), self.progress.length(file));
            }
        }
        applied
    }

    /// Lets go of the files, after all of them have reached the disk.
    pub fn close(mut self) -> Result<(), RecorderError> {
        if !self.is_dirty {
            return Ok(());
        }
        for file in TextFile::ALL.into_iter().filter(|file| self.progress.length(*file) > 0) {
            let path = self.dir.join(file.name());
            text_file::sync(&path).map_err(|error| self.failed(file.name(), error))?;
        }
        database::mark_synced(&self.connection)
            .map_err(|error| self.failed(DATABASE, database::to_io_error(error)))?;
        self.is_dirty = false;
        text_file::sync(&self.dir).map_err(|error| self.failed(DATABASE, error))
    }

    fn write(&mut self, records: &[Record]) -> Result<(), RecorderError> {
        let path = self.dir.join(DATABASE);
        let failed = |error| RecorderError { path: path.clone(), source: database::to_io_error(error) };
        if !self.is_dirty {
            database::mark_dirty(&self.connection).map_err(failed)?;
            self.is_dirty = true;
        }
        let mut progress = self.progress.clone();
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let mut texts = PendingTexts::default();
        for record in records {
            fold(&RowWriter::new(&transaction), &mut progress, &mut texts, record).map_err(failed)?;
        }
        for file in TextFile::ALL {
            let path = self.dir.join(file.name());
            text_file::append(&path, self.progress.length(file), texts.text(file))
                .map_err(|source| RecorderError { path, source })?;
            progress.lengthen(file, texts.text(file).len() as u64);
        }
        progress.store(&transaction).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.progress = progress;
        Ok(())
    }

    fn failed(&self, name: &str, source: io::Error) -> RecorderError {
        RecorderError { path: self.dir.join(name), source }
    }
}

/// Adds what one record says to all views.
fn fold(
    rows: &RowWriter<'_>,
    progress: &mut ViewProgress,
    texts: &mut PendingTexts,
    record: &Record,
) -> Result<(), rusqlite::Error> {
    match &record.event {
        Event::Session(SessionEvent::Created { session })
        | Event::Session(SessionEvent::Updated { session }) => {
            progress.verbose = session.verbose_log;
            rows.describe(session)?;
            if matches!(record.event, Event::Session(SessionEvent::Created { .. })) {
                progress.system_row = rows.add_system_prompt(session)?;
            }
        }
        Event::Turn(TurnEvent::Started { .. }) => progress.turn_started = Some(record.ts),
        Event::Agent(AgentEvent::ContextCompacted { compaction }) => {
            rows.compact(compaction, progress.system_row, record.ts)?
        }
        Event::Session(
            SessionEvent::Completed { .. } | SessionEvent::Failed { .. } | SessionEvent::Canceled { .. },
        )
        | Event::Message(_)
        | Event::Turn(
            TurnEvent::Retried { .. }
            | TurnEvent::Completed { .. }
            | TurnEvent::Failed { .. }
            | TurnEvent::Canceled { .. },
        )
        | Event::Step(_)
        | Event::Batch(_)
        | Event::Call(_)
        | Event::Approval(_)
        | Event::Workspace(_)
        | Event::Agent(AgentEvent::Updated { .. })
        | Event::Child(_) => rows.add_message(record)?,
    }
    context::write(record, &mut texts.context);
    transcript::write(record, &mut texts.transcript);
    if progress.verbose {
        if progress.length(TextFile::Verbose) == 0 && texts.verbose.is_empty() {
            texts.verbose = verbose::head(record.ts);
        }
        for fact in verbose::facts(record, progress.turn_started) {
            rows.add_fact(&fact, record.ts)?;
            fact.write(record.ts, &mut texts.verbose);
        }
    }
    if matches!(
        record.event,
        Event::Turn(TurnEvent::Completed { .. } | TurnEvent::Failed { .. } | TurnEvent::Canceled { .. })
    ) {
        progress.turn_started = None;
    }
    progress.position = record.seq;
    Ok(())
}

/// The views that are there, if they can be trusted. Text that was never committed is cut off.
fn open_trusted(dir: &Path, session: SessionId) -> Result<Option<(Connection, ViewProgress)>, RecorderError> {
    let path = dir.join(DATABASE);
    let DatabaseAtPath::Usable(connection) = database::open(&path)? else { return Ok(None) };
    let stored = ViewProgress::load(&connection, session);
    let failed = |error| RecorderError { path, source: database::to_io_error(error) };
    let progress = match stored {
        Ok(Some(progress)) => progress,
        Ok(None) => return Ok(None),
        Err(error) if database::is_damage(&error) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    for file in TextFile::ALL {
        let path = dir.join(file.name());
        match text_file::truncate(&path, progress.length(file)) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(source) => return Err(RecorderError { path, source }),
        }
    }
    Ok(Some((connection, progress)))
}

/// Removes all views of a folder, the database first: without it nothing else counts.
fn remove(dir: &Path) -> Result<(), RecorderError> {
    let texts = TextFile::ALL.map(TextFile::name);
    for name in database::DATABASE_FILES.into_iter().chain(texts) {
        let path = dir.join(name);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(RecorderError { path, source });
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}
