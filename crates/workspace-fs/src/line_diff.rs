//! The lines in which two contents differ: counted, shown as a unified diff, undone hunk by hunk. It
//! knows bytes and lines, and nothing of files; the names are only printed.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

/// How many changed lines are compared; beyond, the changed middle counts as replaced whole.
const MAX_COMPARED_LINES: usize = 60_000;
/// How many lines are shown around a change.
const CONTEXT_LINES: usize = 3;
/// How much of a content is looked at to tell whether it is text.
const BINARY_SAMPLE_BYTES: usize = 8_000;

/// The file before and after, none where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffNames<'a> {
    /// Its name before.
    pub old: Option<&'a str>,
    /// Its name after.
    pub new: Option<&'a str>,
}

/// Two contents, line by line.
pub struct LineComparison<'a> {
    old: Vec<&'a [u8]>,
    new: Vec<&'a [u8]>,
    operations: Vec<DiffOp>,
}

/// Whether a content is no text, as git tells it.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(BINARY_SAMPLE_BYTES)].contains(&0)
}

impl<'a> LineComparison<'a> {
    /// Compares two contents.
    pub fn new(old: &'a [u8], new: &'a [u8]) -> LineComparison<'a> {
        let lines = |bytes: &'a [u8]| bytes.split_inclusive(|byte| *byte == b'\n').collect::<Vec<_>>();
        let (old, new) = (lines(old), lines(new));
        let operations = compare(&old, &new);
        LineComparison { old, new, operations }
    }

    /// How many lines were added, and how many removed.
    pub fn counts(&self) -> (usize, usize) {
        self.operations.iter().filter(|operation| !is_equal(operation)).fold(
            (0, 0),
            |(added, removed), operation| {
                (added + operation.new_range().len(), removed + operation.old_range().len())
            },
        )
    }

    /// The hunks, each with the lines around it.
    pub fn hunks(&self) -> Vec<Vec<DiffOp>> {
        group_diff_ops(self.operations.clone(), CONTEXT_LINES)
    }

    /// The unified diff in at most `room` bytes, and whether it lacks its end. Where only the name is another
    /// it is what says so; where nothing is, it is empty.
    pub fn unified_diff(&self, names: DiffNames<'_>, room: usize) -> (String, bool) {
        let mut writer = DiffWriter { text: String::new(), room, truncated: false };
        let hunks = self.hunks();
        if !hunks.is_empty() || names.old != names.new {
            writer.header(names, !hunks.is_empty());
        }
        for hunk in hunks {
            if writer.truncated {
                break;
            }
            writer.hunk(&hunk, self);
        }
        (writer.text, writer.truncated)
    }

    /// The new content with some hunks as they were in the old one.
    pub fn with_hunks_undone(&self, undone: &BTreeSet<usize>) -> Vec<u8> {
        let mut changes = BTreeSet::new();
        for (number, hunk) in self.hunks().iter().enumerate() {
            if undone.contains(&number) {
                changes.extend(
                    hunk.iter()
                        .filter(|operation| !is_equal(operation))
                        .map(|operation| (operation.old_range().start, operation.new_range().start)),
                );
            }
        }
        let mut bytes = Vec::new();
        for operation in &self.operations {
            let place = (operation.old_range().start, operation.new_range().start);
            let lines = if !is_equal(operation) && changes.contains(&place) {
                &self.old[operation.old_range()]
            } else {
                &self.new[operation.new_range()]
            };
            lines.iter().for_each(|line| bytes.extend_from_slice(line));
        }
        bytes
    }
}

fn is_equal(operation: &DiffOp) -> bool {
    matches!(operation, DiffOp::Equal { .. })
}

