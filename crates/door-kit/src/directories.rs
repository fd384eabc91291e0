//! Which directories sessions may work in and keep their readable files in.

use std::path::{Component, Path};

use ostler_runner::WorkspacePathError;
use ostler_types::{Refusal, RefusalCode};

use crate::context::DoorContext;

/// The path of a directory that exists, as it really is: trust and rules hold for the directory, not for a name that
/// can be moved.
pub async fn existing_directory(context: &DoorContext, field: &str, path: &str) -> Result<String, Refusal> {
    let given = plain_path(field, "bad_workspace", path)?;
    let resolved = context.engine.runner().workspaces().resolve_directory(given.display().to_string()).await;
    let message = match resolved {
        Ok(resolved) => return Ok(resolved.path),
        Err(WorkspacePathError::Missing(_)) => format!("`{path}` cannot be used: there is no such directory"),
        Err(WorkspacePathError::NotADirectory) => format!("`{path}` is not a directory"),
        Err(error @ (WorkspacePathError::NotUtf8 | WorkspacePathError::Unreadable(_))) => {
            format!("`{path}` cannot be used: {error}")
        }
    };
    Err(Refusal::invalid(RefusalCode::BadWorkspace, message))
}

/// The directory for readable files, made if it is not there.
pub(crate) async fn log_directory(context: &DoorContext, path: &str) -> Result<String, Refusal> {
    let given = plain_path("log_dir", "bad_log_dir", path)?;
    refuse_own_data(context, "log_dir", path)?;
    let failed = |error: std::io::Error| {
        Refusal::invalid("bad_log_dir", format!("`{path}` cannot be used: {error}"))
            .hint("name a directory that is there or can be made, and can be written to")
    };
    tokio::fs::create_dir_all(given).await.map_err(failed)?;
    let tidy = tokio::fs::canonicalize(given).await.map_err(failed)?;
    let tidy = tidy.to_string_lossy().into_owned();
    refuse_own_data(context, "log_dir", &tidy)?;
    Ok(tidy)
}

fn plain_path<'a>(field: &str, code: &str, path: &'a str) -> Result<&'a Path, Refusal> {
    let given = Path::new(path);
    let plain = given.components().all(|part| !matches!(part, Component::ParentDir));
    if !given.is_absolute() || !plain || path.contains('\0') {
        return Err(Refusal::invalid(code, format!("`{field}` must be an absolute path without `..`")));
    }
    Ok(given)
}

/// A session that worked in the daemon's own data could change what was recorded.
pub fn refuse_own_data(context: &DoorContext, field: &str, path: &str) -> Result<(), Refusal> {
    let data = context.engine.data_dir();
    let data = data.canonicalize().unwrap_or_else(|_| data.to_owned());
    if Path::new(path).starts_with(data) {
        let code = if field == "log_dir" { "bad_log_dir" } else { "bad_workspace" };
        let message = format!("`{field}` lies in the daemon's own data directory");
        return Err(Refusal::invalid(code, message).hint("name a directory of your own"));
    }
    Ok(())
}
