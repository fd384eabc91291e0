//! Reading a session's log: from where, how far, and what to say of damage.
//!
//! Readers never change a log. They stop at what the committer has said is on disk; a log that it does
//! not know is at rest, and its file tells how far it goes.

use std::fs::File;
use std::io;

use ostler_types::SessionId;

use crate::check::LogDamage;
use crate::log::{LogError, LogLine};
use crate::log_heads::LogHead;
use crate::log_walk::{LogFile, WalkStep};
use crate::seek::{seek, survey};
use crate::shared::{FileLogShared, disk_error};

/// The most that one read returns, whatever was asked for.
const MAX_READ: usize = 16 << 20;

/// A log, and how much of it may be read.
#[derive(Debug)]
pub(crate) struct ReadableLog {
    pub(crate) file: File,
    /// The last record that may be read.
    pub(crate) last: u64,
    /// Where it ends.
    pub(crate) end: u64,
    /// What comes after it, if that is damage.
    pub(crate) damage: Option<LogDamage>,
}

/// Opens a log to be read.
pub(crate) fn open(shared: &FileLogShared, session: SessionId) -> Result<ReadableLog, LogError> {
    let file = match File::open(shared.layout.log(session)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(LogError::NotFound),
        Err(error) => return Err(disk_error("opening a log", &error)),
    };
    let failed = |error: io::Error| disk_error("reading a log", &error);
    let mut damage = shared.quarantine.known(session);
    let head = match shared.heads.get(session) {
        Some(known) => known.head,
        None => {
            let length = file.metadata().map_err(failed)?.len();
            let log = LogFile::new(&file, session, &shared.bytes_read);
            let found = survey(&log, length).map_err(failed)?;
            // The committer may have begun to append since: then only its word counts.
            match shared.heads.get(session) {
                Some(known) => known.head,
                None => {
                    if let Some(found) = found.damage {
                        shared.quarantine.report(session, &found);
                        damage.get_or_insert(found);
                    }
                    found.head
                }
            }
        }
    };
    let LogHead { seq, length, .. } = head;
    match damage {
        Some(damage) => {
            Ok(ReadableLog { file, last: damage.seq - 1, end: damage.offset, damage: Some(damage) })
        }
        None if seq == 0 => Err(LogError::NotFound),
        None => Ok(ReadableLog { file, last: seq, end: length, damage: None }),
    }
}

/// Reads records from `from` on, about `limit_bytes` of them, and at least one if there is one.
pub(crate) fn read(
    shared: &FileLogShared,
    session: SessionId,
    from: u64,
    limit_bytes: usize,
) -> Result<Vec<LogLine>, LogError> {
    let readable = open(shared, session)?;
    let from = from.max(1);
    if from > readable.last {
        return readable.damage.map_or(Ok(Vec::new()), |damage| Err(damage.into()));
    }
    let failed = |error: io::Error| disk_error("reading a log", &error);
    let log = LogFile::new(&readable.file, session, &shared.bytes_read);
    let mut walk = seek(&log, from, readable.end).map_err(failed)?;
    let (mut lines, mut size) = (Vec::new(), 0);
    while size < limit_bytes.clamp(1, MAX_READ) {
        match walk.next().map_err(failed)? {
            WalkStep::Line { line, .. } if line.seq < from => {}
            WalkStep::Line { line, .. } => {
                size += line.bytes.len();
                lines.push(line);
            }
            WalkStep::Damaged(damage) => {
                shared.quarantine.report(session, &damage);
                return if lines.is_empty() { Err(damage.into()) } else { Ok(lines) };
            }
            WalkStep::End => break,
        }
    }
    Ok(lines)
}

/// The last record's seq; 0 without one.
pub(crate) fn last_seq(shared: &FileLogShared, session: SessionId) -> Result<u64, LogError> {
    match open(shared, session) {
        Ok(readable) => Ok(readable.last),
        Err(LogError::NotFound) => Ok(0),
        Err(error) => Err(error),
    }
}
