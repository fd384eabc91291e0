//! The one line framer: cuts a byte stream into lines of bounded length.
//!
//! [`LineFramer`] does no IO; [`LineReader`] and [`BlockingLineReader`] feed it from a stream. Only LF ends a line,
//! and one CR before it is dropped. A line over the limit is reported once, as [`FramedLine::TooLong`], and skipped
//! to its end without being buffered. Decoding, and what to do about a line that is too long or has no LF, is left
//! to the callers. A crate of its own, so that doors, client and recorder can frame lines without being able to
//! start processes.

mod reader;

use bytes::{Bytes, BytesMut};

pub use reader::{BlockingLineReader, LineReader};

/// One line of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FramedLine {
    /// A line without its LF or CRLF.
    Line(Bytes),
    /// The bytes between the last LF and the end of the stream, without a CR at their end. Protocols differ in
    /// whether this is a line.
    Unterminated(Bytes),
    /// A line that was longer than the limit. Its content is dropped.
    TooLong,
}

/// Cuts bytes into lines, wherever the chunks are split.
#[derive(Debug)]
pub struct LineFramer {
    limit: usize,
    buffer: BytesMut,
    /// Length of the buffer's prefix that is known to hold no LF, so that no byte is searched twice.
    searched: usize,
    /// Whether the buffer starts within a line that was reported as too long.
    skipping: bool,
}

impl LineFramer {
    /// Frames lines of at most `limit` bytes, without their LF or CRLF.
    pub fn new(limit: usize) -> LineFramer {
        LineFramer { limit, buffer: BytesMut::new(), searched: 0, skipping: false }
    }

    /// Appends a chunk of the stream. Call [`LineFramer::next_line`] until it returns `None` before the next chunk:
    /// only then is what is buffered bounded by the limit and one chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// The next line; `None` when more bytes are needed.
    pub fn next_line(&mut self) -> Option<FramedLine> {
        loop {
            let Some(found) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
                return self.unfinished();
            };
            let end = self.searched + found;
            let mut line = self.buffer.split_to(end + 1);
            self.searched = 0;
            if !std::mem::take(&mut self.skipping) {
                line.truncate(end);
                return Some(self.checked(line).map_or(FramedLine::TooLong, FramedLine::Line));
            }
        }
    }

    /// Ends the stream: returns the bytes after the last LF, if there are any.
    pub fn finish(&mut self) -> Option<FramedLine> {
        let rest = std::mem::take(&mut self.buffer);
        self.searched = 0;
        if std::mem::take(&mut self.skipping) || rest.is_empty() {
            return None;
        }
        Some(self.checked(rest).map_or(FramedLine::TooLong, FramedLine::Unterminated))
    }

    /// Number of bytes that are buffered until their line ends.
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// The line without its CR, unless it is too long.
    fn checked(&self, mut line: BytesMut) -> Option<Bytes> {
        if line.ends_with(b"\r") {
            line.truncate(line.len() - 1);
        }
        (line.len() <= self.limit).then(|| line.freeze())
    }

    /// Handles a buffer without LF.
    fn unfinished(&mut self) -> Option<FramedLine> {
        self.searched = self.buffer.len();
        // The byte after the limit may be the CR of a line that is as long as allowed.
        let is_over = self.buffer.len() > self.limit.saturating_add(1);
        if !self.skipping && !is_over {
            return None;
        }
        self.searched = 0;
        if self.skipping {
            self.buffer.clear();
            return None;
        }
        // A buffer that grew to the limit is given back rather than kept for the rest of the stream.
        self.buffer = BytesMut::new();
        self.skipping = true;
        Some(FramedLine::TooLong)
    }
}

#[cfg(test)]
mod tests {
    use super::FramedLine::{Line, TooLong, Unterminated};
    use super::{FramedLine, LineFramer};

    fn line(text: impl AsRef<[u8]>) -> FramedLine {
        Line(text.as_ref().to_vec().into())
    }

    fn unterminated(text: impl AsRef<[u8]>) -> FramedLine {
        Unterminated(text.as_ref().to_vec().into())
    }