/// The way from the old lines to the new, not always the shortest one.
fn compare<'a>(old: &[&'a [u8]], new: &[&'a [u8]]) -> Vec<DiffOp> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let (old_middle, new_middle) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let mut operations = Vec::new();
    if start > 0 {
        operations.push(DiffOp::Equal { old_index: 0, new_index: 0, len: start });
    }
    let (old_len, new_len) = (old_middle.len(), new_middle.len());
    let at = start;
    match (old_len, new_len) {
        (0, 0) => {}
        (0, _) => operations.push(DiffOp::Insert { old_index: at, new_index: at, new_len }),
        (_, 0) => operations.push(DiffOp::Delete { old_index: at, old_len, new_index: at }),
        _ if old_len + new_len > MAX_COMPARED_LINES => {
            operations.push(DiffOp::Replace { old_index: at, old_len, new_index: at, new_len });
        }
        _ => {
            let (old_numbers, new_numbers) = numbered(old_middle, new_middle);
            let middle = capture_diff_slices(Algorithm::Myers, &old_numbers, &new_numbers);
            operations.extend(middle.into_iter().map(|operation| shifted(operation, start)));
        }
    }
    if end > 0 {
        operations.push(DiffOp::Equal { old_index: old.len() - end, new_index: new.len() - end, len: end });
    }
    operations
}

/// A number for each line, the same for the same lines: numbers compare faster.
fn numbered<'a>(old: &[&'a [u8]], new: &[&'a [u8]]) -> (Vec<usize>, Vec<usize>) {
    let mut numbers: HashMap<&'a [u8], usize> = HashMap::new();
    let mut number = |lines: &[&'a [u8]]| {
        let mut numbered = Vec::with_capacity(lines.len());
        for line in lines {
            let next = numbers.len();
            numbered.push(*numbers.entry(*line).or_insert(next));
        }
        numbered
    };
    (number(old), number(new))
}

fn shifted(operation: DiffOp, by: usize) -> DiffOp {
    match operation {
        DiffOp::Equal { old_index, new_index, len } => {
            DiffOp::Equal { old_index: old_index + by, new_index: new_index + by, len }
        }
        DiffOp::Delete { old_index, old_len, new_index } => {
            DiffOp::Delete { old_index: old_index + by, old_len, new_index: new_index + by }
        }
        DiffOp::Insert { old_index, new_index, new_len } => {
            DiffOp::Insert { old_index: old_index + by, new_index: new_index + by, new_len }
        }
        DiffOp::Replace { old_index, old_len, new_index, new_len } => {
            DiffOp::Replace { old_index: old_index + by, old_len, new_index: new_index + by, new_len }
        }
    }
}

/// Writes whole lines as long as there is room.
struct DiffWriter {
    text: String,
    room: usize,
    truncated: bool,
}

impl DiffWriter {
    fn header(&mut self, names: DiffNames<'_>, has_lines: bool) {
        let side = |prefix: &str, name: Option<&str>| {
            name.map_or_else(|| "/dev/null".to_owned(), |name| quote(&format!("{prefix}/{name}")))
        };
        let (from, to) = (side("a", names.old), side("b", names.new));
        let mut header = String::new();
        if let (Some(old), Some(new)) = (names.old, names.new)
            && old != new
        {
            let (old, new) = (quote(old), quote(new));
            header = format!("diff --git {from} {to}\nrename from {old}\nrename to {new}\n");
        }
        // A tab ends a name that has a space in it, as git writes it.
        let ended = |name: &str| if name.contains(' ') { format!("{name}\t") } else { name.to_owned() };
        if has_lines || header.is_empty() {
            let _ = write!(header, "--- {}\n+++ {}\n", ended(&from), ended(&to));
        }
        self.push(&header);
    }

    fn hunk(&mut self, hunk: &[DiffOp], both: &LineComparison<'_>) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return };
        let range = |start: usize, end: usize| match end - start {
            0 => format!("{start},0"),
            1 => format!("{}", start + 1),
            lines => format!("{},{lines}", start + 1),
        };
        let old_range = range(first.old_range().start, last.old_range().end);
        let new_range = range(first.new_range().start, last.new_range().end);
        self.push(&format!("@@ -{old_range} +{new_range} @@\n"));
        for operation in hunk {
            if is_equal(operation) {
                self.lines(' ', &both.old[operation.old_range()]);
            } else {
                self.lines('-', &both.old[operation.old_range()]);
                self.lines('+', &both.new[operation.new_range()]);
            }
        }
    }

    fn lines(&mut self, sign: char, lines: &[&[u8]]) {
        for line in lines {
            if self.truncated {
                return;
            }
            let line = String::from_utf8_lossy(line);
            let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
            self.push(&format!("{sign}{line}{end}"));
        }
    }

