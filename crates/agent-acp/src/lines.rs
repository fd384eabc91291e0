//! Lines of an agent's output: ended by LF alone, of a bounded length, whole even when they come in pieces.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Reads lines.
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    limit: usize,
    is_over: bool,
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line without its end.
    Text(String),
    /// A line that is not UTF-8.
    NotText,
    /// More than a line may have; nothing is read after it.
    TooLong,
    /// There are no more.
    End,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(reader: R, limit: usize) -> Lines<R> {
        Lines { reader: BufReader::with_capacity(64 * 1024, reader), line: Vec::new(), limit, is_over: false }
    }

    /// The next line. A line that ends with the output counts too. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> io::Result<Line> {
        while !self.is_over {
            let there = self.reader.fill_buf().await?;
            let end = there.iter().position(|byte| *byte == b'\n');
            self.line.extend_from_slice(&there[..end.unwrap_or(there.len())]);
            let taken = end.map_or(there.len(), |end| end + 1);
            self.is_over = taken == 0;
            self.reader.consume(taken);
            if self.line.len() > self.limit {
                self.is_over = true;
                self.line = Vec::new();
                return Ok(Line::TooLong);
            }
            if end.is_some() {
                return Ok(text(std::mem::take(&mut self.line)));
            }
        }
        let last = std::mem::take(&mut self.line);
        Ok(if last.is_empty() { Line::End } else { text(last) })
    }
}

fn text(mut line: Vec<u8>) -> Line {
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).map_or(Line::NotText, Line::Text)
}

#[cfg(test)]
mod tests {
    use super::{Line, Lines};

    async fn all(bytes: &[u8], limit: usize) -> Vec<Line> {
        let mut lines = Lines::new(bytes, limit);
        let mut found = Vec::new();
        loop {
            match lines.next().await.unwrap() {
                Line::End => return found,
                line => found.push(line),
            }
        }
    }

    #[tokio::test]
    async fn only_lf_ends_a_line_and_the_last_one_counts() {
        let lines = all("a\r\nb\u{2028}c\n\n\rlast".as_bytes(), 100).await;
        let expected = ["a", "b\u{2028}c", "", "\rlast"].map(|line| Line::Text(line.to_owned()));
        assert_eq!(lines, expected);
        assert_eq!(all(b"\xff\xfe\nok\n", 100).await, [Line::NotText, Line::Text("ok".to_owned())]);
    }

    #[tokio::test]
    async fn a_line_without_end_is_given_up() {
        let mut lines = Lines::new(tokio::io::repeat(b'x'), 1 << 20);
        assert_eq!(lines.next().await.unwrap(), Line::TooLong);
        assert_eq!(lines.next().await.unwrap(), Line::End);
    }
}
