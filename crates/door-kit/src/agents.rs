//! The agents of other people that work beside the daemon, as clients are told of them and as sessions are begun in
//! them. How they are started and spoken to is not the doors': whoever wires a daemon together brings it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use futures_util::future::BoxFuture;
use ostler_types::{AgentState, Failure, NewRecord, SessionId};
use schemars::JsonSchema;
use serde::Serialize;
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

/// An agent that sessions can have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentDescription {
    /// The name by which sessions choose it.
    pub name: String,
    /// `native` for the daemon's own, `acp` for one that others wrote.
    pub kind: String,
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The program that it is, without its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// How it stands.
    pub status: AgentLink,
    /// What to do where its program is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
    /// How to log in to it, or which key it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// What new sessions choose of its settings.
    pub settings: BTreeMap<String, String>,
    /// Its processes, one for each workspace in which it was needed.
    pub processes: Vec<AgentProcess>,
}

impl AgentDescription {
    /// The daemon's own agent.
    pub fn native() -> AgentDescription {
        AgentDescription {
            name: "native".to_owned(),
            kind: "native".to_owned(),
            title: None,
            program: None,
            status: AgentLink::Connected,
            install: None,
            login: None,
            settings: BTreeMap::new(),
            processes: Vec::new(),
        }
    }
}

/// A process of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentProcess {
    /// The workspace that it works in.
    pub workspace: String,
    /// How it stands.
    pub status: AgentLink,
    /// What went wrong last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// The end of what it printed on its error output.
    pub stderr: String,
}

/// A session that an agent keeps itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentSession {
    /// What the agent calls it; to be named as `adopt` where a session is made.
    pub agent_session_id: String,
    /// Its title.
    pub title: Option<String>,
    /// When it was last used, as the agent writes it.
    pub updated_at: Option<String>,
    /// The session of this daemon that it is, if it is one.
    pub session_id: Option<SessionId>,
}

/// How an agent of other people stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentLink {
    /// It is being started.
    Starting,
    /// It takes turns.
    Connected,
    /// It ended by itself and is started again.
    Reconnecting,
    /// It is not there; the next turn starts it.
    Disconnected,
}
