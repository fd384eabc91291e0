//! A session whose agent is the one that does what its prompt says, and what every test asks of it.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ostler_agent::{Agent, CompletedTurn, FailedTurn};
use ostler_agent_acp::{AcpAgent, AgentProgram, AgentSettings, unconfined};
use ostler_local_runner::LocalRunner;
use ostler_testing::host::TurnHost;
use ostler_tools::Tools;
use ostler_types::{
    CallEvent, Delivery, Event, MessageEvent, NewSession, Part, Policy, ToolCallId, ToolResult,
};
use tempfile::TempDir;
use tokio::task::JoinHandle;

/// How long a test waits for what must happen. Nothing is measured by it.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// One session, ready to be asked something.
pub(crate) struct AcpTestSession {
    pub(crate) host: TurnHost,
    pub(crate) agent: Arc<AcpAgent>,
    pub(crate) directory: TempDir,
}

/// A world in which nothing asks, with an agent of these options.
pub(crate) fn test_session(options: &[&str]) -> AcpTestSession {
    let mut policy = Policy::default();
    policy.approval.require_for_kinds.clear();
    test_session_with_policy(policy, options)
}

/// A world with this policy.
pub(crate) fn test_session_with_policy(policy: Policy, options: &[&str]) -> AcpTestSession {
    let directory = directory();
    let host = host(&directory, policy);
    let agent = agent(&directory, options, settings());
    AcpTestSession { host, agent, directory }
}

pub(crate) fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("workspace")).unwrap();
    directory
}

pub(crate) fn host(directory: &TempDir, policy: Policy) -> TurnHost {
    let workspace = directory.path().join("workspace");
    TurnHost::with_session(workspace.to_str().unwrap(), |new| NewSession {
        agent: "fault".to_owned(),
        policy,
        ..new
    })
}

/// Settings under which nothing takes longer than a test has to wait.
pub(crate) fn settings() -> AgentSettings {
    AgentSettings {
        idle: Duration::from_secs(3600),
        first_backoff: Duration::from_millis(1),
        cancel: Duration::from_secs(30),
        ..AgentSettings::default()
    }
}

pub(crate) fn program(directory: &TempDir, options: &[&str]) -> AgentProgram {
    let script = ostler_testing::fault_agent::script();
    let arguments = [script.to_str().unwrap()].into_iter().chain(options.iter().copied());
    let mut program = AgentProgram::new("fault", "python3", arguments);
    program.env.insert("NOTES".to_owned(), directory.path().to_str().unwrap().to_owned());
    program.pass_env.push("PASSED".to_owned());
    program
}

pub(crate) fn agent(directory: &TempDir, options: &[&str], settings: AgentSettings) -> Arc<AcpAgent> {
    agent_of(program(directory, options), settings)
}

/// A runner whose tools run commands unconfined. It has no data of its own.
pub(crate) fn runner() -> LocalRunner {
    LocalRunner::new(PathBuf::from("/nonexistent")).with_tools(Arc::new(Tools::builtin()))
}

pub(crate) fn agent_of(program: AgentProgram, settings: AgentSettings) -> Arc<AcpAgent> {
    agent_on(runner(), program, settings)
}

/// An agent with the workspaces of this runner.
pub(crate) fn agent_on(runner: LocalRunner, program: AgentProgram, settings: AgentSettings) -> Arc<AcpAgent> {
    let own = ["PATH", "HOME"].into_iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
    let planted = [("PASSED", "yes"), ("SECRET_KEY", "canary")];
    let planted = planted.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let environment = own.chain(planted).collect();
    Arc::new(AcpAgent::new(program, settings, unconfined(environment), Arc::new(runner)))
}

impl AcpTestSession {
    /// Asks, runs the turn to its end, and checks what was recorded.
    pub(crate) async fn ask(&self, text: &str) -> Result<CompletedTurn, FailedTurn> {
        self.host.submit(text, Delivery::Queue);
        let ended = within(self.host.run(&*self.agent)).await;
        check(&self.host);
        ended
    }

