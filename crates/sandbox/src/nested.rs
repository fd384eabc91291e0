//! Repositories below a directory, found by a walk that is bounded by counts. One that is deeper, or that lies
//! where a great many names are, is not found.
//!
//! The walk can be repeated for a fraction of its cost: a directory whose last change is the one that was seen
//! has the same names. The time of that change is set by the kernel and by nobody else.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How deep repositories inside a workspace are looked for.
const DEPTH: usize = 3;
/// How many directories are looked into for them.
const DIRECTORIES: usize = 512;
/// How many names are looked at for them.
const NAMES: usize = 50_000;
/// Directories that are large and whose repositories are nobody's work.
const NOT_LOOKED_INTO: &[&str] = &[".git", "node_modules", "target", ".venv"];

/// The repositories below a directory, and what was seen on the way to them.
#[derive(Debug, Default)]
pub(crate) struct Nested {
    /// Their worktrees, the nearest first.
    pub(crate) repositories: Vec<PathBuf>,
    looked: HashMap<PathBuf, Looked>,
}

/// A directory that was looked into.
#[derive(Debug, Clone)]
struct Looked {
    stamp: Stamp,
    has_repository: bool,
    /// The directories in it that are to be entered.
    inner: Vec<PathBuf>,
    names: usize,
}

/// Which directory it is, and when it last changed: seconds, then nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    identity: (u64, u64),
    changed: (i64, i64),
}

impl Nested {
    /// Looks for them.
    pub(crate) fn below(root: &Path) -> Nested {
        Nested::default().again(root)
    }

    /// Looks for them again, below the same directory.
    pub(crate) fn again(&self, root: &Path) -> Nested {
        let mut now = Nested::default();
        // The nearest first, so that many directories far below do not keep it from being found.
        let mut waiting = VecDeque::from([(root.to_owned(), 0)]);
        let mut names = NAMES;
        while let Some((place, depth)) = waiting.pop_front().filter(|_| now.looked.len() < DIRECTORIES) {
            let Some(stamp) = stamp(&place) else { continue };
            let known = self.looked.get(&place).filter(|known| known.stamp == stamp).cloned();
            let looked = known.unwrap_or_else(|| look(&place, stamp, names));
            names = names.saturating_sub(looked.names);
            if looked.has_repository && depth > 0 {
                now.repositories.push(place.clone());
            }
            if depth < DEPTH {
                waiting.extend(looked.inner.iter().map(|inner| (inner.clone(), depth + 1)));
            }
            now.looked.insert(place, looked);
        }
        now
    }
}

fn stamp(place: &Path) -> Option<Stamp> {
    let found = fs::symlink_metadata(place).ok()?;
    Some(Stamp { identity: (found.dev(), found.ino()), changed: (found.ctime(), found.ctime_nsec()) })
}

fn look(place: &Path, stamp: Stamp, most: usize) -> Looked {
    let mut looked = Looked { stamp, has_repository: false, inner: Vec::new(), names: 0 };
    for entry in fs::read_dir(place).into_iter().flatten().flatten().take(most) {
        looked.names += 1;
        let name = entry.file_name();
        looked.has_repository |= name == ".git";
        let is_entered = entry.file_type().is_ok_and(|kind| kind.is_dir())
            && !NOT_LOOKED_INTO.iter().any(|skipped| name == *skipped);
        if is_entered {
            looked.inner.push(entry.path());
        }
    }
    looked
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Nested;

    #[test]
    fn what_has_come_and_gone_since_is_seen() {
        let top = tempfile::tempdir().unwrap();
        let at = |path: &str| top.path().join(path);
        for path in [".git", "a/.git", "a/b/c", "d/e", "node_modules/x/.git"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        let first = Nested::below(top.path());
        assert_eq!(first.repositories, [at("a")]);
        assert_eq!(first.again(top.path()).repositories, [at("a")]);
        fs::create_dir(at("d/e/.git")).unwrap();
        fs::create_dir_all(at("d/new/deep/.git")).unwrap();
        fs::write(at("a/b/c/.git"), "gitdir: elsewhere").unwrap();
        let mut second = first.again(top.path()).repositories;
        second.sort();
        assert_eq!(second, [at("a"), at("a/b/c"), at("d/e"), at("d/new/deep")]);
        // A directory that was put in the place of another one, with the dates of the other one.
        let second = first.again(top.path());
        fs::rename(at("a"), at("gone")).unwrap();
        fs::create_dir(at("a")).unwrap();
        let mut third = second.again(top.path()).repositories;
        third.sort();
        assert_eq!(third, [at("d/e"), at("d/new/deep"), at("gone"), at("gone/b/c")]);
    }
}
