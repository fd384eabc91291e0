//! Files and links as git keeps them, read from a directory and put there. That no path leaves the directory is
//! for `workspace-fs` to ensure; what is to be put where is left to the callers.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use ostler_workspace_fs::RootedTree;
use rustix::fs::{AtFlags, FileType, readlinkat, statat, unlinkat};
use rustix::io::Errno;

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GitEntry {
    /// A regular file.
    File { is_executable: bool, content: Vec<u8> },
    /// A symbolic link.
    Link { target: Vec<u8> },
}

impl GitEntry {
    /// What is at a path; `None` when nothing is. A path through a link, and what is neither file nor link, or too
    /// large, is an error.
    pub(crate) fn read(tree: &RootedTree, path: &Path, max_bytes: u64) -> io::Result<Option<GitEntry>> {
        let (parent, name) = match tree.parent(path) {
            Ok(found) => found,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let stat = match statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                let target = readlinkat(&parent, name, Vec::new())?.into_bytes();
                Ok(Some(GitEntry::Link { target }))
            }
            FileType::RegularFile => {
                let (content, stat) = tree.read(path, max_bytes)?;
                Ok(Some(GitEntry::File { is_executable: stat.st_mode & 0o100 != 0, content }))
            }
            _ => Err(io::Error::other("it is neither a file nor a link")),
        }
    }

    /// Puts a node at a path, in place of the file or link that may be there; `None` removes it, and the directories
    /// that are empty by that.
    pub(crate) fn put(tree: &RootedTree, path: &Path, node: Option<&GitEntry>) -> io::Result<()> {
        let Some(node) = node else { return remove(tree, path) };
        tree.make_directories(path.parent().unwrap_or(Path::new("")))?;
        match node {
            GitEntry::Link { target } => tree.replace_link(path, Path::new(OsStr::from_bytes(target))),
            GitEntry::File { is_executable, content } => {
                tree.replace_file(path, content, if *is_executable { 0o777 } else { 0o666 })
            }
        }
    }
}

fn remove(tree: &RootedTree, path: &Path) -> io::Result<()> {
    let (parent, name) = tree.parent(path)?;
    unlinkat(&parent, name, AtFlags::empty())?;
    let mut directory = path.parent();
    while let Some(empty) = directory.filter(|directory| !directory.as_os_str().is_empty()) {
        let Ok((parent, name)) = tree.parent(empty) else { break };
        if unlinkat(&parent, name, AtFlags::REMOVEDIR).is_err() {
            break;
        }
        directory = empty.parent();
    }
    Ok(())
}

/// A path as git names it.
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()))
}
