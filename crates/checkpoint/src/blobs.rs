//! Contents, each in a file named by its digest, written once and shared by all checkpoints.
//!
//! No blob is a hard link to a file of a workspace: a program that writes in place would change it.
//! Which blobs are still needed is for `prune` to find out; here is only kept which are being used.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{ioctl_ficlone, syncfs};

use crate::digest::ContentDigest;
use crate::store_files::{StoreFiles, remove_if_there, rename_creating_parent, sync_directory_of};

/// Up to this size a file is held in memory while it is stored.
const MAX_IN_MEMORY_BYTES: u64 = 512 * 1024;
/// Up to this many blobs are synced one by one; more go with the whole file system, which is faster.
const MAX_SINGLE_SYNCS: usize = 32;

/// The blobs of a store.
#[derive(Debug)]
pub(crate) struct Blobs {
    files: Arc<StoreFiles>,
    state: Mutex<BlobState>,
    /// Bytes that were written since somebody last asked to forget them.
    written: AtomicU64,
}

#[derive(Debug, Default)]
struct BlobState {
    /// What has been asked for since a sweep began, which it must spare; none while there is no sweep.
    used_since_sweep: Option<HashSet<ContentDigest>>,
    /// What is written and not known to be durable. Whoever relies on one of them has to sync it too.
    unsynced: HashSet<ContentDigest>,
}

/// Why a blob cannot be had.
#[derive(Debug)]
pub(crate) enum BlobError {
    /// It is not there, or is not what its name says.
    Damaged(String),
    Io(io::Error),
}

impl Blobs {
    pub(crate) fn new(files: Arc<StoreFiles>) -> Blobs {
        Blobs { files, state: Mutex::default(), written: AtomicU64::new(0) }
    }

    fn state(&self) -> MutexGuard<'_, BlobState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores bytes, without making them durable yet.
    pub(crate) fn put(&self, bytes: &[u8]) -> io::Result<ContentDigest> {
        let digest = ContentDigest::of_bytes(bytes);
        if self.has(&digest, bytes.len() as u64)? {
            return Ok(digest);
        }
        let (path, mut file) = self.files.create_temporary()?;
        self.publish(&path, digest, file.write_all(bytes))
    }

    /// Stores what a file holds now, up to `limit` bytes; says nothing if there is more. A file that
    /// changes meanwhile is stored as it was read.
    pub(crate) fn put_file(
        &self,
        file: &mut File,
        size: u64,
        limit: u64,
    ) -> io::Result<Option<(ContentDigest, u64)>> {
        if size <= MAX_IN_MEMORY_BYTES {
            let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
            file.take(limit + 1).read_to_end(&mut bytes)?;
            let length = bytes.len() as u64;
            return if length > limit { Ok(None) } else { Ok(Some((self.put(&bytes)?, length))) };
        }
        // Most files that are looked at are there already, so the first pass writes nothing.
        let (digest, length) = ContentDigest::of_reader((&mut *file).take(limit + 1))?;
        if length > limit || self.has(&digest, length)? {
            return Ok((length <= limit).then_some((digest, length)));
        }
        let (path, mut copy) = self.files.create_temporary()?;
        match copy_and_digest(file, &mut copy, limit) {
            Ok((digest, length)) if length <= limit => {
                if self.has(&digest, length)? {
                    remove_if_there(&path)?;
                } else {
                    self.publish(&path, digest, Ok(()))?;
                }
                Ok(Some((digest, length)))
            }
            other => {
                remove_if_there(&path)?;
                other.map(|_| None)
            }
        }
    }

    /// Gives a written file its name, or removes it where it could not be written.
    fn publish(
        &self,
        path: &Path,
        digest: ContentDigest,
        written: io::Result<()>,
    ) -> io::Result<ContentDigest> {
        self.state().unsynced.insert(digest);
        let published = written.and_then(|()| rename_creating_parent(path, &self.files.blob(&digest)));
        if let Err(error) = published {
            // The first error is the one that counts; what is left is swept when the store is opened.
            let _ = remove_if_there(path);
            return Err(error);
        }
        self.written.fetch_add(self.size(&digest)?.unwrap_or(0), Ordering::Relaxed);
        // Again: another thread that wrote the same may have synced its own file in between.
        self.state().unsynced.insert(digest);
        Ok(digest)
    }

