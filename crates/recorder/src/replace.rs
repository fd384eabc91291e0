//! Replacing a file as a whole: a reader sees the old content or the new one, never a part.
//!
//! Nothing is synced. After a power failure a file may be old or empty; its reader must be able to tell.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

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
    // The name is fixed so that what a crash leaves behind is taken away by the next write.
    let temporary = dir.join(format!("{name}.tmp"));
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let written = write_new(&temporary, content).and_then(|()| fs::rename(&temporary, &path));
    written.map_err(|source| {
        let _ = fs::remove_file(&temporary);
        RecorderError { path, source }
    })
}

fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    // `create_new` also refuses to follow a link that somebody laid in the way.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content)
}
