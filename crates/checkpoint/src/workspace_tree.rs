//! A workspace whose files are captured and restored: what is at a path, and by what a change is told. That no path
//! leads out, whatever links are swapped in, is for `workspace-fs` to ensure; what a file is compared with is left to
//! the callers.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostler_workspace_fs::{ReadError, RootedTree, read_listed};
use rustix::fs::{AtFlags, FileType, Stat, readlinkat, statat};
use rustix::io::Errno;

use crate::digest::ContentDigest;
use crate::error::Error;
use crate::manifest::{LeftOutReason, ManifestNode};

/// No placeholder is larger.
pub(crate) const MAX_PLACEHOLDER_BYTES: u64 = 16;

/// An open workspace.
#[derive(Debug)]
pub(crate) struct WorkspaceTree {
    tree: RootedTree,
    path: PathBuf,
    rules: PathRules,
}

/// What the owner of a store knows of paths in workspaces.
#[derive(Clone)]
pub(crate) struct PathRules {
    /// Tells what only holds the place of something for a while from what belongs to the workspace, by its
    /// absolute path.
    pub(crate) is_placeholder: fn(&Path) -> bool,
    /// The protected name for which a path must stay as it is; by the workspace, absolute and without
    /// links, and the path in it.
    pub(crate) protected_name: ProtectedNameFn,
}

impl fmt::Debug for PathRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PathRules").finish_non_exhaustive()
    }
}

/// Finds the protected name for which a path must stay as it is.
///
/// By the workspace, the path in it, and whether the path is to be removed.
pub type ProtectedNameFn = Arc<dyn Fn(&Path, &Path, bool) -> Option<&'static str> + Send + Sync>;

impl Default for PathRules {
    fn default() -> PathRules {
        PathRules { is_placeholder: |_| false, protected_name: Arc::new(|_, _, _| None) }
    }
}

/// By what a file is told from what it was: the kernel changes one of these with the content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FileStamp {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) mode: u32,
    pub(crate) modified: (i64, u32),
    pub(crate) changed: (i64, u32),
}

impl WorkspaceTree {
    /// Opens a workspace. Fails where the kernel cannot keep paths inside it: there is no second,
    /// weaker way.
    pub(crate) fn open(path: &Path, rules: PathRules) -> Result<WorkspaceTree, Error> {
        let cannot = |error: io::Error| Error::io("The workspace cannot be opened:", path, error);
        let path = std::fs::canonicalize(path).map_err(cannot)?;
        let tree = RootedTree::open(&path).map_err(|errno| match errno {
            Errno::NOSYS | Errno::PERM => cannot(io::ErrorKind::Unsupported.into()),
            other => cannot(other.into()),
        })?;
        Ok(WorkspaceTree { tree, path, rules })
    }

    /// Where it is, without links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether what is at a path only holds its place. Asked of what has next to no content, since
    /// nothing else can be one.
    pub(crate) fn is_placeholder(&self, path: &Path) -> bool {
        (self.rules.is_placeholder)(&self.path.join(path))
    }

    /// The protected name for which a path is neither made, changed nor removed.
    pub(crate) fn protected_name(&self, path: &Path, removes: bool) -> Option<&'static str> {
        (self.rules.protected_name)(&self.path, path, removes)
    }

    /// Opens a directory; the empty path is the workspace itself.
    pub(crate) fn directory(&self, path: &Path) -> Result<OwnedFd, Errno> {
        self.tree.directory(path)
    }

    /// Opens the directory that holds `path`, and says by which name.
    pub(crate) fn parent<'a>(&self, path: &'a Path) -> Result<(OwnedFd, &'a OsStr), Errno> {
        self.tree.parent(path)
    }

    /// Opens a regular file that a walk has met, for reading.
    pub(crate) fn file(&self, path: &Path) -> Result<(File, Stat), ReadError> {
        read_listed(&self.tree, path)
    }

    /// What is at a path now, and by what its change would be told. A link on the way means that there
    /// is nothing: what lies behind it is not the workspace's. Nor is a placeholder.
    pub(crate) fn read_node(
        &self,
        path: &Path,
        max_file_bytes: u64,
    ) -> Result<Option<(ManifestNode, FileStamp)>, Error> {
        let cannot = |errno: Errno| Error::io("Cannot look at", &self.path.join(path), errno);
        let (parent, name) = match self.parent(path) {
            Ok(found) => found,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            Err(errno) => return Err(cannot(errno)),
        };
        let stat = match statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(errno) => return Err(cannot(errno)),
        };
        let stamp = FileStamp::from_stat(&stat);
        if self.is_placeholder(path) {
            return Ok(None);
        }
        let node = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => ManifestNode::Directory { mode: stamp.mode },
            FileType::Symlink => match readlinkat(&parent, name, Vec::new()) {
                Ok(target) => ManifestNode::Link { target: target.into_bytes() },
                Err(_) => stamp.left_out(LeftOutReason::Unreadable),
            },
            FileType::RegularFile if stamp.size > max_file_bytes => stamp.left_out(LeftOutReason::TooLarge),
            FileType::RegularFile => match read_listed(&parent, Path::new(name)) {
                Ok((file, _)) => match ContentDigest::of_reader(io::Read::take(file, max_file_bytes + 1)) {
                    Ok((_, size)) if size > max_file_bytes => stamp.left_out(LeftOutReason::TooLarge),
                    Ok((digest, size)) => ManifestNode::File { mode: stamp.mode, size, digest },
                    Err(_) => stamp.left_out(LeftOutReason::Unreadable),
                },
                Err(_) => stamp.left_out(LeftOutReason::Unreadable),
            },
            _ => stamp.left_out(LeftOutReason::Special),
        };
        Ok(Some((node, stamp)))
    }
}

impl AsFd for WorkspaceTree {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tree.as_fd()
    }
}

impl FileStamp {
    pub(crate) fn from_stat(stat: &Stat) -> FileStamp {
        FileStamp {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mode: stat.st_mode & 0o7777,
            modified: (stat.st_mtime, u32::try_from(stat.st_mtime_nsec).unwrap_or(0)),
            changed: (stat.st_ctime, u32::try_from(stat.st_ctime_nsec).unwrap_or(0)),
        }
    }

    pub(crate) fn left_out(&self, reason: LeftOutReason) -> ManifestNode {
        ManifestNode::LeftOut { reason, size: self.size, modified: self.modified }
    }
}
