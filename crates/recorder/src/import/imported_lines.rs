//! Lines of an imported file, which may hold anything: each one and all together have a limit. Framing is left to
//! `line-framing`.

use std::io::BufRead;

use ostler_line_framing::{BlockingLineReader, FramedLine};

use super::ImportError;

/// Bytes in a line; a record has no more.
const MAX_LINE: usize = 4 << 20;
/// Bytes in all lines. What is read is held in memory until it is appended.
const MAX_BYTES: usize = 256 << 20;

/// Reads lines, and knows where it is.
pub(super) struct ImportedLines<R> {
    lines: BlockingLineReader<R>,
    /// The number of the line read last, from 1.
    pub(super) number: u64,
    bytes: usize,
}

impl<R: BufRead> ImportedLines<R> {
    pub(super) fn new(input: R) -> ImportedLines<R> {
        ImportedLines { lines: BlockingLineReader::new(input, MAX_LINE), number: 0, bytes: 0 }
    }

    /// The next line, without its end. `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<String>, ImportError> {
        let Some(framed) = self.lines.next_line()? else { return Ok(None) };
        self.number += 1;
        let line = match framed {
            FramedLine::Line(line) | FramedLine::Unterminated(line) => line,
            FramedLine::TooLong => {
                return Err(self.damaged(format!("it has more than {} MiB", MAX_LINE >> 20)));
            }
        };
        // The LF counts too, or a file of empty lines would have no limit.
        self.bytes += line.len() + 1;
        if self.bytes > MAX_BYTES {
            return Err(ImportError::Refused(format!("the session has more than {} MiB", MAX_BYTES >> 20)));
        }
        let line = String::from_utf8(line.into()).map_err(|_| self.damaged("it is not UTF-8"))?;
        Ok(Some(line))
    }

    /// Says what is wrong with the line read last.
    pub(super) fn damaged(&self, what: impl Into<String>) -> ImportError {
        ImportError::Damaged { line: self.number, what: what.into() }
    }
}
