//! What a change of a text came to: how many lines, and a diff for people.

use ostler_workspace_fs::{DiffNames, LineComparison};

/// What a change came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextDiff {
    pub(crate) added: usize,
    pub(crate) removed: usize,
    /// The unified diff; empty where nothing differs.
    pub(crate) text: String,
    /// Whether `text` lacks its end.
    pub(crate) truncated: bool,
}

/// Compares two texts. The counts are of all lines, the diff text has at most `room` bytes.
pub(crate) fn diff(old: &str, new: &str, names: DiffNames<'_>, room: usize) -> TextDiff {
    let comparison = LineComparison::new(old.as_bytes(), new.as_bytes());
    let (added, removed) = comparison.counts();
    let (text, truncated) = comparison.unified_diff(names, room);
    TextDiff { added, removed, text, truncated }
}
