//! Artifacts: what turns made and keep beside the log, such as the whole of a long output.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use ostler_api_types::FileList;
use ostler_door_kit::{DoorContext, DoorError};
use ostler_types::{SessionId, TurnId};

use super::attachments::to_file_list;
use super::download::download;
use super::extract::PathParams;

pub(super) async fn list(
    State(context): State<DoorContext>,
    PathParams((id, turn)): PathParams<(SessionId, TurnId)>,
) -> Result<Json<FileList>, DoorError> {
    Ok(Json(to_file_list(context.engine.artifacts(id, turn).await?)))
}

pub(super) async fn show(
    State(context): State<DoorContext>,
    PathParams((id, turn, name)): PathParams<(SessionId, TurnId, String)>,
) -> Result<Response, DoorError> {
    Ok(download(context.engine.get_artifact(id, turn, &name).await?))
}
