//! Who may change a workspace: turns together, or one undo alone. Leases are held by this process only,
//! and end when they are dropped. What is done under one is left to the callers.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// Leaves a workspace to those who change it, until it is dropped.
#[derive(Debug)]
pub struct ChangeLease {
    _lease: OwnedRwLockReadGuard<()>,
}

/// Leaves a workspace to one undo, until it is dropped.
#[derive(Debug)]
pub struct UndoLease {
    _lease: OwnedRwLockWriteGuard<()>,
}

/// The leases of all workspaces, by their paths without links.
#[derive(Debug, Default)]
pub(crate) struct WorkspaceLeases(Mutex<HashMap<PathBuf, Weak<RwLock<()>>>>);

impl WorkspaceLeases {
    pub(crate) async fn lease_for_change(&self, workspace: &Path) -> ChangeLease {
        ChangeLease { _lease: self.lock_of(workspace).read_owned().await }
    }

    pub(crate) async fn lease_for_undo(&self, workspace: &Path) -> UndoLease {
        UndoLease { _lease: self.lock_of(workspace).write_owned().await }
    }

    fn lock_of(&self, workspace: &Path) -> Arc<RwLock<()>> {
        let path = std::fs::canonicalize(workspace).unwrap_or_else(|_| workspace.to_owned());
        let mut leases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lease) = leases.get(&path).and_then(Weak::upgrade) {
            return lease;
        }
        leases.retain(|_, lease| lease.strong_count() > 0);
        let lease = Arc::new(RwLock::new(()));
        leases.insert(path, Arc::downgrade(&lease));
        lease
    }
}
