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
pub use check::{Checked, Damage};
pub use diff::{Against, ChangeKind, FileChange};
pub use digest::{CheckpointId, ParseIdError};
pub use error::Error;
pub use leases::{Changing, Undoing};
pub use manifest::{LeftOut, Reason};
pub use prune::{Limits, Pruned};
pub use restore::{Conflict, Interrupted, ProtectedPath, RestoreOptions, Restored, Span};
pub use store::Store;
pub use upkeep::InUse;
pub use workspace_tree::ProtectedName;