    fn frame<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, limit: usize) -> Vec<FramedLine> {
        let (mut framer, mut found) = (LineFramer::new(limit), Vec::new());
        for chunk in chunks {
            framer.push(chunk);
            while let Some(line) = framer.next_line() {
                found.push(line);
            }
            assert!(framer.buffered() <= limit + 1, "no more than the limit is buffered");
        }
        found.extend(framer.finish());
        assert_eq!(framer.finish(), None, "the end is reported once");
        found
    }

    /// Frames the bytes split at every position, and in chunks of every size.
    fn assert_frames(bytes: &[u8], limit: usize, expected: &[FramedLine]) {
        for at in 0..=bytes.len() {
            let (left, right) = bytes.split_at(at);
            assert_eq!(frame([left, right], limit), expected, "split at {at}, limit {limit}: {bytes:?}");
        }
        for size in 1..=bytes.len() {
            assert_eq!(
                frame(bytes.chunks(size), limit),
                expected,
                "chunks of {size}, limit {limit}: {bytes:?}"
            );
        }
    }

    #[test]
    fn only_lf_ends_a_line_wherever_the_chunks_are_split() {
        let json = "{\"a\":\"ä\u{2028}\u{2029}\u{85}\"}";
        let sent = format!("{json}\r\n\n\r\nb\rc\n\r\r\n\u{1F600} without an end");
        let expected = [
            line(json),
            line(""),
            line(""),
            line("b\rc"),
            line("\r"),
            unterminated("\u{1F600} without an end"),
        ];
        assert_frames(sent.as_bytes(), 1000, &expected);
    }

    #[test]
    fn the_end_of_the_stream_is_a_line_only_when_there_are_bytes() {
        let cases: [(&[u8], &[FramedLine]); 7] = [
            (b"", &[]),
            (b"\n", &[line("")]),
            (b"\r\n", &[line("")]),
            (b"a\n", &[line("a")]),
            (b"a", &[unterminated("a")]),
            (b"a\r", &[unterminated("a")]),
            (b"a\n\r", &[line("a"), unterminated("")]),
        ];
        for (sent, expected) in cases {
            assert_frames(sent, 10, expected);
        }
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit_and_no_longer() {
        const LIMIT: usize = 10;
        for (length, is_whole) in [(LIMIT - 1, true), (LIMIT, true), (LIMIT + 1, false), (LIMIT + 2, false)] {
            let text = "x".repeat(length);
            let or_too_long = |line: FramedLine| if is_whole { line } else { TooLong };
            for end in ["\n", "\r\n"] {
                let sent = format!("{text}{end}next{end}");
                assert_frames(sent.as_bytes(), LIMIT, &[or_too_long(line(&text)), line("next")]);
            }
            assert_frames(text.as_bytes(), LIMIT, &[or_too_long(unterminated(&text))]);
        }
        // A CR that ends no line counts like any other byte.
        assert_frames(b"0123456789\rx\nnext\n", LIMIT, &[TooLong, line("next")]);
        assert_frames(b"\n\r\na\n", 0, &[line(""), line(""), TooLong]);
    }

    #[test]
    fn a_line_that_is_too_long_is_reported_once_and_the_next_is_whole() {
        let sent = format!(
            "{}\r\n{}\nnext\n\n{}\n{}",
            "a".repeat(10),
            "b".repeat(40),
            "c".repeat(11),
            "d".repeat(50)
        );
        let expected = [line("a".repeat(10)), TooLong, line("next"), line(""), TooLong, TooLong];
        assert_frames(sent.as_bytes(), 10, &expected);
    }

    #[test]
    fn a_line_without_end_is_reported_once_and_not_buffered() {
        let (mut framer, chunk) = (LineFramer::new(1 << 20), vec![b'x'; 64 << 10]);
        let mut reports = 0;
        for _ in 0..2048 {
            framer.push(&chunk);
            while let Some(found) = framer.next_line() {
                assert_eq!(found, TooLong);
                reports += 1;
            }
            assert!(framer.buffered() <= (1 << 20) + 1 && framer.buffer.capacity() <= 4 << 20);
        }
        assert_eq!((reports, framer.buffered()), (1, 0));
        assert!(framer.buffer.capacity() <= 2 * chunk.len(), "the memory of the long line is given back");
        framer.push(b"rest\nnext\n");
        assert_eq!(framer.next_line(), Some(line("next")));
    }
}
