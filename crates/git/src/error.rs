//! What can go wrong with git.

/// Why git did not do what was asked. The text is for people and models; what git itself said in it may hold
/// control characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// The files have changed on both sides.
    #[error("{} changed on both sides: {}", if .0.len() == 1 { "a file was" } else { "files were" }, .0.join(", "))]
    Conflict(Vec<String>),
    /// Files that no tool may write have changed.
    #[error(
        "{} changed that make somebody's editor, agent or shell run code, which tools leave as they are: {}",
        if .0.len() == 1 { "a file was" } else { "files were" }, .0.join(", ")
    )]
    Protected(Vec<String>),
    /// The files are no longer those that were shown before the merge.
    #[error("the worktree was changed after its changes were shown")]
    Changed,
    /// Anything else, in whole sentences.
    #[error("{0}")]
    Failed(String),
}

impl GitError {
    pub(crate) fn new(text: impl Into<String>) -> GitError {
        GitError::Failed(text.into())
    }

    pub(crate) fn no_repository() -> GitError {
        GitError::new("The workspace is not in a git repository.")
    }

    pub(crate) fn io(what: &str, path: &std::path::Path, error: impl std::fmt::Display) -> GitError {
        GitError::Failed(format!("{what} {}: {error}", path.display()))
    }
}
