//! The file itself: whole lines only, up to a size, and no errors that anybody else would have to hear of.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ostler_types::RawLine;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::raw_queue::QueuedRawLine;

/// How large a file may become.
const MAX_FILE: u64 = 256 << 20;
/// How far back the end of the last whole line is looked for; longer than any line.
const MAX_TAIL: u64 = 64 << 20;

/// Fails if something other than a regular file is there, such as a link to somewhere else.
pub(super) fn check(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_file() => Ok(()),
        Ok(_) => {
            let message = format!("{} is not a regular file; move it away", path.display());
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

pub(super) struct RawFile {
    path: PathBuf,
    open: Option<OpenRawFile>,
    /// Lines that the disk did not take since the last one that it took.
    pub(super) lost: u64,
}

struct OpenRawFile {
    file: File,
    /// Where the last whole line ends.
    end: u64,
}

/// A line as it is written.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WrittenRawLine<'a> {
    Request { timestamp: Timestamp, endpoint: &'a str, payload: &'a Value },
    Response { timestamp: Timestamp, status: u16, body: &'a str },
    StreamChunk { timestamp: Timestamp, event: &'a str, chunk: RawChunk<'a> },
    Dropped { timestamp: Timestamp, count: u64 },
    Stopped { timestamp: Timestamp, reason: &'a str },
}

/// An object or a list stands as it came; everything else becomes a string, also a string in quotes, so that
/// a reader can tell what had come.
#[derive(Serialize)]
#[serde(untagged)]
enum RawChunk<'a> {
    Raw(&'a RawValue),
    Parsed(Value),
    Text(&'a str),
}

impl RawFile {
    /// The file, which is opened for the first line, and how many lines it does not tell of yet.
    pub(super) fn new(path: &Path, lost: u64) -> RawFile {
        RawFile { path: path.to_owned(), open: None, lost }
    }

    /// Writes a line. What the disk does not take is counted, and said as soon as it takes something again.
    /// False when the file is full.
    pub(super) fn write(&mut self, waiting: &QueuedRawLine) -> bool {
        let at = match waiting {
            QueuedRawLine::Line(at, _) | QueuedRawLine::Dropped(at, _) => *at,
        };
        if self.lost > 0 {
            let lost = WrittenRawLine::Dropped { timestamp: at, count: self.lost };
            if matches!(self.append(&line(&lost)), Ok(RawFileRoom::Enough)) {
                self.lost = 0;
            }
        }
        let (bytes, count) = match waiting {
            QueuedRawLine::Line(at, raw) => (line(&written(*at, raw)), 1),
            QueuedRawLine::Dropped(at, count) => {
                (line(&WrittenRawLine::Dropped { timestamp: *at, count: *count }), *count)
            }
        };
        match self.append(&bytes) {
            Ok(RawFileRoom::Enough) => true,
            Ok(RawFileRoom::Full) => {
                self.stop(at);
                false
            }
            Err(_) => {
                self.lost = self.lost.saturating_add(count);
                true
            }
        }
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<RawFileRoom> {
        let open = match &mut self.open {
            Some(open) => open,
            None => self.open.insert(OpenRawFile::at(&self.path)?),
        };
        if open.end + bytes.len() as u64 > MAX_FILE {
            return Ok(RawFileRoom::Full);
        }
        open.append(bytes)?;
        Ok(RawFileRoom::Enough)
    }

    /// Says once that nothing more follows, also when a later writer finds the file full.
    fn stop(&mut self, timestamp: Timestamp) {
        let Some(open) = &mut self.open else { return };
        let last = WrittenRawLine::Stopped { timestamp, reason: "the file has reached 256 MiB" };
        if !open.is_stopped() {
            // The file is as good without it.
            let _ = open.append(&line(&last));
        }
    }
}

enum RawFileRoom {
    Enough,
    Full,
}

impl OpenRawFile {
    fn at(path: &Path) -> io::Result<OpenRawFile> {
        check(path)?;
        let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
        let mut open = OpenRawFile { end: file.metadata()?.len(), file };
        // A crash can leave half a line behind.
        let whole = open.end_of_last_line()?;
        if whole < open.end {
            open.file.set_len(whole)?;
            open.end = whole;
        }
        Ok(open)
    }

    /// All of it, or nothing.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(bytes) {
            self.file.set_len(self.end)?;
            return Err(error);
        }
        self.end += bytes.len() as u64;
        Ok(())
    }

    fn end_of_last_line(&mut self) -> io::Result<u64> {
        let mut position = self.end;
        while position > self.end.saturating_sub(MAX_TAIL) {
            let start = position.saturating_sub(64 << 10);
            let block = self.read(start, position)?;
            if let Some(newline) = block.iter().rposition(|byte| *byte == b'\n') {
                return Ok(start + newline as u64 + 1);
            }
            position = start;
        }
        Ok(position)
    }

    fn is_stopped(&mut self) -> bool {
        let tail = self.read(self.end.saturating_sub(256), self.end).unwrap_or_default();
        let tail = String::from_utf8_lossy(&tail);
        tail.trim_end().rsplit('\n').next().is_some_and(|line| line.starts_with(r#"{"type":"stopped""#))
    }

    fn read(&mut self, start: u64, end: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(start))?;
        (&self.file).take(end - start).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

fn written(timestamp: Timestamp, line: &RawLine) -> WrittenRawLine<'_> {
    match line {
        RawLine::Request { endpoint, payload } => WrittenRawLine::Request { timestamp, endpoint, payload },
        RawLine::Response { status, body } => WrittenRawLine::Response { timestamp, status: *status, body },
        RawLine::StreamChunk { event, chunk } => {
            WrittenRawLine::StreamChunk { timestamp, event, chunk: chunk_of(chunk) }
        }
    }
}

fn chunk_of(text: &str) -> RawChunk<'_> {
    if !text.starts_with(['{', '[']) {
        return RawChunk::Text(text);
    }
    // White space between the members may hold a line break, which would end our line.
    if text.contains(['\n', '\r']) {
        return serde_json::from_str(text).map_or(RawChunk::Text(text), RawChunk::Parsed);
    }
    serde_json::from_str(text).map_or(RawChunk::Text(text), RawChunk::Raw)
}

fn line(written: &WrittenRawLine<'_>) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(written).expect("a line holds nothing that JSON cannot");
    bytes.push(b'\n');
    bytes
}
