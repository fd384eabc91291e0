//! A file or link that is written under a temporary name and then renamed to its own, so that readers see the
//! old content or the new one, never a part. It knows names in one open directory; paths are left to `tree`
//! and `replace`, and the content to the callers.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, openat, renameat, renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::{Errno, fcntl_dupfd_cloexec};

/// The number of temporary names that are tried.
const MAX_NAMES: usize = 100;
const CREATE: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A temporary name, which is removed unless it was renamed.
#[derive(Debug)]
pub struct StagedFile {
    directory: OwnedFd,
    name: OsString,
    is_renamed: bool,
}

impl StagedFile {
    /// Makes an empty file under a name that nobody else uses. The process's umask applies to the mode.
    pub fn create(directory: impl AsFd, mode: u32) -> Result<(StagedFile, File), Errno> {
        StagedFile::unique(fcntl_dupfd_cloexec(directory, 0)?, |directory, name| {
            Ok(File::from(openat(directory, name, CREATE, Mode::from_raw_mode(mode))?))
        })
    }

    /// Makes a link under a name that nobody else uses.
    pub fn create_link(directory: impl AsFd, target: &Path) -> Result<StagedFile, Errno> {
        let directory = fcntl_dupfd_cloexec(directory, 0)?;
        Ok(StagedFile::unique(directory, |directory, name| symlinkat(target, directory, name))?.0)
    }

    /// Makes an empty file under a name that the caller keeps others from using. What a crash has left under it
    /// is removed.
    pub(crate) fn create_named(
        directory: OwnedFd,
        name: OsString,
        mode: u32,
    ) -> Result<(StagedFile, File), Errno> {
        match unlinkat(&directory, &name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
        let file = openat(&directory, &name, CREATE, Mode::from_raw_mode(mode))?;
        Ok((StagedFile { directory, name, is_renamed: false }, File::from(file)))
    }

    /// Gives it a name in its directory, in place of the file or link that has it.
    pub fn replace(mut self, name: &OsStr) -> Result<(), Errno> {
        self.rename(name)
    }

    /// Gives it a name in its directory that nothing has; otherwise the error is `EXIST`.
    pub fn publish_new(mut self, name: &OsStr) -> Result<(), Errno> {
        rename_new(&self.directory, &self.name, name)?;
        self.is_renamed = true;
        Ok(())
    }

    /// The same as [`StagedFile::replace`]; after an error it can be called again.
    pub(crate) fn rename(&mut self, name: &OsStr) -> Result<(), Errno> {
        renameat(&self.directory, &self.name, &self.directory, name)?;
        self.is_renamed = true;
        Ok(())
    }

    fn unique<T>(
        directory: OwnedFd,
        make: impl Fn(&OwnedFd, &OsStr) -> Result<T, Errno>,
    ) -> Result<(StagedFile, T), Errno> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        for _ in 0..MAX_NAMES {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(format!(".ostler-{}-{number}.tmp", std::process::id()));
            match make(&directory, &name) {
                Ok(made) => return Ok((StagedFile { directory, name, is_renamed: false }, made)),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::EXIST)
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if !self.is_renamed {
            // Nothing more can be done about a name that cannot be removed.
            let _ = unlinkat(&self.directory, &self.name, AtFlags::empty());
        }
    }
}

/// Renames within a directory, to a name that nothing has; otherwise the error is `EXIST`.
pub fn rename_new(directory: impl AsFd, from: &OsStr, to: &OsStr) -> Result<(), Errno> {
    let directory = directory.as_fd();
    match renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
        // Not every file system has this rename. There, another process can win between check and rename.
        Err(Errno::INVAL | Errno::NOSYS) => match statat(directory, to, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => renameat(directory, from, directory, to),
            Ok(_) => Err(Errno::EXIST),
            Err(errno) => Err(errno),
        },
        result => result,
    }
}
