//! What more than one crate does with files: diffs of their lines, and walks by several threads. It reads
//! and writes none itself.

mod lines;
mod walk_queue;

pub use lines::{Comparison, Names, is_binary};
pub use walk_queue::{Visiting, WalkQueue};
