//! Reads a workspace as it is now: a walk, and the digests of the files that the stat cache does not
//! know. With blobs given, what is read is stored as well; without, nothing is written.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ostler_workspace_fs::{ReadError, for_each};
use rustix::fs::fstat;
use rustix::io::Errno;

use crate::blobs::Blobs;
use crate::capture::CaptureOptions;
use crate::digest::ContentDigest;
use crate::error::Error;
use crate::manifest::{LeftOutReason, Manifest, ManifestNode};
use crate::scan_walk::{ScanEntryKind, ScanListing, walk};
use crate::stat_cache::{StatCache, is_settled};
use crate::workspace_tree::{FileStamp, WorkspaceTree};

/// A workspace as it was read.
#[derive(Debug)]
pub(crate) struct Scanned {
    pub(crate) manifest: Manifest,
    /// Per entry of the manifest, the stamp of a file whose digest may be relied on next time.
    pub(crate) settled: Vec<Option<FileStamp>>,
    /// How many files had to be read.
    pub(crate) read: usize,
}

/// What a scan goes by.
pub(crate) struct Scan<'a> {
    pub(crate) tree: &'a WorkspaceTree,
    pub(crate) options: &'a CaptureOptions,
    /// Directories that are no part of the workspace.
    pub(crate) excluded_directories: Vec<PathBuf>,
    pub(crate) cache: &'a StatCache,
    /// A checkpoint whose paths are taken even where they are ignored now.
    pub(crate) covered: Option<&'a Manifest>,
    /// Where contents are stored.
    pub(crate) blobs: Option<&'a Blobs>,
    /// The time at which it begins, by the kernel's clock.
    pub(crate) now: i64,
}

