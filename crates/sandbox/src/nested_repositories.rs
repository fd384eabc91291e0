//! Repositories and protected names below a directory, found by a walk that is bounded by counts. One that is
//! deeper, or that lies where a great many names are, is not found.
//!
//! The walk is repeated for a fraction of its cost: a directory whose last change is the one that was seen
//! has the same names. The time of that change is set by the kernel and by nobody else. So what was seen is
//! kept for the next command in the same directory.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::protected_paths::PROTECTED_NAMES;

/// How deep repositories inside a workspace are looked for.
const MAXIMUM_DEPTH: usize = 16;
/// How deep protected names are looked for.
const MAXIMUM_NAMES_DEPTH: usize = 3;
/// How many directories are looked into for them.
const MAXIMUM_DIRECTORIES: usize = 1024;
/// How many names are looked at for them.
const MAXIMUM_NAMES: usize = 50_000;
/// What makes a directory a repository to git.
const BARE_REPOSITORY_ENTRIES: &[&str] = &["HEAD", "objects", "refs"];
/// Directories that are large and whose repositories are nobody's work.
const SKIPPED_DIRECTORIES: &[&str] = &[".git", "node_modules", "target", ".venv"];
/// The clock by which the kernel dates changes stands still for some milliseconds at a time. A directory that
/// was looked at so shortly after a change could change again and keep its date.
const SETTLE_TIME: Duration = Duration::from_millis(100);
/// How many walks are kept.
const MAXIMUM_RECENT_WALKS: usize = 16;

/// The last walks, the newest last.
static RECENT_WALKS: Mutex<Vec<(PathBuf, Arc<NestedRepositories>)>> = Mutex::new(Vec::new());

/// The worktrees and the protected names that were found below a directory, in the order in which they were.
type SeenPaths = (Vec<PathBuf>, Vec<PathBuf>);

/// What was seen since this process began.
static SEEN_BY_ROOT: Mutex<Option<HashMap<PathBuf, SeenPaths>>> = Mutex::new(None);
/// For how many directories that is kept, and how much for each.
const MAXIMUM_SEEN: usize = 1024;
const MAXIMUM_SEEN_PATHS: usize = 128;

/// The repositories below a directory, and what was seen on the way to them.
#[derive(Debug, Default)]
pub(crate) struct NestedRepositories {
    /// Their worktrees, the nearest first.
    pub(crate) repositories: Vec<PathBuf>,
    /// Directories that git would take for a repository themselves.
    pub(crate) bare: Vec<PathBuf>,
    /// What has a protected name and is not at the top.
    pub(crate) protected: Vec<PathBuf>,
    visited: HashMap<PathBuf, VisitedDirectory>,
}

/// A directory that was looked into.
#[derive(Debug, Clone)]
struct VisitedDirectory {
    stamp: DirectoryStamp,
    /// Whether it can be told by its date whether it has changed since.
    is_settled: bool,
    has_repository: bool,
    is_bare: bool,
    /// The names in it that are protected.
    protected: Vec<PathBuf>,
    /// The directories in it that are to be entered.
    inner: Vec<PathBuf>,
    names: usize,
}

/// Which directory it is, and when it last changed: seconds, then nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DirectoryStamp {
    identity: (u64, u64),
    changed: (i64, i64),
}

impl NestedRepositories {
    /// Looks for them.
    pub(crate) fn find_below(root: &Path) -> Arc<NestedRepositories> {
        let kept = || RECENT_WALKS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept().iter().find(|(path, _)| path == root).map(|(_, nested)| Arc::clone(nested));
        let mut now = known.unwrap_or_default().find_again(root);
        put_earlier_finds_first(root, &mut now);
        let now = Arc::new(now);
        let mut kept = kept();
        kept.retain(|(path, _)| path != root);
        kept.push((root.to_owned(), Arc::clone(&now)));
        let over = kept.len().saturating_sub(MAXIMUM_RECENT_WALKS);
        kept.drain(..over);
        now
    }

    /// Looks for them again, below the same directory.
    pub(crate) fn find_again(&self, root: &Path) -> NestedRepositories {
        let mut now = NestedRepositories::default();
        // The nearest first, so that many directories far below do not keep it from being found.
        let mut waiting = VecDeque::from([(root.to_owned(), 0)]);
        let mut names = MAXIMUM_NAMES;
        while let Some((place, depth)) =
            waiting.pop_front().filter(|_| now.visited.len() < MAXIMUM_DIRECTORIES)
        {
            let Some(stamp) = stamp(&place) else { continue };
            let known =
                self.visited.get(&place).filter(|known| known.is_settled && known.stamp == stamp).cloned();
            let looked = known.unwrap_or_else(|| visit_directory(&place, stamp, names));
            names = names.saturating_sub(looked.names);
            if looked.has_repository && depth > 0 {
                now.repositories.push(place.clone());
            }
            if looked.is_bare && depth > 0 {
                now.bare.push(place.clone());
            }
            if (1..=MAXIMUM_NAMES_DEPTH).contains(&depth) {
                now.protected.extend(looked.protected.iter().cloned());
            }
            if depth < MAXIMUM_DEPTH {
                waiting.extend(looked.inner.iter().map(|inner| (inner.clone(), depth + 1)));
            }
            now.visited.insert(place, looked);
        }
        now
    }
}

