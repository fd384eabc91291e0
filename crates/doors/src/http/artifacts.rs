//! Artifacts: what turns made and keep beside the log, such as the whole of a long output.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use ostler_types::{SessionId, TurnId};

use super::HttpDoor;
use super::attachments::Files;
use super::download::download;
use super::error::ApiError;
use super::extract::Ids;

pub(super) async fn list(
    State(door): State<HttpDoor>,
    Ids((id, turn)): Ids<(SessionId, TurnId)>,
) -> Result<Json<Files>, ApiError> {
    Ok(Json(door.engine.artifacts(id, turn).await?.into()))
}

pub(super) async fn show(
    State(door): State<HttpDoor>,
    Ids((id, turn, name)): Ids<(SessionId, TurnId, String)>,
) -> Result<Response, ApiError> {
    Ok(download(door.engine.get_artifact(id, turn, &name).await?))
}
