//! Remembers what is known of workspaces: in memory up to a limit, and on disk where a directory is
//! given. Tags belong to a file's stamp, so they never outlive its content.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::disk_cache::DiskCache;
use crate::index::SymbolIndex;
use crate::tags::Tags;

/// How much memory what is known may take.
const MAX_BYTES: usize = 96 * 1024 * 1024;

/// What is known of workspaces. Shared by all calls; nothing in it is ever waited for.
pub struct RepoMapCache {
    disk: Option<DiskCache>,
    max_bytes: usize,
    memory: Mutex<MemoryCache>,
}

/// By what the content of a file is told from what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceStamp {
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written, in seconds and nanoseconds.
    pub modified: (i64, u32),
    /// The number of its inode, which changes where a file is replaced.
    pub inode: u64,
}

/// What is known of one workspace. Never changed, only replaced.
pub struct WorkspaceTags {
    files: HashMap<String, (SourceStamp, Tags)>,
    index: SymbolIndex,
}

impl RepoMapCache {
    /// A cache that keeps tags in `directory` too, so that they outlive the process. What cannot be
    /// kept there costs time and nothing else.
    pub fn new(directory: Option<PathBuf>) -> RepoMapCache {
        RepoMapCache::with_limit(directory, MAX_BYTES)
    }

    /// A cache that holds at most `max_bytes` in memory.
    pub fn with_limit(directory: Option<PathBuf>, max_bytes: usize) -> RepoMapCache {
        RepoMapCache { disk: directory.map(DiskCache::new), max_bytes, memory: Mutex::default() }
    }

    /// What is known of a workspace, from memory or else from disk.
    pub fn get(&self, workspace: &Path) -> Option<Arc<WorkspaceTags>> {
        let held = self.memory.lock().unwrap_or_else(PoisonError::into_inner).touch(workspace);
        held.or_else(|| {
            let files = self.disk.as_ref()?.read(workspace)?;
            Some(Arc::new(WorkspaceTags::new(files)))
        })
    }

    /// Keeps what is now known of a workspace. Those that have not been used for longest make room.
    pub fn put(&self, workspace: &Path, known: &Arc<WorkspaceTags>, is_new: bool) {
        if let Some(disk) = self.disk.as_ref().filter(|_| is_new) {
            disk.write(workspace, known.files());
        }
        let mut held = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        held.put(workspace, known, self.max_bytes);
    }

    /// How much memory is taken, about.
    pub fn bytes(&self) -> usize {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).bytes()
    }
}

impl WorkspaceTags {
    /// What these files come to. The order of the index is that of their paths.
    pub fn new(files: HashMap<String, (SourceStamp, Tags)>) -> WorkspaceTags {
        let mut sorted: Vec<(String, Tags)> =
            files.iter().map(|(path, (_, tags))| (path.clone(), tags.clone())).collect();
        sorted.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        WorkspaceTags { files, index: SymbolIndex::build(sorted) }
    }

    /// The tags of a file, if it is still what it was.
    pub fn tags(&self, path: &str, stamp: SourceStamp) -> Option<&Tags> {
        self.files.get(path).filter(|(known, _)| *known == stamp).map(|(_, tags)| tags)
    }

    /// How many files are known.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether no file is known.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The files, joined.
    pub fn index(&self) -> &SymbolIndex {
        &self.index
    }

    fn files(&self) -> impl Iterator<Item = (&str, SourceStamp, &Tags)> {
        self.files.iter().map(|(path, (stamp, tags))| (path.as_str(), *stamp, tags))
    }

    fn bytes(&self) -> usize {
        // A path is held twice, and a row of the table takes about as much as two.
        let rows: usize =
            self.files.iter().map(|(path, (_, tags))| 2 * path.len() + tags.bytes() + 128).sum();
        rows + self.index.bytes()
    }
}

/// What is in memory, the last used at the end.
#[derive(Default)]
struct MemoryCache(Vec<(PathBuf, Arc<WorkspaceTags>, usize)>);

impl MemoryCache {
    fn touch(&mut self, workspace: &Path) -> Option<Arc<WorkspaceTags>> {
        let at = self.0.iter().position(|(held, _, _)| held == workspace)?;
        let row = self.0.remove(at);
        let known = Arc::clone(&row.1);
        self.0.push(row);
        Some(known)
    }

    fn put(&mut self, workspace: &Path, known: &Arc<WorkspaceTags>, max_bytes: usize) {
        self.0.retain(|(held, _, _)| held != workspace);
        let bytes = known.bytes();
        // A workspace that does not fit by itself would only drive out the others.
        if bytes > max_bytes {
            return;
        }
        self.0.push((workspace.to_owned(), Arc::clone(known), bytes));
        while self.bytes() > max_bytes {
            self.0.remove(0);
        }
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|(_, _, bytes)| bytes).sum()
    }
}
