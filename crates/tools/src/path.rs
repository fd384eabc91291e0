//! Files of a workspace, and of nothing else.
//!
//! Every open starts at a descriptor of the workspace and lets the kernel resolve the path with
//! `openat2` and `RESOLVE_BENEATH`: checking and opening are one act, so no link that is swapped in
//! between leads out. Where files may be written, and how, is left to `replace`.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat, fstat, open, openat2};
use rustix::io::Errno;

use crate::Failed;
use crate::hidden::{Closed, Hidden};
use crate::text::reveal_line;

/// How often an open is tried while somebody renames directories under it.
const OPEN_ATTEMPTS: usize = 32;

/// A directory that paths cannot leave.
pub(crate) struct Workspace {
    /// As it was given, for messages.
    root: PathBuf,
    /// Without links, so that absolute paths are known in both spellings.
    real_root: PathBuf,
    directory: OwnedFd,
    closed: Arc<Closed>,
}

/// Which symbolic links a path may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// Those that stay in the workspace.
    Inside,
    /// None at all, for walks.
    None,
}

impl Workspace {
    /// Opens a workspace. Fails where the kernel cannot keep paths inside it: there is no second,
    /// weaker way. Fails also where the workspace is itself hidden.
    pub(crate) fn open(root: &Path, hidden: &Hidden) -> Result<Workspace, Failed> {
        let cannot = |error: std::io::Error| {
            Failed::new(format!("The workspace {} cannot be opened: {error}.", root.display()))
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = open(root, flags, Mode::empty()).map_err(|errno| cannot(errno.into()))?;
        let real_root = std::fs::canonicalize(root).map_err(cannot)?;
        let closed = hidden.close(&real_root).ok_or_else(|| {
            Failed::new(format!(
                "The workspace {} is in a place that tools leave alone: {HIDDEN} Choose another workspace.",
                root.display()
            ))
        })?;
        match open_beneath(&directory, Path::new("."), flags, Links::Inside) {
            Ok(_) => Ok(Workspace { root: root.to_owned(), real_root, directory, closed: Arc::new(closed) }),
            Err(Errno::NOSYS | Errno::PERM) => Err(no_openat2()),
            Err(errno) => Err(cannot(errno.into())),
        }
    }

    /// The path relative to the workspace. Absolute paths must name it; whether `..` and links stay
    /// inside is for the kernel to say.
    pub(crate) fn relative(&self, path: &str) -> Result<PathBuf, Failed> {
        let given = Path::new(path);
        let relative = if given.is_absolute() {
            given
                .strip_prefix(&self.root)
                .or_else(|_| given.strip_prefix(&self.real_root))
                .map_err(|_| self.outside(path))?
        } else {
            given
        };
        let relative: PathBuf = relative.components().filter(|part| *part != Component::CurDir).collect();
        Ok(if relative.as_os_str().is_empty() { PathBuf::from(".") } else { relative })
    }

    /// The path from the root on; none where it climbs, since only the kernel knows where that leads.
    pub(crate) fn absolute(&self, path: &str) -> Option<PathBuf> {
        let relative = self.relative(path).ok()?;
        let climbs = relative.components().any(|part| part == Component::ParentDir);
        (!climbs).then(|| self.root.join(relative))
    }

    /// Opens a regular file for reading.
    pub(crate) fn read(&self, path: &str) -> Result<(File, Stat), Failed> {
        let relative = self.relative(path)?;
        self.refuse_spelling(path, &relative)?;
        let opened = read_beneath(&self.directory, &relative, Links::Inside);
        let (file, stat) = opened.map_err(|error| match error {
            ReadError::Errno(errno) => self.explain(path, errno),
            ReadError::NotAFile(kind) => {
                Failed::new(format!("`{}` is {}, not a file.", reveal_line(path), describe(kind)))
            }
        })?;
        if self.closed.is(&stat) {
            return Err(hidden_refused(path));
        }
        self.refuse_hidden(path, &self.real_path(path, &file)?)?;
        Ok((file, stat))
    }

    /// Opens a directory, to list it or to run something in it.
    pub(crate) fn directory(&self, path: &str) -> Result<OwnedFd, Failed> {
        let relative = self.relative(path)?;
        self.refuse_spelling(path, &relative)?;
        let directory = self.open_directory(&relative).map_err(|errno| self.explain(path, errno))?;
        self.refuse_hidden(path, &self.real_path(path, &directory)?)?;
        Ok(directory)
    }

    /// What is hidden here.
    pub(crate) fn closed(&self) -> Arc<Closed> {
        Arc::clone(&self.closed)
    }

    /// Where something that was opened is now, without links.
    pub(crate) fn real_path(&self, path: &str, opened: impl AsFd) -> Result<PathBuf, Failed> {
        let link = format!("/proc/self/fd/{}", opened.as_fd().as_raw_fd());
        std::fs::read_link(link).map_err(|error| {
            Failed::new(format!("Where `{}` leads cannot be found out: {error}.", reveal_line(path)))
        })
    }

    /// Refuses what is hidden, by where a path has led.
    pub(crate) fn refuse_hidden(&self, path: &str, real: &Path) -> Result<(), Failed> {
        if self.closed.covers(real) { Err(hidden_refused(path)) } else { Ok(()) }
    }

    /// The same by how a path is spelled, so that what is hidden need not be opened to be refused.
    fn refuse_spelling(&self, path: &str, relative: &Path) -> Result<(), Failed> {
        let named = self.closed.names(&self.real_root.join(relative));
        if named { Err(hidden_refused(path)) } else { Ok(()) }
    }

    /// Opens a directory by its relative path, hidden or not.
    pub(crate) fn open_directory(&self, relative: &Path) -> Result<OwnedFd, Errno> {
        open_beneath(&self.directory, relative, DIRECTORY, Links::Inside)
    }

    /// What went wrong with a path, and what to do about it.
    pub(crate) fn explain(&self, path: &str, errno: Errno) -> Failed {
        let shown = reveal_line(path);
        let climbs = Path::new(path).components().any(|part| part == Component::ParentDir);
        Failed::new(match errno {
            Errno::XDEV if climbs => return self.outside(path),
            Errno::XDEV => format!(
                "`{shown}` leads outside the workspace through a symbolic link; use a path that stays beneath {}.",
                self.root.display()
            ),
            Errno::NOSYS => return no_openat2(),
            Errno::NOENT => format!(
                "`{shown}` does not exist; paths are relative to {}. Use repo_tree to see what is there.",
                self.root.display()
            ),
            Errno::NOTDIR => format!("`{shown}` cannot be opened: a part of it is not a directory."),
            Errno::LOOP => format!("`{shown}` cannot be opened: its symbolic links may not be followed."),
            Errno::AGAIN => {
                format!("`{shown}` cannot be opened: directories above it keep changing. Try again.")
            }
            Errno::ACCESS | Errno::PERM => format!("`{shown}` cannot be opened: permission denied."),
            other => format!("`{shown}` cannot be opened: {}.", std::io::Error::from(other)),
        })
    }

    fn outside(&self, path: &str) -> Failed {
        Failed::new(format!(
            "`{}` is outside the workspace; paths are relative to {}.",
            reveal_line(path),
            self.root.display()
        ))
    }
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Why a file cannot be read.
#[derive(Debug)]
pub(crate) enum ReadError {
    Errno(Errno),
    NotAFile(FileType),
}

/// Opens a directory beneath another one.
pub(crate) fn directory_beneath(base: impl AsFd, path: &Path, links: Links) -> Result<OwnedFd, Errno> {
    open_beneath(base, path, DIRECTORY, links)
}

/// Opens a regular file beneath a directory. What it is gets looked at before it is opened, because
/// opening a device may do something; the second look is for what was swapped in between.
pub(crate) fn read_beneath(base: impl AsFd, path: &Path, links: Links) -> Result<(File, Stat), ReadError> {
    let look = open_beneath(base.as_fd(), path, OFlags::PATH | OFlags::CLOEXEC, links)?;
    regular(&look)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = open_beneath(base, path, flags, links)?;
    let stat = regular(&file)?;
    Ok((File::from(file), stat))
}

/// Opens a regular file that a listing has just shown to be one, so it is not looked at a second time:
/// a walk opens very many. What was swapped in since is still found out before anything is read.
pub(crate) fn read_listed(base: impl AsFd, path: &Path) -> Result<(File, Stat), ReadError> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = open_beneath(base, path, flags, Links::None)?;
    let stat = regular(&file)?;
    Ok((File::from(file), stat))
}

impl From<Errno> for ReadError {
    fn from(errno: Errno) -> ReadError {
        ReadError::Errno(errno)
    }
}

fn regular(file: &OwnedFd) -> Result<Stat, ReadError> {
    let stat = fstat(file)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(stat),
        other => Err(ReadError::NotAFile(other)),
    }
}

