//! What git ignores, in a directory and below it. The same rules are asked of the workspace on disk
//! and of a checkpoint, so that what was ignored when it was made is left alone for ever.
//!
//! Outside a repository nothing is ignored. A repository inside another has its own rules only. Rules
//! of the user's whole account are not read: they are no part of the workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostler_workspace_fs::{IgnoreRules, read_unlinked};

use crate::workspace_tree::WorkspaceTree;

/// The file of rules in each directory.
pub(crate) const GITIGNORE: &str = ".gitignore";
/// How many directories above a workspace are looked at for a repository.
const MAX_ABOVE: usize = 64;

/// How a directory stands to git.
#[derive(Debug, Clone, Default)]
pub(crate) struct DirectoryIgnoreState {
    in_repository: bool,
    /// The directory itself is ignored, and with it all that it holds.
    ignored: bool,
    rules: Option<Arc<IgnoreRules>>,
}

impl DirectoryIgnoreState {
    /// The standing of a workspace as git sees it from above, without the rules in it.
    pub(crate) fn for_workspace(workspace: &Path) -> DirectoryIgnoreState {
        let Some(root) = repository_root(workspace) else { return DirectoryIgnoreState::default() };
        let mut standing = DirectoryIgnoreState { in_repository: true, ..DirectoryIgnoreState::default() };
        standing
            .add_outside(read(&root.join(".git/info/exclude")).as_deref(), relative_path(workspace, root));
        let above: Vec<&Path> =
            workspace.ancestors().skip(1).take_while(|above| above.starts_with(root)).collect();
        for directory in above.into_iter().rev() {
            standing.add_outside(
                read(&directory.join(GITIGNORE)).as_deref(),
                relative_path(workspace, directory),
            );
        }
        let mut way = PathBuf::new();
        let ignored = relative_path(workspace, root).iter().any(|part| {
            way.push(part);
            standing.rules.as_deref().is_some_and(|rules| rules.is_ignored_above(&way, root, workspace))
        });
        // A workspace in a directory that git ignores is work all the same, and git knows nothing of it.
        if ignored { DirectoryIgnoreState::default() } else { standing }
    }

    /// The standing of the workspace when it is known whether it lies in a repository.
    pub(crate) fn for_past_workspace(workspace: &Path, in_repository: bool) -> DirectoryIgnoreState {
        if in_repository {
            DirectoryIgnoreState { in_repository, ..DirectoryIgnoreState::for_workspace(workspace) }
        } else {
            DirectoryIgnoreState::default()
        }
    }

    /// The standing in a directory: of what is above it, with the rules of its own.
    pub(crate) fn enter(
        &self,
        path: &Path,
        ignored: bool,
        exclude: Option<Option<&[u8]>>,
        own: Option<&[u8]>,
    ) -> DirectoryIgnoreState {
        let mut standing = self.clone();
        standing.ignored |= ignored;
        if let Some(exclude) = exclude {
            standing.in_repository = true;
            standing.rules = None;
            standing.add_inside(exclude, path);
        }
        if standing.in_repository {
            standing.add_inside(own, path);
        }
        standing
    }

    pub(crate) fn in_repository(&self) -> bool {
        self.in_repository
    }

    /// Whether a path, relative to the workspace and in this directory, is ignored.
    pub(crate) fn ignores(&self, path: &Path, is_directory: bool) -> bool {
        self.ignored || IgnoreRules::is_ignored(self.rules.as_deref(), path, is_directory)
    }

    fn add_inside(&mut self, text: Option<&[u8]>, directory: &Path) {
        self.rules = IgnoreRules::for_directory(self.rules.take(), text.as_slice(), directory);
    }

    fn add_outside(&mut self, text: Option<&[u8]>, down: &Path) {
        self.rules = IgnoreRules::for_parent_directory(self.rules.take(), text.as_slice(), down);
    }
}

/// The root of the repository in which a workspace lies. An empty `.git` is none, as git has it: a
/// sandbox may hold its place.
pub(crate) fn repository_root(workspace: &Path) -> Option<&Path> {
    let is_root = |directory: &&Path| {
        let git = directory.join(".git");
        let is_empty = || std::fs::read_dir(&git).is_ok_and(|mut names| names.next().is_none());
        std::fs::symlink_metadata(&git).is_ok() && !is_empty()
    };
    workspace.ancestors().take(MAX_ABOVE).find(is_root)
}

/// The way from a directory down to another one.
fn relative_path<'a>(path: &'a Path, directory: &Path) -> &'a Path {
    path.strip_prefix(directory).unwrap_or(Path::new(""))
}

/// The rules that a repository in the workspace keeps for itself.
pub(crate) fn read_exclude_file(tree: &WorkspaceTree, directory: &Path) -> Option<Vec<u8>> {
    IgnoreRules::read(tree, &directory.join(".git/info/exclude"))
}

/// A file of rules above the workspace.
fn read(path: &Path) -> Option<Vec<u8>> {
    read_unlinked(path, IgnoreRules::MAX_BYTES).ok()
}
