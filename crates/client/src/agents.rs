//! The agents that sessions can have, with how they stand and which sessions they keep themselves.

use ostler_api_types::{AgentList, AgentSessionList};
use ostler_types::{AgentDescription, AgentSession};

use crate::error::ClientError;
use crate::{Client, requests};

impl Client {
    /// Lists the agents, with all that is told of them.
    pub async fn agent_infos(&self) -> Result<Vec<AgentDescription>, ClientError> {
        let AgentList { agents } = self.get("/v1/agents").await?;
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
        let AgentSessionList { sessions } = self.get(&format!("/v1/agents/{agent}/sessions{query}")).await?;
        Ok(sessions)
    }
}
