//! Opens files and directories beneath a directory, and none elsewhere: the kernel resolves each path with
//! `openat2`, so that checking and opening are one act and no link that is swapped in between leads out. It
//! opens; what is done with a file is left to `tree` and to the callers.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2};
use rustix::io::Errno;

/// The number of times that an open is tried while directories are renamed under it.
const OPEN_ATTEMPTS: usize = 32;

/// Flags for reading: opening must not wait for a pipe's writer, nor make a terminal this process's own.
pub(crate) const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The symbolic links that a path may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkPolicy {
    /// Those that stay beneath the directory.
    Inside,
    /// None at all.
    None,
}

/// The reason why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The kernel refused.
    #[error("{}", io::Error::from(*.0))]
    Errno(#[from] Errno),
    /// The path leads to something else than a regular file.
    #[error("it is not a regular file")]
    NotAFile(FileType),
}

/// Opens a path beneath a directory. This is the only place that resolves paths which others can influence.
pub fn open_beneath(
    base: impl AsFd,
    path: &Path,
    flags: OFlags,
    links: LinkPolicy,
) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_MAGICLINKS
        | match links {
            LinkPolicy::Inside => ResolveFlags::empty(),
            LinkPolicy::None => ResolveFlags::NO_SYMLINKS,
        };
    for _ in 0..OPEN_ATTEMPTS {
        match openat2(base.as_fd(), dot_if_empty(path), flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            result => return result,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens a directory beneath another one, to list it or to work in it. The empty path is the directory itself.
pub fn directory_beneath(base: impl AsFd, path: &Path, links: LinkPolicy) -> Result<OwnedFd, Errno> {
    open_beneath(base, path, DIRECTORY, links)
}

/// Opens a regular file beneath a directory. Its type is checked before it is opened, because opening a device
/// may have an effect; the second check is for what was swapped in between.
pub fn read_beneath(base: impl AsFd, path: &Path, links: LinkPolicy) -> Result<(File, Stat), ReadError> {
    let found = open_beneath(base.as_fd(), path, OFlags::PATH | OFlags::CLOEXEC, links)?;
    check_regular(&found)?;
    let file = open_beneath(base, path, READ, links)?;
    let stat = check_regular(&file)?;
    Ok((File::from(file), stat))
}

/// Opens a regular file, without links, that a listing has just shown to be one. It skips the first check of
/// [`read_beneath`], because a walk opens very many files. The type is still checked before anything is read.
pub fn read_listed(base: impl AsFd, path: &Path) -> Result<(File, Stat), ReadError> {
    let file = open_beneath(base, path, READ, LinkPolicy::None)?;
    let stat = check_regular(&file)?;
    Ok((File::from(file), stat))
}

/// Characters that HFS+ leaves out when it compares names.
const IGNORED: [char; 16] = [
    '\u{200c}', '\u{200d}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}',
    '\u{202e}', '\u{206a}', '\u{206b}', '\u{206c}', '\u{206d}', '\u{206e}', '\u{206f}', '\u{feff}',
];

/// Whether a name is git's own, on file systems that tell capitals apart and on others: those of Windows drop dots and
/// spaces at the end and have short names such as `git~1`, those of macOS drop characters that cannot be seen.
pub fn is_git_name(name: &OsStr) -> bool {
    let name = String::from_utf8_lossy(name.as_bytes());
    let seen: String = name.chars().filter(|c| !IGNORED.contains(c)).collect();
    let short = seen.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    let short_name = short.get(..4).filter(|start| start.eq_ignore_ascii_case("git~"));
    short.eq_ignore_ascii_case(".git")
        || short_name.is_some() && short[4..].bytes().all(|c| c.is_ascii_digit())
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> io::Error {
        match error {
            ReadError::Errno(errno) => errno.into(),
            ReadError::NotAFile(_) => io::Error::new(io::ErrorKind::InvalidInput, error),
        }
    }
}

fn check_regular(file: &OwnedFd) -> Result<Stat, ReadError> {
    let stat = fstat(file)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(stat),
        other => Err(ReadError::NotAFile(other)),
    }
}

fn dot_if_empty(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use rustix::io::Errno;

    use super::{LinkPolicy, ReadError, read_beneath, read_listed};

    #[test]
    fn only_regular_files_beneath_the_directory_are_opened() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        fs::create_dir_all(root.join("directory")).unwrap();
        fs::write(place.path().join("outside"), "secret").unwrap();
        fs::write(root.join("file"), "text").unwrap();
        symlink("file", root.join("inside")).unwrap();
        symlink("../outside", root.join("out")).unwrap();
        symlink("..", root.join("directory/up")).unwrap();
        symlink(format!("/proc/{}/cwd", std::process::id()), root.join("magic")).unwrap();
        mknodat(CWD, root.join("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let base = File::open(&root).unwrap();
        for (path, links, is_open) in [
            ("file", LinkPolicy::None, true),
            ("inside", LinkPolicy::None, false),
            ("inside", LinkPolicy::Inside, true),
            ("directory/up/file", LinkPolicy::None, false),
            ("directory/up/file", LinkPolicy::Inside, true),
            ("out", LinkPolicy::Inside, false),
            ("directory/up/../outside", LinkPolicy::Inside, false),
            ("../outside", LinkPolicy::Inside, false),
            ("/etc/passwd", LinkPolicy::Inside, false),
            ("magic/Cargo.toml", LinkPolicy::Inside, false),
            ("missing", LinkPolicy::Inside, false),
        ] {
            assert_eq!(read_beneath(&base, Path::new(path), links).is_ok(), is_open, "{path} {links:?}");
            if links == LinkPolicy::None {
                assert_eq!(read_listed(&base, Path::new(path)).is_ok(), is_open, "{path}");
            }
        }
        for (path, kind) in
            [("pipe", FileType::Fifo), ("directory", FileType::Directory), ("", FileType::Directory)]
        {
            for opened in [
                read_beneath(&base, Path::new(path), LinkPolicy::None),
                read_beneath(&base, Path::new(path), LinkPolicy::Inside),
                read_listed(&base, Path::new(path)),
            ] {
                assert!(
                    matches!(opened, Err(ReadError::NotAFile(found)) if found == kind),
                    "{path} {opened:?}"
                );
            }
        }
        let link = read_beneath(&base, Path::new("inside"), LinkPolicy::None);
        assert!(matches!(link, Err(ReadError::Errno(Errno::LOOP))), "{link:?}");
    }
}
