//! The directories of this machine, for choosing a workspace. Hidden ones are left out; a path to one can be typed.

use std::path::Path;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ostler_api_types::{DirectoryList, OneDirectory};
use ostler_door_kit::{DoorContext, DoorError, existing_directory};
use ostler_runner::Directory;
use schemars::JsonSchema;
use serde::Deserialize;

use super::extract::QueryParams;

/// Where to look.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DirectoryParams {
    /// An existing directory, as an absolute path; where the daemon works when absent.
    path: Option<String>,
}

pub(super) async fn list(
    State(context): State<DoorContext>,
    QueryParams(params): QueryParams<DirectoryParams>,
) -> Result<Json<DirectoryList>, DoorError> {
    let start = || context.settings.workspace.display().to_string();
    let path = existing_directory(&context, "path", &params.path.unwrap_or_else(start)).await?;
    let parent = Path::new(&path).parent().map(|parent| parent.display().to_string());
    let listed = context.engine.runner().workspaces().list_directories(path.clone()).await;
    let listed = listed.map_err(|error| {
        let message = format!("`{path}` cannot be read: {error}");
        DoorError::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_workspace", message)
    })?;
    let one = |Directory { name, path, is_git }| OneDirectory { name, path, git: is_git };
    let directories = listed.directories.into_iter().map(one).collect();
    Ok(Json(DirectoryList { path, parent, directories, truncated: listed.is_cut }))
}
