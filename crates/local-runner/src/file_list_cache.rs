//! The files of a workspace, found by a few letters of their names. What git ignores is left out. Nothing of the
//! workspace is run for that, and links are not followed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use ignore::WalkBuilder;
use ostler_runner::{FindFiles, WorkspaceFileList, WorkspacePathError};
use tokio::sync::Semaphore;

/// How many files of a workspace are looked at.
const MAX_FILES: usize = 100_000;
/// How deep a workspace is looked into.
const MAX_DEPTH: usize = 64;
/// How long looking may take.
const WALK_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a list is good for: people type several letters in a row.
const CACHE_LIFETIME: Duration = Duration::from_secs(5);
/// How many lists are kept.
const MAX_CACHED_LISTS: usize = 8;
/// How many workspaces are looked through at a time.
const MAX_CONCURRENT_WALKS: usize = 2;

/// The lists of files that were made last, and room for making them.
pub(crate) struct FileListCache {
    cached_lists: Mutex<VecDeque<CachedFileList>>,
    walks: Semaphore,
}

/// A list, and when it was made.
struct CachedFileList {
    workspace: String,
    at: Instant,
    list: Arc<WalkedFiles>,
}

struct WalkedFiles {
    paths: Vec<String>,
    /// Whether the workspace has more.
    cut: bool,
}

impl FileListCache {
    pub(crate) fn new() -> FileListCache {
        FileListCache { cached_lists: Mutex::default(), walks: Semaphore::new(MAX_CONCURRENT_WALKS) }
    }

    pub(crate) async fn find(&self, find: FindFiles) -> Result<WorkspaceFileList, WorkspacePathError> {
        let FindFiles { workspace, letters, limit } = find;
        let list = self.files_of(workspace).await?;
        let found = tokio::task::spawn_blocking(move || list.best_matches(&letters, limit)).await;
        found.map_err(|error| WorkspacePathError::Unreadable(error.to_string()))
    }

    /// The files of a workspace, as they are or were a moment ago.
    async fn files_of(&self, workspace: String) -> Result<Arc<WalkedFiles>, WorkspacePathError> {
        if let Some(list) = self.cached(&workspace) {
            return Ok(list);
        }
        let _place =
            self.walks.acquire().await.map_err(|error| WorkspacePathError::Unreadable(error.to_string()))?;
        // Somebody else may have looked in the meantime.
        if let Some(list) = self.cached(&workspace) {
            return Ok(list);
        }
        let root = workspace.clone();
        let walked = tokio::task::spawn_blocking(move || WalkedFiles::walk(&root)).await;
        let list = Arc::new(walked.map_err(|error| WorkspacePathError::Unreadable(error.to_string()))?);
        let mut made = self.lock();
        made.retain(|known| known.workspace != workspace);
        if made.len() >= MAX_CACHED_LISTS {
            made.pop_front();
        }
        made.push_back(CachedFileList { workspace, at: Instant::now(), list: Arc::clone(&list) });
        Ok(list)
    }

    fn cached(&self, workspace: &str) -> Option<Arc<WalkedFiles>> {
        let mut made = self.lock();
        made.retain(|known| known.at.elapsed() < CACHE_LIFETIME);
        made.iter().find(|known| known.workspace == workspace).map(|known| Arc::clone(&known.list))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<CachedFileList>> {
        self.cached_lists.lock().expect("no code panics while it holds the lists")
    }
}

impl WalkedFiles {
    fn walk(root: &str) -> WalkedFiles {
        let (end, mut paths, mut cut) = (Instant::now() + WALK_TIMEOUT, Vec::new(), false);
        let mut walk = WalkBuilder::new(root);
        walk.hidden(false).require_git(false).max_depth(Some(MAX_DEPTH));
        walk.filter_entry(|entry| entry.file_name() != ".git");
        for entry in walk.build().flatten() {
            if paths.len() >= MAX_FILES || Instant::now() >= end {
                cut = true;
                break;
            }
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            let path = entry.path().strip_prefix(root).ok().and_then(|path| path.to_str());
            paths.extend(path.filter(|_| is_file).map(str::to_owned));
        }
        WalkedFiles { paths, cut }
    }

    fn best_matches(&self, q: &str, limit: usize) -> WorkspaceFileList {
        let q: Vec<char> =
            q.chars().filter(|letter| !letter.is_whitespace()).flat_map(char::to_lowercase).collect();
        let ranked = self.paths.iter().filter_map(|path| Some((match_rank(path, &q)?, path.len(), path)));
        let mut ranked: Vec<_> = ranked.collect();
        ranked.sort_unstable();
        let is_cut = self.cut || ranked.len() > limit;
        let paths = ranked.into_iter().take(limit).map(|(.., path)| path.clone()).collect();
        WorkspaceFileList { paths, is_cut }
    }
}

/// How well a path fits, the best first; none where it does not. What was typed fits best as a piece of the file's name,
/// then as a piece of the path, then with letters in between, of which the fewer the better.
fn match_rank(path: &str, q: &[char]) -> Option<(u8, usize)> {
    if q.is_empty() {
        return Some((0, path.matches('/').count()));
    }
    let letters: Vec<char> = path.chars().flat_map(char::to_lowercase).collect();
    let name = letters.iter().rposition(|letter| *letter == '/').map_or(0, |slash| slash + 1);
    let within = |letters: &[char]| letters.windows(q.len()).position(|piece| piece == q);
    match within(&letters[name..]) {
        Some(0) if letters.len() - name == q.len() => return Some((0, 0)),
        Some(0) => return Some((1, 0)),
        Some(place) => return Some((2, place)),
        None => {}
    }
    if let Some(place) = within(&letters) {
        return Some((3, name.saturating_sub(place)));
    }
    gap_size(&letters[name..], q)
        .map(|gaps| (4, gaps))
        .or_else(|| gap_size(&letters, q).map(|gaps| (5, gaps)))
}

/// How many letters lie between those that were typed, looking from the end, where names differ most.
fn gap_size(letters: &[char], q: &[char]) -> Option<usize> {
    let (mut wanted, mut last, mut first) = (q.iter().rev(), None, 0);
    let mut next = wanted.next();
    for (place, letter) in letters.iter().enumerate().rev() {
        if Some(letter) == next {
            last = last.or(Some(place));
            first = place;
            next = wanted.next();
        }
    }
    let span = last.filter(|_| next.is_none())? + 1 - first;
    Some(span - q.len())
}

#[cfg(test)]
mod tests {
    use super::WalkedFiles;

    fn best(q: &str) -> Vec<String> {
        let paths =
            ["src/main.rs", "src/domain.rs", "docs/main/notes.md", "tests/it/main_window.rs", "a/m/a/i/n"];
        let list = WalkedFiles { paths: paths.map(str::to_owned).to_vec(), cut: false };
        list.best_matches(q, 10).paths
    }

    #[test]
    fn a_name_that_begins_so_comes_before_one_that_holds_it_and_before_a_folder() {
        let found = best("main");
        assert_eq!(
            found,
            ["src/main.rs", "tests/it/main_window.rs", "src/domain.rs", "docs/main/notes.md", "a/m/a/i/n"]
        );
        assert_eq!(best("MAIN.rs")[0], "src/main.rs");
        assert_eq!(best("srcmn")[0], "src/main.rs");
        assert_eq!(best("dmain"), ["src/domain.rs", "docs/main/notes.md"]);
        assert!(best("zebra").is_empty());
        assert_eq!(best("").len(), 5);
    }
}
