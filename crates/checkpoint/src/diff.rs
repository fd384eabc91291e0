//! What a turn changed, file by file. Sizes are bounded: a diff is to be read, not to be applied.
//! Which paths differ is for `changes` to say, which lines for `lines`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use ostler_workspace_fs::{DiffNames, LineComparison, is_binary};

use crate::capture::{CaptureOptions, Checkpoint};
use crate::digest::{CheckpointDigest, ContentDigest};
use crate::error::Error;
use crate::manifest::{Manifest, ManifestNode};
use crate::manifest_changes::{IgnoredPaths, ManifestChange, changes};
use crate::scan::Scan;
use crate::stat_cache::StatCache;
use crate::store::CheckpointStore;
use crate::workspace_tree::WorkspaceTree;

/// How long the diff text of one file may be.
const MAX_FILE_TEXT: usize = 256 * 1024;
/// How long all of them may be together.
const MAX_TEXT: usize = 4 * 1024 * 1024;
/// How large a file may be for its lines to be compared.
const MAX_COMPARED_BYTES: u64 = 8 * 1024 * 1024;

/// With what a checkpoint is compared.
#[derive(Debug, Clone, Copy)]
pub enum DiffTarget<'a> {
    /// A later checkpoint.
    Checkpoint(&'a Checkpoint),
    /// The workspace as it is now.
    Workspace(&'a Path),
}

/// One file that is different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointFileChange {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// What happened to it.
    pub kind: CheckpointChangeKind,
    /// Whether it has no lines to compare: it is no text, or its content was left out.
    pub binary: bool,
    /// How many lines were added.
    pub added: usize,
    /// How many lines were removed.
    pub removed: usize,
    /// How many hunks there are, which [`CheckpointStore::restore_hunks`] counts from 0.
    pub hunks: usize,
    /// The unified diff, where there are lines that differ.
    pub diff: Option<String>,
    /// Whether the diff lacks its end, or is missing because there is too much of it.
    pub truncated: bool,
}

/// What happened to a file. Directories are named only where they are empty, or where their mode or
/// kind is what changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointChangeKind {
    /// It was not there before.
    Added,
    /// It is not there any more.
    Deleted,
    /// Its content is another; its mode may be, too.
    Modified,
    /// The same content was at another path before, and is not there any more.
    Renamed {
        /// The path before.
        from: PathBuf,
    },
    /// Only its mode bits are others.
    ModeChanged,
    /// It is a file, a link or a directory now, and was another of these.
    TypeChanged,
}

/// Compares a checkpoint with a later state.
pub(crate) fn diff(
    store: &CheckpointStore,
    from: &Checkpoint,
    against: DiffTarget<'_>,
) -> Result<Vec<CheckpointFileChange>, Error> {
    let before = store.manifest(from.id)?;
    let (after, later) = match against {
        DiffTarget::Checkpoint(checkpoint) => {
            (store.manifest(checkpoint.id)?, DiffSide::Checkpoint(store, checkpoint.id))
        }
        DiffTarget::Workspace(path) => {
            let tree = store.tree(path)?;
            (scan_current_workspace(store, &tree, &before)?, DiffSide::Workspace(tree))
        }
    };
    let tree = match &later {
        DiffSide::Workspace(tree) => Some(tree),
        DiffSide::Checkpoint(..) => None,
    };
    let mut ignored = IgnoredPaths::new(&before, &store.blobs, &from.workspace, tree);
    let changes = changes(&before, &after, &mut ignored);
    let shown = with_renames(without_full_directories(changes));
    let earlier = DiffSide::Checkpoint(store, from.id);
    let mut room = MAX_TEXT;
    shown.into_iter().map(|(change, kind)| file_change(change, kind, &earlier, &later, &mut room)).collect()
}

/// The workspace as it is now, taken by the rules of `before` and with its paths; nothing is stored.
pub(crate) fn scan_current_workspace(
    store: &CheckpointStore,
    tree: &WorkspaceTree,
    before: &Manifest,
) -> Result<Manifest, Error> {
    let options = CaptureOptions { max_file_bytes: before.max_file_bytes, ..CaptureOptions::default() };
    let cache = StatCache::read(&store.files, tree.path());
    let left_alone = store.files.excluded_directories(tree.path());
    let scan = Scan {
        tree,
        options: &options,
        excluded_directories: left_alone,
        cache: &cache,
        covered: Some(before),
        blobs: None,
        now: 0,
    };
    Ok(scan.run()?.manifest)
}

/// Where contents come from.
enum DiffSide<'a> {
    Checkpoint(&'a CheckpointStore, CheckpointDigest),
    Workspace(WorkspaceTree),
}

impl DiffSide<'_> {
    /// The content at a path, if it is there and of a size to be compared.
    fn content(&self, path: &Path, node: Option<&ManifestNode>) -> Result<DiffContent, Error> {
        let (digest, size) = match node {
            None | Some(ManifestNode::Directory { .. }) => return Ok(DiffContent::Bytes(Vec::new())),
            Some(ManifestNode::Link { target }) => return Ok(DiffContent::Bytes(target.clone())),
            Some(ManifestNode::LeftOut { .. }) => return Ok(DiffContent::Unknown),
            Some(ManifestNode::File { digest, size, .. }) => (digest, *size),
        };
        if size > MAX_COMPARED_BYTES {
            return Ok(DiffContent::TooMuch);
        }
        match self {
            DiffSide::Checkpoint(store, id) => store.blob(*id, digest).map(DiffContent::Bytes),
            DiffSide::Workspace(tree) => {
                let mut bytes = Vec::new();
                let read = tree.file(path).map_err(std::io::Error::from);
                let read = read.and_then(|(file, _)| file.take(MAX_COMPARED_BYTES).read_to_end(&mut bytes));
                Ok(if read.is_ok() { DiffContent::Bytes(bytes) } else { DiffContent::Unknown })
            }
        }
    }
}

