//! File system primitives that more than one crate needs, each of them once: directories that paths cannot
//! leave, reads that no pipe can block, git's settings and index, line diffs, and the queue of a walk by several
//! threads.

mod beneath;
mod git_config;
mod git_index;
mod lines;
mod regular;
mod walk_queue;

pub use beneath::{Tree, open_beneath};
pub use git_config::GitConfig;
pub use git_index::visit_git_index;
pub use lines::{Comparison, Names, is_binary};
pub use regular::{open_regular, read_unlinked};
pub use walk_queue::{Visiting, WalkQueue};
