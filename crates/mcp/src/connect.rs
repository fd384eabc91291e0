//! Opens a connection to a server, settles which version of the protocol is spoken, and asks what tools
//! there are. When to do so, and what to do when the connection ends, is left to `server` and its supervisor.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{PaginatedRequestParams, ProtocolVersion, SubscriptionFilter};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, RoleClient, RunningService,
    Subscription,
};
use rmcp::transport::IntoTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::bounded_lines::{BoundedLines, ConnectionFault, MESSAGE_BYTES};
use crate::config::{ServerConfig, Transport};
use crate::handler::{McpClientHandler, ProgressReceivers};
use crate::launch::{ServerLaunch, ServerSpawnFn};
use crate::server_text::{head, strip_hidden, tail};
use crate::tool_listing::{ToolCollector, ToolListing};
use ostler_process::{ChildProcess, Launcher, StderrTail};

/// How many pages of tools are asked for.
const MAXIMUM_PAGES: usize = 64;
/// How long a server may take to agree to tell of changes.
const SUBSCRIBE_TIME: Duration = Duration::from_secs(5);
/// How much of the error output an error quotes.
const QUOTED_BYTES: usize = 800;

/// A configured server, and what was learned of it.
pub(crate) struct ConfiguredServer {
    /// Which one it is, whatever it is called.
    pub(crate) number: usize,
    pub(crate) config: ServerConfig,
    /// Its part of the names of its tools.
    pub(crate) key: String,
    /// Whether it only speaks versions of the protocol that begin with a handshake. Remembered, since
    /// finding out can cost a start.
    pub(crate) is_legacy: AtomicBool,
}

/// A server in a workspace, and how its process is prepared.
pub(crate) struct ServerEndpoint {
    pub(crate) server: Arc<ConfiguredServer>,
    pub(crate) workspace: PathBuf,
    pub(crate) spawn: ServerSpawnFn,
    pub(crate) stderr: StderrTail,
}

/// How to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpeningMode {
    /// With the newest version, and with the handshake where the server does not know it.
    Newest,
    /// With the handshake.
    Handshake,
}

/// An open connection. Dropping it closes it and kills the server's process.
pub(crate) struct McpConnection {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) progress: ProgressReceivers,
    changed: Arc<Notify>,
    subscription: Option<Subscription>,
    closed: ClosedFuture,
    child: Option<ChildProcess>,
    fault: ConnectionFault,
}

/// Ends with the connection; dropping it ends the connection.
type ClosedFuture = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

/// What can happen to a connection by itself.
pub(crate) enum McpConnectionEvent {
    /// It is over, for this reason.
    Closed(String),
    /// The server may have other tools now.
    ToolsChanged,
}

/// Opens a connection, however it has to be begun. `with_handshake` skips the newest version, for a server
/// that may have failed over it.
pub(crate) async fn connect(
    endpoint: &ServerEndpoint,
    launcher: &Launcher,
    with_handshake: bool,
) -> Result<McpConnection, String> {
    let server = &endpoint.server;
    let mut opening = OpeningMode::Newest;
    if with_handshake || server.is_legacy.load(Ordering::Relaxed) {
        opening = OpeningMode::Handshake;
    }
    let connection = match open(endpoint, launcher, opening).await {
        // Some servers end when they are asked something that they do not know.
        Err(ConnectFailure::Refused(_)) if opening == OpeningMode::Newest => {
            open(endpoint, launcher, OpeningMode::Handshake).await
        }
        opened => opened,
    };
    let connection = connection.map_err(|failure| match failure {
        ConnectFailure::NotStarted(why) | ConnectFailure::Refused(why) => why,
    })?;
    server.is_legacy.store(connection.is_legacy(), Ordering::Relaxed);
    Ok(connection)
}

/// What went wrong.
enum ConnectFailure {
    /// There was nobody to speak to.
    NotStarted(String),
    /// It did not get as far as agreeing.
    Refused(String),
}

