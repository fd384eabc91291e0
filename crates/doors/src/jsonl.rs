//! The jsonl door: many sessions over lines of JSON, on stdin and stdout of `ostler rpc` or on a connection
//! that was upgraded to them. `docs/protocols/jsonl.md` describes it for the people who write clients.
//!
//! A client has a desk, which carries out its commands; each of its sessions has a follower, which
//! translates; all of them talk through one outbox, which is bounded in bytes. The door holds no session
//! state: it knows which sessions its client has, and how far it has told of them.

mod commands;
mod connection;
mod dialogs;
mod draft;
mod follower;
mod frames;
mod messages;
mod notices;
mod schema;
mod session_counts;
mod session_files;
mod session_starter;
mod translate;
mod upgrade;

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use ostler_door_kit::line_connection::{
    ConnectionEnd, OutboxClosed, first_line, line_limit, serve_lines, spawn_writer,
};
use ostler_door_kit::{AccessGrant, DoorContext, Routes};
use ostler_line_framing::LineReader;
use ostler_types::Refusal;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use connection::JsonlConnection;

pub use commands::{ClientFrame, JsonlCommandError, OfSession, StartSession, UiResponse, read_command};
pub use schema::schema;

/// What a connection asks for in order to become lines of JSON.
pub const UPGRADE: &str = "ostler-jsonl";

/// Who acts, for the log.
const CALLER: &str = "jsonl";

/// How a client wants to be served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JsonlOptions {
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

impl Default for JsonlOptions {
    fn default() -> JsonlOptions {
        JsonlOptions {
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

/// The jsonl door. Cheap to clone.
#[derive(Clone)]
pub struct JsonlDoor {
    context: DoorContext,
}

impl JsonlDoor {
    /// A door with this context.
    pub fn new(context: DoorContext) -> JsonlDoor {
        JsonlDoor { context }
    }

    /// The routes of this door.
    pub(crate) fn routes(&self) -> Routes {
        Routes::new(Router::new().route("/jsonl", get(upgrade::upgrade)).with_state(self.clone()))
    }

    /// Serves a client until it goes, is told to, or `stop` fires. When this returns, what its sessions
    /// did is on disk, and no turn runs that it had asked for. An error says why the primary session could not be
    /// started; the client has been told.
    pub async fn serve(
        &self,
        options: JsonlOptions,
        reader: impl AsyncRead + Unpin + Send,
        writer: impl AsyncWrite + Unpin + Send + 'static,
        stop: CancellationToken,
    ) -> Result<ConnectionEnd, Refusal> {
        let lines = LineReader::new(reader, line_limit(options.max_line_bytes));
        self.run_connection(options, lines, writer, stop, None).await
    }

    /// Serves a client whose first line holds its options, over a connection that it was let in to.
    async fn serve_upgraded(
        &self,
        reader: impl AsyncRead + Unpin + Send,
        mut writer: impl AsyncWrite + Unpin + Send + 'static,
        pass: AccessGrant,
    ) {
        let mut lines = LineReader::new(reader, JsonlOptions::default().max_line_bytes);
        let options = match first_line(&mut lines).await {
            Some(line) => read_options(&line),
            None => Err("the options did not come in the first line".to_owned()),
        };
        match options {
            Ok(options) => {
                lines.set_limit(line_limit(options.max_line_bytes));
                let stop = CancellationToken::new();
                _ = self.run_connection(options, lines, writer, stop, Some(pass)).await;
            }
            Err(message) => {
                let error = frames::ServerFrame::Error { message: &message, hint: None, session_id: None };
                _ = writer.write_all(&error.line()).await;
                _ = writer.shutdown().await;
            }
        }
    }

    async fn run_connection(
        &self,
        mut options: JsonlOptions,
        mut lines: LineReader<impl AsyncRead + Unpin + Send>,
        writer: impl AsyncWrite + Unpin + Send + 'static,
        stop: CancellationToken,
        pass: Option<AccessGrant>,
    ) -> Result<ConnectionEnd, Refusal> {
        options.max_line_bytes = lines.limit();
        let (outbox, writing) = spawn_writer(writer, pass.is_some());
        let mut desk = JsonlConnection::new(self.context.clone(), options, outbox.clone());
        let ended = match desk.start_primary_session().await {
            Ok(Ok(())) => {
                let engine = &self.context.engine;
                let ended = serve_lines(engine, &mut desk, &mut lines, &outbox, &stop, pass.as_ref()).await;
                Ok(desk.shut_down(ended).await)
            }
            Ok(Err(refusal)) => {
                drop(desk);
                Err(refusal)
            }
            Err(OutboxClosed) => Ok(ConnectionEnd::ClientGone),
        };
        drop(outbox);
        writing.finish().await;
        ended
    }
}

/// Reads the first line of an upgraded connection.
fn read_options(line: &[u8]) -> Result<JsonlOptions, String> {
    serde_json::from_slice(line).map_err(|error| format!("the options cannot be read: {error}"))
}
