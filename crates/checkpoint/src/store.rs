//! The store: one directory of checkpoints, and all that can be asked of it. Each call is short here
//! and explained in the module that does it.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::SystemTime;

use crate::blobs::{BlobError, Blobs};
use crate::capture::{CaptureOptions, Checkpoint, capture};
use crate::check::{StoreCheck, check};
use crate::diff::{CheckpointFileChange, DiffTarget, diff};
use crate::digest::{CheckpointDigest, ContentDigest};
use crate::error::Error;
use crate::hunks::restore_hunks;
use crate::leases::{ChangeLease, UndoLease, WorkspaceLeases};
use crate::manifest::{LeftOut, Manifest, ManifestHead, is_sorted, read_page};
use crate::prune::{PruneReport, StoreLimits, prune};
use crate::prune_schedule::{CheckpointUse, PruneSchedule};
use crate::restore::{
    InterruptedRestore, RestoreOptions, RestoreReport, TurnCheckpoints, clean_interrupted, interrupted,
    restore, undo,
};
use crate::store_files::{StoreFiles, read_if_there, remove_if_there};
use crate::workspace_tree::{PathRules, ProtectedNameFn, WorkspaceTree};

/// The checkpoints of a data directory. One process has it open at a time; its threads may use it at
/// the same time. All calls block, so an async caller gives them a thread of their own.
#[derive(Debug)]
pub struct CheckpointStore {
    pub(crate) files: Arc<StoreFiles>,
    pub(crate) blobs: Blobs,
    /// Held for reading by whatever relies on checkpoints that exist, for writing while some are
    /// taken away.
    prune_lock: RwLock<()>,
    /// Held while a workspace is being changed.
    restoring: Mutex<()>,
    rules: PathRules,
    leases: WorkspaceLeases,
    pub(crate) prune_schedule: PruneSchedule,
}

impl CheckpointStore {
    /// Opens the store in a directory of its own, which is made where there is none.
    pub fn open(directory: &Path) -> Result<CheckpointStore, Error> {
        CheckpointStore::open_excluding(directory, &[])
    }

    /// Opens the store, and takes some directories for no part of any workspace that happens to hold
    /// them: the daemon's own, whose logs no undo may touch. The store's directory always is one.
    pub fn open_excluding(directory: &Path, left_alone: &[&Path]) -> Result<CheckpointStore, Error> {
        let mut files = StoreFiles::open(directory)?;
        left_alone.iter().for_each(|directory| files.exclude(directory));
        let files = Arc::new(files);
        let blobs = Blobs::new(Arc::clone(&files));
        Ok(CheckpointStore {
            files,
            blobs,
            prune_lock: RwLock::default(),
            restoring: Mutex::default(),
            rules: PathRules::default(),
            leases: WorkspaceLeases::default(),
            prune_schedule: PruneSchedule::default(),
        })
    }

    /// The same with a way to tell what only holds a place in a workspace while programs run. It is asked,
    /// by absolute path, of what is empty or next to it. Such things are never captured, removed or made.
    #[must_use]
    pub fn with_placeholders(self, is_placeholder: fn(&Path) -> bool) -> CheckpointStore {
        CheckpointStore { rules: PathRules { is_placeholder, ..self.rules }, ..self }
    }

    /// The same with a rule of which paths nobody writes for a model. It is asked with the workspace, absolute and
    /// without links, and a path in it, and returns the protected name that the path has in it. Such paths are
    /// captured and compared like others, but no restore makes, changes or removes one, forced or not: they are
    /// listed in [`RestoreReport::protected`].
    #[must_use]
    pub fn with_protected_names(self, protected_name: ProtectedNameFn) -> CheckpointStore {
        CheckpointStore { rules: PathRules { protected_name, ..self.rules }, ..self }
    }

    /// Takes part in changing a workspace, together with others who do; waits while an undo runs in it.
    pub async fn lease_for_change(&self, workspace: &Path) -> ChangeLease {
        self.leases.lease_for_change(workspace).await
    }

    /// Has a workspace alone, to undo something in it; waits for those who change it.
    pub async fn lease_for_undo(&self, workspace: &Path) -> UndoLease {
        self.leases.lease_for_undo(workspace).await
    }

