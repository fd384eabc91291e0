//! Cuts a stream of bytes into lines: at LF only, whatever the chunks, up to a limit.

use bytes::{Buf, BytesMut};

/// The longest line that is read, in bytes.
pub(crate) const LINE_LIMIT: usize = 8 << 20;

/// Why bytes are not a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LineError {
    #[error("a line is longer than {} MiB", LINE_LIMIT >> 20)]
    TooLong,
    #[error("a line is not UTF-8")]
    NotText,
}

/// Collects bytes and gives back whole lines. A line separator of Unicode inside a line is data, and
/// a character may be split over chunks, because only whole lines are decoded.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    buffer: BytesMut,
    /// How far the buffer has been searched, so that no byte is looked at twice.
    searched: usize,
}

impl Lines {
    /// Takes the next bytes of the stream. Call [`Lines::next`] until it gives `None` before adding
    /// more, or the buffer grows past its limit.
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// The next whole line, without its end.
    pub(crate) fn next(&mut self) -> Option<Result<String, LineError>> {
        match self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
            Some(found) => {
                let line = self.buffer.split_to(self.searched + found);
                self.buffer.advance(1);
                self.searched = 0;
                Some(decode(&line))
            }
            None if self.buffer.len() > LINE_LIMIT => Some(Err(LineError::TooLong)),
            None => {
                self.searched = self.buffer.len();
                None
            }
        }
    }

    /// What is left at the end of the stream: a last line may lack its LF.
    pub(crate) fn finish(&mut self) -> Option<Result<String, LineError>> {
        let rest = self.buffer.split();
        self.searched = 0;
        (!rest.is_empty()).then(|| decode(&rest))
    }
}

fn decode(line: &[u8]) -> Result<String, LineError> {
    if line.len() > LINE_LIMIT {
        return Err(LineError::TooLong);
    }
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    std::str::from_utf8(line).map(str::to_owned).map_err(|_| LineError::NotText)
}

#[cfg(test)]
mod tests {
    use super::{LINE_LIMIT, LineError, Lines};

    fn cut(chunks: &[&[u8]]) -> Vec<String> {
        let (mut lines, mut out) = (Lines::default(), Vec::new());
        for chunk in chunks {
            lines.push(chunk);
            while let Some(line) = lines.next() {
                out.push(line.unwrap());
            }
        }
        out.extend(lines.finish().map(Result::unwrap));
        out
    }

    #[test]
    fn lines_are_the_same_wherever_the_chunks_are_cut() {
        let whole = "{\"a\":\"é\u{2028}😀\"}\r\n\nlast ☃".as_bytes();
        let expected = ["{\"a\":\"é\u{2028}😀\"}", "", "last ☃"];
        for at in 0..=whole.len() {
            let (left, right) = whole.split_at(at);
            assert_eq!(cut(&[left, right]), expected, "cut at {at}");
        }
        let bytes: Vec<&[u8]> = whole.chunks(1).collect();
        assert_eq!(cut(&bytes), expected);
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit_and_no_longer() {
        let mut lines = Lines::default();
        lines.push(&vec![b'x'; LINE_LIMIT]);
        assert_eq!(lines.next(), None);
        lines.push(b"\n");
        assert_eq!(lines.next().unwrap().unwrap().len(), LINE_LIMIT);
        lines.push(&vec![b'x'; LINE_LIMIT + 1]);
        assert_eq!(lines.next(), Some(Err(LineError::TooLong)));
    }

    #[test]
    fn bytes_that_are_not_text_are_an_error() {
        let mut lines = Lines::default();
        lines.push(b"\xff\xfe\n");
        assert_eq!(lines.next(), Some(Err(LineError::NotText)));
    }
}
