//! Looking over a whole log for its owner, and saving what is good of a damaged one.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use ostler_types::SessionId;

use crate::disk::DiskFile;
use crate::log::LogError;
use crate::log_heads::LogHead;
use crate::log_walk::LogFile;
use crate::seek::survey_all;
use crate::shared::{FileLogShared, disk_error};

/// How much of a log is copied at once.
const COPY_CHUNK: usize = 1 << 20;

/// The first record of a log that cannot be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogDamage {
    /// The record that should stand there.
    pub seq: u64,
    /// Where it begins in the file.
    pub offset: u64,
    /// What is wrong with it.
    pub what: String,
}

impl From<LogDamage> for LogError {
    fn from(LogDamage { seq, offset, what }: LogDamage) -> LogError {
        LogError::Damaged { seq, offset: Some(offset), what }
    }
}

/// What a look over a whole log found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    /// How many records are good, from the first on.
    pub records: u64,
    /// How many bytes these take.
    pub bytes: u64,
    /// How many bytes at the end belong to an append that was never finished. They are cut off, and
    /// kept in a file of their own, when the session is next appended to.
    pub torn_bytes: u64,
    /// Where the log stops being good.
    pub damage: Option<LogDamage>,
}

/// What became of a damaged log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SalvageReport {
    /// How many records the log holds now.
    pub records: u64,
    /// Where the damaged log is kept; none when there was no damage, and nothing was done.
    pub kept_as: Option<PathBuf>,
}

/// Proves every record of a log.
pub(crate) fn check(shared: &FileLogShared, session: SessionId) -> Result<CheckReport, LogError> {
    let failed = |error: io::Error| disk_error("reading a log", &error);
    let file = File::open(shared.layout.log(session)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => LogError::NotFound,
        _ => failed(error),
    })?;
    // A log in use goes as far as was acknowledged; one at rest as far as its file.
    let length = match shared.heads.get(session) {
        Some(known) => known.head.length,
        None => file.metadata().map_err(failed)?.len(),
    };
    let log = LogFile::new(&file, session, &shared.bytes_read);
    let found = survey_all(&log, length).map_err(failed)?;
    if let Some(damage) = &found.damage {
        shared.quarantine.report(session, damage);
    }
    let torn_bytes = if found.damage.is_none() { length - found.head.length } else { 0 };
    Ok(CheckReport { records: found.head.seq, bytes: found.head.length, torn_bytes, damage: found.damage })
}

/// Puts the good beginning of a damaged log in its place, and keeps the damaged one beside it. Only the
/// committer calls this, with the session closed.
pub(crate) fn salvage(shared: &FileLogShared, session: SessionId) -> Result<SalvageReport, LogError> {
    let report = check(shared, session)?;
    if report.damage.is_none() {
        return Ok(SalvageReport { records: report.records, kept_as: None });
    }
    let failed = |error: io::Error| disk_error("salvaging a log", &error);
    let folder = shared.layout.session(session);
    let (log, new) = (shared.layout.log(session), folder.join("events.salvaged"));
    let kept_as = (1..1000)
        .map(|number| folder.join(format!("events.damaged-{number}.ndjson")))
        .find(|path| !path.exists())
        .ok_or_else(|| {
            LogError::Io("too many damaged logs are kept beside this one: move them away".into())
        })?;
    let source = File::open(&log).map_err(failed)?;
    let good = LogFile::new(&source, session, &shared.bytes_read);
    let target = shared.disk.open(&new).map_err(failed)?;
    copy(shared, &good, &target, report.bytes).map_err(failed)?;
    shared.disk.sync_data(&target).map_err(failed)?;
    // The old log gets its second name first, so that at no time there is no log.
    shared.disk.link(&log, &kept_as).map_err(failed)?;
    shared.disk.rename(&new, &log).map_err(failed)?;
    shared.disk.sync_dir(&folder).map_err(failed)?;
    Ok(SalvageReport { records: report.records, kept_as: Some(kept_as) })
}

/// Copies the first `length` bytes, which are whole lines. The last of them becomes the end of its
/// append, whose other records are lost.
fn copy(shared: &FileLogShared, from: &LogFile<'_>, to: &DiskFile, length: u64) -> io::Result<()> {
    shared.disk.truncate(to, 0)?;
    let mut offset = 0;
    while offset < length {
        let count = usize::try_from(length - offset).unwrap_or(usize::MAX).min(COPY_CHUNK);
        let bytes = from.read(offset, count)?;
        shared.disk.write_at(to, &bytes, offset)?;
        offset += count as u64;
    }
    let end = from.read(length.saturating_sub(2), 2)?;
    if end == b" \n" {
        shared.disk.truncate(to, length - 2)?;
        shared.disk.write_at(to, b"\n", length - 2)?;
    }
    Ok(())
}

/// Cuts the torn end off a log that is about to be appended to, and keeps the bytes.
pub(crate) fn cut_torn(
    shared: &FileLogShared,
    session: SessionId,
    file: &DiskFile,
    head: LogHead,
    length: u64,
) -> io::Result<()> {
    let folder = shared.layout.session(session);
    let torn = (0..1000)
        .map(|number| match number {
            0 => folder.join(format!("torn-{}", head.length)),
            _ => folder.join(format!("torn-{}-{number}", head.length)),
        })
        .find(|path| !path.exists())
        .ok_or_else(|| io::Error::other("too many torn ends are kept beside the log: move them away"))?;
    let log = LogFile::new(&file.file, session, &shared.bytes_read);
    let kept = shared.disk.open(&torn)?;
    let mut offset = head.length;
    while offset < length {
        let bytes =
            log.read(offset, usize::try_from(length - offset).unwrap_or(usize::MAX).min(COPY_CHUNK))?;
        if bytes.is_empty() {
            break;
        }
        shared.disk.write_at(&kept, &bytes, offset - head.length)?;
        offset += bytes.len() as u64;
    }
    shared.disk.sync_data(&kept)?;
    shared.disk.sync_dir(&folder)?;
    shared.disk.truncate(file, head.length)?;
    let what = format!("{} bytes of an unfinished append, kept in {}", length - head.length, torn.display());
    shared.quarantine.report_torn(session, head.seq + 1, head.length, &what);
    Ok(())
}
