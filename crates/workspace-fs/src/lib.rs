//! File system primitives that more than one crate needs, each of them once: directories that paths cannot leave,
//! reads that no pipe can block, files replaced whole, git's settings, index and HEAD, content types and text encodings,
//! line diffs, and what walks need: ignore rules, threads and their queue.
//!
//! It knows bytes and paths. Which files a caller may see or change, and what they mean, is left to the callers.

mod content_type;
mod encoding;
mod git_config;
mod git_head;
mod git_index;
#[cfg(feature = "walks")]
mod ignore_rules;
#[cfg(feature = "walks")]
mod line_diff;
mod open;
mod regular_file;
mod replace;
mod rooted_tree;
mod staged_file;
mod threads;
mod walk_queue;

pub use content_type::{is_visible_image, media_type};
pub use encoding::{TextEncoding, Utf16Reader};
pub use git_config::GitConfig;
pub use git_head::GitHead;
pub use git_index::visit_git_index;
#[cfg(feature = "walks")]
pub use ignore_rules::IgnoreRules;
#[cfg(feature = "walks")]
pub use line_diff::{DiffNames, LineComparison, is_binary};
pub use open::{
    LinkPolicy, ReadError, directory_beneath, is_git_name, open_beneath, read_beneath, read_listed,
};
pub use regular_file::{open_regular, read_unlinked};
pub use replace::{ConcurrentWriters, Durability, FileAccess, ReplaceOptions, Replacement, replace_file};
pub use rooted_tree::RootedTree;
pub use staged_file::{StagedFile, rename_new};
pub use threads::{for_each, run_in_threads};
pub use walk_queue::{VisitGuard, WalkQueue};
