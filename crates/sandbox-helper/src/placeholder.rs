//! A placeholder as it is listed on disk, so that whoever comes after a crash can remove it. Making and sharing them is
//! left to the daemon.

use std::ffi::OsString;
use std::path::Path;

use ostler_workspace_fs::RootedTree;
use rustix::fs::{FileType, Stat};
use serde::{Deserialize, Serialize};

/// No placeholder is larger.
const MAXIMUM_BYTES: i64 = 2;

/// By what a placeholder is known, and that nobody has put anything into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceholderStamp {
    device: u64,
    inode: u64,
    modified: (i64, u64),
    size: i64,
}

/// A line of the list on disk: written without a stamp before a placeholder is made, and with it after.
#[derive(Debug, Serialize, Deserialize)]
pub struct ListedPlaceholder {
    /// The writable directory that it is in.
    pub root: OsString,
    /// Its absolute path.
    pub path: OsString,
    /// Which one was made.
    pub stamp: Option<PlaceholderStamp>,
}

impl PlaceholderStamp {
    /// The stamp of what was just made.
    pub fn from_stat(stat: &Stat) -> PlaceholderStamp {
        PlaceholderStamp {
            device: stat.st_dev,
            inode: stat.st_ino,
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            size: if FileType::from_raw_mode(stat.st_mode) == FileType::Directory { 0 } else { stat.st_size },
        }
    }
}

/// Removes those that a list on disk names, after a crash of the process that wrote it.
pub(crate) fn remove_listed(list: &Path) {
    let text = std::fs::read_to_string(list).unwrap_or_default();
    let lines: Vec<ListedPlaceholder> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    for ListedPlaceholder { root, path, stamp } in &lines {
        // Where it was not said which one was made, the crash came between: what is there is empty, or is
        // somebody's and stays.
        let is_said = || lines.iter().any(|other| other.path == *path && other.stamp.is_some());
        if stamp.is_some() || !is_said() {
            remove_placeholder(Path::new(root), Path::new(path), *stamp);
        }
    }
}

/// Removes a placeholder that is still one. A directory that somebody filled is theirs and stays.
pub fn remove_placeholder(root: &Path, path: &Path, stamp: Option<PlaceholderStamp>) {
    let (Ok(tree), Ok(inner)) = (RootedTree::open(root), path.strip_prefix(root)) else { return };
    let Ok(Some(found)) = tree.stat(inner) else { return };
    if may_be_placeholder(&found) && stamp.is_none_or(|stamp| stamp == PlaceholderStamp::from_stat(&found)) {
        // What cannot be removed stays, and is empty.
        let _ = tree.remove_one(inner);
    }
}

/// Returns true for what has the shape of a placeholder.
pub fn may_be_placeholder(stat: &Stat) -> bool {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => true,
        FileType::RegularFile => stat.st_size <= MAXIMUM_BYTES,
        _ => false,
    }
}
