//! What a client says on stdin, kept until somebody has heard it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf, Stdin};

/// Bytes that are kept; whoever has said more without a word in answer is not heard again.
const MAX_KEPT_BYTES: usize = 1024 * 1024;

/// Stdin, which can be read again from its beginning as long as that is kept.
pub(crate) struct ReplayableStdin {
    stdin: Stdin,
    kept_bytes: Vec<u8>,
    /// How much of that has been read.
    read_bytes: usize,
    /// Whether what comes is kept.
    is_keeping: bool,
    ended: bool,
    stopped: bool,
}

impl ReplayableStdin {
    pub(super) fn new() -> ReplayableStdin {
        ReplayableStdin {
            stdin: tokio::io::stdin(),
            kept_bytes: Vec::new(),
            read_bytes: 0,
            is_keeping: true,
            ended: false,
            stopped: false,
        }
    }

    /// Whether nobody waits for an answer: the client was told to end, or has gone without a word.
    pub(super) fn is_over(&self) -> bool {
        self.stopped || (self.ended && self.is_keeping && self.kept_bytes.is_empty())
    }

    /// The client is to end, whatever it still has to say.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
    }

    /// Lets the next reader begin at the beginning, if that is kept.
    pub(super) fn rewind(&mut self) -> bool {
        self.read_bytes = 0;
        self.is_keeping
    }

    /// Keeps nothing any more, because it is heard.
    pub(super) fn stop_keeping(&mut self) {
        self.is_keeping = false;
    }
}

impl AsyncRead for ReplayableStdin {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.read_bytes < this.kept_bytes.len() {
            let count = buffer.remaining().min(this.kept_bytes.len() - this.read_bytes);
            buffer.put_slice(&this.kept_bytes[this.read_bytes..this.read_bytes + count]);
            this.read_bytes += count;
            return Poll::Ready(Ok(()));
        }
        if !this.is_keeping {
            (this.kept_bytes, this.read_bytes) = (Vec::new(), 0);
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stdin).poll_read(context, buffer))?;
        let new = &buffer.filled()[before..];
        this.ended |= new.is_empty();
        if this.is_keeping {
            this.kept_bytes.extend_from_slice(new);
            this.read_bytes = this.kept_bytes.len();
            this.is_keeping = this.kept_bytes.len() <= MAX_KEPT_BYTES;
        }
        Poll::Ready(Ok(()))
    }
}
