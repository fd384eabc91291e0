//! One snapshot for all commands that run in a workspace at the same time.
//!
//! It is taken when no command runs there, and given up when none does any more: a command that starts
//! meanwhile joins it. So what one command plants is never taken for what another one found. Restoring happens
//! whenever one of them ends, because others may run for hours, and once more when the last one does.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_sandbox_helper::{ProtectedSnapshot, SNAPSHOT_PREFIX, SavedModes, SnapshotPath};

use crate::protected_paths::ResolvedProtectedPath;
use crate::run_directory::{CrashJournal, RunDirectory};

/// The snapshots of all sandboxes of this process: a workspace has one, whoever runs commands there.
static SNAPSHOTS: Mutex<SnapshotRegistry> = Mutex::new(SnapshotRegistry { taken: 0, active: Vec::new() });

struct SnapshotRegistry {
    /// How many were ever taken.
    taken: u64,
    active: Vec<ActiveSnapshot>,
}

#[derive(Debug)]
struct ActiveSnapshot {
    /// How many were taken up to this one.
    number: u64,
    users: usize,
    /// The writable directories of the command that it was taken for.
    roots: Vec<PathBuf>,
    /// What mounts hold for that command.
    mounted: Vec<ResolvedProtectedPath>,
    snapshot: ProtectedSnapshot,
    _journal: CrashJournal,
}

/// A command's share in snapshots. To be ended when no process of the command is left.
#[derive(Debug, Default)]
pub(crate) struct SnapshotShares(Vec<u64>);

/// What a command wants to be restored.
pub(crate) struct SnapshotRequest<'a> {
    /// Directories that the command may write to.
    pub(crate) roots: &'a [PathBuf],
    /// Paths in them.
    pub(crate) protected: Vec<&'a ResolvedProtectedPath>,
    /// Paths in them that mounts hold.
    pub(crate) mounted: &'a [ResolvedProtectedPath],
    /// Repository directories, each after the root that it is in.
    pub(crate) repositories: &'a [(PathBuf, PathBuf)],
    pub(crate) modes: SavedModes,
}

impl SnapshotShares {
    /// Joins the snapshots of commands that run in these directories, and takes one of what is in none of them.
    pub(crate) fn take(run: &Arc<RunDirectory>, wanted: SnapshotRequest<'_>) -> io::Result<SnapshotShares> {
        let mut snapshots = lock();
        let meets = |roots: &[PathBuf]| {
            roots.iter().any(|one| wanted.roots.iter().any(|other| is_same_or_nested(one, other)))
        };
        let mut shares = SnapshotShares::default();
        let mut known: Vec<PathBuf> = Vec::new();
        for one in snapshots.active.iter_mut().filter(|one| meets(&one.roots)) {
            one.users += 1;
            shares.0.push(one.number);
            known.extend(one.snapshot.paths());
        }
        let joined = !shares.0.is_empty();
        // Above and below what others keep, a command of theirs may have changed everything.
        let is_new = |path: &Path| !known.iter().any(|known| is_same_or_nested(known, path));
        let new = wanted.protected.into_iter().filter(|protected| is_new(&protected.path));
        let protected: Vec<SnapshotPath<'_>> =
            new.map(|protected| SnapshotPath { path: &protected.path, root: &protected.root }).collect();
        // Of a rebase too, only the state before the first command counts.
        let repositories = if joined { &[] } else { wanted.repositories };
        let modes = if joined { SavedModes::default() } else { wanted.modes };
        let taken = ProtectedSnapshot::take(&protected, repositories, modes).and_then(|snapshot| {
            if snapshot.is_empty() {
                return Ok(());
            }
            let journal = CrashJournal::write(run, SNAPSHOT_PREFIX, &snapshot.to_bytes()?)?;
            snapshots.taken += 1;
            let (number, roots, mounted) = (snapshots.taken, wanted.roots.to_vec(), wanted.mounted.to_vec());
            snapshots.active.push(ActiveSnapshot {
                number,
                users: 1,
                roots,
                mounted,
                snapshot,
                _journal: journal,
            });
            shares.0.push(number);
            Ok(())
        });
        drop(snapshots);
        match taken {
            Ok(()) => Ok(shares),
            Err(error) => {
                shares.end();
                Err(error)
            }
        }
    }

    /// Restores what has changed, and says what that was.
    pub(crate) fn end(self) -> Vec<PathBuf> {
        let active = &mut lock().active;
        let mut restored = Vec::new();
        for number in self.0 {
            let Some(place) = active.iter().position(|one| one.number == number) else { continue };
            let one = &mut active[place];
            one.users -= 1;
            if one.users == 0 {
                restored.extend(one.snapshot.restore_until_stable());
                active.remove(place);
            } else {
                restored.extend(one.snapshot.restore());
            }
        }
        restored
    }
}

/// What is known of the commands that run with a snapshot.
pub(crate) struct ConcurrentCommands {
    /// How many snapshots were ever taken.
    pub(crate) taken: u64,
    /// What mounts hold for these commands. Where links led when they began, nobody may write later either,
    /// wherever the links lead by then.
    pub(crate) mounted: Vec<ResolvedProtectedPath>,
}

pub(crate) fn concurrent_commands() -> ConcurrentCommands {
    let snapshots = lock();
    let mounted = snapshots.active.iter().flat_map(|one| one.mounted.iter().cloned()).collect();
    ConcurrentCommands { taken: snapshots.taken, mounted }
}

fn lock() -> MutexGuard<'static, SnapshotRegistry> {
    SNAPSHOTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether one is the other, or in it.
fn is_same_or_nested(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
