//! The agents that sessions can have, as people are told of them: which there are, how they stand, and the sessions
//! that they keep themselves.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::Failure;
use crate::ids::SessionId;

/// An agent that sessions can have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentLink {
    /// It is being started.
    Starting,
    /// It takes turns.
    Connected,
    /// It ended by itself and is started again.
    Reconnecting,
    /// It does not run; the next turn starts it.
    Idle,
    /// It ended by itself too often, or could not be started; the next turn tries again.
    Disconnected,
}

impl AgentLink {
    /// The word used on every wire.
    pub fn as_str(self) -> &'static str {
        match self {
            AgentLink::Starting => "starting",
            AgentLink::Connected => "connected",
            AgentLink::Reconnecting => "reconnecting",
            AgentLink::Idle => "idle",
            AgentLink::Disconnected => "disconnected",
        }
    }
}
