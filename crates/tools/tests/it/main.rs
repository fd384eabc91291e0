//! The built-in tools, used as the agent uses them: by name, with JSON, in a workspace.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod apply_patch;
mod diagram;
mod edit_file;
mod effects;
mod escapes;
mod fixture;
mod git_status;
mod groups;
mod hidden;
mod patch_corpus;
#[path = "../../../../tests/place.rs"]
mod place;
mod process_background;
mod process_sandbox;
mod process_terminal;
mod protected;
mod read_file;
mod read_proof;
mod registry;
mod repo_map;
mod repo_tree;
mod sandboxed;
mod search;
mod shell;
mod verify;
mod web_fetch;
mod write_file;
