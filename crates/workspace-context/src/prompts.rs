//! Texts that a model reads: the headings and notes of context messages, and the introduction of a skill. Headings that
//! change here are added in `ostler-context`, which recognizes those of earlier versions in old logs.

use std::time::Duration;

pub(crate) const FILES_HEADING: &str = "Workspace files";
pub(crate) const DEFINITIONS_HEADING: &str = "Key definitions";
pub(crate) const GIT_HEADING: &str = "Git status";
pub(crate) const RELEVANT_FILES_HEADING: &str =
    "Possibly relevant files (found by search; verify before use)";
pub(crate) const SKILLS_HEADING: &str = "Skills";
pub(crate) const NEW_SKILLS_HEADING: &str = "Skills added since";

/// Follows what was read without git while `git_status` is still running.
pub(crate) const GIT_PENDING_NOTE: &str =
    "[Changes and recent commits are still loading and will follow. Call git_status if you need them now.]";
/// Follows a status that is old.
pub(crate) const GIT_STALE_NOTE: &str = "[This may be out of date; call git_status for the current state.]";
/// Takes the place of a status that git did not give.
pub(crate) const GIT_UNKNOWN_NOTE: &str = "[The git status could not be read; git_status may report why.]";

/// The beginning of what `repo_tree` says of an empty workspace.
pub(crate) const REPO_TREE_EMPTY: &str = "[No files found";
/// The beginning of what `repo_map` says of a workspace without source code.
pub(crate) const REPO_MAP_EMPTY: &str = "No source code found";

/// The heading of an instruction file.
pub(crate) fn instructions_heading(path: &str, was_shown: bool) -> String {
    let updated = if was_shown { ", updated" } else { "" };
    let scope = match path.rsplit_once('/') {
        None => "applies to the whole workspace".to_owned(),
        Some((directory, _)) => format!("applies to {directory}/ and overrides the files above"),
    };
    format!("Instructions from {path}{updated} ({scope})")
}

/// The heading and the text for an instruction file that no longer exists.
pub(crate) fn deleted_instructions(path: &str) -> (String, String) {
    (format!("Instructions from {path}"), format!("{path} was deleted. Its instructions no longer apply."))
}

/// Takes the place of an instruction file that does not fit.
pub(crate) fn omitted_instructions(tokens: u64) -> String {
    format!(
        "This file is too long to include ({tokens} tokens). Read it with read_file before you change anything in its \
         directory."
    )
}

/// Ends an instruction file that was truncated.
pub(crate) fn truncated_instructions(limit: usize, size: u64) -> String {
    format!("\n[Truncated: the first {limit} of {size} bytes. Read the rest with read_file if you need it.]")
}

/// Ends a search that did not get through all files.
pub(crate) fn partial_search(files: usize) -> String {
    format!("[The search timed out after {files} files.]\n")
}

/// Takes the place of the output of a tool that was too slow.
pub(crate) fn tool_timed_out(name: &str, deadline: Duration) -> String {
    format!("[{name} did not finish within {} ms; call it if you need its output.]", deadline.as_millis())
}

/// Names skills whose descriptions do not fit.
pub(crate) fn undescribed_skills(count: usize, names: &str, more: &str) -> String {
    format!("{count} more, without descriptions: {names}{more}\n")
}

/// The text of a skill.
pub(crate) fn skill(name: &str, folder: &str, body: &str) -> String {
    format!("Skill `{name}`. Paths in it are relative to {folder}.\n\n{body}\n")
}
