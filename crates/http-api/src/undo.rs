//! Undo: the workspace as it was before a turn.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use ostler_api_types::{NotUndone, UndoTurn, Undone};
use ostler_door_kit::{DoorContext, DoorError, caller};
use ostler_engine::UndoRequest;
use ostler_types::SessionId;

use super::extract::{JsonBody, PathParams};

pub(super) async fn undo(
    State(context): State<DoorContext>,
    PathParams(id): PathParams<SessionId>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<UndoTurn>,
) -> Result<Json<Undone>, DoorError> {
    let (preview, force) = (body.preview.unwrap_or(false), body.force.unwrap_or(false));
    let undo = UndoRequest { turn_id: body.turn_id, preview, force };
    let undone = context.engine.undo(id, undo, caller(&headers)).await?;
    let not_undone = |(path, why)| NotUndone { path, why };
    Ok(Json(Undone {
        preview,
        restored: undone.restored,
        recreated: undone.recreated,
        deleted: undone.deleted,
        conflicts: undone.conflicts.into_iter().map(not_undone).collect(),
        left_out: undone.left_out.into_iter().map(not_undone).collect(),
        note: undone.note,
    }))
}
