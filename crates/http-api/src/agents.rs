//! The agents that sessions can have: which there are, how they stand, and which sessions they keep themselves.

use axum::Json;
use axum::extract::State;
use ostler_api_types::{AgentList, AgentSessionList};
use ostler_door_kit::{DoorContext, DoorError, agent_sessions, existing_directory};
use ostler_types::AgentDescription;
use schemars::JsonSchema;
use serde::Deserialize;

use super::extract::{PathParams, QueryParams};

/// Whose sessions to list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkspaceParams {
    /// The directory that they work in.
    workspace_path: String,
}

pub(super) async fn list(State(context): State<DoorContext>) -> Json<AgentList> {
    let mut known = context.agents().descriptions();
    let describe = |name: String| {
        let at = known.iter().position(|agent| agent.name == name);
        let plain = || AgentDescription { name: name.clone(), ..AgentDescription::native() };
        at.map_or_else(plain, |at| known.swap_remove(at))
    };
    Json(AgentList { agents: context.engine.agents().into_iter().map(describe).collect() })
}

pub(super) async fn sessions(
    State(context): State<DoorContext>,
    PathParams(agent): PathParams<String>,
    QueryParams(params): QueryParams<WorkspaceParams>,
) -> Result<Json<AgentSessionList>, DoorError> {
    let workspace = existing_directory(&context, "workspace_path", &params.workspace_path).await?;
    Ok(Json(AgentSessionList { sessions: agent_sessions(&context, &agent, workspace).await? }))
}
