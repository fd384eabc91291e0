//! Servers to test against, a workspace for them, and calls of their tools.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostler_mcp::{
    McpLimits, McpServers, PreparedChild, ServerConfig, ServerLaunch, ServerSpawnFn, ServerState,
    ServerStatus, Transport,
};
use ostler_process::{Invocation, ProgramFinder};
use ostler_runner::{Tool, ToolContext, ToolOutcome};
use ostler_types::SessionId;
use serde_json::Value;
use tempfile::TempDir;

/// How long a test waits for what must happen. Nothing is measured by it.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A workspace, a directory for what the misbehaving server notes, and servers.
pub(crate) struct McpFixture {
    pub(crate) directory: TempDir,
    pub(crate) servers: McpServers,
}

/// Limits under which a test sees each server settled before it goes on.
pub(crate) fn test_limits() -> McpLimits {
    McpLimits {
        start: TEST_TIMEOUT,
        tools_wait: TEST_TIMEOUT,
        first_backoff: Duration::from_millis(1),
        idle: Duration::from_secs(3600),
        ..McpLimits::default()
    }
}

/// Starts processes as they are, without the tests' own environment.
pub(crate) fn unconfined() -> ServerSpawnFn {
    Arc::new(|launch: &ServerLaunch| {
        let finder = ProgramFinder::new(std::env::var_os("PATH").as_deref(), Vec::new);
        let program = finder.find(&launch.program).map_err(|error| error.to_string())?;
        let own = ["PATH", "HOME"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        let command = Invocation::new(program).args(&launch.arguments).current_dir(&launch.workspace);
        Ok(PreparedChild { command: command.envs(own).envs(&launch.env).prepare(), keep_alive: Box::new(()) })
    })
}

impl McpFixture {
    /// One server of this command.
    pub(crate) fn of_command(command: &[&str]) -> McpFixture {
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        let transport = Transport::Stdio { command, env: BTreeMap::new() };
        McpFixture::new(|_| ServerConfig::new("server", transport), test_limits())
    }

    /// The misbehaving server, with these options.
    pub(crate) fn misbehaving(options: &[&str]) -> McpFixture {
        McpFixture::misbehaving_within(options, test_limits())
    }

    pub(crate) fn misbehaving_within(options: &[&str], limits: McpLimits) -> McpFixture {
        McpFixture::new(|notes| misbehaving(notes, options), limits)
    }

    pub(crate) fn new(config: impl FnOnce(&Path) -> ServerConfig, limits: McpLimits) -> McpFixture {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(directory.path().join("workspace")).expect("a workspace");
        let config = config(directory.path());
        config.check().expect("the configuration is sound");
        McpFixture { servers: McpServers::new(vec![config], unconfined(), limits), directory }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.directory.path().join("workspace").canonicalize().expect("the workspace is there")
    }

    pub(crate) async fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.servers.for_workspace(&self.workspace()).await
    }

    pub(crate) async fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let tools = self.tools().await;
        let wanted = format!("mcp__server__{name}");
        let found = tools.iter().find(|tool| tool.spec().name == wanted);
        Arc::clone(found.unwrap_or_else(|| {
            panic!("no tool {wanted} in {:?}: {:?}", names(&tools), self.servers.status())
        }))
    }

    pub(crate) async fn call(&self, name: &str, input: Value) -> ToolOutcome {
        let tool = self.tool(name).await;
        let (outcome, _) = self.run(&tool, input).await;
        outcome
    }

    /// Runs a tool, and gives what it showed meanwhile.
    pub(crate) async fn run(&self, tool: &Arc<dyn Tool>, input: Value) -> (ToolOutcome, String) {
        let shown = Arc::new(Mutex::new(String::new()));
        let sink = Arc::clone(&shown);
        let output =
            Arc::new(move |_: &'static str, text: &str| sink.lock().expect("nobody panics").push_str(text));
        let session = format!("{}{}", SessionId::PREFIX, "0".repeat(32)).parse().expect("an id");
        let context = ToolContext::new(self.workspace(), session, output);
        let outcome = within(tool.run(input, context)).await;
        let shown = shown.lock().expect("nobody panics").clone();
        (outcome, shown)
    }

    /// The only server's status.
    pub(crate) fn status(&self) -> ServerStatus {
        let mut status = self.servers.status();
        assert_eq!(status.len(), 1, "{status:?}");
        status.remove(0)
    }

    /// Waits until the only server is in this state.
    pub(crate) async fn wait_for_state(&self, state: ServerState) -> ServerStatus {
        until(|| self.status().state == state).await;
        self.status()
    }

    /// Waits until the misbehaving server has left this note.
    pub(crate) async fn wait_for_note(&self, word: &str) {
        until(|| self.directory.path().join(word).exists()).await;
    }

    /// Leaves a note that the misbehaving server waits for.
    pub(crate) fn note(&self, word: &str) {
        std::fs::write(self.directory.path().join(word), word).expect("a note");
    }

    /// How often the misbehaving server was started.
    pub(crate) fn starts(&self) -> usize {
        let starts = std::fs::read_to_string(self.directory.path().join("starts"));
        starts.unwrap_or_default().lines().count()
    }
}

pub(crate) fn misbehaving(notes: &Path, options: &[&str]) -> ServerConfig {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/misbehaving.py");
    let command = ["python3", script].iter().chain(options).map(|word| (*word).to_owned()).collect();
    let env = [("NOTES", notes.to_str().expect("a plain path")), ("TOKEN", "t-123456789")];
    let env = env.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    ServerConfig::new("server", Transport::Stdio { command, env })
}

pub(crate) fn names(tools: &[Arc<dyn Tool>]) -> Vec<String> {
    tools.iter().map(|tool| tool.spec().name).collect()
}

/// The directory with the real servers, which are installed if they are not.
pub(crate) fn real_servers() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository");
    let directory = root.join("target/mcp-servers");
    let script = root.join("tests/mcp/setup.sh");
    let done = Command::new(&script).arg(&directory).output().expect("the script that installs servers runs");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.success(),
        "the real MCP servers are missing; run {} and see why: {said}",
        script.display()
    );
    directory
}

/// A future that must end.
pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(TEST_TIMEOUT, future).await.expect("it ends in time")
}

/// Waits until something is so that another process or task brings about.
pub(crate) async fn until(condition: impl Fn() -> bool) {
    within(async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// Whether a process runs.
pub(crate) fn is_alive(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}
