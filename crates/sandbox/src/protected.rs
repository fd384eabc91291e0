//! Which paths in a writable directory stay read-only, whether they exist or not.
//!
//! They are what makes somebody outside the sandbox run code later: git's hooks and settings, and the
//! settings of agents and editors. `AGENTS.md`, build scripts and `.gitattributes` are ordinary content:
//! editing them is what an agent is for, and they are seen in a diff.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::git_directory;
use crate::nested::Nested;

/// Names that are protected at the top of a workspace, besides `.git`. Further down they are not held here:
/// there they count only for somebody who opens that directory by itself. Tools that write files refuse them
/// at any depth.
pub const PROTECTED_NAMES: &[&str] = &[
    ".ostler",
    ".claude",
    ".codex",
    ".gemini",
    ".cursor",
    ".opencode",
    ".agents",
    ".vscode",
    ".idea",
    ".zed",
    ".husky",
    ".envrc",
    ".mcp.json",
];

/// A path that must stay as it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Protected {
    /// The path. Its parent exists and is no link.
    pub(crate) path: PathBuf,
    /// The writable directory that it is in.
    pub(crate) root: PathBuf,
    /// What to put there if it does not exist.
    pub(crate) missing: Missing,
}

/// What holds the place of a protected path that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Missing {
    /// An empty directory, whatever was to be there: git does not see it, so it is never committed.
    Directory,
    /// A file with this text, inside a repository directory.
    File(&'static str),
    /// Nothing: it does no harm where it is missing.
    Leave,
}

/// What is protected in the writable directories `roots`, of which the first is the workspace; and the
/// repositories that were found below it.
pub(crate) fn find(workspace: &Path, roots: &[PathBuf], more: &[PathBuf]) -> (Vec<Protected>, Nested) {
    let mut wanted: BTreeSet<(PathBuf, Missing)> = BTreeSet::new();
    let mut below = Nested::default();
    for root in roots {
        // A repository directory that was opened for commits is protected as one, not as a worktree.
        if git_directory::is_repository(root) && root != workspace {
            wanted.extend(git_directory::protected(root));
            continue;
        }
        wanted.extend(PROTECTED_NAMES.iter().map(|name| (root.join(name), Missing::Directory)));
        wanted.extend(repository(root));
        let nested = Nested::below(root);
        wanted.extend(nested.repositories.iter().flat_map(|nested| repository(nested)));
        if root == workspace {
            below = nested;
        }
    }
    wanted.extend(more.iter().map(|path| (path.clone(), Missing::Leave)));
    let mut found = BTreeSet::new();
    for (path, missing) in wanted {
        add(&path, missing, roots, &mut found);
    }
    (found.into_iter().collect(), below)
}

/// The `.git` of one worktree and what it leads to.
fn repository(worktree: &Path) -> Vec<(PathBuf, Missing)> {
    let marker = worktree.join(".git");
    let Ok(metadata) = fs::metadata(&marker) else {
        return vec![(marker, Missing::Directory)];
    };
    // A pointer elsewhere, or a directory that is no repository, such as a placeholder.
    if !metadata.is_dir() || !git_directory::is_repository(&marker) {
        return vec![(marker, Missing::Leave)];
    }
    let mut found = git_directory::protected(&marker);
    found.extend(git_directory::obeyed(&marker, worktree).into_iter().map(|path| (path, Missing::Leave)));
    if fs::symlink_metadata(&marker).is_ok_and(|metadata| metadata.is_symlink()) {
        found.push((marker, Missing::Leave));
    }
    found
}

/// Adds a path, and where it is a link also what that leads to, if these are in a writable directory.
fn add(path: &Path, missing: Missing, roots: &[PathBuf], found: &mut BTreeSet<Protected>) {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
    let Ok(parent) = parent.canonicalize() else { return };
    let path = parent.join(name);
    // The innermost one, so that what is between it and the path is held in place.
    let root = roots.iter().filter(|root| parent.starts_with(root)).max_by_key(|root| root.as_os_str().len());
    let Some(root) = root else { return };
    let is_link = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink());
    if let (true, Ok(target)) = (is_link, path.canonicalize()) {
        add(&target, Missing::Leave, roots, found);
    }
    found.insert(Protected { path, root: root.clone(), missing });
}
