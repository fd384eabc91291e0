//! The directories of this machine, for choosing a workspace. Hidden ones are left out; a path to one can be typed.

use std::path::{Path, PathBuf};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ostler_api_types::{DirectoryList, OneDirectory};
use ostler_door_kit::{DoorContext, DoorError, existing_directory};
use schemars::JsonSchema;
use serde::Deserialize;

use super::extract::Params;

/// How many are listed.
const LIMIT: usize = 1000;
/// How many names are looked at.
const MAX_NAMES: usize = 50_000;

/// Where to look.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DirectoryParams {
    /// An existing directory, as an absolute path; where the daemon works when absent.
    path: Option<String>,
}

pub(super) async fn list(
    State(context): State<DoorContext>,
    Params(params): Params<DirectoryParams>,
) -> Result<Json<DirectoryList>, DoorError> {
    let start = || context.settings.workspace.display().to_string();
    let path = existing_directory("path", &params.path.unwrap_or_else(start)).await?;
    let parent = Path::new(&path).parent().map(|parent| parent.display().to_string());
    let folder = PathBuf::from(&path);
    let (directories, truncated) = tokio::task::spawn_blocking(move || within(&folder))
        .await
        .map_err(std::io::Error::other)
        .flatten()
        .map_err(|error| {
            let message = format!("`{path}` cannot be read: {error}");
            DoorError::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_workspace", message)
        })?;
    Ok(Json(DirectoryList { path, parent, directories, truncated }))
}

fn within(folder: &Path) -> std::io::Result<(Vec<OneDirectory>, bool)> {
    let mut names = std::fs::read_dir(folder)?;
    let entries = names.by_ref().take(MAX_NAMES).flatten();
    let directory = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok().filter(|name| !name.starts_with('.'))?;
        // A link to a directory is one, too.
        let is_directory = entry.path().is_dir();
        is_directory.then(|| (name, entry.path()))
    };
    let mut found: Vec<(String, PathBuf)> = entries.filter_map(directory).collect();
    found.sort_by_cached_key(|(name, _)| (name.to_lowercase(), name.clone()));
    let truncated = found.len() > LIMIT || names.next().is_some();
    found.truncate(LIMIT);
    let one = |(name, path): (String, PathBuf)| {
        let git = path.join(".git").exists();
        OneDirectory { name, path: path.display().to_string(), git }
    };
    Ok((found.into_iter().map(one).collect(), truncated))
}