fn open_beneath(base: impl AsFd, path: &Path, flags: OFlags, links: Links) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_MAGICLINKS
        | match links {
            Links::Inside => ResolveFlags::empty(),
            Links::None => ResolveFlags::NO_SYMLINKS,
        };
    let base = base.as_fd();
    for _ in 0..OPEN_ATTEMPTS {
        match openat2(base, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            result => return result,
        }
    }
    Err(Errno::AGAIN)
}

/// What a thing is that is no regular file.
pub(crate) fn describe(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "a directory",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::RegularFile => "a file",
        FileType::Unknown => "of an unknown kind",
    }
}

/// Whether a name is git's own, on file systems that tell capitals apart and on others.
pub(crate) fn is_git(name: &OsStr) -> bool {
    name.as_bytes().eq_ignore_ascii_case(b".git")
}

const HIDDEN: &str = "Ostler keeps its own data there, or programs keep keys and tokens there.";

fn hidden_refused(path: &str) -> Failed {
    Failed::new(format!(
        "`{}` is in a place that tools leave alone: {HIDDEN} Ask the user for what you need from it.",
        reveal_line(path)
    ))
}

fn no_openat2() -> Failed {
    Failed::new(
        "Files cannot be used here: the kernel does not offer openat2, without which paths cannot be kept \
         inside the workspace. It needs Linux 5.6 or later and, in a container, a seccomp profile that allows it.",
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rustix::io::Errno;

    use super::Workspace;
    use crate::hidden::Hidden;

    #[test]
    fn paths_become_relative() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), &Hidden::default()).unwrap();
        let inside = folder.path().join("a/b");
        for (path, expected) in
            [("a/b", "a/b"), ("./a/./b", "a/b"), ("", "."), (".", "."), (inside.to_str().unwrap(), "a/b")]
        {
            assert_eq!(workspace.relative(path).unwrap(), Path::new(expected), "{path}");
        }
        let beside = format!("{}_beside/x", folder.path().display());
        assert!(
            workspace
                .relative(&beside)
                .unwrap_err()
                .0
                .contains("is outside the workspace; paths are relative to")
        );
    }

    #[test]
    fn a_kernel_without_openat2_is_refused_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let failed = Workspace::open(folder.path(), &Hidden::default()).unwrap().explain("a", Errno::NOSYS);
        assert!(failed.0.contains("does not offer openat2"), "{}", failed.0);
    }
}
