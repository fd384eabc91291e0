//! The jsonl door: many sessions over lines of JSON, on stdin and stdout of `ostler rpc` or on a connection
//! that was upgraded to them. `docs/protocols/jsonl.md` describes it for the people who write clients.
//!
//! A client has a desk, which carries out its commands; each of its sessions has a follower, which
//! translates; all of them talk through one outbox, which is bounded in bytes. The door holds no session
//! state: it knows which sessions its client has, and how far it has told of them.

mod commands;
mod desk;
mod dialogs;
mod draft;
mod files;
mod follow;
mod frames;
pub(crate) mod framing;
mod messages;
mod notes;
pub(crate) mod outbox;
mod schema;
mod start;
mod tally;
mod translate;

use std::ops::ControlFlow;
use std::time::Duration;

use ostler_types::Refusal;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::access::Pass;
use crate::http::HttpDoor;
use desk::Desk;
use framing::LineReader;
use outbox::outbox;

pub use commands::{BadLine, ClientFrame, OfSession, StartSession, UiResponse, read_command};
pub use framing::{Framed, Lines};
pub use schema::schema;

/// What a connection asks for in order to become lines of JSON.
pub const UPGRADE: &str = "ostler-jsonl";
/// The byte that ends an upgraded connection in order; one that ends without it was cut.
pub const END_OF_LINES: u8 = 0x04;

/// Who acts, for the log.
const BY: &str = "jsonl";
/// How often a connection asks whether its client may still be there.
const CHECK_EVERY: Duration = Duration::from_secs(5);
/// How long a client has for reading its last lines.
const GRACE: Duration = Duration::from_secs(5);

/// How a client wants to be served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The directory that sessions work in unless they say otherwise; absolute.
    pub cwd: String,
    /// The model of the primary session, as `provider:model`; one is found when absent.
    pub model: Option<String>,
    /// Instructions for the model of the primary session.
    pub system_prompt: Option<String>,
    /// The primary session's file.
    pub session_file: Option<String>,
    /// Whether the client is told what is being done.
    pub debug: bool,
    /// Whether the client can be asked.
    pub ui: bool,
    /// How long turns may go on when the client has closed its end.
    #[serde(rename = "linger_ms", with = "milliseconds")]
    pub linger: Duration,
    /// Bytes in a line of the client.
    pub max_line_bytes: usize,
    /// What the client was started with, to be told in `debug`.
    pub argv: Vec<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            cwd: String::new(),
            model: None,
            system_prompt: None,
            session_file: None,
            debug: false,
            ui: true,
            linger: Duration::from_secs(2),
            max_line_bytes: 8 << 20,
            argv: Vec::new(),
        }
    }
}

mod milliseconds {
    //! Times in a number.

    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The client said `quit`.
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

/// The jsonl door. Cheap to clone.
#[derive(Clone)]
pub struct JsonlDoor {
    door: HttpDoor,
}

impl JsonlDoor {
    /// A door to the same engine as the http door, whose settings it shares.
    pub fn new(door: HttpDoor) -> JsonlDoor {
        JsonlDoor { door }
    }

    /// Serves a client until it goes, is told to, or `stop` fires. When this returns, what its sessions
    /// did is on disk, and no turn runs that it had asked for. An error says why the primary session could not be
    /// started; the client has been told.
    pub async fn serve(
        &self,
        options: Options,
        reader: impl AsyncRead + Unpin + Send,
        writer: impl AsyncWrite + Unpin + Send + 'static,
        stop: CancellationToken,
    ) -> Result<Ended, Refusal> {
        let lines = LineReader::new(reader, options.max_line_bytes);
        self.attend(options, lines, writer, stop, None, false).await
    }

    /// Serves a client whose first line holds its options, over a connection that it was let in to.
    pub(crate) async fn serve_upgraded(
        &self,
        reader: impl AsyncRead + Unpin + Send,
        mut writer: impl AsyncWrite + Unpin + Send + 'static,
        pass: Pass,
    ) {
        let mut lines = LineReader::new(reader, Options::default().max_line_bytes);
        let options = match tokio::time::timeout(GRACE, lines.next()).await {
            Ok(Some(Framed::Line(line))) => read_options(&line),
            Ok(Some(Framed::TooLong) | None) | Err(_) => {
                Err("the options did not come in the first line".to_owned())
            }
        };
        match options {
            Ok(options) => {
                lines.set_limit(options.max_line_bytes);
                let stop = CancellationToken::new();
                _ = self.attend(options, lines, writer, stop, Some(pass), true).await;
            }
            Err(message) => {
                let error = frames::ServerFrame::Error { message: &message, hint: None, session_id: None };
                _ = writer.write_all(&error.line()).await;
                _ = writer.shutdown().await;
            }
        }
    }

    async fn attend(
        &self,
        mut options: Options,
        mut lines: LineReader<impl AsyncRead + Unpin + Send>,
        writer: impl AsyncWrite + Unpin + Send + 'static,
        stop: CancellationToken,
        pass: Option<Pass>,
        marked: bool,
    ) -> Result<Ended, Refusal> {
        options.max_line_bytes = lines.limit();
        let (outbox, pending) = outbox();
        let mut written = tokio::spawn(async move {
            let mut writer = writer;
            let whole = pending.write_to(&mut writer).await;
            if whole && marked {
                _ = writer.write_all(&[END_OF_LINES]).await;
            }
            _ = writer.shutdown().await;
        });
        let mut desk = Desk::new(self.door.clone(), options, outbox.clone());
        let ended = match desk.begin().await {
            Ok(Ok(())) => {
                let ended = self.listen(&mut desk, &mut lines, &stop, pass.as_ref(), outbox.closed()).await;
                Ok(desk.end(ended).await)
            }
            Ok(Err(refusal)) => {
                drop(desk);
                Err(refusal)
            }
            Err(outbox::Closed) => Ok(Ended::ClientGone),
        };
        drop(outbox);
        if tokio::time::timeout(GRACE, &mut written).await.is_err() {
            tracing::warn!("the client did not read its last lines");
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
                Some(note) = desk.notes.recv() => desk.note(note).await.map(ControlFlow::Continue),
                () = stop.cancelled() => return Ended::Stopped,
                () = until(&mut stopping) => return Ended::Stopped,
                () = &mut closed => return Ended::ClientGone,
                _ = check.tick() => {
                    if pass.is_some_and(|pass| !pass.holds()) {
                        return Ended::NotAllowed;
                    }
                    Ok(ControlFlow::Continue(()))
                }
            };
            match done {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => return Ended::Quit,
                Err(outbox::Closed) => return Ended::ClientGone,
            }
        }
    }
}

/// Returns when the engine begins to stop. A function of its own, so that nobody holds what it looks at.
async fn until(stopping: &mut watch::Receiver<bool>) {
    _ = stopping.wait_for(|stopping| *stopping).await;
}

/// Reads the first line of an upgraded connection.
fn read_options(line: &[u8]) -> Result<Options, String> {
    serde_json::from_slice(line).map_err(|error| format!("the options cannot be read: {error}"))
}
