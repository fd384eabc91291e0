//! The agents that sessions can have: which there are, how they stand, and which sessions they keep themselves.

use axum::Json;
use axum::extract::State;
use ostler_door_kit::{
    AgentDescription, AgentSession, DoorContext, DoorError, existing_directory, kept_sessions,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::extract::{Ids, Params};

/// The agents that sessions can have.
#[derive(Serialize, JsonSchema)]
pub(super) struct Agents {
    agents: Vec<AgentDescription>,
}

/// Whose sessions to list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkspaceParams {
    /// The directory that they work in.
    workspace_path: String,
}

/// The sessions that an agent keeps itself.
#[derive(Serialize, JsonSchema)]
pub(super) struct AgentSessions {
    sessions: Vec<AgentSession>,
}

pub(super) async fn list(State(context): State<DoorContext>) -> Json<Agents> {
    let mut known = context.agents.as_ref().map(|links| links.described()).unwrap_or_default();
    let describe = |name: String| {
        let at = known.iter().position(|agent| agent.name == name);
        let plain = || AgentDescription { name: name.clone(), ..AgentDescription::native() };
        at.map_or_else(plain, |at| known.swap_remove(at))
    };
    Json(Agents { agents: context.engine.agents().into_iter().map(describe).collect() })
}

pub(super) async fn sessions(
    State(context): State<DoorContext>,
    Ids(agent): Ids<String>,
    Params(params): Params<WorkspaceParams>,
) -> Result<Json<AgentSessions>, DoorError> {
    let workspace = existing_directory("workspace_path", &params.workspace_path).await?;
    Ok(Json(AgentSessions { sessions: kept_sessions(&context, &agent, workspace).await? }))
}
