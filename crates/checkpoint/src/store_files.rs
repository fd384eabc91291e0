//! The directory of a store: where its files are, and how one of them is written whole or not at all.
//! What the files hold is left to their own modules. Files are not replaced by `workspace-fs`: contents are named by
//! their digest only once they are written, and `tmp` is emptied as a whole after a crash.
//!
//! ```text
//! lock                      held by the process that uses the store
//! blobs/<2 hex>/<64 hex>    contents and pages of manifests, each named by its digest
//! manifests/<64 hex>        checkpoints, each named by its id; the file's time is its last capture
//! pins/<64 hex>             empty: the checkpoint is pinned
//! workspaces/<32 hex>/      per workspace: `stats`, the stat cache, and `restore`, a journal
//! tmp/                      what is being written; emptied when the store is opened
//! ```

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};

use crate::digest::{CheckpointDigest, ContentDigest};
use crate::error::Error;

/// The directory of a store, held by a lock.
#[derive(Debug)]
pub(crate) struct StoreFiles {
    root: PathBuf,
    /// Directories that are no part of any workspace that holds them, without links; the store is one.
    excluded_directories: Vec<PathBuf>,
    number: AtomicU64,
    _lock: File,
}

impl StoreFiles {
    /// Makes the directory where there is none, and takes it for this process.
    pub(crate) fn open(root: &Path) -> Result<StoreFiles, Error> {
        let failed =
            |error: io::Error| Error::io("The store of checkpoints cannot be opened at", root, error);
        for part in ["blobs", "manifests", "pins", "workspaces", "tmp"] {
            create_directory(&root.join(part)).map_err(failed)?;
        }
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(root.join("lock"))
            .map_err(failed)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(Error::Locked(root.to_owned())),
            Err(errno) => return Err(failed(errno.into())),
        }
        let left_alone = vec![std::fs::canonicalize(root).map_err(failed)?];
        let files = StoreFiles {
            root: root.to_owned(),
            excluded_directories: left_alone,
            number: AtomicU64::new(0),
            _lock: lock,
        };
        for left in std::fs::read_dir(files.root.join("tmp")).map_err(failed)? {
            std::fs::remove_file(left.map_err(failed)?.path()).map_err(failed)?;
        }
        Ok(files)
    }

    /// Adds a directory that is no part of any workspace.
    pub(crate) fn exclude(&mut self, directory: &Path) {
        // One that is not there yet will be where its name says.
        self.excluded_directories
            .push(std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned()));
    }

    /// The directories in a workspace that are no part of it, relative to it.
    pub(crate) fn excluded_directories(&self, workspace: &Path) -> Vec<PathBuf> {
        let below = |directory: &PathBuf| directory.strip_prefix(workspace).map(Path::to_owned).ok();
        self.excluded_directories.iter().filter_map(below).collect()
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn blob_directories(&self) -> PathBuf {
        self.root.join("blobs")
    }

    pub(crate) fn blob(&self, digest: &ContentDigest) -> PathBuf {
        let name = digest.to_string();
        self.root.join("blobs").join(&name[..2]).join(name)
    }

    pub(crate) fn manifests(&self) -> PathBuf {
        self.root.join("manifests")
    }

    pub(crate) fn manifest(&self, id: CheckpointDigest) -> PathBuf {
        self.manifests().join(id.to_string())
    }

    pub(crate) fn pin(&self, id: CheckpointDigest) -> PathBuf {
        self.root.join("pins").join(id.to_string())
    }

    pub(crate) fn workspaces(&self) -> PathBuf {
        self.root.join("workspaces")
    }

    pub(crate) fn workspace(&self, workspace: &Path) -> PathBuf {
        let digest = ContentDigest::of_bytes(workspace.as_os_str().as_bytes()).to_string();
        self.workspaces().join(&digest[..32])
    }

    /// A new file of its own name; whoever asks for it renames or removes it.
    pub(crate) fn create_temporary(&self) -> io::Result<(PathBuf, File)> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let path = self.root.join("tmp").join(number.to_string());
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        Ok((path, file))
    }

    /// Puts a small file in place, whole or not at all, and durably where `durable` says so.
    pub(crate) fn replace(&self, path: &Path, bytes: &[u8], durable: bool) -> io::Result<()> {
        let (temporary, mut file) = self.create_temporary()?;
        let written = file
            .write_all(bytes)
            .and_then(|()| if durable { file.sync_all() } else { Ok(()) })
            .and_then(|()| rename_creating_parent(&temporary, path));
        if let Err(error) = written {
            // The first error is the one that counts.
            let _ = std::fs::remove_file(&temporary);
            return Err(error);
        }
        if durable { sync_directory_of(path) } else { Ok(()) }
    }

    /// The time by which the kernel stamps files just now.
    pub(crate) fn now(&self) -> io::Result<(i64, i64)> {
        let (path, file) = self.create_temporary()?;
        let metadata = file.metadata();
        std::fs::remove_file(path)?;
        let metadata = metadata?;
        Ok((metadata.mtime(), metadata.mtime_nsec()))
    }
}

/// Renames a file, and makes the directory that it goes to where there is none.
pub(crate) fn rename_creating_parent(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let directory = to.parent().ok_or(error)?;
            create_directory(directory)?;
            sync_directory_of(directory)?;
            std::fs::rename(from, to)
        }
        result => result,
    }
}

/// Makes durable which names are in the directory that holds `path`.
pub(crate) fn sync_directory_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(directory) => File::open(directory)?.sync_all(),
        None => Ok(()),
    }
}

/// Removes a file if it is there.
pub(crate) fn remove_if_there(path: &Path) -> io::Result<bool> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Reads a file if it is there.
pub(crate) fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
