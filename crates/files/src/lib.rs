//! What more than one crate does with files: diffs of their lines, walks by several threads, directories
//! that paths cannot leave, and files that are no pipes.

mod beneath;
mod lines;
mod regular;
mod walk_queue;

pub use beneath::{Tree, open_beneath};
pub use lines::{Comparison, Names, is_binary};
pub use regular::{open_regular, read_unlinked};
pub use walk_queue::{Visiting, WalkQueue};