/// Puts what was found by earlier walks first, as long as it exists: there is room for so many, and a command could make
/// more of them to crowd out those that were there before it.
fn put_earlier_finds_first(root: &Path, now: &mut NestedRepositories) {
    let mut seen = SEEN_BY_ROOT.lock().unwrap_or_else(PoisonError::into_inner);
    let seen = seen.get_or_insert_default();
    if seen.len() >= MAXIMUM_SEEN && !seen.contains_key(root) {
        seen.clear();
    }
    let (repositories, protected) = seen.entry(root.to_owned()).or_default();
    merge(repositories, &mut now.repositories);
    merge(protected, &mut now.protected);
}

fn merge(seen: &mut Vec<PathBuf>, now: &mut Vec<PathBuf>) {
    seen.retain(|path| path.symlink_metadata().is_ok());
    let new = now.drain(..).filter(|path| !seen.contains(path)).collect::<Vec<_>>();
    seen.extend(new);
    now.clone_from(seen);
    seen.truncate(MAXIMUM_SEEN_PATHS);
}

fn stamp(place: &Path) -> Option<DirectoryStamp> {
    let found = fs::symlink_metadata(place).ok()?;
    Some(DirectoryStamp {
        identity: (found.dev(), found.ino()),
        changed: (found.ctime(), found.ctime_nsec()),
    })
}

fn visit_directory(place: &Path, stamp: DirectoryStamp, most: usize) -> VisitedDirectory {
    let (protected, inner) = (Vec::new(), Vec::new());
    let is_settled = is_settled(stamp);
    let mut bare = BARE_REPOSITORY_ENTRIES.len();
    let (has_repository, is_bare) = (false, false);
    let mut looked =
        VisitedDirectory { stamp, is_settled, has_repository, is_bare, protected, inner, names: 0 };
    for entry in fs::read_dir(place).into_iter().flatten().flatten().take(most) {
        looked.names += 1;
        let name = entry.file_name();
        looked.has_repository |= name == ".git";
        bare -= usize::from(BARE_REPOSITORY_ENTRIES.iter().any(|bare| name == *bare));
        if PROTECTED_NAMES.iter().any(|protected| name == *protected) {
            looked.protected.push(entry.path());
            continue;
        }
        let is_entered = entry.file_type().is_ok_and(|kind| kind.is_dir())
            && !SKIPPED_DIRECTORIES.iter().any(|skipped| name == *skipped);
        if is_entered {
            looked.inner.push(entry.path());
        }
    }
    looked.is_bare = bare == 0;
    looked
}

/// Asked before a directory is looked into.
fn is_settled(stamp: DirectoryStamp) -> bool {
    let (Ok(seconds), Ok(nanos)) = (u64::try_from(stamp.changed.0), u32::try_from(stamp.changed.1)) else {
        return false;
    };
    let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos);
    changed.elapsed().is_ok_and(|age| age > SETTLE_TIME)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::NestedRepositories;

    #[test]
    fn what_has_come_and_gone_since_is_seen() {
        let top = tempfile::tempdir().unwrap();
        let at = |path: &str| top.path().join(path);
        for path in [".git", "a/.git", "a/b/c", "d/e", "node_modules/x/.git", ".vscode", "d/.vscode/x"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        let first = NestedRepositories::find_below(top.path());
        assert_eq!(first.repositories, [at("a")]);
        assert_eq!(first.protected, [at("d/.vscode")]);
        assert_eq!(first.find_again(top.path()).repositories, [at("a")]);
        fs::create_dir(at("d/e/.git")).unwrap();
        fs::create_dir_all(at("d/new/deep/.git")).unwrap();
        fs::write(at("a/b/c/.git"), "gitdir: elsewhere").unwrap();
        let mut second = first.find_again(top.path()).repositories;
        second.sort();
        assert_eq!(second, [at("a"), at("a/b/c"), at("d/e"), at("d/new/deep")]);
        fs::create_dir_all(at("d/1/2/3/4/5/6/7/8/.git")).unwrap();
        assert!(first.find_again(top.path()).repositories.contains(&at("d/1/2/3/4/5/6/7/8")));
        fs::remove_dir_all(at("d/1")).unwrap();
        // A directory that was put in the place of another one, with the dates of the other one.
        let second = first.find_again(top.path());
        fs::rename(at("a"), at("gone")).unwrap();
        fs::create_dir(at("a")).unwrap();
        let mut third = second.find_again(top.path()).repositories;
        third.sort();
        assert_eq!(third, [at("d/e"), at("d/new/deep"), at("gone"), at("gone/b/c")]);
    }
}
