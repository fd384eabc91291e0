//! Holds the places of protected paths that do not exist, for as long as a sandbox needs them: only
//! what exists can be mounted on.
//!
//! A placeholder is empty, or says one fixed word, and carries a date that nothing else has. So it is
//! known again after a crash, and removed with the next command in its workspace. Commands that run in
//! one workspace at the same time share them: removing one under a sandbox would undo its protection.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::{FileType, Stat, lstat};

use crate::protected::{Missing, Protected};

/// The date of a placeholder, in seconds: long before any of them was made.
const MARK: u64 = 417_417_417;

/// The placeholders of all sandboxes of this process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Placeholders(Arc<Mutex<HashMap<PathBuf, usize>>>);

impl Placeholders {
    /// Makes what is missing, and keeps what somebody else made.
    pub(crate) fn hold(&self, protected: &[Protected]) -> std::io::Result<Held> {
        let mut held = Held { placeholders: self.clone(), paths: Vec::new() };
        let mut users = self.lock();
        for Protected { path, missing, .. } in protected {
            if users.contains_key(path) || is_placeholder(path) || make(path, *missing)? {
                *users.entry(path.clone()).or_insert(0) += 1;
                held.paths.push(path.clone());
            }
        }
        Ok(held)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Placeholders in use. Dropping them removes those that nobody else uses, so it must be dropped when
/// no process of the sandbox is left.
#[derive(Debug)]
pub(crate) struct Held {
    placeholders: Placeholders,
    paths: Vec<PathBuf>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut users = self.placeholders.lock();
        for path in &self.paths {
            let last = users.get_mut(path).is_none_or(|count| {
                *count -= 1;
                *count == 0
            });
            if last {
                users.remove(path);
                remove(path);
            }
        }
    }
}

/// Whether it was made. Where we may not write, the program may not either.
fn make(path: &Path, missing: Missing) -> std::io::Result<bool> {
    let made = match missing {
        Missing::Leave => return Ok(false),
        Missing::Directory => fs::DirBuilder::new().mode(0o755).create(path).and_then(|()| File::open(path)),
        Missing::File(text) => {
            let opened = OpenOptions::new().write(true).create_new(true).mode(0o644).open(path);
            opened.and_then(|mut file| file.write_all(text.as_bytes()).map(|()| file))
        }
    };
    match made {
        Ok(file) => file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(MARK)).map(|()| true),
        Err(error) => match error.kind() {
            ErrorKind::AlreadyExists | ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                Ok(false)
            }
            _ => Err(error),
        },
    }
}

/// Whether a path is one that a sandbox has put there to hold the place of something protected. It is gone
/// when the sandbox has ended, so whoever looks at a workspace meanwhile passes over it.
pub fn is_placeholder(path: &Path) -> bool {
    lstat(path).is_ok_and(|stat| holds_a_place(&stat))
}

/// The same for whoever has looked at the path already.
pub fn holds_a_place(stat: &Stat) -> bool {
    let is_small = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => true,
        FileType::RegularFile => stat.st_size <= 2,
        _ => false,
    };
    is_small && stat.st_mtime.unsigned_abs() == MARK
}

fn remove(path: &Path) {
    if !is_placeholder(path) {
        return;
    }
    // A directory that somebody filled meanwhile is theirs and stays.
    let _ = if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
}
