//! One text file that only grows, and whose true length is told by the database.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Appends at `length`, which is where the file ends but for text that was never committed. Nothing is done for
/// nothing, so that a file without text is absent.
pub(super) fn append(path: &Path, length: u64, text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    if !truncate(path, length)? {
        let message = "the file is shorter than what was written to it; it is made again";
        return Err(io::Error::other(message));
    }
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// Takes off what is beyond `length`. False when the file is shorter or no file at all.
pub(super) fn truncate(path: &Path, length: u64) -> io::Result<bool> {
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(length == 0),
        Err(error) => return Err(error),
    };
    if !there.is_file() {
        return Ok(false);
    }
    if length == 0 {
        fs::remove_file(path)?;
    } else if there.len() > length {
        OpenOptions::new().write(true).open(path)?.set_len(length)?;
    }
    Ok(there.len() >= length)
}

/// Waits until a file, or the names in a folder, are on disk.
pub(super) fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
