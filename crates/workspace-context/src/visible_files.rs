//! Files of a workspace that are not hidden: what the daemon hides from tools is not read here either. That no path
//! leads out is for `workspace-fs` to ensure. It reads; it never writes or lists.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use ostler_repo_map::SourceStamp;
use ostler_workspace_fs::{LinkPolicy, RootedTree, read_listed};
use rustix::fs::Stat;

/// A directory that paths cannot leave.
pub(crate) struct VisibleFiles {
    tree: RootedTree,
    /// Hidden places, without links.
    hidden: Vec<PathBuf>,
}

/// What was read of a file.
pub(crate) struct VisibleFileContent {
    pub(crate) bytes: Vec<u8>,
    pub(crate) stamp: SourceStamp,
}

impl VisibleFileContent {
    /// Whether the file is longer than what was read.
    pub(crate) fn is_cut(&self) -> bool {
        self.stamp.size > self.bytes.len() as u64
    }
}

impl VisibleFiles {
    /// Opens a directory. What lies in `hidden` is not read, whatever path leads there.
    pub(crate) fn open(root: &Path, hidden: &[PathBuf]) -> Result<VisibleFiles> {
        let tree = RootedTree::open_following(root)?;
        let hidden = hidden.iter().map(|place| resolve_links(place)).collect();
        Ok(VisibleFiles { tree, hidden })
    }

    /// The first `limit` bytes of a regular file, which links may lead to that stay beneath the directory.
    pub(crate) fn read(&self, path: &Path, limit: u64) -> Result<VisibleFileContent> {
        let (file, stat) = self.tree.file(path, LinkPolicy::Inside)?;
        self.content(file, &stat, limit)
    }

    /// The same of a file that a walk has just met, which no link may lead to.
    pub(crate) fn read_listed(&self, path: &Path, limit: u64) -> Result<VisibleFileContent> {
        let (file, stat) = read_listed(&self.tree, path)?;
        self.content(file, &stat, limit)
    }

    fn content(&self, file: File, stat: &Stat, limit: u64) -> Result<VisibleFileContent> {
        if !self.hidden.is_empty() {
            let real = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
            if self.hidden.iter().any(|place| real.starts_with(place)) {
                return Err(Error::new(ErrorKind::PermissionDenied, "it is in a hidden place"));
            }
        }
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(VisibleFileContent { bytes, stamp: stamp(stat) })
    }
}

/// A path without links, as far as it exists.
pub(crate) fn resolve_links(path: &Path) -> PathBuf {
    let above = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(above).unwrap_or_else(|| path.to_owned())
}

fn stamp(stat: &Stat) -> SourceStamp {
    SourceStamp {
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified: (stat.st_mtime, u32::try_from(stat.st_mtime_nsec).unwrap_or(0)),
        inode: stat.st_ino,
    }
}
