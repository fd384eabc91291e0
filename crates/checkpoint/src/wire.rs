//! How a change is told to clients and in the log: with paths that are text, and without what only restoring needs.

use crate::diff::{CheckpointChangeKind, CheckpointFileChange};

impl From<CheckpointFileChange> for ostler_types::FileChange {
    fn from(change: CheckpointFileChange) -> ostler_types::FileChange {
        use ostler_types::ChangeKind as Told;
        let (kind, from) = match change.kind {
            CheckpointChangeKind::Added => (Told::Added, None),
            CheckpointChangeKind::Deleted => (Told::Deleted, None),
            CheckpointChangeKind::Modified => (Told::Modified, None),
            CheckpointChangeKind::Renamed { from } => {
                (Told::Renamed, Some(from.to_string_lossy().into_owned()))
            }
            CheckpointChangeKind::ModeChanged => (Told::ModeChanged, None),
            CheckpointChangeKind::TypeChanged => (Told::TypeChanged, None),
        };
        ostler_types::FileChange {
            path: change.path.to_string_lossy().into_owned(),
            kind,
            from,
            added: change.added as u64,
            removed: change.removed as u64,
            binary: change.binary,
            diff: change.diff,
        }
    }
}
