//! Third-party agents, which work where the files are: what clients are told of them, sessions that are begun in them,
//! and the agents themselves for the engine.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_agent::Agent;
use ostler_types::{AgentDescription, AgentLink, AgentSession, AgentState, Failure, NewRecord, SessionId};
use tokio::sync::watch;

/// The third-party agents of a runner.
pub trait ThirdPartyAgents: Send + Sync + 'static {
    /// The agents by their names, which run turns.
    fn named_agents(&self) -> Vec<(String, Arc<dyn Agent>)>;

    /// What there is to know of each, in the order of their names. Starts nothing.
    fn descriptions(&self) -> Vec<AgentDescription>;

    /// How each of them stands, by its name; its best process, where it has several.
    fn statuses(&self) -> Vec<(String, AgentLink)>;

    /// Each changes whenever one of the statuses may have.
    fn status_changes(&self) -> Vec<watch::Receiver<u64>>;

    /// Has an agent started in a workspace, unless it runs there, and returns when it takes turns.
    fn connect<'a>(&'a self, agent: &'a str, workspace: PathBuf) -> BoxFuture<'a, Result<(), Failure>>;

    /// What new sessions of an agent choose of its settings where nobody says otherwise.
    fn default_settings(&self, agent: &str) -> BTreeMap<String, String>;

    /// Begins a session in the agent, and says how the agent stands in it.
    fn begin_session<'a>(
        &'a self,
        agent: &'a str,
        new: BeginSession,
    ) -> BoxFuture<'a, Result<AgentState, Failure>>;

    /// The sessions of a workspace that an agent keeps itself, as it lists them. Starts it.
    fn list_sessions<'a>(
        &'a self,
        agent: &'a str,
        workspace: PathBuf,
    ) -> BoxFuture<'a, Result<Vec<AgentSession>, Failure>>;

    /// Takes over one of them: it becomes the session of this id, with what was said in it.
    fn adopt_session<'a>(
        &'a self,
        agent: &'a str,
        adopt: AdoptSession,
    ) -> BoxFuture<'a, Result<AdoptedAgentSession, Failure>>;
}

/// A session that is to be begun in an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeginSession {
    /// What it is called here.
    pub session_id: SessionId,
    /// Where it works.
    pub workspace: PathBuf,
    /// What is chosen of the agent's settings.
    pub settings: BTreeMap<String, String>,
}

/// A session of an agent that is to be taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdoptSession {
    /// What it is called here from now on.
    pub session_id: SessionId,
    /// Where it works.
    pub workspace: PathBuf,
    /// What the agent calls it.
    pub agent_session_id: String,
}

/// What was taken over.
#[derive(Debug, Clone, PartialEq)]
pub struct AdoptedAgentSession {
    /// How the agent stands in it.
    pub state: AgentState,
    /// What was said, to follow the record that describes the session.
    pub records: Vec<NewRecord>,
    /// The files that the records speak of, by where they lie beside the log.
    pub files: Vec<(String, Vec<u8>)>,
}

/// The agents of a runner that has none.
pub struct NoAgents;

impl NoAgents {
    fn unknown<T: Send + 'static>(agent: &str) -> BoxFuture<'static, Result<T, Failure>> {
        std::future::ready(Err(unknown_agent(agent))).boxed()
    }
}

impl ThirdPartyAgents for NoAgents {
    fn named_agents(&self) -> Vec<(String, Arc<dyn Agent>)> {
        Vec::new()
    }

    fn descriptions(&self) -> Vec<AgentDescription> {
        Vec::new()
    }

    fn statuses(&self) -> Vec<(String, AgentLink)> {
        Vec::new()
    }

    fn status_changes(&self) -> Vec<watch::Receiver<u64>> {
        Vec::new()
    }

    fn connect<'a>(&'a self, agent: &'a str, _workspace: PathBuf) -> BoxFuture<'a, Result<(), Failure>> {
        NoAgents::unknown(agent)
    }

    fn default_settings(&self, _agent: &str) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn begin_session<'a>(
        &'a self,
        agent: &'a str,
        _new: BeginSession,
    ) -> BoxFuture<'a, Result<AgentState, Failure>> {
        NoAgents::unknown(agent)
    }

    fn list_sessions<'a>(
        &'a self,
        agent: &'a str,
        _workspace: PathBuf,
    ) -> BoxFuture<'a, Result<Vec<AgentSession>, Failure>> {
        NoAgents::unknown(agent)
    }

    fn adopt_session<'a>(
        &'a self,
        agent: &'a str,
        _adopt: AdoptSession,
    ) -> BoxFuture<'a, Result<AdoptedAgentSession, Failure>> {
        NoAgents::unknown(agent)
    }
}

/// The failure of a request to an agent that does not exist.
pub fn unknown_agent(name: &str) -> Failure {
    Failure {
        code: "unknown_agent".to_owned(),
        message: format!("no agent called `{name}` is configured"),
        hint: Some("`ostler agents list` shows those that are".to_owned()),
    }
}
