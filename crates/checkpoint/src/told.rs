//! How a change is told to clients and in the log: with paths that are text, and without what only restoring needs.

use crate::diff::{ChangeKind, FileChange};

impl From<FileChange> for ostler_types::FileChange {
    fn from(change: FileChange) -> ostler_types::FileChange {
        use ostler_types::ChangeKind as Told;
        let (kind, from) = match change.kind {
            ChangeKind::Added => (Told::Added, None),
            ChangeKind::Deleted => (Told::Deleted, None),
            ChangeKind::Modified => (Told::Modified, None),
            ChangeKind::Renamed { from } => (Told::Renamed, Some(from.to_string_lossy().into_owned())),
            ChangeKind::ModeChanged => (Told::ModeChanged, None),
            ChangeKind::TypeChanged => (Told::TypeChanged, None),
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