async fn open(
    endpoint: &ServerEndpoint,
    launcher: &Launcher,
    opening: OpeningMode,
) -> Result<McpConnection, ConnectFailure> {
    let ServerEndpoint { server, workspace, stderr, .. } = endpoint;
    let handler = McpClientHandler {
        workspace: workspace.to_owned(),
        changed: Arc::new(Notify::new()),
        progress: ProgressReceivers::default(),
    };
    let (changed, progress) = (Arc::clone(&handler.changed), handler.progress.clone());
    let fault = ConnectionFault::default();
    let mut child = None;
    let agreed = match &server.config.transport {
        Transport::Stdio { command, env } => {
            let launch = ServerLaunch {
                server: server.config.name.clone(),
                program: command.first().cloned().unwrap_or_default(),
                arguments: command.iter().skip(1).cloned().collect(),
                env: env.clone(),
                workspace: workspace.to_owned(),
            };
            let (process, stdout, stdin) = start(launch, endpoint, launcher).await?;
            let process = child.insert(process);
            let stdout = BoundedLines::new(stdout, MESSAGE_BYTES, fault.clone());
            // The limit is kept by the reader; the transport's own would let the call wait in vain.
            let transport =
                AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(2 * MESSAGE_BYTES);
            initialize_process(handler, transport, opening, process).await
        }
        Transport::Http { url, headers } => {
            let transport =
                crate::http_transport::transport(url, headers).map_err(ConnectFailure::NotStarted)?;
            serve(handler, transport, opening).await.map_err(|error| error_text(&error))
        }
    };
    match agreed {
        Ok(service) => {
            let peer = service.peer().clone();
            let closed = Box::pin(async move { drop(service.waiting().await) });
            Ok(McpConnection { peer, progress, changed, subscription: None, closed, child, fault })
        }
        Err(why) => {
            if let Some(child) = child {
                child.stop().await;
            }
            let why = fault.text().unwrap_or(why);
            Err(ConnectFailure::Refused(with_stderr_tail(&why, stderr)))
        }
    }
}

async fn start(
    launch: ServerLaunch,
    endpoint: &ServerEndpoint,
    launcher: &Launcher,
) -> Result<(ChildProcess, tokio::process::ChildStdout, tokio::process::ChildStdin), ConnectFailure> {
    let spawn = Arc::clone(&endpoint.spawn);
    let program = launch.program.clone();
    let prepared = tokio::task::spawn_blocking(move || spawn(&launch)).await;
    let prepared = prepared.unwrap_or_else(|_| Err("preparing its process broke down".to_owned()));
    let not_started =
        |why: String| ConnectFailure::NotStarted(format!("`{program}` could not be started: {why}"));
    let prepared = prepared.map_err(not_started)?;
    launcher.start(prepared, &endpoint.stderr).map_err(|error| not_started(error.to_string()))
}

/// Agrees with a process on how to speak, unless it ends before.
async fn initialize_process<T>(
    handler: McpClientHandler,
    transport: T,
    opening: OpeningMode,
    process: &mut ChildProcess,
) -> Result<RunningService<RoleClient, McpClientHandler>, String>
where
    T: rmcp::transport::Transport<RoleClient> + 'static,
{
    let served = tokio::select! {
        served = serve(handler, transport, opening) => served.map_err(|error| error_text(&error)),
        how = process.ended() => Err(format!("{how} while it was being started")),
    };
    match served {
        // Its output closes a moment before it ends, and how it ended says more.
        Err(why) => Err(match process.poll_ended().await {
            Some(how) if !why.starts_with(&how) => format!("{how} while it was being started"),
            Some(_) | None => why,
        }),
        Ok(service) => Ok(service),
    }
}

async fn serve<T, E, A>(
    handler: McpClientHandler,
    transport: T,
    opening: OpeningMode,
) -> Result<RunningService<RoleClient, McpClientHandler>, ClientInitializeError>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let mode = match opening {
        OpeningMode::Newest => ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::LATEST],
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        OpeningMode::Handshake => ClientLifecycleMode::Initialize,
    };
    Box::pin(handler.serve_with_lifecycle(transport, mode)).await
}

/// An error of the protocol in words, without what a server may have put into it to be obeyed.
fn error_text(error: &ClientInitializeError) -> String {
    format!("no connection was made: {}", strip_hidden(head(&error.to_string(), QUOTED_BYTES)))
}

