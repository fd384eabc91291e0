//! Bounds what a server can send in one line. A line that is longer ends the connection at once, so that
//! the call whose answer it was fails with a reason and not by running out of time. Framing is left to
//! `line-framing`; reading the messages to the protocol's library, which has a framer of its own that only drops what
//! is too long.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use bytes::buf::Chain;
use bytes::{Buf, Bytes};
use ostler_line_framing::{FramedLine, LineReader};
use tokio::io::{AsyncRead, ReadBuf};

/// How long a message may be.
pub(crate) const MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// Reads until a line is too long, and then no further.
pub(crate) struct BoundedLines<R> {
    lines: LineReader<R>,
    /// The line that is being handed on, with its LF.
    pending: Chain<Bytes, &'static [u8]>,
    fault: ConnectionFault,
}

/// Why a connection was given up from here.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConnectionFault(Arc<OnceLock<String>>);

impl ConnectionFault {
    pub(crate) fn text(&self) -> Option<String> {
        self.0.get().cloned()
    }
}

impl<R: AsyncRead + Unpin> BoundedLines<R> {
    pub(crate) fn new(inner: R, limit: usize, fault: ConnectionFault) -> BoundedLines<R> {
        BoundedLines { lines: LineReader::new(inner, limit), pending: Bytes::new().chain(&[][..]), fault }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while !self.pending.has_remaining() && self.fault.0.get().is_none() {
            match ready!(self.lines.poll_next_line(context))? {
                Some(FramedLine::Line(line)) => self.pending = line.chain(&b"\n"[..]),
                // A message that was cut off by the server's end is no message.
                Some(FramedLine::Unterminated(_)) | None => return Poll::Ready(Ok(())),
                Some(FramedLine::TooLong) => {
                    let mebibytes = self.lines.limit() / (1024 * 1024);
                    // Set once: nothing is read after it.
                    let _ = self.fault.0.set(format!("it sent a message of more than {mebibytes} MiB"));
                }
            }
        }
        let chunk = self.pending.chunk();
        let count = chunk.len().min(buffer.remaining());
        buffer.put_slice(&chunk[..count]);
        self.pending.advance(count);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::{BoundedLines, ConnectionFault};

    #[tokio::test]
    async fn lines_pass_until_one_is_too_long() {
        let short = "12345678\n".repeat(100);
        let fault = ConnectionFault::default();
        let mut text = String::new();
        let mut reader = BoundedLines::new(short.as_bytes(), 1024, fault.clone());
        reader.read_to_string(&mut text).await.expect("it reads");
        assert_eq!((text.as_str(), fault.text()), (short.as_str(), None));

        let mut reader = BoundedLines::new(tokio::io::repeat(b'x'), 1024 * 1024, fault.clone());
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).await.expect("it ends");
        assert!(bytes.len() <= 1024 * 1024);
        assert_eq!(fault.text().as_deref(), Some("it sent a message of more than 1 MiB"));
    }

    #[tokio::test]
    async fn a_long_line_is_found_when_its_end_is_there_too() {
        let sent = format!("one\r\n{}\nlost\n", "x".repeat(1025));
        let fault = ConnectionFault::default();
        let mut text = String::new();
        let mut reader = BoundedLines::new(sent.as_bytes(), 1024, fault.clone());
        reader.read_to_string(&mut text).await.expect("it ends");
        assert_eq!(text, "one\n");
        assert!(fault.text().is_some());
    }

    #[tokio::test]
    async fn a_message_without_its_end_is_none() {
        let mut text = String::new();
        let mut reader = BoundedLines::new(&b"{}\n{\"a\""[..], 1024, ConnectionFault::default());
        reader.read_to_string(&mut text).await.expect("it ends");
        assert_eq!(text, "{}\n");
    }
}
