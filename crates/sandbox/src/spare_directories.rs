//! Empty directories that were placeholders, kept to be placeholders again. A command that ends moves them out of its
//! workspace, and the next one moves them in: file systems make and delete directories far more slowly than they rename
//! them (ext4 looks for a place all over the disk, and passes over what was deleted in the last half minute).
//!
//! Directories cannot be moved to another file system. A workspace that is not on that of Ostler's data has its
//! placeholders made and deleted each time.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ostler_sandbox_helper::PlaceholderStamp;
use ostler_workspace_fs::RootedTree;
use rustix::fs::{FileType, Stat};

/// How many are kept.
const MAXIMUM: usize = 64;

/// They lie in a directory of this process's own.
#[derive(Debug)]
pub(crate) struct SpareDirectories {
    directory: RootedTree,
    device: u64,
    names: Mutex<Vec<OsString>>,
    /// How many names were given so far.
    named: AtomicU64,
}

impl SpareDirectories {
    /// In this directory there are none yet.
    pub(crate) fn new(place: &Path) -> io::Result<SpareDirectories> {
        let place = RootedTree::open_following(place)?;
        let device = place.root()?.st_dev;
        Ok(SpareDirectories { directory: place, device, names: Mutex::default(), named: AtomicU64::new(0) })
    }

    /// Moves one to a path where nothing is. None where there is none, or it cannot be moved there.
    pub(crate) fn move_to(&self, tree: &RootedTree, path: &Path) -> Option<Stat> {
        self.is_on_same_file_system(tree).then_some(())?;
        let name = self.names().pop()?;
        let moved = tree.move_in(path, &self.directory, &name);
        if moved.is_err() {
            self.names().push(name);
        }
        moved.ok()
    }

    /// Takes back a placeholder that nobody has touched. False where that cannot be done, and it is still there.
    pub(crate) fn move_from(&self, tree: &RootedTree, path: &Path, stamp: PlaceholderStamp) -> bool {
        let is_untouched = |found: &Stat| {
            FileType::from_raw_mode(found.st_mode) == FileType::Directory
                && PlaceholderStamp::from_stat(found) == stamp
        };
        let is_it = |tree: &RootedTree, path: &Path| {
            tree.stat(path).is_ok_and(|it| it.as_ref().is_some_and(is_untouched))
        };
        if !self.is_on_same_file_system(tree) || self.names().len() >= MAXIMUM || !is_it(tree, path) {
            return false;
        }
        let name = OsString::from(format!("spare-{}", self.named.fetch_add(1, Ordering::Relaxed)));
        if tree.move_out(path, &self.directory, &name).is_err() {
            return false;
        }
        // Somebody may have put something into it, or in its place, between the look and the move; and a date does not tell
        // what was put into it in the moment in which it was made.
        let moved = Path::new(&name);
        let is_empty = || self.directory.names(moved).is_ok_and(|names| names.is_empty());
        if is_it(&self.directory, moved) && is_empty() {
            self.names().push(name);
            return true;
        }
        // Where that fails, somebody has put another one there by now.
        let _ = tree.move_in(path, &self.directory, &name);
        false
    }

    fn is_on_same_file_system(&self, tree: &RootedTree) -> bool {
        tree.root().is_ok_and(|root| root.st_dev == self.device)
    }

    fn names(&self) -> MutexGuard<'_, Vec<OsString>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use ostler_sandbox_helper::PlaceholderStamp;
    use ostler_workspace_fs::RootedTree;

    use super::SpareDirectories;

    #[test]
    fn one_that_nobody_touched_is_used_again() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let (own, workspace) = (top.join("own"), top.join("workspace"));
        fs::create_dir(&own).unwrap();
        fs::create_dir(&workspace).unwrap();
        let (spare, tree) = (SpareDirectories::new(&own).unwrap(), RootedTree::open(&workspace).unwrap());
        let path = Path::new(".claude");
        assert!(spare.move_to(&tree, path).is_none());
        let made = tree.make_directory(path, 0o755).unwrap();
        assert!(spare.move_from(&tree, path, PlaceholderStamp::from_stat(&made)));
        assert!(!workspace.join(path).exists());
        let again = spare.move_to(&tree, path).unwrap();
        assert_eq!(again.st_ino, made.st_ino);
        // What is there is never replaced.
        assert!(spare.move_from(&tree, path, PlaceholderStamp::from_stat(&again)));
        fs::write(workspace.join(path), "somebody's").unwrap();
        assert!(spare.move_to(&tree, path).is_none());
        assert_eq!(fs::read_to_string(workspace.join(path)).unwrap(), "somebody's");
    }

    #[test]
    fn one_that_somebody_filled_stays() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let (own, workspace) = (top.join("own"), top.join("workspace"));
        fs::create_dir(&own).unwrap();
        fs::create_dir(&workspace).unwrap();
        let (spare, tree) = (SpareDirectories::new(&own).unwrap(), RootedTree::open(&workspace).unwrap());
        let path = Path::new(".claude");
        let stamp = PlaceholderStamp::from_stat(&tree.make_directory(path, 0o755).unwrap());
        fs::write(workspace.join(".claude/settings.json"), "{}").unwrap();
        assert!(!spare.move_from(&tree, path, stamp));
        assert!(workspace.join(".claude/settings.json").exists());
    }
}
