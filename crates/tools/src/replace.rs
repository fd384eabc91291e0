//! Puts a file into a workspace, whole or not at all: a temporary file beside the place, then a
//! rename. It decides where writing is forbidden (outside, and in git's own folder) and leaves to
//! the tool what is written.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid, fchmod, fchown, fstat, mkdirat, openat, readlinkat,
    renameat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::Failed;
use crate::blocking::Stop;
use crate::path::{Links, Workspace, describe, is_git, read_beneath};
use crate::text::reveal_line;

/// How many links in a row a path may end in.
const MAX_LINKS: usize = 8;
/// How deep a directory may lie.
const MAX_DEPTH: usize = 256;
/// How many temporary names are tried.
const MAX_NAMES: usize = 100;

/// Where a file is to be: an open directory and a name in it.
pub(crate) struct Place {
    directory: OwnedFd,
    name: OsString,
    existing: Option<Stat>,
}

impl Place {
    /// Finds the place for a path, and makes the directories above it. A link at the end is followed
    /// inside the workspace, so that the file changes and not the link.
    pub(crate) fn find(workspace: &Workspace, path: &str) -> Result<Place, Failed> {
        let mut relative = workspace.relative(path)?;
        for _ in 0..MAX_LINKS {
            if relative.components().any(|part| is_git(part.as_os_str())) {
                return Err(git_refused(path));
            }
            let (parent, name) = split(&relative).ok_or_else(|| {
                Failed::new(format!("`{}` does not name a file; give the path of a file.", reveal_line(path)))
            })?;
            let directory = make_directory(workspace, path, &parent)?;
            refuse_git(path, &directory, workspace)?;
            let existing = match statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => return Ok(Place { directory, name, existing: None }),
                Err(errno) => return Err(workspace.explain(path, errno)),
            };
            match FileType::from_raw_mode(existing.st_mode) {
                FileType::RegularFile => return Ok(Place { directory, name, existing: Some(existing) }),
                FileType::Symlink => {
                    let target = readlinkat(&directory, &name, Vec::new())
                        .map_err(|errno| workspace.explain(path, errno))?
                        .into_bytes();
                    relative = follow(workspace, path, &parent, &PathBuf::from(OsString::from_vec(target)))?;
                }
                other => {
                    let shown = reveal_line(path);
                    return Err(Failed::new(format!(
                        "`{shown}` is {}; only files are written.",
                        describe(other)
                    )));
                }
            }
        }
        Err(Failed::new(format!("`{}` is a chain of too many symbolic links.", reveal_line(path))))
    }

    /// Whether a file is there already.
    pub(crate) fn exists(&self) -> bool {
        self.existing.is_some()
    }

    /// What the file holds now, as far as `limit` bytes; none where it is longer or cannot be read.
    pub(crate) fn content(&self, limit: u64) -> Option<Vec<u8>> {
        self.existing.as_ref()?;
        let (file, _) = read_beneath(&self.directory, Path::new(&self.name), Links::None).ok()?;
        let mut content = Vec::new();
        file.take(limit + 1).read_to_end(&mut content).ok()?;
        (content.len() as u64 <= limit).then_some(content)
    }

    /// Replaces or creates the file. Readers see the old content or the new, never a part.
    pub(crate) fn put(&self, path: &str, content: &[u8], stop: &Stop) -> Result<(), Failed> {
        let shown = reveal_line(path);
        if self.existing.as_ref().is_some_and(|stat| stat.st_mode & 0o222 == 0) {
            return Err(Failed::new(format!("`{shown}` is read-only; it was not changed.")));
        }
        let cannot = |error: std::io::Error| Failed::new(format!("`{shown}` cannot be written: {error}."));
        let (mut temporary, mut file) =
            Temporary::create(&self.directory).map_err(|errno| cannot(errno.into()))?;
        file.write_all(content).map_err(cannot)?;
        if let Some(stat) = &self.existing {
            // The owner can be kept only by root, and losing it is no reason not to write.
            let _ = fchown(&file, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)));
            fchmod(&file, Mode::from_raw_mode(stat.st_mode & 0o777)).map_err(|errno| cannot(errno.into()))?;
        }
        file.sync_all().map_err(cannot)?;
        if stop.is_set() {
            return Err(Failed::new(format!("`{shown}` was not written: the call was canceled.")));
        }
        renameat(&self.directory, &temporary.name, &self.directory, &self.name)
            .map_err(|errno| cannot(errno.into()))?;
        temporary.renamed = true;
        Ok(())
    }
}

/// The parent and the name of a path that ends in a name.
fn split(relative: &Path) -> Option<(PathBuf, OsString)> {
    let Some(Component::Normal(name)) = relative.components().next_back() else {
        return None;
    };
    let parent = relative.parent().filter(|parent| !parent.as_os_str().is_empty());
    Some((parent.unwrap_or(Path::new(".")).to_owned(), name.to_owned()))
}

