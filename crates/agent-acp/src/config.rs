//! What is configured of an agent, and how its process is prepared. Where that is read from, and what confines
//! the process, is left to others.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ostler_acp::McpDescription;
use ostler_process::child_environment;
use ostler_process::{Invocation, PreparedChild, ProgramFinder};

/// The program that an agent is.
#[derive(Clone)]
pub struct AgentProgram {
    /// The agent's name, by which sessions choose it.
    pub name: String,
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables that it gets with these values.
    pub env: BTreeMap<String, String>,
    /// Variables that it gets as the daemon has them, besides those that every child process gets. This is how
    /// its key reaches it.
    pub pass_env: Vec<String>,
    /// MCP servers that it is told of.
    pub mcp_servers: Vec<McpDescription>,
    /// A setting and the choice of it by which it asks a person before it acts. Chosen in new sessions where it
    /// offers that; what a session says itself counts more.
    pub ask_setting: Option<(String, String)>,
    /// Whether it announces a call as in progress before it asks for permission to make it, against the protocol.
    /// Such an announcement is not recorded as the start of the call.
    pub announces_before_asking: bool,
    /// What to do where the program is missing.
    pub install: Option<String>,
    /// What to do where it is not logged in.
    pub login: Option<String>,
}

impl AgentProgram {
    /// An agent by its command.
    pub fn new(
        name: impl Into<String>,
        program: impl Into<String>,
        arguments: impl IntoIterator<Item = impl Into<String>>,
    ) -> AgentProgram {
        AgentProgram {
            name: name.into(),
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            env: BTreeMap::new(),
            pass_env: Vec::new(),
            mcp_servers: Vec::new(),
            ask_setting: None,
            announces_before_asking: false,
            install: None,
            login: None,
        }
    }

    /// A text without the values of variables that are long enough to be a secret.
    pub(crate) fn redact(&self, text: &str) -> String {
        let secrets = self.env.values().filter(|value| value.len() >= 8);
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "[redacted]"))
    }
}

impl std::fmt::Debug for AgentProgram {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fields = (&self.name, &self.program, &self.arguments, self.env.keys().collect::<Vec<_>>());
        formatter.debug_tuple("AgentProgram").field(&fields).finish()
    }
}

/// How long things may take, and how much of them there may be.
#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// How long a process is kept that nobody uses.
    pub idle: Duration,
    /// How long a process may take until it has said what it is.
    pub start: Duration,
    /// How long an agent may take for anything but a turn, which may take as long as it likes.
    pub request_timeout: Duration,
    /// How long an agent may take to stop when a turn is canceled. One that takes longer is replaced. Must be
    /// less than what the engine waits for.
    pub cancel: Duration,
    /// How long to wait before a process is started again the first time; doubled each time, up to thirty-fold.
    pub first_backoff: Duration,
    /// How often a process is started again before it is given up.
    pub max_restarts: u32,
    /// How many processes there may be, one for each workspace.
    pub processes: usize,
    /// How long a line may be that an agent sends.
    pub line_bytes: usize,
    /// How much an agent may say in one turn.
    pub turn_bytes: usize,
    /// Whether the agent may have files read and written and commands run by us, under the session's policy.
    pub serves_requests: bool,
}

impl Default for AgentSettings {
    fn default() -> AgentSettings {
        AgentSettings {
            idle: Duration::from_secs(600),
            start: Duration::from_secs(120),
            request_timeout: Duration::from_secs(120),
            cancel: Duration::from_secs(3),
            first_backoff: Duration::from_secs(1),
            max_restarts: 5,
            processes: 16,
            line_bytes: 32 << 20,
            turn_bytes: 64 << 20,
            serves_requests: true,
        }
    }
}

/// Prepares the process of an agent, confined as the caller sees fit. Called off the async threads, each time
/// that one is started; an error is shown as it stands.
pub type AgentSpawnFn = Arc<dyn Fn(&AgentLaunch) -> Result<PreparedChild, NotPrepared> + Send + Sync>;

/// Why the process of an agent was not prepared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotPrepared {
    /// The problem, in a sentence.
    pub message: String,
    /// The remedy; by default the command that installs the agent.
    pub hint: Option<String>,
}

impl From<String> for NotPrepared {
    fn from(message: String) -> NotPrepared {
        NotPrepared { message, hint: None }
    }
}

/// What is to be started.
#[derive(Debug, Clone)]
pub struct AgentLaunch {
    /// The agent's name.
    pub agent: String,
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables that it gets with these values.
    pub env: BTreeMap<String, String>,
    /// The variables that are to be passed on from the daemon's environment.
    pub pass_env: Vec<String>,
    /// The workspace, which is also the directory to start in.
    pub workspace: PathBuf,
}

/// Starts agents as they are: with all rights of the daemon's user, the network included, but with no more of
/// the daemon's environment than other children get and the launch names.
pub fn unconfined(daemon: Vec<(OsString, OsString)>) -> AgentSpawnFn {
    Arc::new(move |launch: &AgentLaunch| {
        let path = daemon.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
        let program = ProgramFinder::new(path, Vec::new).find(&launch.program);
        let program = program.map_err(|error| error.to_string())?;
        let is_named = |name: &OsString| launch.pass_env.iter().any(|wanted| name == wanted.as_str());
        let command = Invocation::new(program)
            .args(&launch.arguments)
            .current_dir(&launch.workspace)
            .envs(child_environment(daemon.iter().cloned()))
            .envs(daemon.iter().filter(|(name, _)| is_named(name)).cloned())
            .envs(&launch.env)
            .prepare();
        Ok(PreparedChild { command, keep_alive: Box::new(()) })
    })
}
