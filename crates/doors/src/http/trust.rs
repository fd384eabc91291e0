//! Trust of workspaces: whether what lies in one may start processes and change what is asked.

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::HttpDoor;
use super::error::ApiError;
use super::extract::{Body, Params};
use super::sessions::existing_directory;

/// Which workspace.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TrustParams {
    /// An existing directory, as an absolute path.
    workspace_path: String,
}

/// Whether to trust it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TrustBody {
    /// An existing directory, as an absolute path.
    workspace_path: String,
    /// Whether what lies in it may start processes and change what is asked.
    trusted: bool,
}

/// Whether a workspace is trusted.
#[derive(Serialize, JsonSchema)]
pub(super) struct Trusted {
    workspace_path: String,
    trusted: bool,
}

pub(super) async fn show(
    State(door): State<HttpDoor>,
    Params(params): Params<TrustParams>,
) -> Result<Json<Trusted>, ApiError> {
    let workspace_path = existing_directory(&params.workspace_path).await?;
    let trusted = door.engine.is_trusted(&workspace_path);
    Ok(Json(Trusted { workspace_path, trusted }))
}

pub(super) async fn set(
    State(door): State<HttpDoor>,
    Body(body): Body<TrustBody>,
) -> Result<Json<Trusted>, ApiError> {
    let workspace_path = existing_directory(&body.workspace_path).await?;
    door.engine.trust(workspace_path.clone(), body.trusted).await?;
    Ok(Json(Trusted { workspace_path, trusted: body.trusted }))
}
