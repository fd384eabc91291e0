//! The door for editors that speak the Agent Client Protocol, on stdin and stdout of `ostler acp` or on a
//! connection that was upgraded to it. `docs/protocols/acp.md` describes it for the people who use it.
//!
//! An editor has a desk, which answers its requests; each session that it has open has a follower, which
//! translates; all of them talk through one outbox, which is bounded in bytes. The door holds no session
//! state: it knows which sessions its editor has open, which prompts wait for their turn to end, and which
//! questions it has put. How the protocol's words map to ours is the `acp` crate's.

mod calls;
mod desk;
mod errors;
mod follow;
mod notes;
mod output;
mod parts;
mod questions;
mod requests;
mod settings;
mod translate;
mod wire;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::access::Pass;
use crate::http::HttpDoor;
use crate::jsonl::Framed;
use crate::jsonl::framing::LineReader;
use crate::jsonl::outbox::{Closed, outbox};
use desk::Desk;

/// What a connection asks for in order to become lines of this protocol.
pub const UPGRADE: &str = "ostler-acp";
/// The byte that ends an upgraded connection in order; one that ends without it was cut.
pub const END_OF_LINES: u8 = 0x04;

/// Who acts, for the log.
const BY: &str = "acp";
/// How often a connection asks whether its editor may still be there.
const CHECK_EVERY: Duration = Duration::from_secs(5);
/// How long an editor has for reading its last lines.
const GRACE: Duration = Duration::from_secs(5);

/// How an editor wants to be served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The directory from which a relative `cwd` is taken; absolute.
    pub cwd: String,
    /// The model of new sessions, as `provider:model`; one is found when absent.
    pub model: Option<String>,
    /// Instructions for the model of new sessions.
    pub system_prompt: Option<String>,
    /// Bytes in a line of the editor. Pictures come in lines, so it is generous.
    pub max_line_bytes: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { cwd: String::new(), model: None, system_prompt: None, max_line_bytes: 40 << 20 }
    }
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The editor closed its end.
    EndOfInput,
    /// The daemon stops.
    Stopped,
    /// Nobody reads what is said.
    ClientGone,
    /// The editor may no longer be there.
    NotAllowed,
}

/// The door for editors. Cheap to clone.
#[derive(Clone)]
pub struct AcpDoor {
    door: HttpDoor,
}

impl AcpDoor {
    /// A door to the same engine as the http door, whose settings it shares.
    pub fn new(door: HttpDoor) -> AcpDoor {
        AcpDoor { door }
    }

    /// Serves an editor until it goes or `stop` fires. When this returns, every prompt has its answer, and no
    /// turn runs that this editor had asked for, unless it waits for an answer that somebody else can give.
    pub async fn serve(
        &self,
        options: Options,
        reader: impl AsyncRead + Unpin + Send,
        writer: impl AsyncWrite + Unpin + Send + 'static,
        stop: CancellationToken,
    ) -> Ended {
        let lines = LineReader::new(reader, options.max_line_bytes);
        self.attend(options, lines, writer, stop, None).await
    }

    /// Serves an editor whose first line holds the options, over a connection that it was let in to.
    pub(crate) async fn serve_upgraded(
        &self,
        reader: impl AsyncRead + Unpin + Send,
        mut writer: impl AsyncWrite + Unpin + Send + 'static,
        pass: Pass,
    ) {
        let mut lines = LineReader::new(reader, Options::default().max_line_bytes);
        let options = match tokio::time::timeout(GRACE, lines.next()).await {
            Ok(Some(Framed::Line(line))) => serde_json::from_slice::<Options>(&line).ok(),
            Ok(Some(Framed::TooLong) | None) | Err(_) => None,
        };
        match options {
            Some(options) => {
                lines.set_limit(options.max_line_bytes);
                self.attend(options, lines, writer, CancellationToken::new(), Some(pass)).await;
            }
            None => {
                tracing::debug!("an upgraded connection did not begin with its options");
                _ = writer.shutdown().await;
            }
        }
    }

    async fn attend(
        &self,
        options: Options,
        mut lines: LineReader<impl AsyncRead + Unpin + Send>,
        writer: impl AsyncWrite + Unpin + Send + 'static,
        stop: CancellationToken,
        pass: Option<Pass>,
    ) -> Ended {
        let (outbox, pending) = outbox();
        let marked = pass.is_some();
        let mut written = tokio::spawn(async move {
            let mut writer = writer;
            let whole = pending.write_to(&mut writer).await;
            if whole && marked {
                _ = writer.write_all(&[END_OF_LINES]).await;
            }
            _ = writer.shutdown().await;
        });
        let mut desk = Desk::new(self.door.clone(), options, outbox.clone());
        let ended = self.listen(&mut desk, &mut lines, &stop, pass.as_ref(), outbox.closed()).await;
        desk.end(ended).await;
        drop((desk, outbox));
        if tokio::time::timeout(GRACE, &mut written).await.is_err() {
            tracing::warn!("the editor did not read its last lines");
            written.abort();
        }
        ended
    }

    /// Takes lines and notes until something ends it.
    async fn listen(
        &self,
        desk: &mut Desk,
        lines: &mut LineReader<impl AsyncRead + Unpin + Send>,
        stop: &CancellationToken,
        pass: Option<&Pass>,
        closed: impl Future<Output = ()>,
    ) -> Ended {
        let mut stopping = self.door.engine.stopping();
        let mut check = tokio::time::interval(CHECK_EVERY);
        let mut closed = std::pin::pin!(closed);
        loop {
            let done = tokio::select! {
                framed = lines.next() => match framed {
                    Some(framed) => desk.take(framed).await,
                    None => return Ended::EndOfInput,
                },
                Some((id, note)) = desk.notes.recv() => desk.note(id, note).await,
                () = stop.cancelled() => return Ended::Stopped,
                () = until(&mut stopping) => return Ended::Stopped,
                () = &mut closed => return Ended::ClientGone,
                _ = check.tick() => {
                    if pass.is_some_and(|pass| !pass.holds()) {
                        return Ended::NotAllowed;
                    }
                    Ok(())
                }
            };
            if let Err(Closed) = done {
                return Ended::ClientGone;
            }
        }
    }
}

/// Returns when the engine begins to stop. A function of its own, so that nobody holds what it looks at.
async fn until(stopping: &mut watch::Receiver<bool>) {
    _ = stopping.wait_for(|stopping| *stopping).await;
}
