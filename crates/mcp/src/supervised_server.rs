//! One server in one workspace, as the supervisor of `process` runs it: how it is started, kept up to date and
//! stopped, and what clients are told of it. When that happens is left to the supervisor.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ostler_process::{Instance, InstancePhase, Launcher, StartFailure, StartResult, Supervised};
use rmcp::service::{Peer, RoleClient};
use tokio::time::timeout;

use crate::config::Transport;
use crate::connect::{McpConnection, McpConnectionEvent, ServerEndpoint, connect, with_stderr_tail};
use crate::handler::ProgressReceivers;
use crate::server_text::strip_hidden;
use crate::status::{ServerState, ServerStatus};
use crate::tool_listing::ToolListing;

/// How often a list of tools is asked for again at most.
const REFRESH_PAUSE: Duration = Duration::from_secs(1);
/// How long a server must last for its past failures to be forgotten.
const STABLE: Duration = Duration::from_secs(60);

/// A server in a workspace.
pub(crate) struct SupervisedServer {
    pub(crate) endpoint: ServerEndpoint,
    /// How long a start may take.
    start_time: Duration,
    listing: Mutex<ToolListing>,
    /// Whether the next start begins with the handshake of older versions.
    with_handshake: AtomicBool,
}

/// What a call is sent with.
#[derive(Clone)]
pub(crate) struct ServerHandle {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) progress: ProgressReceivers,
}

impl SupervisedServer {
    pub(crate) fn new(endpoint: ServerEndpoint, start_time: Duration) -> SupervisedServer {
        let (listing, with_handshake) = (Mutex::default(), AtomicBool::new(false));
        SupervisedServer { endpoint, start_time, listing, with_handshake }
    }

    async fn open(
        &self,
        launcher: &Launcher,
        with_handshake: bool,
    ) -> Result<(McpConnection, ToolListing), String> {
        let mut connection = connect(&self.endpoint, launcher, with_handshake).await?;
        match connection.list(&self.endpoint.server).await {
            Ok(listing) => Ok((connection, listing)),
            Err(why) => {
                connection.stop().await;
                Err(with_stderr_tail(&why, &self.endpoint.stderr))
            }
        }
    }

    fn set_listing(&self, listing: ToolListing) {
        *self.listing.lock().unwrap_or_else(PoisonError::into_inner) = listing;
    }

    fn redact(&self, why: &str) -> String {
        self.endpoint.server.config.redact(why)
    }
}

impl Supervised for SupervisedServer {
    /// The workspace and the server's number.
    type Key = (PathBuf, usize);
    type Handle = ServerHandle;
    type Running = McpConnection;
    type Failure = String;

    async fn start(&self, launcher: Launcher) -> StartResult<SupervisedServer> {
        // A server that did not get ready may have failed over the newest version, without saying it; then the
        // next start does without, and the one after that tries it again.
        let with_handshake = self.with_handshake.fetch_not(Ordering::Relaxed);
        let why = match timeout(self.start_time, Box::pin(self.open(&launcher, with_handshake))).await {
            Ok(Ok((connection, listing))) => {
                self.with_handshake.store(false, Ordering::Relaxed);
                self.set_listing(listing);
                let live =
                    ServerHandle { peer: connection.peer.clone(), progress: connection.progress.clone() };
                return Ok((live, connection));
            }
            Ok(Err(why)) => why,
            Err(_) => {
                let why = format!("it was not ready within {} s", self.start_time.as_secs_f64());
                with_stderr_tail(&why, &self.endpoint.stderr)
            }
        };
        Err(StartFailure::Transient(self.redact(&why)))
    }

    /// Waits until the server ends by itself. Meanwhile its tools are kept up to date.
    async fn watch(&self, connection: &mut McpConnection) -> String {
        let why = self.refresh(connection).await;
        self.redact(&with_stderr_tail(&why, &self.endpoint.stderr))
    }

    async fn stop(&self, connection: McpConnection) {
        connection.stop().await;
    }

    fn is_proven(&self, _live: &ServerHandle, uptime: Duration) -> bool {
        uptime >= STABLE
    }

    fn is_open(&self, live: &ServerHandle) -> bool {
        !live.peer.is_transport_closed()
    }

    fn log_failure(&self, _failure: &String, failures: u32) {
        tracing::warn!(server = self.endpoint.server.config.name, failures, "an MCP server failed");
    }

    fn takes_slot(&self) -> bool {
        matches!(self.endpoint.server.config.transport, Transport::Stdio { .. })
    }

    /// The servers of one workspace are needed together.
    fn yields_to(&self, other: &SupervisedServer) -> bool {
        self.endpoint.workspace != other.endpoint.workspace
    }

    fn no_slot_failure(&self, capacity: usize) -> StartFailure<String> {
        StartFailure::Transient(format!(
            "{capacity} MCP servers run already, which is the limit; end sessions of other workspaces or raise it"
        ))
    }
}

impl SupervisedServer {
    /// Lists the tools again whenever they change, until the connection is over. Returns why it is.
    async fn refresh(&self, connection: &mut McpConnection) -> String {
        // What has changed before the server agreed to tell is found out by asking once more.
        let mut is_stale = connection.subscribe().await;
        loop {
            if !is_stale {
                match connection.next_event().await {
                    McpConnectionEvent::Closed(why) => return why,
                    McpConnectionEvent::ToolsChanged => {}
                }
            }
            is_stale = false;
            let server = &self.endpoint.server;
            match timeout(self.start_time, connection.list(server)).await {
                Ok(Ok(listing)) => self.set_listing(listing),
                // It has other ways to show that it is broken; the tools known so far may well work.
                Ok(Err(_)) | Err(_) => {
                    tracing::warn!(server = server.config.name, "tools were not listed again")
                }
            }
            // A server that changes its tools all the time is not asked all the time.
            if let Ok(McpConnectionEvent::Closed(why)) =
                timeout(REFRESH_PAUSE, connection.wait_closed()).await
            {
                return why;
            }
        }
    }
}

/// The tools that an instance offers. Those of a server that is being started again stay, so that the list does not
/// change twice for every hiccup.
pub(crate) fn listing(instance: &Instance<SupervisedServer>) -> ToolListing {
    if !instance.phase().is_running() {
        return ToolListing::default();
    }
    instance.child().listing.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// What clients are told of an instance.
pub(crate) fn status(instance: &Instance<SupervisedServer>) -> ServerStatus {
    let ServerEndpoint { server, workspace, stderr, .. } = &instance.child().endpoint;
    let (state, live, error) = match instance.phase() {
        InstancePhase::Starting => (ServerState::Starting, None, None),
        InstancePhase::Ready(live) => (ServerState::Ready, Some(live), None),
        InstancePhase::Restarting(why) => (ServerState::Restarting, None, Some(why)),
        InstancePhase::Unavailable(why, _) => (ServerState::Unavailable, None, Some(why)),
        InstancePhase::Stopped => (ServerState::Stopped, None, None),
    };
    let listing = listing(instance);
    ServerStatus {
        name: server.config.name.clone(),
        workspace: Some(workspace.clone()),
        state,
        protocol: live.and_then(|live| Some(live.peer.peer_info()?.protocol_version.to_string())),
        tools: listing.tools.iter().map(|tool| tool.spec.name.clone()).collect(),
        left_out: listing.left_out,
        error,
        stderr_tail: server.config.redact(&strip_hidden(&stderr.text())),
    }
}