    fn push(&mut self, piece: &str) {
        if self.truncated || self.text.len() + piece.len() > self.room {
            self.truncated = true;
        } else {
            self.text.push_str(piece);
        }
    }
}

/// The name as git writes it: quoted where it holds what would end or hide it.
fn quote(name: &str) -> String {
    if !name.chars().any(|character| character.is_control() || matches!(character, '"' | '\\')) {
        return name.to_owned();
    }
    let mut quoted = String::from("\"");
    for character in name.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            _ if character.is_control() => {
                for byte in character.to_string().bytes() {
                    let _ = write!(quoted, "\\{byte:03o}");
                }
            }
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{DiffNames, LineComparison};

    const SAME: DiffNames<'_> = DiffNames { old: Some("f"), new: Some("f") };

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
            let made = LineComparison::new(old.as_bytes(), new.as_bytes());
            assert_eq!(made.counts(), (added, removed), "{old:?} {new:?}");
            assert!(!made.unified_diff(SAME, 10_000).1);
        }
    }

    #[test]
    fn the_text_is_what_git_would_print() {
        for (names, old, new, expected) in [
            (SAME, "a\n", "a\n", ""),
            (
                SAME,
                "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
                "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
                "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n",
            ),
            (
                SAME,
                "a\nb",
                "a\nb\n",
                "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n",
            ),
            (
                DiffNames { old: None, new: Some("d/a b") },
                "",
                "x\n",
                "--- /dev/null\n+++ b/d/a b\t\n@@ -0,0 +1 @@\n+x\n",
            ),
            (
                DiffNames { old: Some("a\"\n"), new: None },
                "x\n",
                "",
                "--- \"a/a\\\"\\012\"\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
            ),
            (
                DiffNames { old: Some("f"), new: Some("g") },
                "x\n",
                "x\n",
                "diff --git a/f b/g\nrename from f\nrename to g\n",
            ),
        ] {
            let made = LineComparison::new(old.as_bytes(), new.as_bytes());
            assert_eq!(made.unified_diff(names, 10_000), (expected.to_owned(), false), "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_long_diff_is_cut_between_lines_and_still_counted() {
        let new: String = (0..1_000).map(|n| format!("line {n}\n")).collect();
        let made = LineComparison::new(b"", new.as_bytes());
        let (text, truncated) = made.unified_diff(SAME, 200);
        assert!(truncated && text.len() <= 200 && text.ends_with('\n'), "{text}");
        assert_eq!(made.counts(), (1_000, 0));
        let long = "x".repeat(1_000);
        assert!(LineComparison::new(b"", long.as_bytes()).unified_diff(SAME, 200).0.ends_with("@@\n"));
    }

    #[test]
    fn a_change_too_large_to_compare_counts_as_replaced() {
        let lines = |from: usize| -> String { (from..from + 40_000).map(|n| format!("{n}\n")).collect() };
        let old = format!("start\n{}end\n", lines(0));
        let new = format!("start\n{}end\n", lines(20_000));
        let made = LineComparison::new(old.as_bytes(), new.as_bytes());
        assert_eq!(made.counts(), (40_000, 40_000));
    }

    fn numbers(lines: std::ops::Range<usize>) -> String {
        lines.map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn each_hunk_is_undone_alone_and_all_together() {
        let old = numbers(0..100);
        let new = old.replace("10\n", "ten\n").replace("50\n", "").replace("90\n", "90\nmore\n\u{e9}");
        let comparison = LineComparison::new(old.as_bytes(), new.as_bytes());
        assert_eq!(comparison.hunks().len(), 3);
        for undone in 0..8_usize {
            let set: BTreeSet<usize> = (0..3).filter(|hunk| undone & (1 << hunk) != 0).collect();
            let mut expected = old.clone();
            for (hunk, (from, to)) in
                [("10\n", "ten\n"), ("50\n", ""), ("90\n", "90\nmore\n\u{e9}")].into_iter().enumerate()
            {
                if !set.contains(&hunk) {
                    expected = expected.replace(from, to);
                }
            }
            assert_eq!(String::from_utf8(comparison.with_hunks_undone(&set)).unwrap(), expected, "{set:?}");
        }
    }
}
