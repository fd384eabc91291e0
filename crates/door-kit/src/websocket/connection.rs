//! The bytes of one socket: reads messages, writes frames. An idle one holds no buffer.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

use super::framing::{self, WebSocketDecoder, WebSocketIncoming, WebSocketViolation};
use super::outgoing_frames::OutgoingFrames;

/// Bytes that are read at a time.
const READ: usize = 4096;
/// Frames that are written at a time.
const SLICES: usize = 64;
/// How long a client that broke the protocol may take to notice, and how much of what it still sends is read.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
const DRAIN_BYTES: usize = 1024 * 1024;

/// One socket's bytes.
pub struct WebSocketConnection {
    stream: TokioIo<Upgraded>,
    decoder: WebSocketDecoder,
    /// What is about to be written.
    pub outgoing: OutgoingFrames,
}

/// What happened on a socket.
#[derive(Debug)]
pub enum WebSocketEvent {
    /// The client sent something.
    Received(WebSocketIncoming),
    /// The client does not speak the protocol.
    ProtocolViolated(WebSocketViolation),
    /// All that was to be written is written.
    Flushed,
    /// The connection is gone.
    Gone,
}

impl WebSocketConnection {
    /// Takes messages of at most `limit` bytes.
    pub fn new(stream: Upgraded, limit: usize) -> WebSocketConnection {
        WebSocketConnection {
            stream: TokioIo::new(stream),
            decoder: WebSocketDecoder::new(limit),
            outgoing: OutgoingFrames::default(),
        }
    }

    /// Takes messages of at most so many bytes from now on.
    pub fn set_limit(&mut self, limit: usize) {
        self.decoder.set_limit(limit);
    }

    /// The next thing that happens. Reads only if `reading`; writes whatever there is to write.
    pub async fn next_event(&mut self, reading: bool) -> WebSocketEvent {
        std::future::poll_fn(|context| self.poll(context, reading)).await
    }

    /// Sends a frame and waits until it and all before it are written; false when the connection is gone.
    pub async fn send(&mut self, frame: Bytes) -> bool {
        self.outgoing.push(frame);
        matches!(self.next_event(false).await, WebSocketEvent::Flushed)
    }

    /// Tells a client what it did wrong, and ends. What it has sent in the meantime is read: a socket that is closed over
    /// unread bytes resets the connection, and the client would never see the reason.
    pub async fn fail(&mut self, violation: WebSocketViolation) {
        let frame = framing::close(violation.code, violation.reason);
        let ending = async {
            if !self.send(frame).await || self.stream.shutdown().await.is_err() {
                return;
            }
            let mut bytes = [0; READ];
            let mut left = DRAIN_BYTES;
            while left > 0 {
                match self.stream.read(&mut bytes).await {
                    Ok(read) if read > 0 => left = left.saturating_sub(read),
                    Ok(_) | Err(_) => return,
                }
            }
        };
        _ = tokio::time::timeout(DRAIN_TIMEOUT, ending).await;
    }

    fn poll(&mut self, context: &mut Context<'_>, reading: bool) -> Poll<WebSocketEvent> {
        if !self.outgoing.is_empty() {
            match self.poll_write(context) {
                Poll::Ready(true) => return Poll::Ready(WebSocketEvent::Flushed),
                Poll::Ready(false) => return Poll::Ready(WebSocketEvent::Gone),
                Poll::Pending => {}
            }
        }
        if reading { self.poll_read(context) } else { Poll::Pending }
    }

    /// Ready when everything is written, or never will be.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        while !self.outgoing.is_empty() {
            let stream = Pin::new(&mut self.stream);
            let written = match self.outgoing.only() {
                Some(frame) => stream.poll_write(context, frame),
                None => {
                    let mut slices = [IoSlice::new(&[]); SLICES];
                    let count = self.outgoing.slices(&mut slices);
                    stream.poll_write_vectored(context, &slices[..count])
                }
            };
            match ready!(written) {
                Ok(0) | Err(_) => return Poll::Ready(false),
                Ok(written) => self.outgoing.advance(written),
            }
        }
        Poll::Ready(true)
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<WebSocketEvent> {
        loop {
            match self.decoder.next() {
                Ok(Some(incoming)) => return Poll::Ready(WebSocketEvent::Received(incoming)),
                Ok(None) => {}
                Err(violation) => return Poll::Ready(WebSocketEvent::ProtocolViolated(violation)),
            }
            // On the stack, so that ten thousand sockets that wait share a few of them.
            let mut bytes = [MaybeUninit::uninit(); READ];
            let mut buffer = ReadBuf::uninit(&mut bytes);
            match ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer)) {
                Ok(()) if buffer.filled().is_empty() => return Poll::Ready(WebSocketEvent::Gone),
                Ok(()) => self.decoder.feed(buffer.filled()),
                Err(_) => return Poll::Ready(WebSocketEvent::Gone),
            }
        }
    }
}
