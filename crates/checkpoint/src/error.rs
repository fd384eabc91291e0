//! What can go wrong, in words for the person who asked for a checkpoint or its restoration.

use std::path::{Path, PathBuf};

use crate::digest::CheckpointDigest;

/// Why a call on the store failed. Nothing half-made is visible after any of these; only a restore
/// may have done a part of its work, which running it again completes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another process, or another part of this one, has the store open.
    #[error("The checkpoints in {} are in use by another process. Stop it, or use it as the daemon.", .0.display())]
    Locked(PathBuf),
    /// The workspace has more files and directories than a checkpoint may list.
    #[error(
        "The workspace has more than {limit} files and directories that git does not ignore; no checkpoint was made. \
         Add what is generated to .gitignore, or choose a smaller workspace."
    )]
    TooManyFiles {
        /// How many there may be.
        limit: usize,
    },
    /// The files of the workspace are larger, all together, than a checkpoint may be.
    #[error(
        "The files that git does not ignore come to more than {} MiB; no checkpoint was made. Add what is generated \
         to .gitignore, or choose a smaller workspace.", limit / (1024 * 1024)
    )]
    TooManyBytes {
        /// How many bytes there may be.
        limit: u64,
    },
    /// There is no such checkpoint, or not any more.
    #[error(
        "Checkpoint {0} does not exist; it may have been removed to make room. What it held cannot be restored."
    )]
    NotFound(CheckpointDigest),
    /// A checkpoint cannot be read whole. Others are not touched by this.
    #[error(
        "Checkpoint {checkpoint} is damaged: {what}. It cannot be restored; nothing was changed. Use another one."
    )]
    Damaged {
        /// Which one.
        checkpoint: CheckpointDigest,
        /// What is wrong with it.
        what: String,
    },
    /// The checkpoint is of another workspace than the one that is to be restored.
    #[error(
        "The checkpoint was made of {}, not of {}. Restore it there.", checkpoint.display(), workspace.display()
    )]
    OtherWorkspace {
        /// Of which the checkpoint was made.
        checkpoint: PathBuf,
        /// Which was asked for.
        workspace: PathBuf,
    },
    /// The hunks that were named cannot be undone one by one.
    #[error("{0}")]
    Hunks(String),
    /// The disk or the kernel refused something.
    #[error("{doing}: {source}.{}", hint(.source))]
    Io {
        /// What was being done.
        doing: String,
        /// What came of it.
        source: std::io::Error,
    },
}

impl Error {
    /// A refusal of the disk, with the path that it was about.
    pub(crate) fn io(doing: &str, path: &Path, source: impl Into<std::io::Error>) -> Error {
        Error::Io { doing: format!("{doing} {}", path.display()), source: source.into() }
    }
}

fn hint(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            " Free some space and try again."
        }
        std::io::ErrorKind::PermissionDenied => " Check who owns it.",
        std::io::ErrorKind::Unsupported => {
            " The kernel must offer openat2 (Linux 5.6 or later; in a container, allow it in the seccomp profile)."
        }
        _ => "",
    }
}
