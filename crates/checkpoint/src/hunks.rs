//! Undoes single hunks of a file's diff. Which lines they are is for `lines` to say, how a file is
//! replaced for `restore`.

use std::collections::BTreeSet;
use std::path::Path;

use ostler_workspace_fs::{LineComparison, is_binary};

use crate::capture::Checkpoint;
use crate::digest::ContentDigest;
use crate::error::Error;
use crate::manifest::ManifestNode;
use crate::restore::{
    RestoreConflict, RestoreOptions, RestoreReport, RestoreStep, SkippedProtectedPath, open, restore, rewrite,
};
use crate::store::CheckpointStore;
use crate::workspace_tree::WorkspaceTree;

/// Undoes the hunks of one file that are named by their numbers.
pub(crate) fn restore_hunks(
    store: &CheckpointStore,
    workspace: &Path,
    path: &Path,
    to: &Checkpoint,
    since: Option<&Checkpoint>,
    hunks: &[usize],
) -> Result<RestoreReport, Error> {
    let tree = open(store, workspace, to)?;
    if let Some(name) = tree.protected_name(path, false) {
        let protected = vec![SkippedProtectedPath { path: path.to_owned(), name }];
        return Ok(RestoreReport { protected, ..RestoreReport::default() });
    }
    let old = store.manifest(to.id)?;
    let now = tree.read_node(path, old.max_file_bytes)?;
    if let Some(since) = since
        && store.manifest(since.id)?.get(path) != now.as_ref().map(|(node, _)| node)
    {
        let why = "was changed since, so its hunks are others now".to_owned();
        let conflicts = vec![RestoreConflict { path: path.to_owned(), why }];
        return Ok(RestoreReport { conflicts, ..RestoreReport::default() });
    }
    let hunks: BTreeSet<usize> = hunks.iter().copied().collect();
    let (Some(ManifestNode::File { digest, .. }), Some((ManifestNode::File { mode, .. }, stamp))) =
        (old.get(path), &now)
    else {
        return restore_whole_file(store, workspace, path, to, since, &hunks);
    };
    let old = store.blob(to.id, digest)?;
    let new = content(&tree, path, stamp.size)?;
    if is_binary(&old) || is_binary(&new) {
        return restore_whole_file(store, workspace, path, to, since, &hunks);
    }
    let comparison = LineComparison::new(&old, &new);
    let count = comparison.hunks().len();
    if let Some(missing) = hunks.iter().find(|hunk| **hunk >= count) {
        return Err(Error::Hunks(format!(
            "{} has {count} hunks, counted from 0; there is no hunk {missing}. Get its diff again.",
            path.display()
        )));
    }
    if hunks.is_empty() {
        return Ok(RestoreReport::default());
    }
    let bytes = comparison.with_hunks_undone(&hunks);
    let cannot = |error| Error::io("Nothing was restored: cannot store the new content of", path, error);
    let target = ManifestNode::File {
        mode: *mode,
        size: bytes.len() as u64,
        digest: store.blobs.put(&bytes).map_err(cannot)?,
    };
    let seen =
        ManifestNode::File { mode: *mode, size: new.len() as u64, digest: ContentDigest::of_bytes(&new) };
    let step = RestoreStep { path: path.to_owned(), before: Some((seen, *stamp)), target: Some(target) };
    rewrite(store, &tree, to, since, step)
}

/// A file that was added, deleted or has no lines is one hunk, and undone whole.
fn restore_whole_file(
    store: &CheckpointStore,
    workspace: &Path,
    path: &Path,
    to: &Checkpoint,
    since: Option<&Checkpoint>,
    hunks: &BTreeSet<usize>,
) -> Result<RestoreReport, Error> {
    if hunks.iter().any(|hunk| *hunk != 0) {
        return Err(Error::Hunks(format!(
            "{} can only be restored whole, as hunk 0: it was added, deleted or is no text.",
            path.display()
        )));
    }
    if hunks.is_empty() {
        return Ok(RestoreReport::default());
    }
    let options = RestoreOptions { only: Some(vec![path.to_owned()]), ..RestoreOptions::default() };
    restore(store, workspace, to, since, &options)
}

fn content(tree: &WorkspaceTree, path: &Path, size: u64) -> Result<Vec<u8>, Error> {
    use std::io::Read;
    let cannot = |error: std::io::Error| Error::io("Cannot read", &tree.path().join(path), error);
    let (file, _) = tree.file(path).map_err(|errno| cannot(errno.into()))?;
    let mut bytes = Vec::new();
    file.take(size).read_to_end(&mut bytes).map_err(cannot)?;
    Ok(bytes)
}