    /// Captures a workspace as it is now: all files, directories and links that git does not ignore,
    /// and all of them outside a repository, but nothing of `.git`. A workspace that has not changed
    /// gives the same checkpoint again, and nothing new is stored.
    pub fn capture(&self, workspace: &Path, options: &CaptureOptions) -> Result<Checkpoint, Error> {
        let _gate = self.lock_for_reading();
        capture(self, workspace, options).inspect(|_| self.prune_schedule.record_capture())
    }

    /// The checkpoint of an id.
    pub fn find(&self, id: CheckpointDigest) -> Result<Checkpoint, Error> {
        let _gate = self.lock_for_reading();
        self.head(id).map(|head| Checkpoint::new(id, &head))
    }

    /// What a checkpoint lists without its content.
    pub fn left_out(&self, checkpoint: &Checkpoint) -> Result<Vec<LeftOut>, Error> {
        let _gate = self.lock_for_reading();
        Ok(self.manifest(checkpoint.id)?.left_out().collect())
    }

    /// What is different between a checkpoint and a later one, or the workspace as it is now; sorted
    /// by path. What git ignored at the time of `from` is no difference.
    pub fn diff(&self, from: &Checkpoint, to: DiffTarget<'_>) -> Result<Vec<CheckpointFileChange>, Error> {
        let _gate = self.lock_for_reading();
        diff(self, from, to)
    }

    /// Brings the paths that differ between `to` and `since`, the state right after the turn, back to
    /// `to`. What was changed after `since` is a conflict: it is named, and not touched unless forced.
    /// Without `since` everything that differs from `to` is brought back. When a run was cut short by
    /// a crash or a full disk, the same call again completes it.
    pub fn restore(
        &self,
        workspace: &Path,
        to: &Checkpoint,
        since: Option<&Checkpoint>,
        options: &RestoreOptions,
    ) -> Result<RestoreReport, Error> {
        let (_gate, _restoring) = (self.lock_for_reading(), self.restoring());
        restore(self, workspace, to, since, options)
    }