/// Opens a directory and makes what is missing of it, one component at a time, each opened from the
/// workspace again so that none of them leads out.
fn make_directory(workspace: &Workspace, path: &str, relative: &Path) -> Result<OwnedFd, Failed> {
    match workspace.open_directory(relative) {
        Err(Errno::NOENT) => {}
        result => return result.map_err(|errno| workspace.explain(path, errno)),
    }
    let mut walked = PathBuf::from(".");
    let mut directory = workspace.open_directory(&walked).map_err(|errno| workspace.explain(path, errno))?;
    for component in relative.components() {
        walked.push(component);
        let mut opened = workspace.open_directory(&walked);
        if let (Err(Errno::NOENT), Component::Normal(name)) = (&opened, component) {
            refuse_git(path, &directory, workspace)?;
            match mkdirat(&directory, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(workspace.explain(path, errno)),
            }
            opened = workspace.open_directory(&walked);
        }
        directory = opened.map_err(|errno| match errno {
            Errno::NOENT => Failed::new(format!(
                "`{}` cannot be written: `{}` is a symbolic link to nothing.",
                reveal_line(path),
                reveal_line(&walked.to_string_lossy())
            )),
            other => workspace.explain(path, other),
        })?;
    }
    Ok(directory)
}

/// Refuses what lies in git's own folder, whatever links led there: each directory above is compared
/// with the `.git` of the next one, by identity and not by name.
fn refuse_git(path: &str, directory: &OwnedFd, workspace: &Workspace) -> Result<(), Failed> {
    if in_git(directory, workspace).map_err(|errno| workspace.explain(path, errno))? {
        return Err(git_refused(path));
    }
    Ok(())
}

fn in_git(directory: &OwnedFd, workspace: &Workspace) -> Result<bool, Errno> {
    let root = fstat(workspace.open_directory(Path::new("."))?)?;
    let mut child = fstat(directory)?;
    let mut current = directory.as_fd().try_clone_to_owned().map_err(|_| Errno::MFILE)?;
    for _ in 0..MAX_DEPTH {
        if same(&child, &root) {
            return Ok(false);
        }
        let above =
            openat(&current, "..", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        match statat(&above, ".git", AtFlags::SYMLINK_NOFOLLOW) {
            Ok(git) if same(&git, &child) => return Ok(true),
            Ok(_) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
        child = fstat(&above)?;
        current = above;
    }
    Err(Errno::NAMETOOLONG)
}

fn same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

fn git_refused(path: &str) -> Failed {
    Failed::new(format!(
        "`{}` is inside `.git`, which is git's own and is not written here; use git commands to change it.",
        reveal_line(path)
    ))
}

/// Where a link at the end of a path leads.
fn follow(workspace: &Workspace, path: &str, parent: &Path, target: &Path) -> Result<PathBuf, Failed> {
    let joined = parent.join(target);
    let led_out = || {
        Failed::new(format!(
            "`{}` is a symbolic link to `{}`, which is outside the workspace; it was not written.",
            reveal_line(path),
            reveal_line(&target.to_string_lossy())
        ))
    };
    let relative = joined.to_str().and_then(|joined| workspace.relative(joined).ok()).ok_or_else(led_out)?;
    // Only the way to the directory can lead out; the name itself is looked at in the next round.
    match split(&relative).map(|(parent, _)| workspace.open_directory(&parent)) {
        Some(Err(Errno::XDEV)) | None => Err(led_out()),
        Some(Ok(_) | Err(_)) => Ok(relative),
    }
}

/// A file that is removed again unless it was renamed.
struct Temporary<'a> {
    directory: &'a OwnedFd,
    name: OsString,
    renamed: bool,
}

impl<'a> Temporary<'a> {
    fn create(directory: &'a OwnedFd) -> Result<(Temporary<'a>, File), Errno> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _ in 0..MAX_NAMES {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(format!(".ostler-{}-{number}.tmp", std::process::id()));
            match openat(directory, OsStr::new(&name), flags, Mode::from_raw_mode(0o666)) {
                Ok(file) => return Ok((Temporary { directory, name, renamed: false }, File::from(file))),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::EXIST)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            // Nothing more can be done about a name that cannot be removed.
            let _ = unlinkat(self.directory, &self.name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Place;
    use crate::blocking::Stop;
    use crate::path::Workspace;

    #[test]
    fn a_canceled_write_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "old").unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let stop = Stop::default();
        stop.set();
        let failed = Place::find(&workspace, "a").unwrap().put("a", b"new", &stop).unwrap_err();
        assert!(failed.0.contains("canceled"), "{}", failed.0);
        assert_eq!(std::fs::read_to_string(folder.path().join("a")).unwrap(), "old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
