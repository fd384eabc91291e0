//! Everything that changes files goes through [`Disk`], so that a test can make any of it fail.
//!
//! Reading needs no such seam: what a read may find is decided by what was written before it. Files of the log are
//! therefore not replaced by `workspace-fs`, whose operations no test can make fail.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The operations that change files. Only the log's own threads call them, and they may block.
pub trait Disk: Send + Sync + 'static {
    /// Makes a directory that only its owner may enter. One that is there already is no error; a
    /// missing parent is.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Opens a file for reading and writing, and makes it, for its owner alone, if it is missing.
    fn open(&self, path: &Path) -> io::Result<DiskFile>;
    /// Writes all of the bytes at an offset.
    fn write_at(&self, file: &DiskFile, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Cuts the file to a length.
    fn truncate(&self, file: &DiskFile, length: u64) -> io::Result<()>;
    /// Returns once the file's content is on disk. After a failure the content is unknown: the call is
    /// never repeated in the hope of a better answer.
    fn sync_data(&self, file: &DiskFile) -> io::Result<()>;
    /// Returns once the names in a directory are on disk.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Returns once all that was written to the file system that holds this directory is on disk.
    fn sync_all(&self, directory: &Path) -> io::Result<()>;
    /// Gives a file a second name.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes a symbolic link to a path that is relative to the link.
    fn symlink(&self, target: &Path, link: &Path) -> io::Result<()>;
    /// Moves a file or a directory, in place of the file that may be there.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes a directory and all in it.
    fn remove_dir_all(&self, path: &Path) -> io::Result<()>;
}

/// An open file that remembers its name, for error texts and for tests that fail by name.
#[derive(Debug)]
pub struct DiskFile {
    /// The file.
    pub file: File,
    /// The name under which it was opened.
    pub path: PathBuf,
}

/// The machine's own disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            result => result,
        }
    }

    fn open(&self, path: &Path) -> io::Result<DiskFile> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        Ok(DiskFile { file, path: path.to_owned() })
    }

    fn write_at(&self, file: &DiskFile, bytes: &[u8], offset: u64) -> io::Result<()> {
        file.file.write_all_at(bytes, offset)
    }

    fn truncate(&self, file: &DiskFile, length: u64) -> io::Result<()> {
        file.file.set_len(length)
    }

    fn sync_data(&self, file: &DiskFile) -> io::Result<()> {
        file.file.sync_data()
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    #[cfg(target_os = "linux")]
    fn sync_all(&self, directory: &Path) -> io::Result<()> {
        Ok(rustix::fs::syncfs(File::open(directory)?)?)
    }

    #[cfg(not(target_os = "linux"))]
    fn sync_all(&self, _directory: &Path) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::hard_link(from, to)
    }

    fn symlink(&self, target: &Path, link: &Path) -> io::Result<()> {
        std::os::unix::fs::symlink(target, link)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_dir_all(path)
    }
}
