//! Lines of a stream, async and blocking. Framing is left to [`LineFramer`].

use std::future::poll_fn;
use std::io::{self, BufRead, ErrorKind};
use std::pin::pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::{FramedLine, LineFramer};

/// Number of bytes asked for at a time.
const READ_BYTES: usize = 64 * 1024;
/// Free space below which the buffer is grown before a read.
const LEAST_FREE_BYTES: usize = 4 * 1024;

/// Lines of an async stream. Buffers at most the limit and one read.
#[derive(Debug)]
pub struct LineReader<R> {
    reader: R,
    framer: LineFramer,
    has_ended: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Reads lines of at most `limit` bytes, without their LF or CRLF.
    pub fn new(reader: R, limit: usize) -> LineReader<R> {
        LineReader { reader, framer: LineFramer::new(limit), has_ended: false }
    }

    /// The limit in bytes.
    pub fn limit(&self) -> usize {
        self.framer.limit
    }

    /// Changes the limit, from the next line on.
    pub fn set_limit(&mut self, limit: usize) {
        self.framer.limit = limit;
    }

    /// The next line; `None` at the end of the stream. An error ends the stream: the calls after it return what
    /// was read before. Cancellation-safe: dropping the future loses no bytes.
    pub async fn next_line(&mut self) -> io::Result<Option<FramedLine>> {
        poll_fn(|context| self.poll_next_line(context)).await
    }

    /// [`LineReader::next_line`] for callers that are polled themselves.
    pub fn poll_next_line(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Option<FramedLine>>> {
        loop {
            if let Some(line) = self.framer.next_line() {
                return Poll::Ready(Ok(Some(line)));
            }
            if self.has_ended {
                return Poll::Ready(Ok(self.framer.finish()));
            }
            let buffer = &mut self.framer.buffer;
            if buffer.capacity() - buffer.len() < LEAST_FREE_BYTES {
                buffer.reserve(READ_BYTES);
            }
            // A read keeps nothing between two polls, so that it can be made anew for each.
            match pin!(self.reader.read_buf(buffer)).poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(count)) => self.has_ended = count == 0,
                Poll::Ready(Err(error)) => {
                    self.has_ended = true;
                    return Poll::Ready(Err(error));
                }
            }
        }
    }
}

/// Lines of a blocking stream. Buffers at most the limit and what the stream itself does.
#[derive(Debug)]
pub struct BlockingLineReader<R> {
    reader: R,
    framer: LineFramer,
    has_ended: bool,
}

impl<R: BufRead> BlockingLineReader<R> {
    /// Reads lines of at most `limit` bytes, without their LF or CRLF.
    pub fn new(reader: R, limit: usize) -> BlockingLineReader<R> {
        BlockingLineReader { reader, framer: LineFramer::new(limit), has_ended: false }
    }

    /// The next line; `None` at the end of the stream.
    pub fn next_line(&mut self) -> io::Result<Option<FramedLine>> {
        loop {
            if let Some(line) = self.framer.next_line() {
                return Ok(Some(line));
            }
            if self.has_ended {
                return Ok(self.framer.finish());
            }
            let chunk = match self.reader.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                chunk => chunk?,
            };
            let count = chunk.len();
            self.framer.push(chunk);
            self.reader.consume(count);
            self.has_ended = count == 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};
    use std::task::Poll;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::{BlockingLineReader, LineReader, READ_BYTES};
    use crate::FramedLine;
    use crate::FramedLine::{Line, TooLong, Unterminated};

    fn line(text: &'static str) -> FramedLine {
        Line(text.into())
    }

    #[tokio::test]
    async fn dropping_a_read_loses_nothing_at_any_byte() {
        let (mut sender, receiver) = tokio::io::duplex(64);
        let mut lines = LineReader::new(receiver, 100);
        let sent = "{\"a\":\"ä\"}\r\n\nlast";
        let mut found = Vec::new();
        for byte in sent.as_bytes() {
            sender.write_all(&[*byte]).await.expect("it is read");
            // Polled once and dropped.
            while let Poll::Ready(next) = poll_once(lines.next_line()).await {
                found.push(next.expect("it reads").expect("more comes"));
            }
        }
        drop(sender);
        assert_eq!(found, [line("{\"a\":\"ä\"}"), line("")]);
        assert_eq!(lines.next_line().await.expect("it reads"), Some(Unterminated("last".into())));
        assert_eq!(lines.next_line().await.expect("it reads"), None);
    }

    /// Polls a future once and drops it.
    async fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
        let mut future = std::pin::pin!(future);
        std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
    }

    #[tokio::test]
    async fn a_new_limit_counts_from_the_next_line_on() {
        let mut lines = LineReader::new(&b"0123456789\n0123456789\n"[..], 10);
        assert_eq!(lines.next_line().await.expect("it reads"), Some(line("0123456789")));
        lines.set_limit(9);
        assert_eq!((lines.next_line().await.expect("it reads"), lines.limit()), (Some(TooLong), 9));
    }

    #[tokio::test]
    async fn an_endless_line_keeps_memory_bounded() {
        const LIMIT: usize = 1 << 20;
        let long = tokio::io::repeat(b'x').take(64 << 20);
        let mut lines = LineReader::new(long.chain(&b"\nnext\n"[..]), LIMIT);
        assert_eq!(lines.next_line().await.expect("it reads"), Some(TooLong));
        assert_eq!(lines.next_line().await.expect("it reads"), Some(line("next")));
        assert!(lines.framer.buffer.capacity() <= 2 * READ_BYTES);
        assert_eq!(lines.next_line().await.expect("it reads"), None);

        let long = std::io::repeat(b'x').take(64 << 20);
        let mut lines = BlockingLineReader::new(BufReader::new(long.chain(&b"\nnext"[..])), LIMIT);
        assert_eq!(lines.next_line().expect("it reads"), Some(TooLong));
        assert_eq!(lines.next_line().expect("it reads"), Some(Unterminated("next".into())));
        assert_eq!(lines.next_line().expect("it reads"), None);
    }

    #[tokio::test]
    async fn an_error_ends_the_stream_after_what_was_read() {
        struct Broken;
        impl tokio::io::AsyncRead for Broken {
            fn poll_read(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
                _: &mut tokio::io::ReadBuf<'_>,
            ) -> Poll<std::io::Result<()>> {
                Poll::Ready(Err(std::io::ErrorKind::ConnectionReset.into()))
            }
        }
        let mut lines = LineReader::new(AsyncReadExt::chain(&b"one\ntw"[..], Broken), 10);
        assert_eq!(lines.next_line().await.expect("it reads"), Some(line("one")));
        assert!(lines.next_line().await.is_err());
        assert_eq!(lines.next_line().await.expect("it has ended"), Some(Unterminated("tw".into())));
        assert_eq!(lines.next_line().await.expect("it has ended"), None);
    }
}
