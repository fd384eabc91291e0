//! Views that are files of their own, replaced as a whole.
//!
//! Nothing is synced. After a power failure a file may be old or empty; its reader must be able to tell.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ostler_workspace_fs::{ReplaceOptions, replace_file};

/// A view that could not be written. The log is not touched by that, and the next write tries again.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}; check the disk's space and the folder's permissions", path.display())]
pub struct RecorderError {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Two callers at once would write into each other's temporary file. It is held for no longer than a write
/// without a sync takes, so one lock for all files does.
static WRITING: Mutex<()> = Mutex::new(());

/// Puts `content` in the place of `dir/name`.
pub(crate) fn replace(dir: &Path, name: &str, content: &[u8]) -> Result<(), RecorderError> {
    let path = dir.join(name);
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    replace_file(&path, content, ReplaceOptions::CACHE).map_err(|source| RecorderError { path, source })
}
