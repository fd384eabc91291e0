//! Files beneath a directory, and none elsewhere: the kernel resolves each path so that no link leads out,
//! and what the daemon hides from tools is not read here either. It reads; it never writes or lists.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use ostler_repo_map::Stamp;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat, fstat, open, openat2};
use rustix::io::Errno;

/// How often an open is tried while somebody renames directories under it.
const ATTEMPTS: usize = 32;

/// A directory that paths cannot leave.
pub(crate) struct Beneath {
    directory: OwnedFd,
    /// Hidden places, without links.
    hidden: Vec<PathBuf>,
}

/// Which symbolic links a path may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// Those that stay beneath the directory.
    Inside,
    /// None at all.
    None,
}

/// What was read of a file.
pub(crate) struct Content {
    pub(crate) bytes: Vec<u8>,
    pub(crate) stamp: Stamp,
}

impl Content {
    /// Whether the file is longer than what was read.
    pub(crate) fn is_cut(&self) -> bool {
        self.stamp.size > self.bytes.len() as u64
    }
}

impl Beneath {
    /// Opens a directory. What lies in `hidden` is not read, whatever path leads there.
    pub(crate) fn open(root: &Path, hidden: &[PathBuf]) -> Result<Beneath> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = open(root, flags, Mode::empty())?;
        let hidden = hidden.iter().map(|place| real(place)).collect();
        Ok(Beneath { directory, hidden })
    }

    /// The first `limit` bytes of a regular file.
    pub(crate) fn read(&self, path: &Path, limit: u64, links: Links) -> Result<Content> {
        let file = self.file(path, links)?;
        let stat = fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Error::new(ErrorKind::InvalidInput, "it is not a file"));
        }
        if !self.hidden.is_empty() {
            let real = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
            if self.hidden.iter().any(|place| real.starts_with(place)) {
                return Err(Error::new(ErrorKind::PermissionDenied, "it is in a hidden place"));
            }
        }
        let mut bytes = Vec::new();
        File::from(file).take(limit).read_to_end(&mut bytes)?;
        Ok(Content { bytes, stamp: stamp(&stat) })
    }

    fn file(&self, path: &Path, links: Links) -> Result<OwnedFd> {
        // A pipe must not make anybody wait, and a terminal must not become this process's own.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = match links {
            Links::Inside => ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS,
            Links::None => ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS,
        };
        for _ in 0..ATTEMPTS {
            match openat2(&self.directory, path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                opened => return Ok(opened?),
            }
        }
        Err(Errno::AGAIN.into())
    }
}

/// A path without links, as far as it exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    let above = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(above).unwrap_or_else(|| path.to_owned())
}

fn stamp(stat: &Stat) -> Stamp {
    Stamp {
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified: (stat.st_mtime, u32::try_from(stat.st_mtime_nsec).unwrap_or(0)),
        inode: stat.st_ino,
    }
}
