//! What a turn changed, as one diff, whether or not somebody was asked to review it.

use axum::Json;
use axum::extract::State;
use ostler_api_types::{TurnDiff, TurnFile};
use ostler_door_kit::{DoorContext, DoorError};
use ostler_runner::ChangedFile;
use ostler_types::{SessionId, TurnId};

use super::extract::PathParams;

pub(super) async fn show(
    State(context): State<DoorContext>,
    PathParams((id, turn_id)): PathParams<(SessionId, TurnId)>,
) -> Result<Json<TurnDiff>, DoorError> {
    let changes = context.engine.changes(id, turn_id).await?;
    let file = |ChangedFile { change, truncated }| TurnFile { change, truncated };
    let files = changes.files.into_iter().map(file).collect();
    Ok(Json(TurnDiff { turn_id, files, more: changes.more, running: changes.running, note: changes.note }))
}
