//! Undo: the workspace as it was before a turn.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use ostler_door_kit::{DoorContext, DoorError, requester};
use ostler_engine::Undo;
use ostler_types::{SessionId, TurnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::extract::{Body, Ids};

/// What to undo.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UndoBody {
    /// The turn before which the workspace is to stand.
    turn_id: TurnId,
    /// Only say what would be done.
    preview: Option<bool>,
    /// Also put back what somebody else has changed since.
    force: Option<bool>,
}

/// What was done, or would be.
#[derive(Serialize, JsonSchema)]
pub(super) struct Undone {
    /// Whether nothing was done yet.
    preview: bool,
    /// Files that have their old content again.
    restored: Vec<String>,
    /// Files that are there again.
    recreated: Vec<String>,
    /// Files that are gone again.
    deleted: Vec<String>,
    /// Files that were left alone, because somebody else changed them.
    conflicts: Vec<NotUndone>,
    /// Files that have changed and cannot be brought back, because no checkpoint holds them.
    left_out: Vec<NotUndone>,
    /// What no undo covers, in words.
    note: String,
}

#[derive(Serialize, JsonSchema)]
struct NotUndone {
    path: String,
    /// Why it is not as it was.
    why: String,
}

pub(super) async fn undo(
    State(context): State<DoorContext>,
    Ids(id): Ids<SessionId>,
    headers: HeaderMap,
    Body(body): Body<UndoBody>,
) -> Result<Json<Undone>, DoorError> {
    let (preview, force) = (body.preview.unwrap_or(false), body.force.unwrap_or(false));
    let undo = Undo { turn_id: body.turn_id, preview, force };
    let undone = context.engine.undo(id, undo, requester(&headers)).await?;
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