enum DiffContent {
    Bytes(Vec<u8>),
    TooMuch,
    Unknown,
}

/// Leaves out directories that came or went with what they hold: their files tell as much.
fn without_full_directories(changes: Vec<ManifestChange>) -> Vec<ManifestChange> {
    let parents: HashSet<PathBuf> =
        changes.iter().filter_map(|change| change.path.parent().map(Path::to_owned)).collect();
    let is_directory = |node: &Option<ManifestNode>| node.as_ref().is_none_or(ManifestNode::is_directory);
    let tells_nothing = |change: &ManifestChange| {
        is_directory(&change.before)
            && is_directory(&change.after)
            && (change.before.is_none() || change.after.is_none())
            && parents.contains(&change.path)
    };
    changes.into_iter().filter(|change| !tells_nothing(change)).collect()
}

/// Joins a file that went with one of the same content that came. Only exact matches count.
fn with_renames(changes: Vec<ManifestChange>) -> Vec<(ManifestChange, CheckpointChangeKind)> {
    let content = |node: &Option<ManifestNode>| match node {
        Some(ManifestNode::File { size, digest, .. }) if *size > 0 => Some(*digest),
        _ => None,
    };
    let mut gone: BTreeMap<ContentDigest, Vec<usize>> = BTreeMap::new();
    for (place, change) in changes.iter().enumerate().rev() {
        if let (Some(digest), None) = (content(&change.before), &change.after) {
            gone.entry(digest).or_default().push(place);
        }
    }
    let mut origins: HashMap<usize, usize> = HashMap::new();
    for (place, change) in changes.iter().enumerate() {
        if let (None, Some(digest)) = (&change.before, content(&change.after))
            && let Some(origin) = gone.get_mut(&digest).and_then(Vec::pop)
        {
            origins.insert(place, origin);
        }
    }
    let joined: HashSet<usize> = origins.values().copied().collect();
    let paths: Vec<PathBuf> = changes.iter().map(|change| change.path.clone()).collect();
    let mut shown = Vec::new();
    for (place, change) in changes.into_iter().enumerate().filter(|(place, _)| !joined.contains(place)) {
        let kind = match origins.get(&place) {
            Some(origin) => CheckpointChangeKind::Renamed { from: paths[*origin].clone() },
            None => kind_of(&change),
        };
        shown.push((change, kind));
    }
    shown
}

fn kind_of(change: &ManifestChange) -> CheckpointChangeKind {
    match (&change.before, &change.after) {
        (None, _) => CheckpointChangeKind::Added,
        (_, None) => CheckpointChangeKind::Deleted,
        (Some(ManifestNode::File { digest: old, .. }), Some(ManifestNode::File { digest: new, .. }))
            if old == new =>
        {
            CheckpointChangeKind::ModeChanged
        }
        (Some(ManifestNode::Directory { .. }), Some(ManifestNode::Directory { .. })) => {
            CheckpointChangeKind::ModeChanged
        }
        (
            Some(ManifestNode::File { .. } | ManifestNode::LeftOut { .. }),
            Some(ManifestNode::File { .. } | ManifestNode::LeftOut { .. }),
        )
        | (Some(ManifestNode::Link { .. }), Some(ManifestNode::Link { .. })) => {
            CheckpointChangeKind::Modified
        }
        (Some(_), Some(_)) => CheckpointChangeKind::TypeChanged,
    }
}

fn file_change(
    change: ManifestChange,
    kind: CheckpointChangeKind,
    earlier: &DiffSide<'_>,
    later: &DiffSide<'_>,
    room: &mut usize,
) -> Result<CheckpointFileChange, Error> {
    let mut shown = CheckpointFileChange {
        path: change.path,
        kind,
        binary: false,
        added: 0,
        removed: 0,
        hunks: 0,
        diff: None,
        truncated: false,
    };
    if matches!(shown.kind, CheckpointChangeKind::Renamed { .. } | CheckpointChangeKind::ModeChanged) {
        return Ok(shown);
    }
    let old = earlier.content(&shown.path, change.before.as_ref())?;
    let new = later.content(&shown.path, change.after.as_ref())?;
    let (old, new) = match (old, new) {
        (DiffContent::Unknown, _) | (_, DiffContent::Unknown) => {
            shown.binary = true;
            return Ok(shown);
        }
        (DiffContent::TooMuch, _) | (_, DiffContent::TooMuch) => {
            shown.truncated = true;
            return Ok(shown);
        }
        (DiffContent::Bytes(old), DiffContent::Bytes(new)) => (old, new),
    };
    if is_binary(&old) || is_binary(&new) {
        shown.binary = true;
        return Ok(shown);
    }
    let comparison = LineComparison::new(&old, &new);
    (shown.added, shown.removed) = comparison.counts();
    shown.hunks = comparison.hunks().len();
    if shown.hunks == 0 {
        return Ok(shown);
    }
    let name = shown.path.to_string_lossy().into_owned();
    let name_of = |node: Option<&ManifestNode>| node.map(|_| name.as_str());
    let names = DiffNames { old: name_of(change.before.as_ref()), new: name_of(change.after.as_ref()) };
    let (text, truncated) = comparison.unified_diff(names, MAX_FILE_TEXT.min(*room));
    *room -= text.len();
    shown.truncated = truncated;
    shown.diff = (!text.is_empty()).then_some(text);
    Ok(shown)
}
