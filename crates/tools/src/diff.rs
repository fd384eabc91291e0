//! Unified diffs of two texts, within bounds of time and length. It compares lines and knows nothing
//! of files; the names are only printed.

use std::collections::HashMap;
use std::fmt::Write;

use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

/// How many changed lines are compared; beyond, the changed middle counts as replaced whole.
const MAX_COMPARED_LINES: usize = 60_000;
/// How many lines are shown around a change.
const CONTEXT_LINES: usize = 3;

/// What a change came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Diff {
    pub(crate) added: usize,
    pub(crate) removed: usize,
    /// The unified diff; empty where nothing differs.
    pub(crate) text: String,
    /// Whether `text` lacks its end.
    pub(crate) truncated: bool,
}

/// The file before and after, none where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Names<'a> {
    pub(crate) old: Option<&'a str>,
    pub(crate) new: Option<&'a str>,
}

/// Compares two texts. The counts are of all lines, the diff text has at most `room` bytes.
pub(crate) fn diff(old: &str, new: &str, names: Names<'_>, room: usize) -> Diff {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let ops = compare(&old, &new);
    let (mut added, mut removed) = (0, 0);
    for op in ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
        added += op.new_range().len();
        removed += op.old_range().len();
    }
    let mut writer = Writer { text: String::new(), room, truncated: false };
    if added + removed > 0 || names.old != names.new {
        writer.header(names, added + removed > 0);
    }
    for group in group_diff_ops(ops, CONTEXT_LINES) {
        if writer.truncated {
            break;
        }
        writer.hunk(&group, &old, &new);
    }
    Diff { added, removed, text: writer.text, truncated: writer.truncated }
}

/// The way from the old lines to the new, not always the shortest one.
fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<DiffOp> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let (old_middle, new_middle) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let mut ops = Vec::new();
    if start > 0 {
        ops.push(DiffOp::Equal { old_index: 0, new_index: 0, len: start });
    }
    if old_middle.len() + new_middle.len() > MAX_COMPARED_LINES
        || old_middle.is_empty()
        || new_middle.is_empty()
    {
        ops.extend(replaced(start, old_middle.len(), new_middle.len()));
    } else {
        let mut numbers: HashMap<&'a str, usize> = HashMap::new();
        let mut number = |lines: &[&'a str]| -> Vec<usize> {
            let mut numbered = Vec::with_capacity(lines.len());
            for line in lines {
                let next = numbers.len();
                numbered.push(*numbers.entry(*line).or_insert(next));
            }
            numbered
        };
        let (old_numbers, new_numbers) = (number(old_middle), number(new_middle));
        let middle = capture_diff_slices(Algorithm::Myers, &old_numbers, &new_numbers);
        ops.extend(middle.into_iter().map(|op| shifted(op, start)));
    }
    if end > 0 {
        ops.push(DiffOp::Equal { old_index: old.len() - end, new_index: new.len() - end, len: end });
    }
    ops
}

fn replaced(at: usize, old_len: usize, new_len: usize) -> Option<DiffOp> {
    match (old_len, new_len) {
        (0, 0) => None,
        (0, new_len) => Some(DiffOp::Insert { old_index: at, new_index: at, new_len }),
        (old_len, 0) => Some(DiffOp::Delete { old_index: at, old_len, new_index: at }),
        (old_len, new_len) => Some(DiffOp::Replace { old_index: at, old_len, new_index: at, new_len }),
    }
}

fn shifted(op: DiffOp, by: usize) -> DiffOp {
    match op {
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
struct Writer {
    text: String,
    room: usize,
    truncated: bool,
}

impl Writer {
    fn header(&mut self, names: Names<'_>, has_lines: bool) {
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

    fn hunk(&mut self, group: &[DiffOp], old: &[&str], new: &[&str]) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
        let range = |start: usize, end: usize| match end - start {
            0 => format!("{start},0"),
            1 => format!("{}", start + 1),
            lines => format!("{},{lines}", start + 1),
        };
        let old_range = range(first.old_range().start, last.old_range().end);
        let new_range = range(first.new_range().start, last.new_range().end);
        self.push(&format!("@@ -{old_range} +{new_range} @@\n"));
        for op in group {
            match op {
                DiffOp::Equal { .. } => self.lines(' ', &old[op.old_range()]),
                DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                    self.lines('-', &old[op.old_range()]);
                    self.lines('+', &new[op.new_range()]);
                }
            }
        }
    }

    fn lines(&mut self, sign: char, lines: &[&str]) {
        for line in lines {
            if self.truncated {
                return;
            }
            if line.ends_with('\n') {
                self.push(&format!("{sign}{line}"));
            } else {
                self.push(&format!("{sign}{line}\n\\ No newline at end of file\n"));
            }
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
    use super::{Names, diff};

    const SAME: Names<'_> = Names { old: Some("f"), new: Some("f") };

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
            let made = diff(old, new, SAME, 10_000);
            assert_eq!((made.added, made.removed), (added, removed), "{old:?} {new:?}");
            assert!(!made.truncated);
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
                Names { old: None, new: Some("d/a b") },
                "",
                "x\n",
                "--- /dev/null\n+++ b/d/a b\t\n@@ -0,0 +1 @@\n+x\n",
            ),
            (
                Names { old: Some("a\"\n"), new: None },
                "x\n",
                "",
                "--- \"a/a\\\"\\012\"\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
            ),
            (
                Names { old: Some("f"), new: Some("g") },
                "x\n",
                "x\n",
                "diff --git a/f b/g\nrename from f\nrename to g\n",
            ),
        ] {
            assert_eq!(diff(old, new, names, 10_000).text, expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_long_diff_is_cut_between_lines_and_still_counted() {
        let new: String = (0..1_000).map(|n| format!("line {n}\n")).collect();
        let made = diff("", &new, SAME, 200);
        assert!(made.truncated && made.text.len() <= 200 && made.text.ends_with('\n'), "{made:?}");
        assert_eq!((made.added, made.removed), (1_000, 0));
        assert!(diff("", &"x".repeat(1_000), SAME, 200).text.ends_with("@@\n"));
    }

    #[test]
    fn a_change_too_large_to_compare_counts_as_replaced() {
        let lines = |from: usize| -> String { (from..from + 40_000).map(|n| format!("{n}\n")).collect() };
        let old = format!("start\n{}end\n", lines(0));
        let new = format!("start\n{}end\n", lines(20_000));
        let made = diff(&old, &new, SAME, 1_000);
        assert_eq!((made.added, made.removed), (40_000, 40_000));
    }
}
