//! Why a program was not confined, and so not run.

use std::path::PathBuf;

/// Why a command was not made or did not run. No variant means that something ran in the open.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// This machine has no means to confine a program.
    #[error("This machine cannot confine a program: {0} Run `ostler doctor` to see what is missing.")]
    Unavailable(String),
    /// A directory that would let a program out if it could write there.
    #[error("{} cannot be opened to a confined program: {reason} Choose another directory.", path.display())]
    Unfit {
        /// The directory.
        path: PathBuf,
        /// Why not, as a sentence.
        reason: &'static str,
    },
    /// A path that the profile names cannot be used.
    #[error("{} cannot be used in a sandbox: {source}. Check that it exists and is accessible.", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// What was to be prepared could not be.
    #[error("The sandbox could not be prepared: {0}")]
    Prepare(String),
}

impl SandboxError {
    pub(crate) fn path(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> SandboxError {
        let path = path.into();
        move |source| SandboxError::Path { path, source }
    }
}