/// The reason, and the last of what the server said about it.
pub(crate) fn with_stderr_tail(why: &str, stderr: &StderrTail) -> String {
    let said = stderr.text();
    let said = strip_hidden(tail(said.trim(), QUOTED_BYTES));
    if said.is_empty() { why.to_owned() } else { format!("{why}; its last words were: {said}") }
}

impl McpConnection {
    /// Asks for the tools.
    pub(crate) async fn list(&mut self, server: &ConfiguredServer) -> Result<ToolListing, String> {
        if self.peer.peer_info().is_none_or(|info| info.capabilities.tools.is_none()) {
            return Ok(ToolListing::default());
        }
        let mut collector = ToolCollector::new(&server.config, &server.key);
        let mut cursor = None;
        for _ in 0..MAXIMUM_PAGES {
            let mut page = PaginatedRequestParams::default();
            page.cursor = cursor;
            let page = self.peer.list_tools(Some(page)).await;
            let page = page.map_err(|error| {
                format!(
                    "it did not say what tools it has: {}",
                    strip_hidden(head(&error.to_string(), QUOTED_BYTES))
                )
            })?;
            page.tools.iter().for_each(|tool| collector.add(tool));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok(collector.finish())
    }

    /// Asks to be told when the tools change, where that has to be asked for. True if the server agreed;
    /// one that does not is asked for its tools when it is started, and not again.
    pub(crate) async fn subscribe(&mut self) -> bool {
        let info = self.peer.peer_info();
        let tools = info.as_deref().and_then(|info| info.capabilities.tools.as_ref());
        let tells = tools.is_some_and(|tools| tools.list_changed == Some(true));
        if tells && !self.is_legacy() {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            self.subscription =
                timeout(SUBSCRIBE_TIME, self.peer.listen(filter)).await.ok().and_then(Result::ok);
        }
        self.subscription.is_some()
    }

    /// Waits for the next thing that happens to it by itself.
    pub(crate) async fn next_event(&mut self) -> McpConnectionEvent {
        let McpConnection { changed, subscription, closed, child, fault, .. } = self;
        let is_told = tokio::select! {
            biased;
            how = wait_for_close(closed, child.as_mut()) => return McpConnectionEvent::Closed(fault.text().unwrap_or(how)),
            () = changed.notified() => true,
            is_told = wait_for_tool_change(subscription.as_mut()) => is_told,
        };
        if !is_told {
            *subscription = None;
        }
        McpConnectionEvent::ToolsChanged
    }

    /// Waits until it is over, and says why.
    pub(crate) async fn wait_closed(&mut self) -> McpConnectionEvent {
        let how = wait_for_close(&mut self.closed, self.child.as_mut()).await;
        McpConnectionEvent::Closed(self.fault.text().unwrap_or(how))
    }

    /// Closes it, and ends the process with all that it started.
    pub(crate) async fn stop(self) {
        let McpConnection { subscription, closed, child, .. } = self;
        drop(subscription);
        // Dropping what waits for the end closes the connection, and with it the server's input.
        drop(closed);
        if let Some(child) = child {
            child.stop().await;
        }
    }

    fn is_legacy(&self) -> bool {
        self.peer.peer_info().is_some_and(|info| info.protocol_version.has_initialize())
    }
}

/// Waits until the connection is closed or the process has ended, and says how.
async fn wait_for_close(closed: &mut ClosedFuture, child: Option<&mut ChildProcess>) -> String {
    let Some(child) = child else {
        closed.await;
        return "the connection ended".to_owned();
    };
    tokio::select! {
        how = child.ended() => return how,
        () = closed => {}
    }
    child.poll_ended().await.unwrap_or_else(|| "it closed its output".to_owned())
}

/// Waits until the server tells of a change. False if it will tell of none any more.
async fn wait_for_tool_change(subscription: Option<&mut Subscription>) -> bool {
    match subscription {
        Some(subscription) => matches!(subscription.next().await, Ok(Some(_))),
        None => std::future::pending().await,
    }
}
