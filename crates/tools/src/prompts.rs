//! Texts that a model reads: the description of each tool, one file of `prompts/` each, and notes about the sandbox.
//! Errors about one call stay beside the check that finds them, since they quote what was checked.

macro_rules! prompt {
    ($name:literal) => {
        include_str!(concat!("prompts/", $name, ".md")).trim_ascii_end()
    };
}

pub(crate) const APPLY_PATCH: &str = prompt!("apply_patch");
pub(crate) const DIAGRAM: &str = prompt!("diagram");
pub(crate) const EDIT_FILE: &str = prompt!("edit_file");
pub(crate) const GIT_STATUS: &str = prompt!("git_status");
pub(crate) const READ_FILE: &str = prompt!("read_file");
pub(crate) const REPO_MAP: &str = prompt!("repo_map");
pub(crate) const REPO_TREE: &str = prompt!("repo_tree");
pub(crate) const SEARCH: &str = prompt!("search");
pub(crate) const SHELL: &str = prompt!("shell");
pub(crate) const SHELL_PROCESS: &str = prompt!("shell_process");
pub(crate) const VERIFY: &str = prompt!("verify");
pub(crate) const WEB_FETCH: &str = prompt!("web_fetch");
pub(crate) const WRITE_FILE: &str = prompt!("write_file");

/// Follows the description of `shell` where a sandbox confines it without network access.
pub(crate) const CONFINED_OFFLINE: &str = prompt!("confined_offline");
/// Follows the description of `shell` where a sandbox confines it and the network is allowed.
pub(crate) const CONFINED: &str = prompt!("confined");
/// Refuses a background command under a sandbox that cannot protect files while it runs.
pub(crate) const NO_BACKGROUND: &str = prompt!("no_background");

/// A protected file that a command changed, and that was restored.
pub(crate) fn restored_note(path: &str) -> String {
    format!(
        "[sandbox] {path} is protected, so this command's change to it was reverted. Ask the user to change it."
    )
}

/// A repository that a command set up so that git would run programs outside the sandbox.
pub(crate) fn suspect_repository_note(path: &str, reasons: &str) -> String {
    format!(
        "[sandbox] warning: {path} is a git repository that can run programs through {reasons}, which did not exist \
         before this command. The user's own git would run them outside the sandbox, even for `git status` at the top \
         of the workspace. Remove them unless the user wants them, and tell the user before git is used there."
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_description_is_one_paragraph_without_an_end_of_line() {
        for text in [super::SHELL, super::CONFINED, super::CONFINED_OFFLINE, super::EDIT_FILE] {
            assert!(!text.is_empty() && !text.contains('\n'), "{text}");
        }
    }
}
