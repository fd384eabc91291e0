//! How many lines a change adds and removes. It makes no diff: it only counts.

/// Beyond this many comparisons the changed middle counts as replaced whole.
const MAX_COMPARISONS: usize = 10_000_000;

/// Lines that a change adds and removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineCounts {
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

/// Counts the lines of `new` that are not in `old`, and the other way round, in order.
pub(crate) fn line_counts(old: &str, new: &str) -> LineCounts {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let before = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[before..], &new[before..]);
    let after = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - after], &new[..new.len() - after]);
    let kept = if old.len().saturating_mul(new.len()) > MAX_COMPARISONS { 0 } else { common_lines(old, new) };
    LineCounts { added: new.len() - kept, removed: old.len() - kept }
}

/// The length of the longest common subsequence, with one row of memory.
fn common_lines(old: &[&str], new: &[&str]) -> usize {
    let mut row = vec![0usize; new.len() + 1];
    for old_line in old {
        let mut diagonal = 0;
        for (column, new_line) in new.iter().enumerate() {
            let above = row[column + 1];
            row[column + 1] = if old_line == new_line { diagonal + 1 } else { above.max(row[column]) };
            diagonal = above;
        }
    }
    row[new.len()]
}

#[cfg(test)]
mod tests {
    use super::{LineCounts, line_counts};

    #[test]
    fn counts_what_changed() {
        for (old, new, added, removed) in [
            ("", "", 0, 0),
            ("", "a\nb\n", 2, 0),
            ("a\nb\n", "", 0, 2),
            ("a\nb\nc\n", "a\nx\nc\n", 1, 1),
            ("a\nb\nc\nd\n", "b\nc\nd\ne\n", 1, 1),
            ("a\n", "a", 1, 1),
            ("a\na\n", "a\na\na\n", 1, 0),
        ] {
            assert_eq!(line_counts(old, new), LineCounts { added, removed }, "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_change_too_large_to_compare_counts_as_replaced() {
        let old: String = (0..4_000).map(|n| format!("old {n}\n")).collect();
        let new: String = (0..4_000).map(|n| format!("new {n}\n")).collect();
        assert_eq!(line_counts(&old, &new), LineCounts { added: 4_000, removed: 4_000 });
    }
}
