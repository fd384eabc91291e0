//! Holds the places of protected paths that do not exist, for as long as a sandbox needs them: only
//! what exists can be mounted on.
//!
//! A placeholder is empty, or says one fixed word. This process knows those that it has made, by device and
//! inode; nothing that a program can do to a file of its own makes it one. A list on disk names them for
//! whoever comes after a crash. Commands that run in one workspace at the same time share them: removing one
//! under a sandbox would undo its protection.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_workspace_fs::Tree;
use rustix::fs::{FileType, Stat, lstat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::protected::{Missing, Protected};
use crate::run::{self, Journal, Run};

/// No placeholder is larger.
const MAXIMUM_BYTES: i64 = 2;

/// The placeholders of all sandboxes of this process, by path.
static MADE: Mutex<Option<HashMap<PathBuf, Made>>> = Mutex::new(None);

#[derive(Debug)]
struct Made {
    users: usize,
    root: PathBuf,
    stamp: Stamp,
    _journal: Arc<Journal>,
}

/// By what a placeholder is known, and that nobody has put anything into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    device: u64,
    inode: u64,
    modified: (i64, u64),
    size: i64,
}

/// A line of the list on disk: written without a stamp before a placeholder is made, and with it after.
#[derive(Debug, Serialize, Deserialize)]
struct Listed {
    root: OsString,
    path: OsString,
    stamp: Option<Stamp>,
}

/// Makes what is missing, and keeps what somebody else made.
pub(crate) fn hold(run: &Arc<Run>, protected: &[Protected]) -> io::Result<Held> {
    // Before the lock: dropping it on a failure takes the lock again.
    let mut held = Held(Vec::new());
    let mut guard = lock();
    let made = guard.get_or_insert_default();
    let mut missing = Vec::new();
    for protected in protected {
        if let Some(known) = made.get_mut(&protected.path) {
            known.users += 1;
            held.0.push(protected.path.clone());
        } else if !matches!(protected.missing, Missing::Nothing | Missing::Leave)
            && lstat(&protected.path).err() == Some(Errno::NOENT)
        {
            missing.push(protected);
        }
    }
    if missing.is_empty() {
        return Ok(held);
    }
    let list = |protected: &Protected, stamp| {
        let (root, path) = (protected.root.clone().into(), protected.path.clone().into());
        let mut line = serde_json::to_vec(&Listed { root, path, stamp }).unwrap_or_default();
        line.push(b'\n');
        line
    };
    let before: Vec<u8> = missing.iter().flat_map(|protected| list(protected, None)).collect();
    let journal = Arc::new(Journal::write(run, run::PLACEHOLDERS, &before)?);
    let mut after = Vec::new();
    for protected in missing {
        let Some(stamp) = make(protected)? else { continue };
        after.extend(list(protected, Some(stamp)));
        let (root, journal) = (protected.root.clone(), Arc::clone(&journal));
        made.insert(protected.path.clone(), Made { users: 1, root, stamp, _journal: journal });
        held.0.push(protected.path.clone());
    }
    journal.append(&after)?;
    Ok(held)
}

/// Placeholders in use. Dropping them removes those that nobody else uses, so it must be dropped when
/// no process of the sandbox is left.
#[derive(Debug)]
pub(crate) struct Held(Vec<PathBuf>);

impl Drop for Held {
    fn drop(&mut self) {
        let mut made = lock();
        let made = made.get_or_insert_default();
        for path in &self.0 {
            let Some(known) = made.get_mut(path) else { continue };
            known.users -= 1;
            if known.users == 0
                && let Some(known) = made.remove(path)
            {
                remove(&known.root, path, Some(known.stamp));
            }
        }
    }
}

/// Whether a path is one that a sandbox of this process has put there to hold the place of something
/// protected. It is gone when the sandbox has ended, so whoever looks at a workspace meanwhile passes over it.
pub fn is_placeholder(path: &Path) -> bool {
    !is_none_made() && lstat(path).is_ok_and(|stat| holds_a_place(&stat))
}

/// The same for whoever has looked at the path already.
pub fn holds_a_place(stat: &Stat) -> bool {
    is_small(stat)
        && lock().as_ref().is_some_and(|made| {
            let stamp = Stamp::of(stat);
            made.values().any(|known| known.stamp == stamp)
        })
}

/// Removes those that a list on disk names, after a crash of the process that wrote it.
pub(crate) fn remove_listed(list: &Path) {
    let text = std::fs::read_to_string(list).unwrap_or_default();
    let lines: Vec<Listed> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    for Listed { root, path, stamp } in &lines {
        // Where it was not said which one was made, the crash came between: what is there is empty, or is
        // somebody's and stays.
        let is_said = || lines.iter().any(|other| other.path == *path && other.stamp.is_some());
        if stamp.is_some() || !is_said() {
            remove(Path::new(root), Path::new(path), *stamp);
        }
    }
}

/// Whether it was made. Where we may not write, the program may not either.
fn make(protected: &Protected) -> io::Result<Option<Stamp>> {
    let Ok(inner) = protected.path.strip_prefix(&protected.root) else { return Ok(None) };
    let tree = Tree::open(&protected.root)?;
    let made = match protected.missing {
        Missing::Nothing | Missing::Leave => return Ok(None),
        Missing::Directory => tree.make_directory(inner, 0o755).map_err(io::Error::from),
        Missing::File(text) => tree.make_file(inner, text.as_bytes(), 0o644),
    };
    match made {
        Ok(stat) => Ok(Some(Stamp::of(&stat))),
        Err(error) => match error.kind() {
            io::ErrorKind::AlreadyExists
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem => Ok(None),
            _ => Err(error),
        },
    }
}

/// Removes a placeholder that is still one. A directory that somebody filled is theirs and stays.
fn remove(root: &Path, path: &Path, stamp: Option<Stamp>) {
    let (Ok(tree), Ok(inner)) = (Tree::open(root), path.strip_prefix(root)) else { return };
    let Ok(Some(found)) = tree.stat(inner) else { return };
    if is_small(&found) && stamp.is_none_or(|stamp| stamp == Stamp::of(&found)) {
        // What cannot be removed stays, and is empty.
        let _ = tree.remove_one(inner);
    }
}

fn is_small(stat: &Stat) -> bool {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => true,
        FileType::RegularFile => stat.st_size <= MAXIMUM_BYTES,
        _ => false,
    }
}

fn is_none_made() -> bool {
    lock().as_ref().is_none_or(HashMap::is_empty)
}

fn lock() -> MutexGuard<'static, Option<HashMap<PathBuf, Made>>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stamp {
    fn of(stat: &Stat) -> Stamp {
        Stamp {
            device: stat.st_dev,
            inode: stat.st_ino,
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            size: if FileType::from_raw_mode(stat.st_mode) == FileType::Directory { 0 } else { stat.st_size },
        }
    }
}