impl Scan<'_> {
    /// Reads the workspace.
    pub(crate) fn run(&self) -> Result<Scanned, Error> {
        let found = walk(self.tree, self.options.max_files, self.covered, &self.excluded_directories)?;
        self.check_bytes(&found)?;
        let mut nodes: Vec<Option<(ManifestNode, Option<FileStamp>)>> =
            Vec::with_capacity(found.entries.len());
        let mut unread = Vec::new();
        for (place, entry) in found.entries.iter().enumerate() {
            nodes.push(match &entry.kind {
                ScanEntryKind::Known(node) => Some((node.clone(), None)),
                ScanEntryKind::File(stamp) if stamp.size > self.options.max_file_bytes => {
                    Some((stamp.left_out(LeftOutReason::TooLarge), None))
                }
                ScanEntryKind::File(stamp) => match self.cache.get(&entry.path, stamp) {
                    Some(digest) => {
                        let node = ManifestNode::File { mode: stamp.mode, size: stamp.size, digest };
                        Some((node, Some(*stamp)))
                    }
                    None => {
                        unread.push((place, entry.path.as_path(), *stamp));
                        None
                    }
                },
            });
        }
        let read = unread.len();
        let results = Mutex::new(Vec::with_capacity(read));
        for_each(&unread, |(place, path, stamp)| {
            let result = self.read(path, stamp)?;
            results.lock().unwrap_or_else(PoisonError::into_inner).push((*place, result));
            Ok::<(), Error>(())
        })?;
        for (place, result) in results.into_inner().unwrap_or_else(PoisonError::into_inner) {
            nodes[place] = result;
        }
        let (mut entries, mut settled) = (Vec::with_capacity(nodes.len()), Vec::with_capacity(nodes.len()));
        for (entry, node) in found.entries.into_iter().zip(nodes) {
            if let Some((node, stamp)) = node {
                entries.push((entry.path, node));
                settled.push(stamp);
            }
        }
        let manifest = Manifest {
            max_file_bytes: self.options.max_file_bytes,
            repositories: found.repositories,
            entries,
        };
        Ok(Scanned { manifest, settled, read })
    }

    fn check_bytes(&self, found: &ScanListing) -> Result<(), Error> {
        let mut bytes: u64 = 0;
        for entry in &found.entries {
            if let ScanEntryKind::File(stamp) = &entry.kind
                && stamp.size <= self.options.max_file_bytes
            {
                bytes = bytes.saturating_add(stamp.size);
            }
        }
        let limit = self.options.max_bytes;
        if bytes > limit { Err(Error::TooManyBytes { limit }) } else { Ok(()) }
    }

    /// Reads one file; nothing if it went away meanwhile.
    fn read(
        &self,
        path: &Path,
        listed: &FileStamp,
    ) -> Result<Option<(ManifestNode, Option<FileStamp>)>, Error> {
        let cannot = |error: std::io::Error| {
            Error::io("No checkpoint was made: cannot take", &self.tree.path().join(path), error)
        };
        let (mut file, stat) = match self.tree.file(path) {
            Ok(opened) => opened,
            Err(ReadError::NotAFile(_)) => return Ok(None),
            Err(ReadError::Errno(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO)) => {
                return Ok(None);
            }
            Err(ReadError::Errno(Errno::ACCESS | Errno::PERM)) => {
                return Ok(Some((listed.left_out(LeftOutReason::Unreadable), None)));
            }
            Err(error) => return Err(cannot(error.into())),
        };
        let before = FileStamp::from_stat(&stat);
        let Some((digest, size)) = self.digest(&mut file, before.size).map_err(cannot)? else {
            return Ok(Some((before.left_out(LeftOutReason::TooLarge), None)));
        };
        let after =
            fstat(&file).map(|stat| FileStamp::from_stat(&stat)).map_err(|errno| cannot(errno.into()))?;
        let settled = before == after && size == after.size && is_settled(&before, self.now);
        Ok(Some((ManifestNode::File { mode: before.mode, size, digest }, settled.then_some(before))))
    }

    fn digest(&self, file: &mut File, size: u64) -> std::io::Result<Option<(ContentDigest, u64)>> {
        let limit = self.options.max_file_bytes;
        match self.blobs {
            Some(blobs) => blobs.put_file(file, size, limit),
            None => {
                let (digest, size) = ContentDigest::of_reader(file.take(limit + 1))?;
                Ok((size <= limit).then_some((digest, size)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::{Scan, Scanned};
    use crate::stat_cache::{self, StatCache};
    use crate::workspace_tree::WorkspaceTree;
    use crate::{CaptureOptions, CheckpointStore};

    /// Scans at a time when everything has long been settled.
    fn scan(tree: &WorkspaceTree, cache: &StatCache) -> Scanned {
        let options = CaptureOptions::default();
        let left_alone = Vec::new();
        Scan {
            tree,
            options: &options,
            excluded_directories: left_alone,
            cache,
            covered: None,
            blobs: None,
            now: i64::MAX,
        }
        .run()
        .unwrap()
    }

    #[test]
    fn only_what_changed_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("w");
        fs::create_dir(&workspace).unwrap();
        let names = ["same", "longer", "mode", "replaced", "time"];
        for name in names {
            fs::write(workspace.join(name), name).unwrap();
        }
        let store = CheckpointStore::open(&folder.path().join("s")).unwrap();
        let checkpoint = store.capture(&workspace, &CaptureOptions::default()).unwrap();
        let tree = store.tree(&workspace).unwrap();
        let first = scan(&tree, &StatCache::default());
        assert_eq!(first.read, names.len());
        let known = first.manifest.entries.iter().zip(&first.settled);
        let known: Vec<_> = known
            .map(|((path, node), stamp)| (path.as_path(), stamp.unwrap(), node.digest().unwrap()))
            .collect();
        stat_cache::write(&store.files, tree.path(), checkpoint.id, known.into_iter());
        let cache = StatCache::read(&store.files, tree.path());
        let second = scan(&tree, &cache);
        assert_eq!((second.read, &second.manifest), (0, &first.manifest));

        fs::write(workspace.join("longer"), "longer than that").unwrap();
        fs::set_permissions(workspace.join("mode"), fs::Permissions::from_mode(0o755)).unwrap();
        let time = fs::metadata(workspace.join("replaced")).unwrap().modified().unwrap();
        fs::write(workspace.join("new"), "REPLACED").unwrap();
        fs::File::options().write(true).open(workspace.join("new")).unwrap().set_modified(time).unwrap();
        fs::rename(workspace.join("new"), workspace.join("replaced")).unwrap();
        fs::File::open(workspace.join("time")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        let third = scan(&tree, &cache);
        assert_eq!(third.read, 4);
        assert_eq!(third.manifest, scan(&tree, &StatCache::default()).manifest);
        assert_ne!(third.manifest.get(Path::new("replaced")), first.manifest.get(Path::new("replaced")));

        fs::remove_file(store.files.manifest(checkpoint.id)).unwrap();
        assert_eq!(StatCache::read(&store.files, tree.path()).len(), 0, "nothing keeps its blobs any more");
    }
}
