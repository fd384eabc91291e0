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
mod lines;
mod open;
mod regular;
mod replace;
mod staged;
mod threads;
mod tree;
mod walk_queue;

pub use content_type::{is_visible_image, media_type};
pub use encoding::{TextEncoding, Utf16Reader};
pub use git_config::GitConfig;
pub use git_head::GitHead;
pub use git_index::visit_git_index;
#[cfg(feature = "walks")]
pub use ignore_rules::IgnoreRules;
#[cfg(feature = "walks")]
pub use lines::{DiffNames, LineComparison, is_binary};
pub use open::{LinkPolicy, ReadError, directory_beneath, is_git, open_beneath, read_beneath, read_listed};
pub use regular::{open_regular, read_unlinked};
pub use replace::{ConcurrentWriters, Durability, FileAccess, ReplaceOptions, Replacement, replace_file};
pub use staged::{StagedFile, rename_new};
pub use threads::{for_each, in_threads};
pub use tree::RootedTree;
pub use walk_queue::{VisitGuard, WalkQueue};
