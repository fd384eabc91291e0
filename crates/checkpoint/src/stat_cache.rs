//! What the files of a workspace were at the last capture, so that those that did not change need not
//! be read again. One file per workspace, replaced whole; one that is damaged or out of date counts as
//! absent, because all of it can be made again.
//!
//! A file that was changed shortly before it was read is not remembered: a second change within one
//! tick of the clock would leave its stamp as it was. Digests are taken on trust only as long as the
//! checkpoint exists in which they stand, because that is what keeps their blobs.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::codec::{FieldReader, FieldWriter, fnv1a_checksum};
use crate::digest::{CheckpointDigest, ContentDigest};
use crate::store_files::StoreFiles;
use crate::workspace_tree::FileStamp;

const HEADER: &[u8] = b"ostler stats 1\n";
const NAME: &str = "stats";
/// The coarsest clock of a file system in use, in seconds.
const COARSEST_CLOCK_SECONDS: i64 = 2;

/// What is known of a workspace.
#[derive(Debug, Default)]
pub(crate) struct StatCache {
    /// The checkpoint in which the digests stand.
    pub(crate) checkpoint: Option<CheckpointDigest>,
    entries: HashMap<Vec<u8>, (FileStamp, ContentDigest)>,
}

impl StatCache {
    /// What was written for a workspace, or nothing.
    pub(crate) fn read(files: &StoreFiles, workspace: &Path) -> StatCache {
        StatCache::try_read(files, workspace).unwrap_or_default()
    }

    fn try_read(files: &StoreFiles, workspace: &Path) -> Option<StatCache> {
        let bytes = std::fs::read(files.workspace(workspace).join(NAME)).ok()?;
        let mut reader = FieldReader(bytes.strip_prefix(HEADER)?);
        if reader.u64()? != fnv1a_checksum(reader.0) || reader.path()? != workspace {
            return None;
        }
        let checkpoint = CheckpointDigest(reader.digest()?);
        if !files.manifest(checkpoint).exists() {
            return None;
        }
        let count = usize::try_from(reader.u32()?).ok()?;
        let mut entries = HashMap::with_capacity(count.min(reader.0.len() / 64));
        for _ in 0..count {
            let path = reader.bytes()?.to_owned();
            let stamp = FileStamp {
                device: reader.u64()?,
                inode: reader.u64()?,
                size: reader.u64()?,
                mode: reader.u32()?,
                modified: (reader.i64()?, reader.u32()?),
                changed: (reader.i64()?, reader.u32()?),
            };
            entries.insert(path, (stamp, reader.digest()?));
        }
        Some(StatCache { checkpoint: Some(checkpoint), entries })
    }

    /// The digest of a file, if its stamp is the one that it had.
    pub(crate) fn get(&self, path: &Path, stamp: &FileStamp) -> Option<ContentDigest> {
        let (known, digest) = self.entries.get(path.as_os_str().as_bytes())?;
        (known == stamp).then_some(*digest)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// Writes what is now known of a workspace. Without it everything is read again, so a failure is none
/// of the caller's.
pub(crate) fn write<'a>(
    files: &StoreFiles,
    workspace: &Path,
    checkpoint: CheckpointDigest,
    entries: impl ExactSizeIterator<Item = (&'a Path, FileStamp, ContentDigest)>,
) {
    let mut body = FieldWriter::default();
    body.path(workspace);
    body.digest(&checkpoint.0);
    body.count(entries.len());
    for (path, stamp, digest) in entries {
        body.path(path);
        body.u64(stamp.device);
        body.u64(stamp.inode);
        body.u64(stamp.size);
        body.u32(stamp.mode);
        body.i64(stamp.modified.0);
        body.u32(stamp.modified.1);
        body.i64(stamp.changed.0);
        body.u32(stamp.changed.1);
        body.digest(&digest);
    }
    let mut whole = FieldWriter(HEADER.to_vec());
    whole.u64(fnv1a_checksum(&body.0));
    whole.0.extend_from_slice(&body.0);
    let _ = files.replace(&files.workspace(workspace).join(NAME), &whole.0, false);
}

/// Whether a file changed long enough before `now` that any later change is bound to show.
pub(crate) fn is_settled(stamp: &FileStamp, now: i64) -> bool {
    stamp.modified.0.max(stamp.changed.0) < now - COARSEST_CLOCK_SECONDS
}

#[cfg(test)]
mod tests {
    use super::{FileStamp, is_settled};

    #[test]
    fn a_file_changed_within_the_tick_of_its_capture_is_not_trusted() {
        let stamp = |modified, changed| FileStamp {
            device: 1,
            inode: 1,
            size: 1,
            mode: 0,
            modified: (modified, 0),
            changed: (changed, 999_999_999),
        };
        for (modified, changed, settled) in
            [(90, 97, true), (90, 98, false), (90, 100, false), (100, 90, false), (500, 90, false)]
        {
            assert_eq!(is_settled(&stamp(modified, changed), 100), settled, "{modified} {changed}");
        }
    }
}
