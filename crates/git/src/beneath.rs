//! Files of a workspace, and of nothing else: the kernel resolves each path beneath a descriptor of the
//! workspace and follows no link on the way, so that nothing is read or written outside of it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, mkdirat, open, openat, openat2, readlinkat, renameat,
    statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

/// Tells apart the files that are being written.
static WRITES: AtomicU64 = AtomicU64::new(0);
/// How often an open is tried while somebody renames directories under it.
const ATTEMPTS: usize = 32;

/// A workspace that paths cannot leave.
pub(crate) struct Tree {
    root: OwnedFd,
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    /// A regular file.
    File { is_executable: bool, content: Vec<u8> },
    /// A symbolic link.
    Link { target: Vec<u8> },
}

impl Tree {
    pub(crate) fn open(path: &Path) -> io::Result<Tree> {
        let root = open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Tree { root })
    }

    /// What is at a path; `None` when nothing is. What is neither file nor link, or too large, is an error.
    pub(crate) fn look(&self, path: &Path, max_bytes: u64) -> io::Result<Option<Node>> {
        let (parent, name) = match self.parent(path) {
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
                Ok(Some(Node::Link { target }))
            }
            FileType::RegularFile => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let file = File::from(openat(&parent, name, flags, Mode::empty())?);
                let mut content = Vec::new();
                file.take(max_bytes + 1).read_to_end(&mut content)?;
                if content.len() as u64 > max_bytes {
                    return Err(io::Error::other("it is too large"));
                }
                Ok(Some(Node::File { is_executable: stat.st_mode & 0o100 != 0, content }))
            }
            _ => Err(io::Error::other("it is neither a file nor a link")),
        }
    }

    /// Puts this at a path, in place of the file or link that may be there; `None` removes it, and the
    /// directories that are empty by that.
    pub(crate) fn put(&self, path: &Path, node: Option<&Node>) -> io::Result<()> {
        let Some(node) = node else { return self.remove(path) };
        self.make_directories(path)?;
        let (parent, name) = self.parent(path)?;
        let part = format!(".ostler-merge-{}-{}", std::process::id(), WRITES.fetch_add(1, Ordering::Relaxed));
        let made = match node {
            Node::Link { target } => {
                symlinkat(OsStr::from_bytes(target), &parent, &part).map_err(io::Error::from)
            }
            Node::File { is_executable, content } => {
                let mode = Mode::from_raw_mode(if *is_executable { 0o777 } else { 0o666 });
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                openat(&parent, &part, flags, mode)
                    .map_err(io::Error::from)
                    .and_then(|file| File::from(file).write_all(content))
            }
        };
        let placed = made.and_then(|()| Ok(renameat(&parent, &part, &parent, name)?));
        if placed.is_err() {
            // It has a name of its own; whether it can be removed or not, the file itself is as it was.
            let _ = unlinkat(&parent, &part, AtFlags::empty());
        }
        placed
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        unlinkat(&parent, name, AtFlags::empty())?;
        let mut directory = path.parent();
        while let Some(empty) = directory.filter(|directory| !directory.as_os_str().is_empty()) {
            let Ok((parent, name)) = self.parent(empty) else { break };
            if unlinkat(&parent, name, AtFlags::REMOVEDIR).is_err() {
                break;
            }
            directory = empty.parent();
        }
        Ok(())
    }

    fn make_directories(&self, path: &Path) -> io::Result<()> {
        let mut so_far = PathBuf::new();
        let parent = path.parent().unwrap_or(Path::new(""));
        for component in parent.components() {
            so_far.push(component);
            let (parent, name) = self.parent(&so_far)?;
            match mkdirat(&parent, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// The directory that holds a path, and the name in it.
    fn parent<'a>(&self, path: &'a Path) -> Result<(OwnedFd, &'a OsStr), Errno> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..ATTEMPTS {
            match openat2(&self.root, parent, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                found => return Ok((found?, name)),
            }
        }
        Err(Errno::AGAIN)
    }
}

/// A path as git names it.
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()))
}
