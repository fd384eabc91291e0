//! An agent's process in one workspace, as the supervisor of `process` runs it: started, agreed with on the protocol,
//! watched and stopped. When that happens is left to the supervisor.

use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AGENT_METHOD_NAMES, ClientCapabilities, FileSystemCapabilities, Implementation, InitializeRequest,
    InitializeResponse,
};
use ostler_process::{
    ChildProcess, Instance, InstancePhase, Launcher, StartFailure, StartResult, StderrTail, Supervised,
};
use ostler_types::Failure;

use crate::config::{AgentLaunch, AgentProgram, AgentSettings, AgentSpawnFn};
use crate::connection::{AgentConnection, NoAnswer};
use crate::failure::{QUOTED_BYTES, failure};
use crate::running_agent::RunningAgent;
use crate::status::{AgentStatus, ProcessState};

/// Time limit for reading the remaining output of an exited process.
const LAST_OUTPUT_TIME: Duration = Duration::from_millis(500);
/// Number of bytes of the error output that a status shows.
const STATUS_STDERR_BYTES: usize = 4_000;

/// Starts an agent in a workspace.
pub(crate) struct SupervisedAgent {
    program: Arc<AgentProgram>,
    settings: AgentSettings,
    spawn: AgentSpawnFn,
    workspace: PathBuf,
    stderr: StderrTail,
}

/// A process, and what carries its lines.
pub(crate) struct SpawnedAgent {
    agent: Arc<RunningAgent>,
    child: ChildProcess,
    relay: RelayFuture,
    /// Exit reason, if the process exited by itself.
    exit_reason: Option<String>,
}

type RelayFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

impl SupervisedAgent {
    pub(crate) fn new(
        program: Arc<AgentProgram>,
        settings: AgentSettings,
        spawn: AgentSpawnFn,
        workspace: PathBuf,
    ) -> SupervisedAgent {
        SupervisedAgent { program, settings, spawn, workspace, stderr: StderrTail::default() }
    }

    /// Sends `initialize`, and checks what the agent says.
    async fn initialize(
        &self,
        connection: &AgentConnection,
        child: &mut ChildProcess,
        pump: &mut RelayFuture,
    ) -> Result<InitializeResponse, StartFailure<Failure>> {
        let AgentSettings { serves_requests: serves, start, .. } = self.settings;
        let files = FileSystemCapabilities::new().read_text_file(serves).write_text_file(serves);
        let request = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::new().fs(files).terminal(serves))
            .client_info(Implementation::new("ostler", env!("CARGO_PKG_VERSION")));
        let answered = tokio::select! {
            biased;
            answered = connection.request(AGENT_METHOD_NAMES.initialize, &request, start) => answered,
            () = pump => Err(NoAnswer::Closed),
        };
        let said = match answered {
            Ok(said) => said,
            Err(error) => {
                let how = match error {
                    NoAnswer::Closed => close_reason(connection, child).await,
                    NoAnswer::TooLate(time) => format!("it did not say what it is in {} s", time.as_secs()),
                    NoAnswer::Refused(error) => format!("it refused to begin: {}", error.message),
                };
                return Err(StartFailure::Transient(self.not_started(&how)));
            }
        };
        let initialized: InitializeResponse = serde_json::from_value(said).map_err(|error| {
            let how = format!("it does not speak the protocol: {error}");
            StartFailure::Permanent(self.not_started(&how))
        })?;
        if initialized.protocol_version != ProtocolVersion::V1 {
            let how =
                format!("it speaks version {} of the protocol, not version 1", initialized.protocol_version);
            return Err(StartFailure::Permanent(self.not_started(&how)));
        }
        Ok(initialized)
    }

    /// A process that did not get as far as agreeing on the protocol.
    fn not_started(&self, how: &str) -> Failure {
        let AgentProgram { name, program, arguments, .. } = &*self.program;
        let message = format!("the agent {name} could not be started: {how}");
        let message = with_stderr_tail(message, &self.program.redact(&self.stderr.last(QUOTED_BYTES)));
        let hint = format!("run `{program} {}` by hand to see what it wants", arguments.join(" "));
        failure("agent_not_started", message, Some(hint))
    }

    /// A process that could not be prepared or spawned.
    fn not_spawned(&self, why: &str, hint: Option<String>) -> StartFailure<Failure> {
        let message = format!("the agent {} cannot be started: {why}", self.program.name);
        StartFailure::Permanent(failure("agent_not_started", message, hint))
    }
}

impl Supervised for SupervisedAgent {
    /// The workspace.
    type Key = PathBuf;
    type Handle = Arc<RunningAgent>;
    type Running = SpawnedAgent;
    type Failure = Failure;

