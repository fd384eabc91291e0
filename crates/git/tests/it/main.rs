//! Worktrees of real repositories, with the git of this machine.

#![allow(clippy::unwrap_used, reason = "a helper that fails should end its test")]

mod hostile;
mod merge;
mod repository;
mod worktrees;
