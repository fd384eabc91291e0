//! A directory that paths cannot leave, read and changed: every path is opened by `open` and no link on the way is
//! followed. So a program that swaps a directory for a link, at whatever moment, can neither have a file outside
//! read nor one outside written. What the files mean is left to the callers.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat, chmod, fchmod, fstat, mkdirat, open, openat,
    readlinkat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use crate::open::{LinkPolicy, ReadError, directory_beneath, open_beneath, read_beneath};
use crate::staged_file::StagedFile;

/// How deep a directory that is removed may be. Each level keeps a descriptor open.
const MAX_DEPTH: usize = 512;
/// How often a directory is listed again while somebody fills it.
const REMOVE_ATTEMPTS: usize = 8;

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// An open directory. All paths are relative to it; the empty path is the directory itself.
#[derive(Debug)]
pub struct RootedTree {
    root: OwnedFd,
}

impl RootedTree {
    /// Opens a directory by its path, in which no part may be a link.
    pub fn open(path: &Path) -> Result<RootedTree, Errno> {
        let top = open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let inner = path.strip_prefix("/").map_err(|_| Errno::INVAL)?;
        Ok(RootedTree { root: directory_beneath(top, inner, LinkPolicy::None)? })
    }

    /// Opens a directory by a path that the caller trusts, links included.
    pub fn open_following(path: &Path) -> Result<RootedTree, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(RootedTree { root: open(path, flags, Mode::empty())? })
    }

    /// What is at the directory itself.
    pub fn root(&self) -> Result<Stat, Errno> {
        fstat(&self.root)
    }

    /// What is at a path; `None` when nothing is, also where something above it is not a directory.
    pub fn stat(&self, path: &Path) -> Result<Option<Stat>, Errno> {
        let found =
            self.parent(path).and_then(|(parent, name)| statat(parent, name, AtFlags::SYMLINK_NOFOLLOW));
        match found {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Opens a directory for listing.
    pub fn directory(&self, path: &Path) -> Result<OwnedFd, Errno> {
        directory_beneath(&self.root, path, LinkPolicy::None)
    }

    /// Opens the directory that holds a path, and says by which name.
    pub fn parent<'a>(&self, path: &'a Path) -> Result<(OwnedFd, &'a OsStr), Errno> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent = path.parent().unwrap_or(Path::new(""));
        Ok((open_beneath(&self.root, parent, flags, LinkPolicy::None)?, name))
    }

    /// The names in a directory.
    pub fn names(&self, path: &Path) -> Result<Vec<OsString>, Errno> {
        names(&self.directory(path)?)
    }

    /// Opens a regular file for reading.
    pub fn file(&self, path: &Path, links: LinkPolicy) -> Result<(File, Stat), ReadError> {
        read_beneath(&self.root, path, links)
    }

    /// The content of a regular file, reached without links, and its metadata. A file that is larger than `most`
    /// is an error.
    pub fn read(&self, path: &Path, most: u64) -> io::Result<(Vec<u8>, Stat)> {
        let (file, stat) = self.file(path, LinkPolicy::None)?;
        let mut content = Vec::new();
        file.take(most.saturating_add(1)).read_to_end(&mut content)?;
        if content.len() as u64 > most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok((content, stat))
    }

    /// Where a link leads.
    pub fn read_link(&self, path: &Path) -> Result<PathBuf, Errno> {
        let (parent, name) = self.parent(path)?;
        let target = readlinkat(parent, name, Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }

    /// Puts a file with this mode at a path, in place of whatever is there, a directory with all that is in it too.
    /// Nobody sees it half written.
    pub fn put_file(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        let (staged, mut file) = StagedFile::create(&parent, 0o600)?;
        file.write_all(content)?;
        fchmod(&file, Mode::from_raw_mode(mode & 0o7777))?;
        put(staged, &parent, name)
    }

    /// Puts a link at a path, in place of whatever is there.
    pub fn put_link(&self, path: &Path, target: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        put(StagedFile::create_link(&parent, target)?, &parent, name)
    }

    /// Puts a file at a path, in place of the file or link that may be there, but not of a directory. The process's
    /// umask applies to the mode.
    pub fn replace_file(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        let (staged, mut file) = StagedFile::create(&parent, mode)?;
        file.write_all(content)?;
        Ok(staged.replace(name)?)
    }

    /// Puts a link at a path, in place of the file or link that may be there, but not of a directory.
    pub fn replace_link(&self, path: &Path, target: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        Ok(StagedFile::create_link(&parent, target)?.replace(name)?)
    }

    /// Makes a file that must not be there yet.
    pub fn make_file(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<Stat> {
        let (parent, name) = self.parent(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(parent, name, flags, Mode::from_raw_mode(mode))?);
        file.write_all(content)?;
        Ok(fstat(&file)?)
    }

    /// Makes a directory that must not be there yet.
    pub fn make_directory(&self, path: &Path, mode: u32) -> Result<Stat, Errno> {
        let (parent, name) = self.parent(path)?;
        mkdirat(&parent, name, Mode::from_raw_mode(mode))?;
        statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Moves what is called `name` in another directory to a path, unless something is there already.
    pub fn move_in(&self, path: &Path, from: impl AsFd, name: &OsStr) -> Result<Stat, Errno> {
        let (parent, own) = self.parent(path)?;
        renameat_with(from, name, &parent, own, RenameFlags::NOREPLACE)?;
        statat(parent, own, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Moves what is at a path to another directory, where nothing is called `name` yet.
    pub fn move_out(&self, path: &Path, to: impl AsFd, name: &OsStr) -> Result<(), Errno> {
        let (parent, own) = self.parent(path)?;
        renameat_with(parent, own, to, name, RenameFlags::NOREPLACE)
    }

    /// Makes a directory and those above it, as far as they are missing.
    pub fn make_directories(&self, path: &Path) -> Result<(), Errno> {
        let mut so_far = PathBuf::new();
        for component in path.components() {
            so_far.push(component);
            let (parent, name) = self.parent(&so_far)?;
            match mkdirat(&parent, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Changes the mode of a directory or a regular file, and of nothing that took its place.
    pub fn set_mode(&self, path: &Path, mode: u32) -> Result<(), Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = open_beneath(&self.root, path, flags, LinkPolicy::None)?;
        set_mode(&found, mode)
    }

    /// Removes what is at a path, a directory with all that is in it. It is no error if nothing is.
    pub fn remove(&self, path: &Path) -> Result<(), Errno> {
        match self.parent(path) {
            Ok((parent, name)) => remove(&parent, name, 0),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Removes a file, or a directory that is empty.
    pub fn remove_one(&self, path: &Path) -> Result<(), Errno> {
        let (parent, name) = self.parent(path)?;
        match unlinkat(&parent, name, AtFlags::empty()) {
            Err(Errno::ISDIR | Errno::PERM) => unlinkat(&parent, name, AtFlags::REMOVEDIR),
            done => done,
        }
    }
}

impl AsFd for RootedTree {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }
}

fn put(mut staged: StagedFile, parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    match staged.rename(name) {
        // Only an empty directory can be renamed over, and only by a directory.
        Err(Errno::ISDIR | Errno::NOTEMPTY | Errno::EXIST) => {
            remove(parent, name, 0)?;
            Ok(staged.rename(name)?)
        }
        done => Ok(done?),
    }
}

fn names(directory: &OwnedFd) -> Result<Vec<OsString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// The descriptor names one file, whatever its path names by now; `fchmod` does not take one that was opened
/// without leave to read.
fn set_mode(found: &OwnedFd, mode: u32) -> Result<(), Errno> {
    match FileType::from_raw_mode(fstat(found)?.st_mode) {
        FileType::Directory | FileType::RegularFile => {
            let path = format!("/proc/self/fd/{}", found.as_raw_fd());
            chmod(path, Mode::from_raw_mode(mode & 0o7777))
        }
        _ => Err(Errno::INVAL),
    }
}

fn remove(parent: &OwnedFd, name: &OsStr, depth: usize) -> Result<(), Errno> {
    let absent = |result: Result<(), Errno>| match result {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    };
    match unlinkat(parent, name, AtFlags::empty()) {
        // Some file systems say that it is not permitted where it is a directory.
        Err(Errno::ISDIR | Errno::PERM) => {}
        done => return absent(done),
    }
    let mut result = Err(Errno::NOTEMPTY);
    for _ in 0..REMOVE_ATTEMPTS {
        result = unlinkat(parent, name, AtFlags::REMOVEDIR);
        if !matches!(result, Err(Errno::NOTEMPTY | Errno::EXIST)) {
            break;
        }
        if depth >= MAX_DEPTH {
            return Err(Errno::NAMETOOLONG);
        }
        let directory = match openat(parent, name, DIRECTORY, Mode::empty()) {
            Err(Errno::ACCESS) => {
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                set_mode(&openat(parent, name, flags, Mode::empty())?, 0o700)?;
                openat(parent, name, DIRECTORY, Mode::empty())?
            }
            opened => opened?,
        };
        for inner in names(&directory)? {
            match remove(&directory, &inner, depth + 1) {
                // It may be listed without leave to change it.
                Err(Errno::ACCESS) => {
                    set_mode(&directory, 0o700)?;
                    remove(&directory, &inner, depth + 1)?;
                }
                done => done?,
            }
        }
    }
    absent(result)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{CWD, RenameFlags, renameat_with};

    use super::RootedTree;

    #[test]
    fn nothing_outside_is_touched_while_a_directory_is_swapped_for_a_link() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let (root, outside) = (top.join("root"), top.join("outside"));
        fs::create_dir_all(root.join("inner")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "canary").unwrap();
        fs::write(root.join("inner/secret"), "mine").unwrap();
        symlink("../outside", root.join("link")).unwrap();
        let tree = RootedTree::open(&root).unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let (one, other) = (root.join("inner"), root.join("link"));
                    renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                }
            });
            let (mut read, mut written) = (0, 0);
            for _ in 0..4000 {
                if let Ok((bytes, _)) = tree.read(Path::new("inner/secret"), 100) {
                    assert_eq!(bytes, b"mine");
                    read += 1;
                }
                written += u32::from(tree.put_file(Path::new("inner/made"), b"x", 0o644).is_ok());
                let _ = tree.put_link(Path::new("inner/to"), Path::new("x"));
                let _ = tree.remove(Path::new("inner/to"));
                let _ = tree.set_mode(Path::new("inner/secret"), 0o600);
            }
            is_over.store(true, Ordering::Relaxed);
            assert!(read > 0 && written > 0, "{read} {written}");
        });
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "canary");
        assert_eq!(fs::metadata(outside.join("secret")).unwrap().permissions().mode() & 0o777, 0o644);
    }

    #[test]
    fn what_nobody_may_enter_is_removed_all_the_same() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b/c")).unwrap();
        fs::write(top.join("a/b/c/file"), "x").unwrap();
        for path in ["a/b/c", "a/b", "a"] {
            fs::set_permissions(top.join(path), fs::Permissions::from_mode(0o000)).unwrap();
        }
        let tree = RootedTree::open(&top).unwrap();
        tree.remove(Path::new("a")).unwrap();
        tree.remove(Path::new("a")).unwrap();
        assert!(tree.stat(Path::new("a")).unwrap().is_none());
    }

    #[test]
    fn a_file_takes_the_place_of_a_directory_and_no_link_leads_out() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("root/file/full")).unwrap();
        symlink("..", top.join("root/up")).unwrap();
        let tree = RootedTree::open(&top.join("root")).unwrap();
        tree.put_file(Path::new("file"), b"text", 0o640).unwrap();
        assert_eq!(tree.read(Path::new("file"), 4).unwrap().0, b"text");
        assert!(tree.read(Path::new("file"), 3).is_err());
        for path in ["up/x", "../x", "/x"] {
            assert!(tree.put_file(Path::new(path), b"", 0o600).is_err(), "{path}");
        }
        assert!(!top.join("x").exists());
        assert!(RootedTree::open(&top.join("root/up")).is_err());
    }
}