    async fn start(&self, launcher: Launcher) -> StartResult<SupervisedAgent> {
        let AgentProgram { name, program, arguments, env, pass_env, install, .. } = &*self.program;
        let launch = AgentLaunch {
            agent: name.clone(),
            program: program.clone(),
            arguments: arguments.clone(),
            env: env.clone(),
            pass_env: pass_env.clone(),
            workspace: self.workspace.clone(),
        };
        let spawn = Arc::clone(&self.spawn);
        let prepared = tokio::task::spawn_blocking(move || spawn(&launch)).await;
        let prepared = prepared
            .unwrap_or_else(|error| Err(error.to_string().into()))
            .map_err(|why| self.not_spawned(&why.message, why.hint.or_else(|| install.clone())))?;
        let (mut child, stdout, stdin) = launcher.start(prepared, &self.stderr).map_err(|error| {
            let hint = install.clone().filter(|_| error.kind() == io::ErrorKind::NotFound);
            self.not_spawned(&format!("{program}: {error}"), hint)
        })?;
        let (connection, pump) = AgentConnection::new(stdout, stdin, self.settings.line_bytes);
        let mut pump: RelayFuture = Box::pin(pump.run());
        let initialized = self.initialize(&connection, &mut child, &mut pump).await?;
        let agent = Arc::new(RunningAgent::new(connection, initialized, self.settings.request_timeout));
        Ok((Arc::clone(&agent), SpawnedAgent { agent, child, relay: pump, exit_reason: None }))
    }

    async fn watch(&self, running: &mut SpawnedAgent) -> Failure {
        let SpawnedAgent { agent, child, relay: pump, exit_reason: end } = running;
        let how = tokio::select! {
            biased;
            () = &mut *pump => close_reason(&agent.connection, child).await,
            how = child.ended() => {
                // What it said last is still to be read; whatever it started may hold its output open for ever.
                let _ = tokio::time::timeout(LAST_OUTPUT_TIME, pump).await;
                how
            }
        };
        *end = Some(how.clone());
        failure("agent_crashed", format!("the agent crashed: {how}"), None)
    }

    async fn stop(&self, running: SpawnedAgent) {
        let SpawnedAgent { agent, child, relay: pump, exit_reason: end } = running;
        let end = end.unwrap_or_else(|| "it was stopped".to_owned());
        agent.set_ended(with_stderr_tail(end, &self.stderr.last(QUOTED_BYTES)));
        // Dropping the pump closes the agent's input.
        drop(pump);
        agent.connection.close();
        child.stop().await;
    }

    /// A process that has done its work starts the count anew.
    fn is_proven(&self, agent: &Arc<RunningAgent>, _uptime: Duration) -> bool {
        agent.has_answered()
    }

    fn log_failure(&self, failure: &Failure, failures: u32) {
        tracing::warn!(agent = self.program.name, why = failure.message, failures, "an agent failed");
    }

    fn no_slot_failure(&self, capacity: usize) -> StartFailure<Failure> {
        let message = format!("the agent {} works in {capacity} workspaces already", self.program.name);
        let hint = "wait until one of its turns has ended".to_owned();
        StartFailure::Permanent(failure("too_many_agents", message, Some(hint)))
    }
}

/// What clients are told of an instance.
pub(crate) fn status(instance: &Instance<SupervisedAgent>) -> AgentStatus {
    let process = instance.child();
    let (state, error) = match instance.phase() {
        InstancePhase::Starting => (ProcessState::Starting, None),
        InstancePhase::Ready(_) => (ProcessState::Connected, None),
        InstancePhase::Restarting(why) => (ProcessState::Reconnecting, Some(why)),
        InstancePhase::Unavailable(why, _) => (ProcessState::Disconnected, Some(why)),
        InstancePhase::Stopped => (ProcessState::Idle, None),
    };
    AgentStatus {
        agent: process.program.name.clone(),
        workspace: process.workspace.clone(),
        state,
        error,
        stderr_tail: process.stderr.last(STATUS_STDERR_BYTES),
    }
}

/// Why a connection is over that carries no more lines.
async fn close_reason(connection: &AgentConnection, child: &mut ChildProcess) -> String {
    match connection.fault() {
        Some(fault) => fault,
        None => child.poll_ended().await.unwrap_or_else(|| "it closed its output".to_owned()),
    }
}

fn with_stderr_tail(text: String, said: &str) -> String {
    if said.is_empty() { text } else { format!("{text}; the last that it printed was: {said}") }
}
