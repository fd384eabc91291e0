//! The built-in tools, used as the agent uses them: by name, with JSON, in a workspace.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod escapes;
mod fixture;
mod groups;
mod read_file;
mod registry;
mod repo_tree;
mod search;
mod shell;
mod write_file;
