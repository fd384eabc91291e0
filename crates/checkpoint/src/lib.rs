//! Checkpoints of a workspace: what its files were before a turn changed them, kept outside the
//! user's git, so that the turn can be shown as one diff and undone exactly.
//!
//! A [`CheckpointStore`] holds *blobs*, each named by its content and written once, and *manifests*, each a list
//! of paths with what was there. [`CheckpointStore::capture`] makes a checkpoint, [`CheckpointStore::diff`] compares two,
//! [`CheckpointStore::restore`] brings a workspace back, [`CheckpointStore::undo`] takes back what turns did to it,
//! [`CheckpointStore::prune`] keeps the store within its limits. All calls block, but those for a lease
//! ([`CheckpointStore::lease_for_change`], [`CheckpointStore::lease_for_undo`]), which keep turns and undos in one workspace apart. When to capture, what a turn is and who may undo it is left to the callers.

mod blobs;
mod capture;
mod check;
mod codec;
mod diff;
mod digest;
mod error;
mod hunks;
mod ignore_state;
mod leases;
mod manifest;
mod manifest_changes;
mod prune;
mod prune_schedule;
mod restore;
mod scan;
mod scan_walk;
mod stat_cache;
mod store;
mod store_files;
mod tracked_paths;
mod wire;
mod workspace_tree;

pub use capture::{CaptureOptions, Checkpoint};
pub use check::{CheckpointDamage, StoreCheck};
pub use diff::{CheckpointChangeKind, CheckpointFileChange, DiffTarget};
pub use digest::{CheckpointDigest, ParseCheckpointDigestError};
pub use error::Error;
pub use leases::{ChangeLease, UndoLease};
pub use manifest::{LeftOut, LeftOutReason};
pub use prune::{PruneReport, StoreLimits};
pub use prune_schedule::CheckpointUse;
pub use restore::{
    InterruptedRestore, RestoreConflict, RestoreOptions, RestoreReport, SkippedProtectedPath, TurnCheckpoints,
};
pub use store::CheckpointStore;
pub use workspace_tree::ProtectedNameFn;
