//! All files of a session in a zip archive: the log, the views as they belong to it, and what lies beside it.
//!
//! Only what a session is known to have is taken, by name, and of its views only regular files: a link in the folder
//! leads nowhere. The format is written by the `zip` crate, from its beginning to its end, without going back.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, DateTime, ZIP64_BYTES_THR, ZipWriter};

use super::database_copy::DatabaseCopy;
use super::session_files::{OpenSessionFile, SessionFiles};
use super::write_ndjson;

/// Files of the session's folder that are taken as they are.
const FILES_OF_SESSION: [&str; 2] = ["session.json", "raw.jsonl"];
/// Text files whose length the database tells.
const TEXT_FILES: [&str; 3] = ["context.md", "transcript.jsonl", "verbose.md"];
/// The folders of the files that the log keeps beside its records.
const BLOB_FOLDERS: [&str; 2] = ["attachments/", "artifacts/"];

/// Where the views of a session are.
#[derive(Debug, Clone, Copy)]
pub struct ArchiveFolders<'a> {
    /// The folder of the session, with `session.json` and the raw traffic.
    pub session: &'a Path,
    /// The folder of the other readable files, which may be the same.
    pub views: &'a Path,
    /// A path that is free to be used meanwhile.
    pub scratch: &'a Path,
}

/// Writes the archive. `lines` are the lines of the log, and `at` is what the entries say of their age.
pub fn write_zip<L: AsRef<[u8]>>(
    folders: ArchiveFolders<'_>,
    files: &dyn SessionFiles,
    lines: impl IntoIterator<Item = io::Result<L>>,
    at: Timestamp,
    out: &mut dyn Write,
) -> io::Result<()> {
    let stopped = Cell::new(false);
    let zip = ZipWriter::new_stream(ArchiveOutput { out, stopped: &stopped });
    let mut entries = ArchiveWriter { zip, options: options(at) };
    let added = add_all(&mut entries, folders, files, lines);
    stopped.set(added.is_err());
    added?;
    entries.zip.finish()?;
    Ok(())
}

/// Where the archive goes, until something fails. A [`ZipWriter`] that is dropped writes the directory, which would make
/// a whole archive of half an export.
struct ArchiveOutput<'a> {
    out: &'a mut dyn Write,
    stopped: &'a Cell<bool>,
}

impl Write for ArchiveOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.stopped.get() {
            return Ok(bytes.len());
        }
        let written = self.out.write(bytes);
        // What was interrupted is tried again.
        let failed = |error: &io::Error| error.kind() != io::ErrorKind::Interrupted;
        self.stopped.set(written.as_ref().is_err_and(failed));
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.stopped.get() { Ok(()) } else { self.out.flush() }
    }
}

struct ArchiveWriter<'a> {
    zip: ZipWriter<StreamWriter<ArchiveOutput<'a>>>,
    options: SimpleFileOptions,
}

/// What all entries have in common. The format has no years before 1980 and after 2107.
fn options(at: Timestamp) -> SimpleFileOptions {
    let at = at.to_zoned(TimeZone::UTC);
    let year = u16::try_from(at.year().clamp(1980, 2107)).unwrap_or(1980);
    let [month, day, hour, minute, second] =
        [at.month(), at.day(), at.hour(), at.minute(), at.second()].map(i8::unsigned_abs);
    let modified = DateTime::from_date_and_time(year, month, day, hour, minute, second).unwrap_or_default();
    SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(modified)
        .unix_permissions(0o600)
}

fn add_all<L: AsRef<[u8]>>(
    entries: &mut ArchiveWriter<'_>,
    folders: ArchiveFolders<'_>,
    files: &dyn SessionFiles,
    lines: impl IntoIterator<Item = io::Result<L>>,
) -> io::Result<()> {
    entries.zip.start_file("events.ndjson", entries.options)?;
    let mut length = 0;
    let lines = lines.into_iter().map(|line| {
        let line = line?;
        length += line.as_ref().len() as u64 + 1;
        if length < ZIP64_BYTES_THR { Ok(line) } else { Err(too_large()) }
    });
    write_ndjson(lines, &mut entries.zip)?;
    for name in FILES_OF_SESSION {
        add_file(entries, &folders.session.join(name), name, u64::MAX)?;
    }
    add_views(entries, folders)?;
    for folder in BLOB_FOLDERS {
        for name in files.list(folder)? {
            // One that goes away meanwhile is left out.
            if let Some(OpenSessionFile { size, content }) = files.open(&name)? {
                add(entries, &name, size, content)?;
            }
        }
    }
    Ok(())
}

/// Adds the views, if there are any yet, as they were at one moment.
fn add_views(entries: &mut ArchiveWriter<'_>, folders: ArchiveFolders<'_>) -> io::Result<()> {
    if !folders.views.join("session.db").is_file() {
        return Ok(());
    }
    let copy = DatabaseCopy::make(folders.views, folders.scratch)?;
    add_file(entries, &copy.path, "session.db", u64::MAX)?;
    for name in TEXT_FILES {
        // Text is only ever added, so what belonged to the database then is still there.
        let length = copy.length_of(name).unwrap_or(u64::MAX);
        add_file(entries, &folders.views.join(name), name, length)?;
    }
    Ok(())
}

/// Adds a regular file, up to a length; anything else, and what is not there, is passed over.
fn add_file(entries: &mut ArchiveWriter<'_>, path: &Path, name: &str, length: u64) -> io::Result<()> {
    let there = match fs::symlink_metadata(path) {
        Ok(there) if there.is_file() && length > 0 => there,
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    add(entries, name, there.len().min(length), File::open(path)?)
}

fn add(entries: &mut ArchiveWriter<'_>, name: &str, size: u64, content: impl Read) -> io::Result<()> {
    if size >= ZIP64_BYTES_THR {
        return Err(too_large());
    }
    entries.zip.start_file(name, entries.options)?;
    io::copy(&mut content.take(size), &mut entries.zip)?;
    Ok(())
}

fn too_large() -> io::Error {
    let text = "the session is larger than a zip archive can be; export it as ndjson instead";
    io::Error::new(io::ErrorKind::FileTooLarge, text)
}
