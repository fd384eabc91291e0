//! What waits to be written, bounded in bytes. Whoever has something to say waits for room; so a client that
//! does not read holds up those who talk to it, and nobody else, and the daemon keeps no more than the bound.

use std::sync::Arc;

use bytes::Bytes;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Bytes that may wait. A frame that is larger waits alone.
const MAX_PENDING_BYTES: usize = 1 << 20;
/// Frames that are written at a time.
const AT_ONCE: usize = 64;
/// Bytes of memory that are kept for putting them together.
const KEPT: usize = 64 << 10;

/// The way out. Cheap to clone.
#[derive(Clone)]
pub struct Outbox {
    lines: mpsc::UnboundedSender<(Bytes, OwnedSemaphorePermit)>,
    room: Arc<Semaphore>,
}

/// Nobody reads any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboxClosed;

/// The other end of it.
pub(crate) struct OutboxReceiver {
    lines: mpsc::UnboundedReceiver<(Bytes, OwnedSemaphorePermit)>,
    room: Arc<Semaphore>,
}

pub(crate) fn outbox() -> (Outbox, OutboxReceiver) {
    // Unbounded in number, and bounded by the room that each line takes.
    let (sender, lines) = mpsc::unbounded_channel();
    let room = Arc::new(Semaphore::new(MAX_PENDING_BYTES));
    (Outbox { lines: sender, room: Arc::clone(&room) }, OutboxReceiver { lines, room })
}

impl Outbox {
    /// Sends whole lines, once there is room for them.
    pub async fn send(&self, lines: Bytes) -> Result<(), OutboxClosed> {
        let size =
            u32::try_from(lines.len().clamp(1, MAX_PENDING_BYTES)).expect("the room is far below 2^32");
        let place = Arc::clone(&self.room).acquire_many_owned(size).await.map_err(|_| OutboxClosed)?;
        self.lines.send((lines, place)).map_err(|_| OutboxClosed)
    }

    /// Returns when nobody reads any more.
    pub async fn closed(&self) {
        self.lines.closed().await;
    }
}

impl OutboxReceiver {
    /// Writes what comes, until all who could say something are gone or the writer breaks. Returns whether
    /// all of it was written.
    pub(crate) async fn write_to(mut self, mut writer: impl AsyncWrite + Unpin) -> bool {
        let written = self.write_all(&mut writer).await;
        self.room.close();
        match written {
            Ok(()) => true,
            Err(error) => {
                tracing::debug!(%error, "nobody reads the output any more");
                false
            }
        }
    }

    async fn write_all(&mut self, writer: &mut (impl AsyncWrite + Unpin)) -> std::io::Result<()> {
        let (mut waiting, mut together) = (Vec::new(), Vec::new());
        while self.lines.recv_many(&mut waiting, AT_ONCE).await > 0 {
            // Whoever else is about to say something says it first, so that one write does for all.
            tokio::task::yield_now().await;
            while waiting.len() < AT_ONCE
                && let Ok(next) = self.lines.try_recv()
            {
                waiting.push(next);
            }
            if let [(lines, _)] = &waiting[..] {
                writer.write_all(lines).await?;
            } else {
                // Copying them costs less than a write for each. The room bounds what this can take.
                waiting.iter().for_each(|(lines, _)| together.extend_from_slice(lines));
                writer.write_all(&together).await?;
                together.clear();
                together.shrink_to(KEPT);
            }
            waiting.clear();
            if self.lines.is_empty() {
                writer.flush().await?;
            }
        }
        writer.flush().await
    }
}