    /// Takes back what turns did, the newest first, each from the state in which it left a path to the one
    /// in which it found it. What somebody else changed after the last of them, or between two, is a
    /// conflict, and a path that no turn changed is never touched. Forced, each path goes back to how the
    /// oldest turn that changed it found it. A preview says exactly what a run would do.
    pub fn undo(
        &self,
        workspace: &Path,
        newest_first: &[TurnCheckpoints<'_>],
        options: &RestoreOptions,
    ) -> Result<RestoreReport, Error> {
        let (_gate, _restoring) = (self.lock_for_reading(), self.restoring());
        undo(self, workspace, newest_first, options)
    }

    /// Undoes some hunks of one file's diff, counted from 0 as [`CheckpointStore::diff`] shows them from `to` to
    /// `since`, or to the workspace as it is now. A file that was changed after `since` is a conflict,
    /// because its hunks are others by now.
    pub fn restore_hunks(
        &self,
        workspace: &Path,
        path: &Path,
        to: &Checkpoint,
        since: Option<&Checkpoint>,
        hunks: &[usize],
    ) -> Result<RestoreReport, Error> {
        let (_gate, _restoring) = (self.lock_for_reading(), self.restoring());
        restore_hunks(self, workspace, path, to, since, hunks)
    }

    /// The restore of a workspace that was cut short, if there is one: calling [`CheckpointStore::restore`] with
    /// the same checkpoints completes it.
    pub fn interrupted(&self, workspace: &Path) -> Result<Option<InterruptedRestore>, Error> {
        interrupted(self, workspace)
    }

    /// Removes from all workspaces the files that restores which were cut short left lying there, and
    /// closes the directories that they opened. The same restore, asked for again, still completes them.
    /// Says in how many workspaces there was one.
    pub fn clean_interrupted(&self) -> Result<usize, Error> {
        let (_gate, _restoring) = (self.lock_for_reading(), self.restoring());
        clean_interrupted(self)
    }

    /// Keeps a checkpoint from being removed for as long as somebody works with it.
    pub fn in_use(&self, id: CheckpointDigest) -> CheckpointUse {
        self.prune_schedule.in_use(id)
    }

    /// Keeps a checkpoint from being removed by [`CheckpointStore::prune`].
    pub fn pin(&self, id: CheckpointDigest) -> Result<(), Error> {
        let _gate = self.lock_for_reading();
        self.head(id)?;
        let pin = self.files.pin(id);
        self.files
            .replace(&pin, b"", true)
            .map_err(|error| Error::io("Cannot pin a checkpoint at", &pin, error))
    }

    /// Lets a checkpoint be removed again.
    pub fn unpin(&self, id: CheckpointDigest) -> Result<(), Error> {
        let pin = self.files.pin(id);
        remove_if_there(&pin).map_err(|error| Error::io("Cannot unpin a checkpoint at", &pin, error))?;
        Ok(())
    }

    /// Removes the oldest checkpoints until the store is within its limits, and what only they used.
    /// Captures may go on at the same time.
    pub fn prune(&self, limits: &StoreLimits, now: SystemTime) -> Result<PruneReport, Error> {
        self.prune_schedule.record_prune(now);
        prune(self, limits, now)
    }

    /// Prunes if that is due: something was captured, and the last time is ten minutes ago or a good part
    /// of what a store may hold has been written since.
    pub fn prune_if_due(&self, limits: &StoreLimits, now: SystemTime) -> Result<Option<PruneReport>, Error> {
        if self.prune_schedule.is_due(now, self.blobs.written(), limits.max_bytes) {
            self.blobs.forget_written();
            self.prune(limits, now).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Reads all that is stored, and says which checkpoints cannot be restored and why.
    pub fn check(&self) -> Result<StoreCheck, Error> {
        let _gate = self.lock_for_reading();
        check(self)
    }

    /// Opens a workspace.
    pub(crate) fn tree(&self, workspace: &Path) -> Result<WorkspaceTree, Error> {
        WorkspaceTree::open(workspace, self.rules.clone())
    }

    pub(crate) fn lock_for_reading(&self) -> RwLockReadGuard<'_, ()> {
        self.prune_lock.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lock_for_removal(&self) -> RwLockWriteGuard<'_, ()> {
        self.prune_lock.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn restoring(&self) -> MutexGuard<'_, ()> {
        self.restoring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the head of a checkpoint says.
    pub(crate) fn head(&self, id: CheckpointDigest) -> Result<ManifestHead, Error> {
        let path = self.files.manifest(id);
        let bytes = read_if_there(&path).map_err(|error| Error::io("Cannot read", &path, error))?;
        let bytes = bytes.ok_or(Error::NotFound(id))?;
        let damaged = || Error::Damaged { checkpoint: id, what: "its manifest is torn".to_owned() };
        if ContentDigest::of_bytes(&bytes) != id.0 {
            return Err(damaged());
        }
        ManifestHead::read(&bytes).ok_or_else(damaged)
    }

    /// All that a checkpoint lists.
    pub(crate) fn manifest(&self, id: CheckpointDigest) -> Result<Manifest, Error> {
        let head = self.head(id)?;
        let mut entries = Vec::new();
        for page in &head.pages {
            let bytes = self.blob(id, page)?;
            let damaged =
                || Error::Damaged { checkpoint: id, what: format!("its page {page} makes no sense") };
            entries.extend(read_page(&bytes).ok_or_else(damaged)?);
        }
        if !is_sorted(&entries) {
            return Err(Error::Damaged { checkpoint: id, what: "its pages are not in order".to_owned() });
        }
        Ok(Manifest { max_file_bytes: head.max_file_bytes, repositories: head.repositories, entries })
    }

    /// A blob that a checkpoint needs.
    pub(crate) fn blob(
        &self,
        checkpoint: CheckpointDigest,
        digest: &ContentDigest,
    ) -> Result<Vec<u8>, Error> {
        self.blobs.read(digest).map_err(|error| match error {
            BlobError::Damaged(what) => Error::Damaged { checkpoint, what },
            BlobError::Io(source) => Error::io("Cannot read", &self.files.blob(digest), source),
        })
    }

    /// All checkpoints there are, and which are pinned, in no order.
    pub(crate) fn ids(&self) -> Result<(Vec<CheckpointDigest>, HashSet<CheckpointDigest>), Error> {
        let list = |directory: &Path| -> std::io::Result<Vec<CheckpointDigest>> {
            let mut ids = Vec::new();
            for file in std::fs::read_dir(directory)? {
                // Whatever has no such name was put there by somebody else, and is left alone.
                ids.extend(file?.file_name().to_str().and_then(|name| name.parse::<CheckpointDigest>().ok()));
            }
            Ok(ids)
        };
        let failed = |error| Error::io("Cannot read", self.files.root(), error);
        let pinned = list(&self.files.root().join("pins")).map_err(failed)?;
        Ok((list(&self.files.manifests()).map_err(failed)?, pinned.into_iter().collect()))
    }
}
