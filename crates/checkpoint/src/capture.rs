//! Makes a checkpoint: scan, store, name. The blobs are durable before the manifest gets its name, so
//! a checkpoint that can be found can be restored.

use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};

use crate::digest::{CheckpointDigest, ContentDigest};
use crate::error::Error;
use crate::manifest::ManifestHead;
use crate::scan::{Scan, Scanned};
use crate::stat_cache::{self, StatCache};
use crate::store::CheckpointStore;
use crate::store_files::read_if_there;

/// A workspace as it was at one time. It is small: what it lists is read when it is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// By which it is found again.
    pub id: CheckpointDigest,
    /// Of which workspace, as an absolute path without links.
    pub workspace: PathBuf,
    /// How many files and links it holds.
    pub files: u64,
    /// How many bytes these come to.
    pub bytes: u64,
    /// How many paths it lists without their content; [`CheckpointStore::left_out`] says which.
    pub left_out: u64,
}

/// What a capture takes, and how much of it.
#[derive(Debug, Clone)]
pub struct CaptureOptions {
    /// Files above this size are listed as left out. 32 MiB.
    pub max_file_bytes: u64,
    /// More files and directories than this are an error. 200,000.
    pub max_files: usize,
    /// More bytes than this, all together, are an error. 2 GiB.
    pub max_bytes: u64,
    /// The checkpoint from before a turn, when this is the one after it. What that one lists is taken
    /// even if the turn made git ignore it, so that the two can be compared.
    pub since: Option<CheckpointDigest>,
}

impl Default for CaptureOptions {
    fn default() -> CaptureOptions {
        CaptureOptions {
            max_file_bytes: 32 * 1024 * 1024,
            max_files: 200_000,
            max_bytes: 2 * 1024 * 1024 * 1024,
            since: None,
        }
    }
}

impl Checkpoint {
    pub(crate) fn new(id: CheckpointDigest, head: &ManifestHead) -> Checkpoint {
        Checkpoint {
            id,
            workspace: head.workspace.clone(),
            files: head.files,
            bytes: head.bytes,
            left_out: head.left_out,
        }
    }
}

/// Captures a workspace.
pub(crate) fn capture(
    store: &CheckpointStore,
    workspace: &Path,
    options: &CaptureOptions,
) -> Result<Checkpoint, Error> {
    let tree = store.tree(workspace)?;
    let full = |error: std::io::Error| Error::io("No checkpoint was made of", tree.path(), error);
    let cache = StatCache::read(&store.files, tree.path());
    // Without it the turn's diff may show a file as deleted that git only came to ignore: no reason to
    // go without a checkpoint.
    let covered = options.since.and_then(|id| store.manifest(id).ok());
    let now = store.files.now().map_err(full)?.0;
    let blobs = Some(&store.blobs);
    let left_alone = store.files.excluded_directories(tree.path());
    let scan = Scan {
        tree: &tree,
        options,
        excluded_directories: left_alone,
        cache: &cache,
        covered: covered.as_ref(),
        blobs,
        now,
    };
    let scanned = scan.run()?;
    let (id, head) = publish(store, tree.path(), &scanned)?;
    write_stat_cache(store, tree.path(), id, &cache, &scanned);
    Ok(Checkpoint::new(id, &head))
}

/// Gives a manifest its name, once all that it refers to is durable.
fn publish(
    store: &CheckpointStore,
    workspace: &Path,
    scanned: &Scanned,
) -> Result<(CheckpointDigest, ManifestHead), Error> {
    let full = |error: std::io::Error| Error::io("No checkpoint was made of", workspace, error);
    let manifest = &scanned.manifest;
    let pages =
        manifest.pages().iter().map(|page| store.blobs.put(page)).collect::<Result<_, _>>().map_err(full)?;
    let head = manifest.head(workspace, pages);
    let contents = manifest.entries.iter().filter_map(|(_, node)| node.digest());
    store.blobs.sync(head.pages.iter().copied().chain(contents)).map_err(full)?;
    let bytes = head.write();
    let id = CheckpointDigest(ContentDigest::of_bytes(&bytes));
    let path = store.files.manifest(id);
    if read_if_there(&path).map_err(full)?.is_some_and(|present| present == bytes) {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        utimensat(CWD, &path, &times, AtFlags::empty()).map_err(|errno| full(errno.into()))?;
        return Ok((id, head));
    }
    store.files.replace(&path, &bytes, true).map_err(full)?;
    Ok((id, head))
}

/// Writes the stat cache, if it would say anything new.
fn write_stat_cache(
    store: &CheckpointStore,
    workspace: &Path,
    id: CheckpointDigest,
    cache: &StatCache,
    scanned: &Scanned,
) {
    let mut known = Vec::with_capacity(scanned.settled.len());
    for ((path, node), stamp) in scanned.manifest.entries.iter().zip(&scanned.settled) {
        if let (Some(digest), Some(stamp)) = (node.digest(), stamp) {
            known.push((path.as_path(), *stamp, digest));
        }
    }
    let same = cache.checkpoint == Some(id) && cache.len() == known.len() && scanned.read == 0;
    if !same {
        stat_cache::write(&store.files, workspace, id, known.into_iter());
    }
}
