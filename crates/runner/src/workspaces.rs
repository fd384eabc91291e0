//! Directories of the runner's machine, and the files by which a workspace speaks for itself.

use futures_util::future::BoxFuture;
use ostler_types::ApprovalPolicy;
use serde::{Deserialize, Serialize};

/// Looks at workspaces. Nothing is changed and nothing of a workspace is run.
pub trait Workspaces: Send + Sync {
    /// The real path of a directory, with links followed. Trust and rules hold for this path, since a name that leads
    /// to it can be moved.
    fn resolve(&self, path: String) -> BoxFuture<'_, Result<Resolved, PathError>>;

    /// Why nobody should work in a directory, in sentences for people; none where one can, or where it is gone.
    fn unfit(&self, workspace: String) -> BoxFuture<'_, Option<String>>;

    /// The directories in a directory, for choosing a workspace. The path is a real one.
    fn directories(&self, path: String) -> BoxFuture<'_, Result<DirectoryList, PathError>>;

    /// Files of a workspace that a few letters of their paths lead to.
    fn find_files(&self, find: FindFiles) -> BoxFuture<'_, Result<FileList, PathError>>;

    /// The text of a workspace's `AGENTS.md`, cut to a bound; none where there is no such file in the workspace itself.
    fn instructions(&self, workspace: String) -> BoxFuture<'_, Option<String>>;

    /// The approval settings that a workspace brings, as far as its owner has accepted them. Asked only of workspaces
    /// that are trusted; none where it brings none.
    fn approval(&self, workspace: String) -> BoxFuture<'_, Option<ApprovalPolicy>>;
}

/// A directory as it really is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    /// Its path, absolute and without links.
    pub path: String,
    /// Whether it lies in the runner's own data, where no session may work.
    pub is_own_data: bool,
}

/// Why a path cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum PathError {
    /// Nothing is there, or it cannot be reached.
    #[error("{0}")]
    Missing(String),
    /// Something else than a directory is there.
    #[error("it is not a directory")]
    NotADirectory,
    /// It cannot be written as text.
    #[error("its name is not UTF-8")]
    NotUtf8,
    /// It is there and cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

/// Directories in a directory, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryList {
    /// Hidden ones are left out.
    pub directories: Vec<Directory>,
    /// Whether there are more.
    pub is_cut: bool,
}

/// A directory in another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    /// The last part of its path.
    pub name: String,
    /// Its path, in which a link may be left.
    pub path: String,
    /// Whether it is a git repository.
    pub is_git: bool,
}

/// Which files to find.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindFiles {
    /// Of which workspace.
    pub workspace: String,
    /// Letters of the path, in this order.
    pub letters: String,
    /// How many at most.
    pub limit: usize,
}

/// Files of a workspace, the best match first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileList {
    /// Relative to the workspace. What git ignores is left out.
    pub paths: Vec<String>,
    /// Whether there are more.
    pub is_cut: bool,
}
