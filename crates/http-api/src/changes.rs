//! What a turn changed, as one diff, whether or not somebody was asked to review it.

use axum::Json;
use axum::extract::State;
use ostler_door_kit::{DoorContext, DoorError};
use ostler_engine::ChangedFile;
use ostler_types::{FileChange, SessionId, TurnId};
use schemars::JsonSchema;
use serde::Serialize;

use super::extract::Ids;

/// What a turn changed in the workspace.
#[derive(Serialize, JsonSchema)]
pub(super) struct TurnDiff {
    turn_id: TurnId,
    /// The files, in the order of their paths; none when nothing changed.
    files: Vec<TurnFile>,
    /// How many more have changed that are not listed.
    more: u64,
    /// Whether the turn still runs, so that this may change.
    running: bool,
    /// What is to be known about it, in words; null when it is exactly what the turn did.
    note: Option<String>,
}

/// A file that a turn changed.
#[derive(Serialize, JsonSchema)]
struct TurnFile {
    #[serde(flatten)]
    change: FileChange,
    /// Whether the diff lacks its end, or is missing because there is too much of it.
    truncated: bool,
}

pub(super) async fn show(
    State(context): State<DoorContext>,
    Ids((id, turn_id)): Ids<(SessionId, TurnId)>,
) -> Result<Json<TurnDiff>, DoorError> {
    let changes = context.engine.changes(id, turn_id).await?;
    let file = |ChangedFile { change, truncated }| TurnFile { change, truncated };
    let files = changes.files.into_iter().map(file).collect();
    Ok(Json(TurnDiff { turn_id, files, more: changes.more, running: changes.running, note: changes.note }))
}
