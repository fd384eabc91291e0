//! Git, run in the sandbox and so that nothing of a repository's own runs, and the worktrees that are made with it.
//!
//! [`ask`] looks at a repository, and [`checked_out`] reads the little that needs no git; one is changed only where a worktree is made or removed. What a
//! worktree is for is known to those who ask for one.

mod ask;
mod checked_out;
mod error;
mod git;
mod merge;
mod node;
mod output;
mod private;
mod process;
mod repository;
mod safe_config;
mod snapshot;
mod worktrees;

pub use ask::{QueryAnswers, ask};
pub use checked_out::{CheckedOut, checked_out};
pub use error::GitError;
pub use git::Isolation;
pub use output::GitOutput;
pub use worktrees::{
    CreatedWorktree, GitWorktrees, ListedWorktree, WorktreeChange, WorktreeFileDiff, WorktreeMerge,
};