    /// How many bytes have been written.
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Begins to count anew.
    pub(crate) fn forget_written(&self) {
        self.written.store(0, Ordering::Relaxed);
    }

    /// Whether a blob is there in its full length. From here on a sweep spares it.
    fn has(&self, digest: &ContentDigest, size: u64) -> io::Result<bool> {
        if let Some(used) = &mut self.state().used_since_sweep {
            used.insert(*digest);
        }
        self.size(digest).map(|found| found == Some(size))
    }

    /// How long a blob is, if it is there.
    pub(crate) fn size(&self, digest: &ContentDigest) -> io::Result<Option<u64>> {
        match std::fs::symlink_metadata(self.files.blob(digest)) {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What a blob holds, which is certainly what it was named for.
    pub(crate) fn read(&self, digest: &ContentDigest) -> Result<Vec<u8>, BlobError> {
        match std::fs::read(self.files.blob(digest)) {
            Ok(bytes) if ContentDigest::of_bytes(&bytes) == *digest => Ok(bytes),
            Ok(_) => Err(BlobError::Damaged(format!("the blob {digest} does not hold what its name says"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(BlobError::Damaged(format!("the blob {digest} is missing")))
            }
            Err(error) => Err(BlobError::Io(error)),
        }
    }

    /// Makes the named blobs durable, those that others wrote and have not synced yet among them.
    pub(crate) fn sync(&self, needed: impl Iterator<Item = ContentDigest>) -> io::Result<()> {
        let needed: Vec<ContentDigest> = {
            let state = self.state();
            if state.unsynced.is_empty() {
                return Ok(());
            }
            needed.filter(|digest| state.unsynced.contains(digest)).collect()
        };
        if needed.len() > MAX_SINGLE_SYNCS {
            syncfs(File::open(self.files.root())?)?;
        } else {
            for digest in &needed {
                let path = self.files.blob(digest);
                File::open(&path)?.sync_all()?;
                sync_directory_of(&path)?;
            }
        }
        let mut state = self.state();
        needed.iter().for_each(|digest| {
            state.unsynced.remove(digest);
        });
        Ok(())
    }

    /// From here on all that is asked for is remembered, until the sweep ends.
    pub(crate) fn begin_sweep(&self) -> BlobSweep<'_> {
        self.state().used_since_sweep = Some(HashSet::new());
        BlobSweep { blobs: self }
    }
}

/// A sweep that is going on while blobs are stored.
pub(crate) struct BlobSweep<'a> {
    blobs: &'a Blobs,
}

impl BlobSweep<'_> {
    /// Removes a blob unless somebody has asked for it meanwhile. Asking and removing exclude each
    /// other: who asks later finds that it is gone, and writes it again.
    pub(crate) fn remove(&self, digest: &ContentDigest) -> io::Result<bool> {
        let mut state = self.blobs.state();
        if state.used_since_sweep.as_ref().is_some_and(|used| used.contains(digest)) {
            return Ok(false);
        }
        state.unsynced.remove(digest);
        remove_if_there(&self.blobs.files.blob(digest))
    }
}

impl Drop for BlobSweep<'_> {
    fn drop(&mut self) {
        self.blobs.state().used_since_sweep = None;
    }
}

/// Copies a file, sharing its blocks where the file system can, and takes the digest of the copy.
fn copy_and_digest(file: &mut File, copy: &mut File, limit: u64) -> io::Result<(ContentDigest, u64)> {
    if ioctl_ficlone(&*copy, &*file).is_err() {
        file.rewind()?;
        io::copy(&mut file.take(limit + 1), copy)?;
    }
    copy.rewind()?;
    ContentDigest::of_reader(copy.take(limit + 1))
}
