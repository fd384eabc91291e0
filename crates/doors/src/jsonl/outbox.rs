//! What waits to be written, bounded in bytes. Whoever has something to say waits for room; so a client that
//! does not read holds up those who talk to it, and nobody else, and the daemon keeps no more than the bound.

use std::sync::Arc;

use bytes::Bytes;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::frames::ServerFrame;

/// Bytes that may wait. A frame that is larger waits alone.
const ROOM: usize = 1 << 20;

/// The way out. Cheap to clone.
#[derive(Clone)]
pub(super) struct Outbox {
    lines: mpsc::UnboundedSender<(Bytes, OwnedSemaphorePermit)>,
    room: Arc<Semaphore>,
}

/// Nobody reads any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Closed;

/// The other end of it.
pub(super) struct Pending {
    lines: mpsc::UnboundedReceiver<(Bytes, OwnedSemaphorePermit)>,
    room: Arc<Semaphore>,
}

pub(super) fn outbox() -> (Outbox, Pending) {
    // Unbounded in number, and bounded by the room that each line takes.
    let (sender, lines) = mpsc::unbounded_channel();
    let room = Arc::new(Semaphore::new(ROOM));
    (Outbox { lines: sender, room: Arc::clone(&room) }, Pending { lines, room })
}

impl Outbox {
    /// Says something, once there is room for it.
    pub(super) async fn say(&self, frame: &ServerFrame<'_>) -> Result<(), Closed> {
        self.send(frame.line()).await
    }

    /// Sends whole lines.
    pub(super) async fn send(&self, lines: Bytes) -> Result<(), Closed> {
        let size = u32::try_from(lines.len().clamp(1, ROOM)).expect("the room is far below 2^32");
        let place = Arc::clone(&self.room).acquire_many_owned(size).await.map_err(|_| Closed)?;
        self.lines.send((lines, place)).map_err(|_| Closed)
    }

    /// Returns when nobody reads any more.
    pub(super) async fn closed(&self) {
        self.lines.closed().await;
    }
}

impl Pending {
    /// Writes what comes, until all who could say something are gone or the writer breaks. Returns whether
    /// all of it was written.
    pub(super) async fn write_to(mut self, mut writer: impl AsyncWrite + Unpin) -> bool {
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
        while let Some((lines, place)) = self.lines.recv().await {
            writer.write_all(&lines).await?;
            drop(place);
            if self.lines.is_empty() {
                writer.flush().await?;
            }
        }
        writer.flush().await
    }
}
