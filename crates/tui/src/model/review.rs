//! What of a turn's change is to be put back: whole files, and single hunks of others. Nothing is until somebody
//! says so.

use std::collections::{BTreeMap, BTreeSet};

use ostler_types::{ChangeKind, FileChange, RejectedFile};

use crate::text::diff;

/// Files and hunks that are to be put back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RejectedHunks(BTreeMap<String, RejectedPart>);

/// How a file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileReviewState {
    /// It stays as the turn has left it.
    Kept,
    /// Some of its hunks are put back.
    PartlyReverted,
    /// It is put back.
    Reverted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum RejectedPart {
    All,
    Hunks(BTreeSet<usize>),
}

impl RejectedHunks {
    /// How a file stands.
    pub fn file_state(&self, path: &str) -> FileReviewState {
        match self.0.get(path) {
            None => FileReviewState::Kept,
            Some(RejectedPart::Hunks(_)) => FileReviewState::PartlyReverted,
            Some(RejectedPart::All) => FileReviewState::Reverted,
        }
    }

    /// Whether a hunk of a file is put back.
    pub fn rejects_hunk(&self, path: &str, hunk: usize) -> bool {
        match self.0.get(path) {
            None => false,
            Some(RejectedPart::All) => true,
            Some(RejectedPart::Hunks(hunks)) => hunks.contains(&hunk),
        }
    }

    /// Puts a file back, or no longer; what was said of its hunks is forgotten.
    pub fn toggle_file(&mut self, path: &str) {
        match self.file_state(path) {
            FileReviewState::Reverted => _ = self.0.remove(path),
            FileReviewState::Kept | FileReviewState::PartlyReverted => {
                _ = self.0.insert(path.to_owned(), RejectedPart::All)
            }
        }
    }

    /// Puts one hunk of a file back, or no longer. A file of which every hunk is put back is put back.
    pub fn toggle_hunk(&mut self, file: &FileChange, hunk: usize) {
        let count = hunk_count(file);
        let mut chosen: BTreeSet<usize> = match self.0.remove(&file.path) {
            None => BTreeSet::new(),
            Some(RejectedPart::All) => (0..count).collect(),
            Some(RejectedPart::Hunks(hunks)) => hunks,
        };
        if !chosen.remove(&hunk) {
            chosen.insert(hunk);
        }
        // Of a diff that is not shown whole, nobody can mean what they have not seen.
        if chosen.len() == count && shows_whole_change(file) {
            self.0.insert(file.path.clone(), RejectedPart::All);
        } else if !chosen.is_empty() {
            self.0.insert(file.path.clone(), RejectedPart::Hunks(chosen));
        }
    }

    /// The same as an answer.
    pub fn to_rejected_files(&self) -> Vec<RejectedFile> {
        let of = |(path, part): (&String, &RejectedPart)| RejectedFile {
            path: path.clone(),
            hunks: match part {
                RejectedPart::All => None,
                RejectedPart::Hunks(hunks) => Some(hunks.iter().copied().collect()),
            },
        };
        self.0.iter().map(of).collect()
    }

    /// Whether nothing is put back.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How many hunks of a file can be put back one by one; none when it is all or nothing.
pub fn hunk_count(file: &FileChange) -> usize {
    let shown = file.diff.as_deref().filter(|_| file.kind == ChangeKind::Modified);
    let count = shown.map_or(0, |text| diff::hunks(text).iter().filter(|hunk| hunk.head.is_some()).count());
    if count > 1 || !shows_whole_change(file) { count } else { 0 }
}

/// Whether all of a file's change is shown.
fn shows_whole_change(file: &FileChange) -> bool {
    let (added, removed) = file.diff.as_deref().map_or((0, 0), diff::changed_line_counts);
    (added as u64, removed as u64) == (file.added, file.removed)
}

#[cfg(test)]
mod tests {
    use super::{FileReviewState, RejectedHunks, hunk_count};
    use ostler_types::{ChangeKind, FileChange};

    fn file() -> FileChange {
        let diff = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n@@ -9 +9 @@\n-1\n+2\n";
        FileChange {
            path: "a".to_owned(),
            kind: ChangeKind::Modified,
            from: None,
            added: 2,
            removed: 2,
            binary: false,
            diff: Some(diff.to_owned()),
        }
    }

    #[test]
    fn hunks_add_up_to_a_file_and_come_apart_again() {
        let (file, mut rejected) = (file(), RejectedHunks::default());
        assert_eq!(hunk_count(&file), 2);
        rejected.toggle_hunk(&file, 1);
        assert_eq!(
            (rejected.file_state("a"), rejected.rejects_hunk("a", 0), rejected.rejects_hunk("a", 1)),
            (FileReviewState::PartlyReverted, false, true)
        );
        assert_eq!(rejected.to_rejected_files()[0].hunks, Some(vec![1]));
        rejected.toggle_hunk(&file, 0);
        assert_eq!(
            (rejected.file_state("a"), rejected.to_rejected_files()[0].hunks.clone()),
            (FileReviewState::Reverted, None)
        );
        rejected.toggle_hunk(&file, 1);
        assert_eq!(rejected.to_rejected_files()[0].hunks, Some(vec![0]));
        rejected.toggle_hunk(&file, 0);
        assert!(rejected.is_empty());
    }

    #[test]
    fn a_file_that_is_shown_in_part_is_never_put_back_whole_by_its_hunks() {
        let (file, mut rejected) = (FileChange { added: 90, ..file() }, RejectedHunks::default());
        rejected.toggle_hunk(&file, 0);
        rejected.toggle_hunk(&file, 1);
        assert_eq!(rejected.to_rejected_files()[0].hunks, Some(vec![0, 1]));
        rejected.toggle_file("a");
        assert_eq!(rejected.to_rejected_files()[0].hunks, None);
    }
}
