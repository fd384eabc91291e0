//! The note beside a worktree: what it was made of, and whether it was ever finished.

use std::path::{Path, PathBuf};

use ostler_workspace_fs::{FileAccess, ReplaceOptions, replace_file};
use serde::{Deserialize, Serialize};

use super::{ListedWorktree, blocking};
use crate::error::GitError;

const EXTENSION: &str = "json";

/// What is known of a worktree.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct WorktreeNote {
    /// The workspace that it was made of.
    pub(super) workspace: PathBuf,
    /// The root of the work tree that this workspace is in.
    pub(super) top: PathBuf,
    /// Where the repository keeps what all its worktrees share.
    pub(super) common: PathBuf,
    /// Where the workspace is below the root.
    pub(super) below: PathBuf,
    /// The commit that it began with; none while it is being made.
    pub(super) base: Option<String>,
    /// The tree that was shown to whoever is to agree to a merge. Nothing else is merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) shown: Option<String>,
}

impl WorktreeNote {
    pub(super) fn new(workspace: &Path, top: &Path, common: PathBuf, below: PathBuf) -> WorktreeNote {
        WorktreeNote {
            workspace: workspace.to_owned(),
            top: top.to_owned(),
            common,
            below,
            base: None,
            shown: None,
        }
    }

    /// The note of a worktree, if there is one that can be read.
    pub(super) fn read(directory: &Path, name: &str) -> Option<WorktreeNote> {
        serde_json::from_slice(&std::fs::read(path(directory, name)).ok()?).ok()
    }

    /// Writes the note, in place of an earlier one.
    pub(super) async fn write(&self, directory: &Path, name: &str) -> Result<(), GitError> {
        let target = path(directory, name);
        let text = serde_json::to_vec_pretty(self).map_err(|error| failed(&target, error))?;
        let options = ReplaceOptions { access: FileAccess::Unchanged, ..ReplaceOptions::STATE };
        blocking(move || replace_file(&target, &text, options).map_err(|error| failed(&target, error))).await
    }
}

fn failed(target: &Path, error: impl std::fmt::Display) -> GitError {
    GitError::io("The note of a worktree cannot be written:", target, error)
}

/// Where the note of a worktree lies.
pub(super) fn path(directory: &Path, name: &str) -> PathBuf {
    directory.join(name).with_extension(EXTENSION)
}

/// Every worktree by its note or by its folder.
pub(super) fn list(directory: &Path) -> Result<Vec<ListedWorktree>, GitError> {
    let failed = |error| GitError::io("The worktrees cannot be listed:", directory, error);
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut names = std::collections::BTreeSet::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        // A name has no dot, and every file beside a worktree begins with its name and a dot.
        let name = name.to_str().and_then(|name| name.split('.').next()).filter(|name| !name.is_empty());
        names.extend(name.map(str::to_owned));
    }
    let made = |name: &str| {
        WorktreeNote::read(directory, name).is_some_and(|note| note.base.is_some())
            && directory.join(name).is_dir()
    };
    Ok(names.into_iter().map(|name| ListedWorktree { is_complete: made(&name), name }).collect())
}
