//! Holds the places of protected paths that do not exist, for as long as a sandbox needs them: only
//! what exists can be mounted on.
//!
//! A placeholder is empty, or says one fixed word. This process knows those that it has made, by device and
//! inode; nothing that a program can do to a file of its own makes it one. A list on disk names them for
//! whoever comes after a crash. Commands that run in one workspace at the same time share them: removing one
//! under a sandbox would undo its protection.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_sandbox_helper::{
    ListedPlaceholder, PLACEHOLDERS_PREFIX, PlaceholderStamp, may_be_placeholder, remove_placeholder,
};
use ostler_workspace_fs::RootedTree;
use rustix::fs::{Stat, lstat};
use rustix::io::Errno;

use crate::protected_paths::{MissingPathAction, ResolvedProtectedPath};
use crate::run_directory::{CrashJournal, RunDirectory};

/// The placeholders of all sandboxes of this process, by path.
static ACTIVE_PLACEHOLDERS: Mutex<Option<HashMap<PathBuf, ActivePlaceholder>>> = Mutex::new(None);

#[derive(Debug)]
struct ActivePlaceholder {
    users: usize,
    root: PathBuf,
    stamp: PlaceholderStamp,
    /// Where it goes when it is no longer needed.
    run: Arc<RunDirectory>,
    _journal: Arc<CrashJournal>,
}

/// Makes what is missing, and keeps what somebody else made.
pub(crate) fn hold_missing_paths(
    run: &Arc<RunDirectory>,
    protected: &[ResolvedProtectedPath],
) -> io::Result<HeldPlaceholders> {
    // Before the lock: dropping it on a failure takes the lock again.
    let mut held = HeldPlaceholders(Vec::new());
    let mut guard = lock();
    let made = guard.get_or_insert_default();
    let mut missing = Vec::new();
    for protected in protected {
        if let Some(known) = made.get_mut(&protected.path) {
            known.users += 1;
            held.0.push(protected.path.clone());
        } else if !matches!(protected.if_missing, MissingPathAction::Nothing | MissingPathAction::Leave)
            && lstat(&protected.path).err() == Some(Errno::NOENT)
        {
            missing.push(protected);
        }
    }
    if missing.is_empty() {
        return Ok(held);
    }
    let list = |protected: &ResolvedProtectedPath, stamp| {
        let (root, path) = (protected.root.clone().into(), protected.path.clone().into());
        let mut line = serde_json::to_vec(&ListedPlaceholder { root, path, stamp }).unwrap_or_default();
        line.push(b'\n');
        line
    };
    let before: Vec<u8> = missing.iter().flat_map(|protected| list(protected, None)).collect();
    let journal = Arc::new(CrashJournal::write(run, PLACEHOLDERS_PREFIX, &before)?);
    let (mut after, mut trees) = (Vec::new(), HashMap::new());
    for protected in missing {
        let Some(stamp) = make(run, &mut trees, protected)? else { continue };
        after.extend(list(protected, Some(stamp)));
        let (root, run, journal) = (protected.root.clone(), Arc::clone(run), Arc::clone(&journal));
        made.insert(
            protected.path.clone(),
            ActivePlaceholder { users: 1, root, stamp, run, _journal: journal },
        );
        held.0.push(protected.path.clone());
    }
    journal.append(&after)?;
    Ok(held)
}

/// Placeholders in use. Dropping them removes those that nobody else uses, so it must be dropped when
/// no process of the sandbox is left.
#[derive(Debug)]
pub(crate) struct HeldPlaceholders(Vec<PathBuf>);

impl Drop for HeldPlaceholders {
    fn drop(&mut self) {
        let mut made = lock();
        let made = made.get_or_insert_default();
        let mut trees = HashMap::new();
        for path in &self.0 {
            let Some(known) = made.get_mut(path) else { continue };
            known.users -= 1;
            if known.users == 0
                && let Some(known) = made.remove(path)
            {
                remove(&mut trees, path, &known);
            }
        }
    }
}

/// Whether a path is one that a sandbox of this process has put there to hold the place of something
/// protected. It is gone when the sandbox has ended, so whoever looks at a workspace meanwhile passes over it.
pub fn is_placeholder(path: &Path) -> bool {
    !has_no_placeholders() && lstat(path).is_ok_and(|stat| is_placeholder_file(&stat))
}

/// The same for whoever has looked at the path already.
pub fn is_placeholder_file(stat: &Stat) -> bool {
    may_be_placeholder(stat)
        && lock().as_ref().is_some_and(|made| {
            let stamp = PlaceholderStamp::from_stat(stat);
            made.values().any(|known| known.stamp == stamp)
        })
}

/// The directories that placeholders are in, each opened once.
type OpenTrees = HashMap<PathBuf, RootedTree>;

fn tree<'a>(trees: &'a mut OpenTrees, root: &Path) -> io::Result<&'a RootedTree> {
    if !trees.contains_key(root) {
        trees.insert(root.to_owned(), RootedTree::open(root)?);
    }
    Ok(&trees[root])
}

/// Whether it was made. Where we may not write, the program may not either.
fn make(
    run: &RunDirectory,
    trees: &mut OpenTrees,
    protected: &ResolvedProtectedPath,
) -> io::Result<Option<PlaceholderStamp>> {
    let Ok(inner) = protected.path.strip_prefix(&protected.root) else { return Ok(None) };
    let tree = tree(trees, &protected.root)?;
    let made = match protected.if_missing {
        MissingPathAction::Nothing | MissingPathAction::Leave => return Ok(None),
        MissingPathAction::Directory => match run.spare.move_to(tree, inner) {
            Some(stat) => Ok(stat),
            None => tree.make_directory(inner, 0o755).map_err(io::Error::from),
        },
        MissingPathAction::File(text) => tree.make_file(inner, text.as_bytes(), 0o644),
    };
    match made {
        Ok(stat) => Ok(Some(PlaceholderStamp::from_stat(&stat))),
        Err(error) => match error.kind() {
            io::ErrorKind::AlreadyExists
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem => Ok(None),
            _ => Err(error),
        },
    }
}

/// Takes it away again. What somebody filled is theirs and stays.
fn remove(trees: &mut OpenTrees, path: &Path, known: &ActivePlaceholder) {
    let is_spare = tree(trees, &known.root).is_ok_and(|tree| {
        let inner = path.strip_prefix(&known.root);
        inner.is_ok_and(|inner| known.run.spare.move_from(tree, inner, known.stamp))
    });
    if !is_spare {
        remove_placeholder(&known.root, path, Some(known.stamp));
    }
}

fn has_no_placeholders() -> bool {
    lock().as_ref().is_none_or(HashMap::is_empty)
}

fn lock() -> MutexGuard<'static, Option<HashMap<PathBuf, ActivePlaceholder>>> {
    ACTIVE_PLACEHOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}
