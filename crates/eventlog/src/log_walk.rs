//! Going through a log from one line to the next, each proven by the one before it.
//!
//! `seek` finds the place to begin at. What becomes of damage is up to the caller.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use ostler_types::SessionId;

use crate::check::LogDamage;
use crate::log::LogLine;
use crate::log_heads::LogHead;
use crate::sealed_line::{self, MAX_LINE};

/// How much is read at once; more only where a line is longer.
const CHUNK: usize = 64 << 10;

/// A log that is being read. Counts what it reads.
#[derive(Debug)]
pub(crate) struct LogFile<'a> {
    pub(crate) file: &'a File,
    pub(crate) session: String,
    bytes_read: &'a AtomicU64,
}

impl<'a> LogFile<'a> {
    pub(crate) fn new(file: &'a File, session: SessionId, bytes_read: &'a AtomicU64) -> LogFile<'a> {
        LogFile { file, session: session.to_string(), bytes_read }
    }

    /// Up to `length` bytes; fewer only at the end of the file.
    pub(crate) fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let mut filled = 0;
        while filled < length {
            match self.file.read_at(&mut bytes[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(filled);
        self.bytes_read.fetch_add(filled as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

/// What stands at the next place of a file.
#[derive(Debug)]
pub(crate) enum RawStep {
    /// A line, with the space that it may end in, without its line feed.
    Line { offset: u64, bytes: Bytes },
    /// The file ends without a line feed.
    Partial,
    /// More bytes without a line feed than a line may have.
    TooLong { offset: u64 },
    /// The file ends.
    End,
}

/// Lines by their line feeds alone, up to `end`.
#[derive(Debug)]
pub(crate) struct RawLines<'a> {
    log: &'a LogFile<'a>,
    offset: u64,
    end: u64,
    /// What has been read from `offset` on.
    ahead: Bytes,
}

impl<'a> RawLines<'a> {
    pub(crate) fn new(log: &'a LogFile<'a>, offset: u64, end: u64) -> RawLines<'a> {
        RawLines { log, offset, end, ahead: Bytes::new() }
    }

    pub(crate) fn next(&mut self) -> io::Result<RawStep> {
        let offset = self.offset;
        let mut searched = 0;
        loop {
            if let Some(found) = memchr::memchr(b'\n', &self.ahead[searched..]) {
                let bytes = self.ahead.split_to(searched + found);
                let _line_feed = self.ahead.split_to(1);
                self.offset += bytes.len() as u64 + 1;
                return Ok(RawStep::Line { offset, bytes });
            }
            searched = self.ahead.len();
            if searched > MAX_LINE + 1 {
                return Ok(RawStep::TooLong { offset });
            }
            let left = usize::try_from(self.end - offset).unwrap_or(usize::MAX);
            let wanted = CHUNK.max(searched * 2).min(MAX_LINE + CHUNK).min(left);
            if wanted > searched {
                self.ahead = Bytes::from(self.log.read(offset, wanted)?);
            }
            if self.ahead.len() <= searched {
                return Ok(if searched == 0 { RawStep::End } else { RawStep::Partial });
            }
        }
    }
}

/// What a walk finds next.
#[derive(Debug)]
pub(crate) enum WalkStep {
    /// A record that has proven itself, and where it stands.
    Line { line: LogLine, offset: u64 },
    /// The end, be it torn or not.
    End,
    /// A line that is not the record that it should be.
    Damaged(LogDamage),
}

/// A walk through proven records.
#[derive(Debug)]
pub(crate) struct LogWalk<'a> {
    raw: RawLines<'a>,
    /// The last record walked past.
    pub(crate) head: LogHead,
    /// The last record that ends its append.
    pub(crate) whole: LogHead,
}

impl<'a> LogWalk<'a> {
    /// Begins after the record `head`, which is trusted, and goes on up to the byte `end`.
    pub(crate) fn new(log: &'a LogFile<'a>, head: LogHead, end: u64) -> LogWalk<'a> {
        LogWalk { raw: RawLines::new(log, head.length, end), head, whole: head }
    }

    pub(crate) fn next(&mut self) -> io::Result<WalkStep> {
        let seq = self.head.seq + 1;
        let (offset, bytes) = match self.raw.next()? {
            RawStep::Line { offset, bytes } => (offset, bytes),
            RawStep::Partial | RawStep::End => return Ok(WalkStep::End),
            RawStep::TooLong { offset } => {
                let what = "the line is longer than a record may be".to_owned();
                return Ok(WalkStep::Damaged(LogDamage { seq, offset, what }));
            }
        };
        let (text, continued) = sealed_line::strip_continuation(&bytes);
        match sealed_line::verify(text, &self.raw.log.session, seq, self.head.chain) {
            Ok(chain) => {
                self.head = LogHead { seq, chain, length: offset + bytes.len() as u64 + 1 };
                if !continued {
                    self.whole = self.head;
                }
                let line = LogLine { seq, bytes: bytes.slice(..text.len()) };
                Ok(WalkStep::Line { line, offset })
            }
            Err(_) if self.raw.offset == self.raw.end && is_torn(&bytes) => Ok(WalkStep::End),
            Err(what) => Ok(WalkStep::Damaged(LogDamage { seq, offset, what: what.to_owned() })),
        }
    }
}

/// Whether a last line was never written whole: a file system may make a file longer before it fills it
/// in, and no record holds a zero byte.
pub(crate) fn is_torn(line: &[u8]) -> bool {
    memchr::memchr(0, line).is_some()
}
