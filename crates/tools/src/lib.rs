//! The tools that every session has.
//!
//! A tool does one thing in a workspace and says what it did. It asks nobody for leave: whether a
//! call may run is settled before [`Tool::run`], by the policy and by people.
//!
//! [`Tool::run`]: ostler_runner::Tool::run

mod apply_patch;
mod blocking;
mod diagram;
mod diff;
mod edit_file;
mod editors;
mod file_edit;
mod file_location;
mod file_replacement;
mod file_tracker;
mod git_status;
mod hidden_paths;
mod input;
mod output;
mod patch;
mod process;
mod program_confiner;
mod prompts;
mod read_file;
mod read_proof;
mod registry;
mod repo_map;
mod repo_tree;
mod search;
mod seen_files;
mod shell;
mod text;
mod verify;
mod web_fetch;
mod workspace;
mod workspace_walk;
mod write_file;
mod write_protection;

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
