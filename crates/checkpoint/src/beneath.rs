//! Files of a workspace, and of nothing else: every open starts at a descriptor of the workspace, and
//! the kernel resolves the path beneath it without following any link. So no link that is swapped in
//! leads out, neither while files are read nor while they are put back. What a file is compared with
//! is left to the callers.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ostler_workspace_fs::open_beneath;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, open, readlinkat, statat};
use rustix::io::Errno;

use crate::digest::Digest;
use crate::error::Error;
use crate::manifest::{Node, Reason};

/// No placeholder is larger.
pub(crate) const MAX_PLACEHOLDER_BYTES: u64 = 16;

/// A directory that paths cannot leave.
#[derive(Debug)]
pub(crate) struct Tree {
    root: OwnedFd,
    path: PathBuf,
    rules: PathRules,
}

/// What the owner of a store knows of paths in workspaces.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathRules {
    /// Tells what only holds the place of something for a while from what belongs to the workspace, by its
    /// absolute path.
    pub(crate) is_placeholder: fn(&Path) -> bool,
    /// The protected name for which a path must stay as it is; by the workspace, absolute and without
    /// links, and the path in it.
    pub(crate) protected_name: fn(&Path, &Path) -> Option<&'static str>,
}

impl Default for PathRules {
    fn default() -> PathRules {
        PathRules { is_placeholder: |_| false, protected_name: |_, _| None }
    }
}

/// By what a file is told from what it was: the kernel changes one of these with the content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) mode: u32,
    pub(crate) modified: (i64, u32),
    pub(crate) changed: (i64, u32),
}

impl Tree {
    /// Opens a workspace. Fails where the kernel cannot keep paths inside it: there is no second,
    /// weaker way.
    pub(crate) fn open(path: &Path, rules: PathRules) -> Result<Tree, Error> {
        let cannot = |error: io::Error| Error::io("The workspace cannot be opened:", path, error);
        let path = std::fs::canonicalize(path).map_err(cannot)?;
        let root = open(&path, DIRECTORY, Mode::empty()).map_err(|errno| cannot(errno.into()))?;
        open_beneath(&root, Path::new("."), DIRECTORY).map_err(|errno| match errno {
            Errno::NOSYS | Errno::PERM => cannot(io::ErrorKind::Unsupported.into()),
            other => cannot(other.into()),
        })?;
        Ok(Tree { root, path, rules })
    }

    /// Where it is, without links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// Whether what is at a path only holds its place. Asked of what has next to no content, since
    /// nothing else can be one.
    pub(crate) fn is_placeholder(&self, path: &Path) -> bool {
        (self.rules.is_placeholder)(&self.path.join(path))
    }

    /// The protected name for which a path is neither made, changed nor removed.
    pub(crate) fn protected_name(&self, path: &Path) -> Option<&'static str> {
        (self.rules.protected_name)(&self.path, path)
    }

    /// Opens a directory; the empty path is the workspace itself.
    pub(crate) fn directory(&self, path: &Path) -> Result<OwnedFd, Errno> {
        open_beneath(&self.root, if path.as_os_str().is_empty() { Path::new(".") } else { path }, DIRECTORY)
    }

    /// Opens the directory that holds `path`, and says by which name.
    pub(crate) fn parent<'a>(&self, path: &'a Path) -> Result<(OwnedFd, &'a OsStr), Errno> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok((open_beneath(&self.root, parent, flags)?, name))
    }

    /// Opens a regular file for reading.
    pub(crate) fn file(&self, path: &Path) -> Result<(File, Stat), Errno> {
        read_beneath(&self.root, path)
    }

    /// What is at a path now, and by what its change would be told. A link on the way means that there
    /// is nothing: what lies behind it is not the workspace's. Nor is a placeholder.
    pub(crate) fn look(&self, path: &Path, max_file_bytes: u64) -> Result<Option<(Node, Stamp)>, Error> {
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
        let stamp = Stamp::of(&stat);
        if self.is_placeholder(path) {
            return Ok(None);
        }
        let node = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Node::Directory { mode: stamp.mode },
            FileType::Symlink => match readlinkat(&parent, name, Vec::new()) {
                Ok(target) => Node::Link { target: target.into_bytes() },
                Err(_) => stamp.left_out(Reason::Unreadable),
            },
            FileType::RegularFile if stamp.size > max_file_bytes => stamp.left_out(Reason::TooLarge),
            FileType::RegularFile => match read_beneath(&parent, Path::new(name)) {
                Ok((file, _)) => match Digest::of_reader(io::Read::take(file, max_file_bytes + 1)) {
                    Ok((_, size)) if size > max_file_bytes => stamp.left_out(Reason::TooLarge),
                    Ok((digest, size)) => Node::File { mode: stamp.mode, size, digest },
                    Err(_) => stamp.left_out(Reason::Unreadable),
                },
                Err(_) => stamp.left_out(Reason::Unreadable),
            },
            _ => stamp.left_out(Reason::Special),
        };
        Ok(Some((node, stamp)))
    }
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Stamp {
        Stamp {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mode: stat.st_mode & 0o7777,
            modified: (stat.st_mtime, u32::try_from(stat.st_mtime_nsec).unwrap_or(0)),
            changed: (stat.st_ctime, u32::try_from(stat.st_ctime_nsec).unwrap_or(0)),
        }
    }

    pub(crate) fn left_out(&self, reason: Reason) -> Node {
        Node::LeftOut { reason, size: self.size, modified: self.modified }
    }
}

/// Opens a regular file beneath a directory, without waiting for whatever else it may be.
pub(crate) fn read_beneath(base: impl AsFd, path: &Path) -> Result<(File, Stat), Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = open_beneath(base, path, flags)?;
    let stat = fstat(&file)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok((File::from(file), stat)),
        _ => Err(Errno::INVAL),
    }
}

/// Whether a name is git's own, on file systems that tell capitals apart and on others.
pub(crate) fn is_git(name: &OsStr) -> bool {
    name.as_bytes().eq_ignore_ascii_case(b".git")
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
