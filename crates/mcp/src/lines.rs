//! Bounds what a server can send in one line. A line that is longer ends the connection at once, so that
//! the call whose answer it was fails with a reason and not by running out of time.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

/// How long a message may be.
pub(crate) const MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// Reads until a line is too long, and then no further.
pub(crate) struct Bounded<R> {
    inner: R,
    line: usize,
    limit: usize,
    fault: Fault,
}

/// Why a connection was given up from here.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fault(Arc<OnceLock<String>>);

impl Fault {
    pub(crate) fn text(&self) -> Option<String> {
        self.0.get().cloned()
    }
}

impl<R> Bounded<R> {
    pub(crate) fn new(inner: R, limit: usize, fault: Fault) -> Bounded<R> {
        Bounded { inner, line: 0, limit, fault }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Bounded<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.line > self.limit {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(context, buffer);
        let new = &buffer.filled()[before..];
        self.line = match new.iter().rposition(|&byte| byte == b'\n') {
            Some(end) => new.len() - end - 1,
            None => self.line + new.len(),
        };
        if self.line > self.limit {
            buffer.set_filled(before);
            let why = format!("it sent a message of more than {} MiB", self.limit / (1024 * 1024));
            // Set once: nothing is read after it.
            let _ = self.fault.0.set(why);
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::{Bounded, Fault};

    #[tokio::test]
    async fn lines_pass_until_one_is_too_long() {
        let short = "12345678\n".repeat(100);
        let fault = Fault::default();
        let mut text = String::new();
        let mut reader = Bounded::new(short.as_bytes(), 1024, fault.clone());
        reader.read_to_string(&mut text).await.expect("it reads");
        assert_eq!((text.as_str(), fault.text()), (short.as_str(), None));

        let mut reader = Bounded::new(tokio::io::repeat(b'x'), 1024 * 1024, fault.clone());
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).await.expect("it ends");
        assert!(bytes.len() <= 1024 * 1024);
        assert_eq!(fault.text().as_deref(), Some("it sent a message of more than 1 MiB"));
    }
}
