//! Where a repository is, found without git and by the shape of directories: which directory a work tree's `.git`
//! names, and that this directory agrees. A file that a command could have changed never says where the settings
//! of a repository are.

use std::fs;
use std::path::{Path, PathBuf};

use ostler_workspace_fs::read_unlinked;

use crate::error::GitError;
use crate::safe_config::SafeConfig;

/// How much of a pointer file is read.
const POINTER_BYTES: u64 = 4096;
/// What a repository keeps for all its worktrees.
const WORKTREES: &str = "worktrees";

/// A work tree and its repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitRepository {
    /// The root of the work tree.
    pub(crate) top: PathBuf,
    /// What git keeps for this work tree alone: its HEAD, its index.
    pub(crate) directory: PathBuf,
    /// What all work trees of the repository share: objects, branches.
    pub(crate) common: PathBuf,
}

impl GitRepository {
    /// The repository that a directory is in.
    pub(crate) fn find(path: &Path) -> Result<GitRepository, GitError> {
        let real = fs::canonicalize(path)
            .map_err(|error| GitError::io("The workspace cannot be opened:", path, error))?;
        for top in real.ancestors() {
            let marker = top.join(".git");
            let Ok(metadata) = fs::symlink_metadata(&marker) else { continue };
            if metadata.is_symlink() {
                return Err(GitError::new(
                    "The `.git` here is a symbolic link, which is not followed, so the repository is not looked at.",
                ));
            }
            if metadata.is_dir() && is_repository(&marker) {
                let (directory, common) = (marker.clone(), marker);
                let repository = GitRepository { top: top.to_owned(), directory, common };
                return repository.reject_other_work_tree();
            }
            if metadata.is_file() {
                return linked_repository(top).ok_or_else(|| {
                    GitError::new(
                        "The `.git` file here names a repository that does not know this work tree, so it is not \
                         looked at.",
                    )
                });
            }
        }
        Err(GitError::no_repository())
    }

    /// Itself, unless the repository's settings name another work tree, of which nothing is said here.
    fn reject_other_work_tree(self) -> Result<GitRepository, GitError> {
        let named = self.settings().worktree().map(|worktree| self.directory.join(worktree));
        match named.and_then(|worktree| worktree.canonicalize().ok()) {
            Some(worktree) if worktree != self.top => Err(GitError::new(
                "The git repository here has its work tree elsewhere (core.worktree), so its state is not shown.",
            )),
            Some(_) | None => Ok(self),
        }
    }

    /// The settings of the repository, as far as they cannot make git run anything.
    pub(crate) fn settings(&self) -> SafeConfig {
        SafeConfig::read(&self.common.join("config"))
    }

    /// Where objects are kept. A link in its place would lead elsewhere.
    pub(crate) fn objects(&self) -> Result<PathBuf, GitError> {
        let objects = self.common.join("objects");
        match fs::symlink_metadata(&objects) {
            Ok(metadata) if metadata.is_dir() => Ok(objects),
            Ok(_) | Err(_) => {
                Err(GitError::new("The repository keeps its objects elsewhere; nothing was done."))
            }
        }
    }
}

/// A linked worktree, or a submodule: the directory that its `.git` file names must name it in turn.
fn linked_repository(top: &Path) -> Option<GitRepository> {
    let marker = top.join(".git");
    let directory = read_pointer_file(&marker, "gitdir:")?.canonicalize().ok()?;
    let repository =
        |common: PathBuf| GitRepository { top: top.to_owned(), directory: directory.clone(), common };
    if let Some(parent) = directory.parent().filter(|parent| parent.ends_with(WORKTREES)) {
        let back = read_pointer_file(&directory.join("gitdir"), "")?;
        let agrees = back.file_name()? == ".git" && back.parent()?.canonicalize().ok()? == top;
        let common = parent.parent()?.to_owned();
        return (agrees && is_repository(&common)).then(|| repository(common));
    }
    let worktree = SafeConfig::read(&directory.join("config")).worktree()?;
    let agrees = directory.join(worktree).canonicalize().is_ok_and(|worktree| worktree == top);
    let is_module = directory.components().any(|part| part.as_os_str() == "modules");
    (agrees && is_module && is_repository(&directory)).then(|| repository(directory.clone()))
}

/// The path that a small regular file holds.
fn read_pointer_file(file: &Path, prefix: &str) -> Option<PathBuf> {
    let text = String::from_utf8(read_unlinked(file, POINTER_BYTES).ok()?).ok()?;
    Some(file.parent()?.join(text.strip_prefix(prefix)?.trim()))
}

/// Whether git would take a directory for a repository.
fn is_repository(directory: &Path) -> bool {
    directory.join("HEAD").symlink_metadata().is_ok() && directory.join("objects").is_dir()
}
