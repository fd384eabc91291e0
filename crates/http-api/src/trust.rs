//! Trust of workspaces: whether what lies in one may start processes and change what is asked.

use std::path::PathBuf;

use axum::Json;
use axum::extract::State;
use ostler_api_types::{TrustWorkspace, WorkspaceTrust};
use ostler_door_kit::{DoorContext, DoorError, existing_directory};
use schemars::JsonSchema;
use serde::Deserialize;

use super::extract::{JsonBody, QueryParams};

/// Which workspace.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TrustParams {
    /// An existing directory, as an absolute path.
    workspace_path: String,
}

pub(super) async fn show(
    State(context): State<DoorContext>,
    QueryParams(params): QueryParams<TrustParams>,
) -> Result<Json<WorkspaceTrust>, DoorError> {
    let workspace_path = existing_directory(&context, "workspace_path", &params.workspace_path).await?;
    let trusted = context.engine.is_trusted(&workspace_path).await;
    Ok(Json(workspace_trust(&context, workspace_path, trusted).await))
}

pub(super) async fn set(
    State(context): State<DoorContext>,
    JsonBody(body): JsonBody<TrustWorkspace>,
) -> Result<Json<WorkspaceTrust>, DoorError> {
    let workspace_path = existing_directory(&context, "workspace_path", &body.workspace_path).await?;
    let (servers, trusted) = (&context.settings.servers, body.trusted);
    // What counts with trust is settled before it is given, and ended after it is taken.
    if trusted {
        servers.trust_changed(PathBuf::from(&workspace_path), true).await?;
    }
    context.engine.trust(workspace_path.clone(), trusted).await?;
    if !trusted {
        servers.trust_changed(PathBuf::from(&workspace_path), false).await?;
    }
    Ok(Json(workspace_trust(&context, workspace_path, trusted).await))
}

async fn workspace_trust(context: &DoorContext, workspace_path: String, trusted: bool) -> WorkspaceTrust {
    let brings = context.settings.servers.workspace_config(PathBuf::from(&workspace_path), trusted).await;
    WorkspaceTrust { workspace_path, trusted, brings }
}
