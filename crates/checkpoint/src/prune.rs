//! Keeps a store within its limits: the oldest checkpoints go first, then the blobs that none of the
//! others uses. Manifests are taken away while nobody relies on any; the sweep of the blobs goes on
//! beside captures, sparing what these have asked for since it began.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::blobs::BlobSweep;
use crate::digest::{CheckpointDigest, ContentDigest};
use crate::error::Error;
use crate::manifest::{ManifestHead, read_page};
use crate::restore::RestoreJournal;
use crate::store::CheckpointStore;
use crate::store_files::{remove_if_there, sync_directory_of};

/// What a file takes on disk is a multiple of this.
const BLOCK: u64 = 4096;

/// How much a store may hold. Pinned checkpoints count, and are never removed.
#[derive(Debug, Clone)]
pub struct StoreLimits {
    /// Bytes on disk of the whole store. 2 GiB.
    pub max_bytes: u64,
    /// Checkpoints of one workspace. 200.
    pub max_checkpoints: usize,
    /// For how long a checkpoint is kept after it was last captured. 30 days.
    pub max_age: Option<Duration>,
}

impl Default for StoreLimits {
    fn default() -> StoreLimits {
        StoreLimits {
            max_bytes: 2 * 1024 * 1024 * 1024,
            max_checkpoints: 200,
            max_age: Some(Duration::from_secs(30 * 24 * 60 * 60)),
        }
    }
}

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PruneReport {
    /// How many checkpoints.
    pub checkpoints: usize,
    /// How many blobs.
    pub blobs: usize,
    /// How many bytes these blobs took on disk.
    pub bytes: u64,
}

/// Removes what is beyond the limits.
pub(crate) fn prune(
    store: &CheckpointStore,
    limits: &StoreLimits,
    now: SystemTime,
) -> Result<PruneReport, Error> {
    let failed = |error| Error::io("Cannot remove old checkpoints from", store.files.root(), error);
    let mut pruned = PruneReport::default();
    let (kept, sweep) = {
        let _gate = store.lock_for_removal();
        let (kept, removed) = choose_retained(store, limits, now)?;
        for id in &removed {
            remove_if_there(&store.files.manifest(*id)).map_err(failed)?;
            remove_if_there(&store.files.pin(*id)).map_err(failed)?;
        }
        if let Some(id) = removed.first() {
            // No blob may go before the manifest that needs it is gone for good.
            sync_directory_of(&store.files.manifest(*id)).map_err(failed)?;
        }
        forget_workspaces(store, &kept).map_err(failed)?;
        pruned.checkpoints = removed.len();
        (kept, store.blobs.begin_sweep())
    };
    sweep_blobs(store, &kept, &sweep, &mut pruned).map_err(failed)?;
    Ok(pruned)
}

/// What stays.
#[derive(Debug, Default)]
struct RetainedBlobs {
    blobs: HashSet<ContentDigest>,
    bytes: u64,
    per_workspace: HashMap<PathBuf, usize>,
}

/// Decides which checkpoints stay, the newest first, and which go.
fn choose_retained(
    store: &CheckpointStore,
    limits: &StoreLimits,
    now: SystemTime,
) -> Result<(RetainedBlobs, Vec<CheckpointDigest>), Error> {
    let failed = |error| Error::io("Cannot read the checkpoints in", store.files.root(), error);
    let (ids, mut pinned) = store.ids()?;
    pinned.extend(RestoreJournal::needed_checkpoints(&store.files).map_err(failed)?);
    pinned.extend(store.prune_schedule.all_in_use());
    let mut all = Vec::new();
    for id in ids {
        let captured = std::fs::metadata(store.files.manifest(id)).and_then(|file| file.modified());
        all.push((pinned.contains(&id), captured.map_err(failed)?, id));
    }
    all.sort_by(|a, b| b.cmp(a));
    let (mut kept, mut removed, mut is_full) = (RetainedBlobs::default(), Vec::new(), false);
    for (is_pinned, captured, id) in all {
        let age = now.duration_since(captured).unwrap_or_default();
        let is_old = limits.max_age.is_some_and(|max_age| age > max_age);
        let needs = match needed_blobs(store, id, &kept.blobs) {
            Ok(needs) => Some(needs),
            // It says what is wrong with it for as long as it would have been kept.
            Err(Error::Damaged { .. }) => None,
            Err(error) => return Err(error),
        };
        let Some((head, blobs)) = needs else {
            if is_old && !is_pinned {
                removed.push(id);
            }
            continue;
        };
        let bytes: u64 = BLOCK + blobs.values().map(|size| disk_size(*size)).sum::<u64>();
        let count = kept.per_workspace.get(&head.workspace).copied().unwrap_or(0);
        is_full |= !is_pinned && kept.bytes + bytes > limits.max_bytes;
        if !is_pinned && (is_old || is_full || count >= limits.max_checkpoints) {
            removed.push(id);
            continue;
        }
        kept.blobs.extend(blobs.into_keys());
        kept.bytes += bytes;
        *kept.per_workspace.entry(head.workspace).or_default() += 1;
    }
    Ok((kept, removed))
}

/// The blobs that a checkpoint needs beyond those in `kept`, with their sizes.
fn needed_blobs(
    store: &CheckpointStore,
    id: CheckpointDigest,
    kept: &HashSet<ContentDigest>,
) -> Result<(ManifestHead, HashMap<ContentDigest, u64>), Error> {
    let head = store.head(id)?;
    let mut needs = HashMap::new();
    for page in head.pages.iter().filter(|page| !kept.contains(page)) {
        let bytes = store.blob(id, page)?;
        needs.insert(*page, bytes.len() as u64);
        let entries = read_page(&bytes).ok_or_else(|| Error::Damaged {
            checkpoint: id,
            what: format!("its page {page} makes no sense"),
        })?;
        for (_, node) in entries {
            if let Some(digest) = node.digest().filter(|digest| !kept.contains(digest)) {
                needs.insert(digest, node.size());
            }
        }
    }
    Ok((head, needs))
}

/// Forgets what is known of workspaces of which no checkpoint is left, unless a restore was cut short.
fn forget_workspaces(store: &CheckpointStore, kept: &RetainedBlobs) -> std::io::Result<()> {
    let known: HashSet<PathBuf> =
        kept.per_workspace.keys().map(|workspace| store.files.workspace(workspace)).collect();
    for directory in std::fs::read_dir(store.files.workspaces())? {
        let directory = directory?.path();
        if !known.contains(&directory) {
            remove_if_there(&directory.join("stats"))?;
            // A directory that still holds a journal stays.
            let _ = std::fs::remove_dir(&directory);
        }
    }
    Ok(())
}

fn sweep_blobs(
    store: &CheckpointStore,
    kept: &RetainedBlobs,
    sweep: &BlobSweep<'_>,
    pruned: &mut PruneReport,
) -> std::io::Result<()> {
    for directory in std::fs::read_dir(store.files.blob_directories())? {
        for file in std::fs::read_dir(directory?.path())? {
            let file = file?;
            let Some(digest) = file.file_name().to_str().and_then(ContentDigest::from_hex) else { continue };
            if kept.blobs.contains(&digest) {
                continue;
            }
            let size = file.metadata().map_or(0, |metadata| metadata.len());
            if sweep.remove(&digest)? {
                pruned.blobs += 1;
                pruned.bytes += disk_size(size);
            }
        }
    }
    Ok(())
}

fn disk_size(size: u64) -> u64 {
    size.next_multiple_of(BLOCK)
}
