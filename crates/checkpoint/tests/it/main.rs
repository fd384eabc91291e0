//! Checkpoints of real directories: captured, compared, restored, pruned.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod diff;
mod property;
mod protected;
mod restore;
mod store;
mod tree;
mod undo;
