//! The agents of other people that work beside the daemon, as clients are told of them and as sessions are begun in
//! them. How they are started and spoken to is not the doors': whoever wires a daemon together brings it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use futures_util::future::BoxFuture;
use ostler_types::{AgentDescription, AgentLink, AgentSession, AgentState, Failure, NewRecord, SessionId};
use tokio::sync::watch;

/// The agents of other people. Turns go to them by the engine; this is all besides.
pub trait AgentLinks: Send + Sync + 'static {
    /// What there is to know of each, in the order of their names. Starts nothing.
    fn described(&self) -> Vec<AgentDescription>;

    /// How each of them stands, by its name; its best process, where it has several.
    fn statuses(&self) -> Vec<(String, AgentLink)>;

    /// Each changes whenever one of the statuses may have.
    fn changes(&self) -> Vec<watch::Receiver<u64>>;

    /// Has an agent started in a workspace, unless it runs there, and returns when it takes turns.
    fn connect<'a>(&'a self, agent: &'a str, workspace: PathBuf) -> BoxFuture<'a, Result<(), Failure>>;

    /// What new sessions of an agent choose of its settings where nobody says otherwise.
    fn settings(&self, agent: &str) -> BTreeMap<String, String>;

    /// Begins a session in the agent, and says how the agent stands in it.
    fn begin<'a>(&'a self, agent: &'a str, new: BeginSession) -> BoxFuture<'a, Result<AgentState, Failure>>;

    /// The sessions of a workspace that an agent keeps itself, as it lists them. Starts it.
    fn sessions<'a>(
        &'a self,
        agent: &'a str,
        workspace: PathBuf,
    ) -> BoxFuture<'a, Result<Vec<AgentSession>, Failure>>;

    /// Takes over one of them: it becomes the session of this id, with what was said in it.
    fn adopt<'a>(&'a self, agent: &'a str, adopt: AdoptSession) -> BoxFuture<'a, Result<Adopted, Failure>>;
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
pub struct Adopted {
    /// How the agent stands in it.
    pub state: AgentState,
    /// What was said, to follow the record that describes the session.
    pub records: Vec<NewRecord>,
    /// The files that the records speak of, by where they lie beside the log.
    pub files: Vec<(String, Vec<u8>)>,
}
