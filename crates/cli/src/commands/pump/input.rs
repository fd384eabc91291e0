//! What a client says on stdin, kept until somebody has heard it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf, Stdin};

/// Bytes that are kept; whoever has said more without a word in answer is not heard again.
const KEPT: usize = 1024 * 1024;

/// Stdin, which can be read again from its beginning as long as that is kept.
pub(crate) struct ReplayableStdin {
    stdin: Stdin,
    kept: Vec<u8>,
    /// How much of that has been read.
    read: usize,
    /// Whether what comes is kept.
    keeps: bool,
    ended: bool,
    stopped: bool,
}

impl ReplayableStdin {
    pub(super) fn new() -> ReplayableStdin {
        ReplayableStdin {
            stdin: tokio::io::stdin(),
            kept: Vec::new(),
            read: 0,
            keeps: true,
            ended: false,
            stopped: false,
        }
    }

    /// Whether nobody waits for an answer: the client was told to end, or has gone without a word.
    pub(super) fn is_over(&self) -> bool {
        self.stopped || (self.ended && self.keeps && self.kept.is_empty())
    }

    /// The client is to end, whatever it still has to say.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
    }

    /// Lets the next reader begin at the beginning, if that is kept.
    pub(super) fn rewind(&mut self) -> bool {
        self.read = 0;
        self.keeps
    }

    /// Keeps nothing any more, because it is heard.
    pub(super) fn forget(&mut self) {
        self.keeps = false;
    }
}

impl AsyncRead for ReplayableStdin {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.read < this.kept.len() {
            let count = buffer.remaining().min(this.kept.len() - this.read);
            buffer.put_slice(&this.kept[this.read..this.read + count]);
            this.read += count;
            return Poll::Ready(Ok(()));
        }
        if !this.keeps {
            (this.kept, this.read) = (Vec::new(), 0);
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stdin).poll_read(context, buffer))?;
        let new = &buffer.filled()[before..];
        this.ended |= new.is_empty();
        if this.keeps {
            this.kept.extend_from_slice(new);
            this.read = this.kept.len();
            this.keeps = this.kept.len() <= KEPT;
        }
        Poll::Ready(Ok(()))
    }
}
