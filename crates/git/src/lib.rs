//! Git, run so that nothing of a repository's own runs, and the worktrees that are made with it.
//!
//! [`ask`] looks at a repository; one is changed only where a worktree is made or removed. What a
//! worktree is for is known to those who ask for one.

mod beneath;
mod error;
mod git;
mod merge;
mod output;
mod process;
mod snapshot;
mod worktrees;

pub use error::GitError;
pub use git::{Answers, ask};
pub use output::GitOutput;
pub use worktrees::{Changed, MadeWorktree, Merged, WorktreeName, Worktrees};
