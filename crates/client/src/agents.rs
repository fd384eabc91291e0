//! The agents that sessions can have, with how they stand and which sessions they keep themselves.

use ostler_types::SessionId;
use serde::{Deserialize, Serialize};

use crate::error::ClientError;
use crate::{Client, requests};

/// An agent that sessions can have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentInfo {
    /// The name by which sessions choose it.
    pub name: String,
    /// `native` for the daemon's own, `acp` for one that others wrote.
    pub kind: String,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The program that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// `starting`, `connected`, `reconnecting` or `disconnected`.
    pub status: String,
    /// What to do where its program is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
}

/// A session that an agent keeps itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSession {
    /// What the agent calls it.
    pub agent_session_id: String,
    /// Its title.
    pub title: Option<String>,
    /// When it was last used, as the agent writes it.
    pub updated_at: Option<String>,
    /// The session of the daemon that it is, if it is one.
    pub session_id: Option<SessionId>,
}

#[derive(Deserialize)]
struct Agents {
    agents: Vec<AgentInfo>,
}

#[derive(Deserialize)]
struct AgentSessions {
    sessions: Vec<AgentSession>,
}

impl Client {
    /// Lists the agents, with all that is told of them.
    pub async fn agent_infos(&self) -> Result<Vec<AgentInfo>, ClientError> {
        let Agents { agents } = self.get("/v1/agents").await?;
        Ok(agents)
    }

    /// Lists the sessions of a workspace that an agent keeps itself. Starts the agent.
    pub async fn agent_sessions(
        &self,
        agent: &str,
        workspace: &str,
    ) -> Result<Vec<AgentSession>, ClientError> {
        // A name has no letter that an address would need to have written differently.
        let plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        let agent: String = agent.chars().filter(plain).collect();
        let query = requests::query(&[("workspace_path", Some(workspace))]);
        let AgentSessions { sessions } = self.get(&format!("/v1/agents/{agent}/sessions{query}")).await?;
        Ok(sessions)
    }
}
