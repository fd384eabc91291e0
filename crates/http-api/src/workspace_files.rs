//! The files of a session's workspace, found by a few letters of their names. What git ignores is left out. Nothing of
//! the workspace is run for that, and links are not followed.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ostler_api_types::{FoundFile, FoundFiles};
use ostler_door_kit::{DoorContext, DoorError};
use ostler_runner::FindFiles;
use ostler_types::SessionId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::extract::{PathParams, QueryParams};

/// What to look for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FileParams {
    /// Letters of the path, in this order.
    q: Option<String>,
    /// How many at most.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
}

pub(super) async fn find(
    State(context): State<DoorContext>,
    PathParams(id): PathParams<SessionId>,
    QueryParams(params): QueryParams<FileParams>,
) -> Result<Json<FoundFiles>, DoorError> {
    let limit = match params.limit {
        None => 50,
        Some(limit @ 1..=200) => limit as usize,
        Some(_) => return Err(DoorError::bad_request("bad_query", "`limit` must be from 1 to 200")),
    };
    let workspace = context.engine.view(id).await?.session.workspace_path;
    let find = FindFiles { workspace, letters: params.q.unwrap_or_default(), limit };
    let found = context.engine.runner().workspaces().find_files(find).await.map_err(|_| unreadable())?;
    let files = found.paths.into_iter().map(|path| FoundFile { path }).collect();
    Ok(Json(FoundFiles { files, truncated: found.is_cut }))
}

fn unreadable() -> DoorError {
    DoorError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "workspace_unreadable",
        "the workspace could not be looked through",
    )
    .hint("try again")
}
