//! Git, run in the sandbox and so that nothing of a repository's own runs, and the worktrees that are made with it.
//!
//! [`query_repository`] looks at a repository, and [`checked_out`] reads the little that needs no git; one is changed only where a worktree is made or removed. What a
//! worktree is for is known to those who ask for one.

mod checked_out;
mod error;
mod git;
mod git_entry;
mod git_process;
mod merge;
mod object_snapshot;
mod output;
mod private_git_directory;
mod query;
mod repository;
mod safe_config;
mod worktrees;

pub use checked_out::{CheckedOut, checked_out};
pub use error::GitError;
pub use git::Isolation;
pub use output::GitOutput;
pub use query::{QueryAnswers, query_repository};
pub use worktrees::{
    CreatedWorktree, GitWorktrees, ListedWorktree, WorktreeChange, WorktreeFileDiff, WorktreeMerge,
};
