//! Keeps a data directory to its owner: one that was made by somebody else, or by an earlier umask, may be open to
//! others.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Files by which a directory is known to be ours. The modes of any other are not touched: it may be a home directory
/// or `/tmp` that was named by mistake.
const DATA_DIR_FILES: [&str; 3] = ["lock", "sessions", "token"];

/// Takes the rights of others from a data directory and from what lies directly in it.
/// Fails where it belongs to somebody else, who could replace all that is in it; root may use what others own, as in a
/// container.
pub(crate) fn restrict_to_owner(root: &Path) -> io::Result<()> {
    let user = rustix::process::geteuid();
    if !user.is_root() && fs::metadata(root)?.uid() != user.as_raw() {
        return Err(io::Error::other("it belongs to another user of this machine; name another directory"));
    }
    let is_ours = DATA_DIR_FILES.iter().any(|name| root.join(name).exists());
    let is_empty = || fs::read_dir(root).is_ok_and(|mut entries| entries.next().is_none());
    if !is_ours && !is_empty() {
        return Ok(());
    }
    remove_access_of_others(root)?;
    for entry in fs::read_dir(root)? {
        remove_access_of_others(&entry?.path())?;
    }
    Ok(())
}

/// Takes the rights of others from one file or directory of this user.
fn remove_access_of_others(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        // What another process removes meanwhile needs no rights.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let (mode, own) = (found.mode() & 0o7777, found.uid() == rustix::process::geteuid().as_raw());
    if !own || found.is_symlink() || mode & 0o077 == 0 {
        return Ok(());
    }
    match fs::set_permissions(path, Permissions::from_mode(mode & 0o700)) {
        Ok(()) => {
            tracing::warn!(path = %path.display(), "others could read this; it is for its owner alone now");
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
