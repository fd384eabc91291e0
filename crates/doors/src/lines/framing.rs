//! Lines of bytes: what a client sends, cut at each LF and nowhere else. What a line means is the desk's.
//!
//! A CR before the LF is dropped, text that is split over two reads is put together, and a last line without
//! an LF counts. A line over the limit is told once and skipped to its end, so that nothing else is lost
//! and no more than the limit is ever held.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes that are asked for at a time.
const READ: usize = 64 * 1024;

/// The limits that can be set on the length of a line.
const LINE_LIMITS: Range<usize> = 1024..(64 << 20) + 1;

/// Something that a client sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Framed {
    /// A line, without its end.
    Line(Bytes),
    /// A line that was longer than the limit; its content is gone.
    TooLong,
}

/// Cuts bytes into lines, however they arrive.
#[derive(Debug)]
pub struct Lines {
    limit: usize,
    buffer: BytesMut,
    /// How much of the buffer is known to hold no LF.
    searched: usize,
    /// Whether what comes is the rest of a line that was too long.
    skipping: bool,
}

impl Lines {
    /// Lines of at most so many bytes, their end not counted.
    pub fn new(limit: usize) -> Lines {
        Lines { limit, buffer: BytesMut::new(), searched: 0, skipping: false }
    }

    /// Takes some more bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole line; `None` when more bytes are needed.
    pub fn next_line(&mut self) -> Option<Framed> {
        loop {
            let Some(found) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
                return self.unfinished();
            };
            let line = self.buffer.split_to(self.searched + found + 1);
            self.searched = 0;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            return Some(self.framed(line));
        }
    }

    /// What is left when no more bytes will come: a last line without an LF.
    pub fn finish(&mut self) -> Option<Framed> {
        let rest = std::mem::take(&mut self.buffer);
        self.searched = 0;
        let skipped = std::mem::take(&mut self.skipping);
        (!skipped && !rest.is_empty()).then(|| self.framed(rest))
    }

    /// How many bytes wait for the end of their line.
    pub fn held(&self) -> usize {
        self.buffer.len()
    }

    fn framed(&self, mut line: BytesMut) -> Framed {
        if line.ends_with(b"\n") {
            line.truncate(line.len() - 1);
        }
        if line.ends_with(b"\r") {
            line.truncate(line.len() - 1);
        }
        if line.len() > self.limit { Framed::TooLong } else { Framed::Line(line.freeze()) }
    }

    /// A line whose end has not come. One byte more than the limit may be a CR.
    fn unfinished(&mut self) -> Option<Framed> {
        self.searched = self.buffer.len();
        if self.skipping {
            self.buffer.clear();
            self.searched = 0;
            return None;
        }
        if self.buffer.len() <= self.limit + 1 {
            return None;
        }
        self.buffer = BytesMut::new();
        self.searched = 0;
        self.skipping = true;
        Some(Framed::TooLong)
    }
}

/// Lines from a stream of bytes.
pub(crate) struct LineReader<R> {
    reader: R,
    lines: Lines,
    ended: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(reader: R, limit: usize) -> LineReader<R> {
        let limit = limit.clamp(LINE_LIMITS.start, LINE_LIMITS.end - 1);
        LineReader { reader, lines: Lines::new(limit), ended: false }
    }

    /// How long a line may be.
    pub(crate) fn limit(&self) -> usize {
        self.lines.limit
    }

    /// Changes how long a line may be, from the next one on.
    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.lines.limit = limit.clamp(LINE_LIMITS.start, LINE_LIMITS.end - 1);
    }

    /// The next line; `None` at the end. May be dropped while it waits, without loss. A stream that
    /// breaks has ended: whoever wrote to it is gone either way.
    pub(crate) async fn next(&mut self) -> Option<Framed> {
        loop {
            if let Some(framed) = self.lines.next_line() {
                return Some(framed);
            }
            if self.ended {
                return self.lines.finish();
            }
            self.lines.buffer.reserve(READ);
            match self.reader.read_buf(&mut self.lines.buffer).await {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "the input broke off");
                    self.ended = true;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Framed, Lines};

    /// All lines, with the bytes given in pieces of this size.
    fn lines(bytes: &[u8], piece: usize, limit: usize) -> Vec<Option<String>> {
        let (mut lines, mut found) = (Lines::new(limit), Vec::new());
        for piece in bytes.chunks(piece) {
            lines.push(piece);
            while let Some(framed) = lines.next_line() {
                found.push(framed);
            }
            assert!(lines.held() <= limit + 1, "no more than the limit is held");
        }
        found.extend(lines.finish());
        let text = |framed| match framed {
            Framed::Line(line) => Some(String::from_utf8(line.to_vec()).unwrap()),
            Framed::TooLong => None,
        };
        found.into_iter().map(text).collect()
    }

    #[test]
    fn only_a_line_feed_ends_a_line_however_the_bytes_come() {
        let sent = "{\"a\":\"ä\u{2028}\u{2029}\u{85}\"}\r\n\n\r\nb\rc\n\u{1F600} without an end";
        let expected = ["{\"a\":\"ä\u{2028}\u{2029}\u{85}\"}", "", "", "b\rc", "\u{1F600} without an end"];
        for piece in 1..=sent.len() {
            let found = lines(sent.as_bytes(), piece, 1000);
            assert_eq!(found, expected.map(|line| Some(line.to_owned())), "in pieces of {piece}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_told_once_and_the_next_one_is_whole() {
        let sent = format!("{}\r\n{}\nnext\n{}", "a".repeat(10), "b".repeat(11), "c".repeat(50));
        for piece in 1..=sent.len() {
            let found = lines(sent.as_bytes(), piece, 10);
            let expected = [Some("a".repeat(10)), None, Some("next".to_owned()), None];
            assert_eq!(found, expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn nothing_is_no_line() {
        assert!(lines(b"", 1, 10).is_empty());
        assert_eq!(lines(b"\n", 1, 10), [Some(String::new())]);
    }
}
