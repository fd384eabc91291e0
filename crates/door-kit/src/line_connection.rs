//! Lines of JSON both ways, over a pipe or a connection that was upgraded: what the doors that speak so have in
//! common. A desk carries out what a client says; here its lines are read, its answers written, and it is seen that
//! all comes to an end. What a line means is left to the desk, framing to `line-framing`.

mod outbox;

use std::ops::{ControlFlow, RangeInclusive};
use std::time::Duration;

use bytes::Bytes;
use ostler_engine::Engine;
use ostler_line_framing::{FramedLine, LineReader};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::access::AccessGrant;

pub use outbox::{Outbox, OutboxClosed};

/// The byte that ends an upgraded connection in order; one that ends without it was cut.
pub const END_OF_LINES: u8 = 0x04;

/// The limits that a client can set on the length of a line.
const LINE_LIMITS: RangeInclusive<usize> = 1024..=64 << 20;
/// How often a connection asks whether its client may still be there.
const CHECK_EVERY: Duration = Duration::from_secs(5);
/// How long a client has for reading its last lines, and for saying what it wants.
pub const GRACE: Duration = Duration::from_secs(5);

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// The client said that it is done.
    Quit,
    /// The client closed its end.
    EndOfInput,
    /// The daemon stops.
    Stopped,
    /// Nobody reads what is said.
    ClientGone,
    /// The client may no longer be there.
    NotAllowed,
}

/// Carries out what a client says. One line and one note at a time; a note is what a follower of one of its
/// sessions has to tell.
pub trait LineHandler: Send {
    /// What followers tell.
    type Notice: Send;

    /// Takes a line. `Break` when the client is done.
    fn handle_line(
        &mut self,
        framed: FramedLine,
    ) -> impl Future<Output = Result<ControlFlow<()>, OutboxClosed>> + Send;

    /// The next note. May be dropped while it waits, without loss.
    fn next_notice(&mut self) -> impl Future<Output = Option<Self::Notice>> + Send;

    /// Takes a note.
    fn handle_notice(&mut self, note: Self::Notice) -> impl Future<Output = Result<(), OutboxClosed>> + Send;
}

/// A line limit as a client asks for it, brought into the range that is allowed.
pub fn line_limit(bytes: usize) -> usize {
    bytes.clamp(*LINE_LIMITS.start(), *LINE_LIMITS.end())
}

/// The next line; `None` at the end. A stream that breaks has ended: the client is gone either way.
async fn next_line(lines: &mut LineReader<impl AsyncRead + Unpin + Send>) -> Option<FramedLine> {
    match lines.next_line().await {
        Ok(line) => line,
        Err(error) => {
            tracing::debug!(%error, "the input broke off");
            lines.next_line().await.ok().flatten()
        }
    }
}

/// The first line of an upgraded connection, which holds the client's options; `None` when it does not come.
pub async fn first_line(lines: &mut LineReader<impl AsyncRead + Unpin + Send>) -> Option<Bytes> {
    match tokio::time::timeout(GRACE, next_line(lines)).await {
        Ok(Some(FramedLine::Line(line) | FramedLine::Unterminated(line))) => Some(line),
        Ok(Some(FramedLine::TooLong) | None) | Err(_) => None,
    }
}

/// Has what is put into an outbox written; `marked` when the end is to be told from a cut.
pub fn spawn_writer(
    mut writer: impl AsyncWrite + Unpin + Send + 'static,
    marked: bool,
) -> (Outbox, WriterTask) {
    let (outbox, pending) = outbox::outbox();
    let task = tokio::spawn(async move {
        let whole = pending.write_to(&mut writer).await;
        if whole && marked {
            _ = writer.write_all(&[END_OF_LINES]).await;
        }
        _ = writer.shutdown().await;
    });
    (outbox, WriterTask(task))
}

/// Whoever writes.
pub struct WriterTask(JoinHandle<()>);

impl WriterTask {
    /// Waits until all is written. Every outbox must be gone by then.
    pub async fn finish(mut self) {
        if tokio::time::timeout(GRACE, &mut self.0).await.is_err() {
            tracing::warn!("a client did not read its last lines");
            self.0.abort();
        }
    }
}

/// Takes lines and notes until something ends it.
pub async fn serve_lines(
    engine: &Engine,
    desk: &mut impl LineHandler,
    lines: &mut LineReader<impl AsyncRead + Unpin + Send>,
    outbox: &Outbox,
    stop: &CancellationToken,
    pass: Option<&AccessGrant>,
) -> ConnectionEnd {
    let mut stopping = engine.stopping();
    let mut check = tokio::time::interval(CHECK_EVERY);
    let mut closed = std::pin::pin!(outbox.closed());
    loop {
        let done = tokio::select! {
            framed = next_line(lines) => match framed {
                Some(framed) => desk.handle_line(framed).await,
                None => return ConnectionEnd::EndOfInput,
            },
            Some(note) = desk.next_notice() => desk.handle_notice(note).await.map(ControlFlow::Continue),
            () = stop.cancelled() => return ConnectionEnd::Stopped,
            () = wait_until_stopping(&mut stopping) => return ConnectionEnd::Stopped,
            () = &mut closed => return ConnectionEnd::ClientGone,
            _ = check.tick() => {
                if pass.is_some_and(|pass| !pass.is_valid()) {
                    return ConnectionEnd::NotAllowed;
                }
                Ok(ControlFlow::Continue(()))
            }
        };
        match done {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => return ConnectionEnd::Quit,
            Err(OutboxClosed) => return ConnectionEnd::ClientGone,
        }
    }
}

/// Returns when the engine begins to stop. A function of its own, so that nobody holds what it looks at.
async fn wait_until_stopping(stopping: &mut watch::Receiver<bool>) {
    _ = stopping.wait_for(|stopping| *stopping).await;
}
