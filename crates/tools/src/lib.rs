//! The tools that every session has.
//!
//! A tool does one thing in a workspace and says what it did. It asks nobody for leave: whether a
//! call may run is settled before [`Tool::run`], by the policy and by people.
//!
//! [`Tool::run`]: ostler_runner::Tool::run

mod apply_patch;
mod blocking;
mod change;
mod confine;
mod diagram;
mod diff;
mod edit_file;
mod editors;
mod forbidden;
mod git_status;
mod hidden;
mod input;
mod known;
mod output;
mod patch;
mod path;
mod place;
mod process;
mod read_file;
mod read_proof;
mod registry;
mod replace;
mod repo_map;
mod repo_tree;
mod search;
mod shell;
mod sight;
mod text;
mod verify;
mod walk;
mod web_fetch;
mod write_file;

pub use editors::{EditorBuffers, Editors, ReadBuffer, WriteBuffer};
pub use registry::{ToolSettings, Tools};
pub use text::reveal_line;
pub use web_fetch::WebSettings;

use ostler_runner::ToolOutcome;

/// Why a call came to nothing, in words that a model can act on. It has no variants because nobody
/// branches on it: it becomes a [`ToolOutcome`] and nothing else.
#[derive(Debug)]
struct Failed(String);

impl Failed {
    fn new(text: impl Into<String>) -> Failed {
        Failed(text.into())
    }
}

impl From<Failed> for ToolOutcome {
    fn from(failed: Failed) -> ToolOutcome {
        ToolOutcome::failed(failed.0)
    }
}
