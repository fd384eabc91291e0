//! The door for editors that speak the Agent Client Protocol, on stdin and stdout of `ostler acp` or on a
//! connection that was upgraded to it. `docs/protocols/acp.md` describes it for the people who use it.
//!
//! An editor has a desk, which answers its requests; each session that it has open has a follower, which
//! translates; all of them talk through one outbox, which is bounded in bytes. The door holds no session
//! state: it knows which sessions its editor has open, which prompts wait for their turn to end, and which
//! questions it has put. How the protocol's words map to ours is the `acp` crate's.

mod calls;
mod editor_connection;
mod editor_links;
mod errors;
mod file_requests;
mod follower;
mod initialize;
mod notices;
mod prompt_parts;
mod questions;
mod requests;
mod settings;
mod streaming_output;
mod translate;
mod upgrade;
mod wire;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use ostler_door_kit::line_connection::{ConnectionEnd, first_line, line_limit, serve_lines, spawn_writer};
use ostler_door_kit::{AccessGrant, DoorContext, Routes};
use ostler_line_framing::LineReader;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use editor_connection::EditorConnection;

pub use editor_links::{EditorFiles, EditorLinks, UnusedEditorServer};

/// What a connection asks for in order to become lines of this protocol.
pub const UPGRADE: &str = "ostler-acp";

/// Who acts, for the log.
const CALLER: &str = "acp";

/// How an editor wants to be served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AcpOptions {
    /// The directory from which a relative `cwd` is taken; absolute.
    pub cwd: String,
    /// The model of new sessions, as `provider:model`; one is found when absent.
    pub model: Option<String>,
    /// Instructions for the model of new sessions.
    pub system_prompt: Option<String>,
    /// Bytes in a line of the editor. Pictures come in lines, so it is generous.
    pub max_line_bytes: usize,
}

impl Default for AcpOptions {
    fn default() -> AcpOptions {
        AcpOptions { cwd: String::new(), model: None, system_prompt: None, max_line_bytes: 40 << 20 }
    }
}

/// The door for editors. Cheap to clone.
#[derive(Clone)]
pub struct AcpDoor {
    context: DoorContext,
    /// Where sessions have what editors give them, if they have it anywhere.
    editors: Option<Arc<dyn EditorLinks>>,
}

impl AcpDoor {
    /// A door with this context.
    pub fn new(context: DoorContext) -> AcpDoor {
        AcpDoor { context, editors: None }
    }

    /// The same door, whose editors give sessions what they show and name.
    #[must_use]
    pub fn with_editors(self, editors: Arc<dyn EditorLinks>) -> AcpDoor {
        AcpDoor { editors: Some(editors), ..self }
    }

    /// The routes of this door.
    pub(crate) fn routes(&self) -> Routes {
        Routes::new(Router::new().route("/acp", get(upgrade::upgrade)).with_state(self.clone()))
    }

    /// Serves an editor until it goes or `stop` fires. When this returns, every prompt has its answer, and no
    /// turn runs that this editor had asked for, unless it waits for an answer that somebody else can give.
    pub async fn serve(
        &self,
        options: AcpOptions,
        reader: impl AsyncRead + Unpin + Send,
        writer: impl AsyncWrite + Unpin + Send + 'static,
        stop: CancellationToken,
    ) -> ConnectionEnd {
        let lines = LineReader::new(reader, line_limit(options.max_line_bytes));
        self.run_connection(options, lines, writer, stop, None).await
    }

    /// Serves an editor whose first line holds the options, over a connection that it was let in to.
    async fn serve_upgraded(
        &self,
        reader: impl AsyncRead + Unpin + Send,
        mut writer: impl AsyncWrite + Unpin + Send + 'static,
        pass: AccessGrant,
    ) {
        let mut lines = LineReader::new(reader, AcpOptions::default().max_line_bytes);
        let line = first_line(&mut lines).await;
        match line.and_then(|line| serde_json::from_slice::<AcpOptions>(&line).ok()) {
            Some(options) => {
                lines.set_limit(line_limit(options.max_line_bytes));
                self.run_connection(options, lines, writer, CancellationToken::new(), Some(pass)).await;
            }
            None => {
                tracing::debug!("an upgraded connection did not begin with its options");
                _ = writer.shutdown().await;
            }
        }
    }

    async fn run_connection(
        &self,
        options: AcpOptions,
        mut lines: LineReader<impl AsyncRead + Unpin + Send>,
        writer: impl AsyncWrite + Unpin + Send + 'static,
        stop: CancellationToken,
        pass: Option<AccessGrant>,
    ) -> ConnectionEnd {
        let (outbox, writing) = spawn_writer(writer, pass.is_some());
        let mut desk = EditorConnection::new(self, options, outbox.clone());
        let engine = &self.context.engine;
        let ended = serve_lines(engine, &mut desk, &mut lines, &outbox, &stop, pass.as_ref()).await;
        desk.shut_down(ended).await;
        drop((desk, outbox));
        writing.finish().await;
        ended
    }
}
