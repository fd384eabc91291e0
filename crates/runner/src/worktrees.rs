//! Git worktrees, so that a session that another has started works on files of its own.

use futures_util::future::BoxFuture;
use ostler_types::FileChange;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

/// Makes worktrees, and merges what was done in them. Each has the name of its session.
pub trait Worktrees: Send + Sync {
    /// Makes a worktree with the files of the workspace as they are now. When it fails or is canceled, nothing of it
    /// is left; dropping the future instead may leave something behind, which [`Worktrees::list`] shows.
    fn create(
        &self,
        new: NewWorktree,
        canceled: CancellationToken,
    ) -> BoxFuture<'_, Result<MadeWorktree, WorktreeError>>;

    /// What has changed in a worktree since it was made.
    fn changes(&self, name: String) -> BoxFuture<'_, Result<Vec<ChangedPath>, WorktreeError>>;

    /// The same for whoever is to agree to a merge: from now on only what was shown first is merged.
    fn changes_to_merge(&self, name: String) -> BoxFuture<'_, Result<Vec<ChangedPath>, WorktreeError>>;

    /// The same with the lines that have changed, as far as there is room for them.
    fn diff(&self, name: String) -> BoxFuture<'_, Result<Vec<FileChange>, WorktreeError>>;

    /// Makes the changes of a worktree in the workspace that it was made of, all of them or none. The worktree stays.
    fn merge(&self, name: String) -> BoxFuture<'_, Result<Vec<ChangedPath>, WorktreeError>>;

    /// Removes a worktree. One that is not there is no error.
    fn remove(&self, name: String) -> BoxFuture<'_, Result<(), WorktreeError>>;

    /// The worktrees there are, half made ones included.
    fn list(&self) -> BoxFuture<'_, Result<Vec<WorktreeName>, WorktreeError>>;

    /// The workspace that a worktree was made of; none where there is no such worktree.
    fn source_workspace(&self, name: String) -> BoxFuture<'_, Option<String>>;

    /// The workspace that a worktree was made of in the end; the path itself when it is in none. A worktree is trusted
    /// as that workspace is.
    fn root_workspace(&self, path: String) -> BoxFuture<'_, String>;
}

/// A worktree to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewWorktree {
    /// What it is called: the id of its session.
    pub name: String,
    /// The workspace that it is made of.
    pub workspace: String,
}

/// A worktree that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeWorktree {
    /// Where its session works.
    pub workspace: String,
    /// The commit that it began with.
    pub base: String,
}

/// A path that has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedPath {
    /// The path.
    pub path: String,
    /// What happened to it, as a word for people.
    pub what: String,
}

/// A worktree by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreeName {
    /// Its name.
    pub name: String,
    /// Whether it was ever finished.
    pub is_made: bool,
}

/// Why a worktree was not made, compared, merged or removed, in words for people and models.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum WorktreeError {
    /// The same files have changed on both sides.
    #[error("{0}")]
    Conflict(String),
    /// Files have changed that no tool may write.
    #[error("{0}")]
    Protected(String),
    /// The files are no longer those that were shown before the merge.
    #[error("{0}")]
    Changed(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}
