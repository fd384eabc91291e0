//! Which paths differ between two manifests. What was ignored when the first was made is no
//! difference: a turn that edits `.gitignore` neither adds nor endangers the files behind it.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ostler_workspace_fs::IgnoreRules;

use crate::blobs::Blobs;
use crate::ignore_state::{DirectoryIgnoreState, GITIGNORE, read_exclude_file};
use crate::manifest::{Manifest, ManifestNode};
use crate::workspace_tree::WorkspaceTree;

/// A path at which two manifests differ.
#[derive(Debug, Clone)]
pub(crate) struct ManifestChange {
    pub(crate) path: PathBuf,
    pub(crate) before: Option<ManifestNode>,
    pub(crate) after: Option<ManifestNode>,
}

/// The paths at which `after` differs from `before`, sorted by their bytes.
pub(crate) fn changes(
    before: &Manifest,
    after: &Manifest,
    ignored: &mut IgnoredPaths<'_>,
) -> Vec<ManifestChange> {
    let mut changes = Vec::new();
    let (mut old, mut new) = (before.entries.iter().peekable(), after.entries.iter().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return changes,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((old, _)), Some((new, _))) => old.as_os_str().as_bytes().cmp(new.as_os_str().as_bytes()),
        };
        let before = if order.is_le() { old.next() } else { None };
        let after = if order.is_ge() { new.next() } else { None };
        let Some((path, _)) = before.or(after) else { return changes };
        let (before, after) = (before.map(|(_, node)| node), after.map(|(_, node)| node));
        let appeared =
            before.is_none() && after.is_some_and(|node| ignored.ignores(path, node.is_directory()));
        if before != after && !appeared {
            changes.push(ManifestChange {
                path: path.clone(),
                before: before.cloned(),
                after: after.cloned(),
            });
        }
    }
}

/// What git ignored when a checkpoint was made, by the rules that it holds.
pub(crate) struct IgnoredPaths<'a> {
    manifest: &'a Manifest,
    blobs: &'a Blobs,
    workspace: &'a Path,
    /// The workspace itself, for the rules that repositories keep outside their files.
    tree: Option<&'a WorkspaceTree>,
    states: HashMap<PathBuf, DirectoryIgnoreState>,
}

impl<'a> IgnoredPaths<'a> {
    pub(crate) fn new(
        manifest: &'a Manifest,
        blobs: &'a Blobs,
        workspace: &'a Path,
        tree: Option<&'a WorkspaceTree>,
    ) -> IgnoredPaths<'a> {
        IgnoredPaths { manifest, blobs, workspace, tree, states: HashMap::new() }
    }

    /// Whether a path was ignored, or would have been.
    pub(crate) fn ignores(&mut self, path: &Path, is_directory: bool) -> bool {
        let directory = path.parent().unwrap_or(Path::new(""));
        self.ignore_state(directory).ignores(path, is_directory)
    }

    fn ignore_state(&mut self, directory: &Path) -> DirectoryIgnoreState {
        if let Some(known) = self.states.get(directory) {
            return known.clone();
        }
        let is_repository = self.manifest.repositories.iter().any(|path| path == directory);
        let own = self.rules(&directory.join(GITIGNORE));
        let standing = match directory.parent() {
            None => DirectoryIgnoreState::for_past_workspace(self.workspace, is_repository).enter(
                directory,
                false,
                None,
                own.as_deref(),
            ),
            Some(parent) => {
                let above = self.ignore_state(parent);
                // What a directory held that could not be read is as unknown as what git ignores.
                let is_unknown = matches!(self.manifest.get(directory), Some(ManifestNode::LeftOut { .. }));
                let ignored = is_unknown || above.ignores(directory, true);
                let exclude =
                    is_repository.then(|| self.tree.and_then(|tree| read_exclude_file(tree, directory)));
                above.enter(directory, ignored, exclude.as_ref().map(|text| text.as_deref()), own.as_deref())
            }
        };
        self.states.insert(directory.to_owned(), standing.clone());
        standing
    }

    fn rules(&self, path: &Path) -> Option<Vec<u8>> {
        let digest = self.manifest.get(path)?.digest()?;
        let mut bytes = self.blobs.read(&digest).ok()?;
        bytes.truncate(usize::try_from(IgnoreRules::MAX_BYTES).unwrap_or(usize::MAX));
        Some(bytes)
    }
}
