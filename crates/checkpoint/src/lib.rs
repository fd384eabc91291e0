//! Checkpoints of a workspace: what its files were before a turn changed them, kept outside the
//! user's git, so that the turn can be shown as one diff and undone exactly.
//!
//! A [`Store`] holds *blobs*, each named by its content and written once, and *manifests*, each a list
//! of paths with what was there. [`Store::capture`] makes a checkpoint, [`Store::diff`] compares two,
//! [`Store::restore`] brings a workspace back, [`Store::undo`] takes back what turns did to it,
//! [`Store::prune`] keeps the store within its limits. All calls block, but those for a lease
//! ([`Store::changing`], [`Store::undoing`]), which keep turns and undos in one workspace apart. When to capture, what a turn is and who may undo it is left to the callers.

mod blobs;
mod capture;
mod changes;
mod check;
mod codec;
mod diff;
mod digest;
mod error;
mod files;
mod hunks;
mod leases;
mod manifest;
mod prune;
mod restore;
mod rules;
mod scan;
mod stat_cache;
mod store;
mod told;
mod tracked;
mod upkeep;
mod walk;
mod workspace_tree;

pub use capture::{CaptureOptions, Checkpoint};
pub use check::{CheckpointDamage, StoreCheck};
pub use diff::{CheckpointChangeKind, CheckpointFileChange, DiffTarget};
pub use digest::{CheckpointDigest, ParseCheckpointDigestError};
pub use error::Error;
pub use leases::{ChangeLease, UndoLease};
pub use manifest::{LeftOut, LeftOutReason};
pub use prune::{PruneReport, StoreLimits};
pub use restore::{
    InterruptedRestore, RestoreConflict, RestoreOptions, RestoreReport, SkippedProtectedPath, TurnCheckpoints,
};
pub use store::CheckpointStore;
pub use upkeep::CheckpointUse;
pub use workspace_tree::ProtectedNameFn;