    /// Asks, and leaves the turn running.
    pub(crate) fn begin(&self, text: &str) -> JoinHandle<Result<CompletedTurn, FailedTurn>> {
        self.host.submit(text, Delivery::Queue);
        let (host, agent) = (self.host.clone(), Arc::clone(&self.agent));
        tokio::spawn(async move { within(host.run(&*agent)).await })
    }

    /// What the agent has noted, a line each, of those that begin with this word.
    pub(crate) fn notes(&self, word: &str) -> Vec<String> {
        let notes = std::fs::read_to_string(self.directory.path().join("notes")).unwrap_or_default();
        let of_word = |line: &str| line.strip_prefix(word)?.strip_prefix(' ').map(str::to_owned);
        notes.lines().filter_map(of_word).collect()
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.directory.path().join("workspace")
    }

    /// The texts of the answers so far.
    pub(crate) fn answers(&self) -> Vec<String> {
        let answer = |event| match event {
            Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => Some(message.text()),
            _ => None,
        };
        self.host.events().into_iter().filter_map(answer).filter(|text| !text.is_empty()).collect()
    }

    /// The results so far.
    pub(crate) fn results(&self) -> Vec<ToolResult> {
        let result = |event| match event {
            Event::Call(CallEvent::Completed { tool_result, .. }) => Some(tool_result),
            _ => None,
        };
        self.host.events().into_iter().filter_map(result).collect()
    }

    /// The result of the call of this id.
    pub(crate) fn result(&self, id: &str) -> ToolResult {
        let results = self.results();
        let found = results.iter().find(|result| result.id.0 == id);
        found.unwrap_or_else(|| panic!("no result of {id} in {results:?}")).clone()
    }
}

/// What must hold of every log: calls and results pair, and each turn has one end.
pub(crate) fn check(host: &TurnHost) {
    let events = host.events();
    let calls = events.iter().flat_map(|event| match event {
        Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => {
            message.tool_calls().map(|call| call.id.clone()).collect::<Vec<ToolCallId>>()
        }
        _ => Vec::new(),
    });
    let calls: Vec<ToolCallId> = calls.collect();
    let unique: HashSet<&ToolCallId> = calls.iter().collect();
    assert_eq!(unique.len(), calls.len(), "no id comes twice: {calls:?}");
    let results: Vec<&ToolCallId> = events
        .iter()
        .filter_map(|event| match event {
            Event::Call(CallEvent::Completed { tool_result, .. }) => Some(&tool_result.id),
            _ => None,
        })
        .collect();
    assert_eq!(unique, results.iter().copied().collect::<HashSet<_>>(), "calls and results pair");
    assert_eq!(results.len(), calls.len(), "each call has one result");
    let count = |names: &[&str]| events.iter().filter(|event| names.contains(&event.name().as_str())).count();
    assert_eq!(
        count(&["turn_started"]),
        count(&["turn_completed", "turn_failed", "turn_canceled"]),
        "each turn has one end: {:?}",
        host.names()
    );
    let empty = |part: &Part| matches!(part, Part::Text { text } if text.is_empty());
    let has_empty = |event: &Event| match event {
        Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => message.parts.iter().any(empty),
        _ => false,
    };
    assert!(!events.iter().any(has_empty), "no answer has an empty part");
}

/// Waits, but not for ever.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TEST_TIMEOUT, future).await.expect("it happens in time")
}

/// Waits until something holds.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    within(async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// Whether a process runs, and is not just waiting to be reaped.
pub(crate) fn is_alive(process: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(process).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Runs one more turn of another session with the same agent.
pub(crate) async fn ask_in(
    host: &TurnHost,
    agent: &dyn Agent,
    text: &str,
) -> Result<CompletedTurn, FailedTurn> {
    host.submit(text, Delivery::Queue);
    let ended = within(host.run(agent)).await;
    check(host);
    ended
}
