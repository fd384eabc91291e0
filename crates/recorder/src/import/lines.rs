//! Lines of a file that may be anything, one at a time and none too long.

use std::io::{BufRead, Read};

use super::ImportError;

/// Bytes in a line; a record has no more.
const MAX_LINE: usize = 4 << 20;
/// Bytes in all lines. What is read is held in memory until it is appended.
const MAX_BYTES: usize = 256 << 20;

/// Reads lines, and knows where it is.
pub(super) struct Lines<R> {
    input: R,
    /// The number of the line read last, from 1.
    pub(super) number: u64,
    bytes: usize,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R) -> Lines<R> {
        Lines { input, number: 0, bytes: 0 }
    }

    /// The next line, without its end. `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<String>, ImportError> {
        let mut line = Vec::new();
        // The line feed, a carriage return before it, and one more byte to see that it is too long.
        let read = (&mut self.input).take(MAX_LINE as u64 + 3).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.bytes += read;
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if line.len() > MAX_LINE {
            return Err(self.damaged(format!("it has more than {} MiB", MAX_LINE >> 20)));
        }
        if self.bytes > MAX_BYTES {
            return Err(ImportError::Refused(format!("the session has more than {} MiB", MAX_BYTES >> 20)));
        }
        let line = String::from_utf8(line).map_err(|_| self.damaged("it is not UTF-8"))?;
        Ok(Some(line))
    }

    /// Says what is wrong with the line read last.
    pub(super) fn damaged(&self, what: impl Into<String>) -> ImportError {
        ImportError::Damaged { line: self.number, what: what.into() }
    }
}
