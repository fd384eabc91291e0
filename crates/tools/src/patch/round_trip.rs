//! Tests over the whole way of a patch in memory: that diffs made here apply here, and that the search
//! for hunks does not grow with their number times the length of the file.

use super::apply::{AppliedHunks, apply};
use super::document::TextDocument;
use super::read::parse_patch;
use super::{FileAction, ParsedPatch};
use crate::Failed;
use ostler_workspace_fs::DiffNames;

use crate::diff::diff;

/// A small generator of numbers, the same in every run.
struct SeededNumbers(u64);

impl SeededNumbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    /// Lines of few words, so that many are alike, with spaces around them that matter.
    fn lines(&mut self, most: usize) -> Vec<String> {
        const WORDS: [&str; 9] = ["", "a", " a", "a ", "\ta", "}", "-- x", "++ y", "\u{201c}q\u{201d}"];
        let count = self.below(most + 1);
        (0..count)
            .map(|_| match self.below(3) {
                0 => format!("line {}", self.below(1_000)),
                _ => WORDS[self.below(WORDS.len())].to_owned(),
            })
            .collect()
    }

    /// The same lines with some of them removed, replaced or added to.
    fn changed(&mut self, lines: &[String]) -> Vec<String> {
        let mut changed = Vec::new();
        for line in lines {
            match self.below(12) {
                0 => {}
                1 => changed.extend(self.lines(3)),
                2 => changed.extend([line.clone(), line.clone()]),
                _ => changed.push(line.clone()),
            }
        }
        changed
    }

    fn text(&mut self, lines: &[String], ending: &str) -> String {
        let mut text = lines.join(ending);
        if !text.is_empty() && self.below(3) > 0 {
            text.push_str(ending);
        }
        text
    }
}

fn applied(patch: &ParsedPatch<'_>, old: &str) -> Result<AppliedHunks, Failed> {
    let [file] = patch.files.as_slice() else { panic!("one file: {patch:?}") };
    let FileAction::Update { hunks, .. } = &file.action else { panic!("an update: {patch:?}") };
    apply(&file.path, &TextDocument::decode(old.as_bytes()).unwrap(), hunks)
}

#[test]
fn a_diff_applies_back() {
    let mut numbers = SeededNumbers(0x9e37_79b9_7f4a_7c15);
    let names = DiffNames { old: Some("dir/some file"), new: Some("dir/some file") };
    let mut compared = 0;
    for round in 0..3_000 {
        let ending = if round % 3 == 0 { "\r\n" } else { "\n" };
        let old_lines = numbers.lines(60);
        let new_lines = numbers.changed(&old_lines);
        let (old, new) = (numbers.text(&old_lines, ending), numbers.text(&new_lines, ending));
        // Where no line ends as usual, what is usual cannot be known.
        if old == new || !old.contains('\n') {
            continue;
        }
        let made = diff(&old, &new, names, usize::MAX);
        let patch = parse_patch(&made.text).unwrap_or_else(|failed| panic!("{}\n{}", failed.0, made.text));
        let applied = applied(&patch, &old).unwrap_or_else(|failed| panic!("{}\n{}", failed.0, made.text));
        assert_eq!(applied.text, new, "round {round}, from {old:?} by\n{}", made.text);
        assert_eq!(applied.notes, Vec::<String>::new(), "numbers that are right leave no doubt");
        compared += 1;
    }
    assert!(compared > 2_000, "{compared}");
}

const LINES: usize = 20_000;
const HUNKS: usize = 100;

/// A long file in which a third of the lines are all alike.
fn long_file() -> Vec<String> {
    (0..LINES).map(|at| if at % 3 == 0 { "    }".to_owned() } else { format!("    call({at});") }).collect()
}

fn long_patch(indent: &str, lines: &[String]) -> String {
    let mut patch = "*** Begin Patch\n*** Update File: f\n".to_owned();
    for hunk in 0..HUNKS {
        let at = hunk * (LINES / HUNKS) + 7;
        let line = |by: usize| format!("{indent}{}", lines[at + by].trim_start());
        patch +=
            &format!("@@\n {}\n {}\n-{}\n+{indent}changed {hunk}\n {}\n", line(0), line(1), line(2), line(3));
    }
    patch + "*** End Patch"
}

#[test]
fn many_hunks_in_a_long_file_are_found_in_linear_work() {
    let lines = long_file();
    let old = lines.join("\n") + "\n";
    // Exact lines need one pass over the file; lines with other space need a pass for each step.
    for (indent, passes) in [("    ", 1), ("\t", 3)] {
        let text = long_patch(indent, &lines);
        let applied = applied(&parse_patch(&text).unwrap(), &old).unwrap();
        assert_eq!(applied.text.matches("changed").count(), HUNKS);
        let most = passes * LINES + HUNKS * 100;
        assert!(applied.comparisons <= most, "{} comparisons, {most} allowed", applied.comparisons);
    }
}

#[test]
fn many_hunks_that_are_all_alike_are_found_in_linear_work() {
    let old = "same\n".repeat(LINES);
    let text = format!("*** Update File: f\n{}", "@@\n same\n-same\n+changed\n".repeat(HUNKS));
    let applied = applied(&parse_patch(&text).unwrap(), &old).unwrap();
    assert_eq!(applied.text.matches("changed").count(), HUNKS);
    assert_eq!(applied.notes.len(), HUNKS, "each of them fits in many places");
    assert!(applied.comparisons <= LINES + HUNKS * 100, "{}", applied.comparisons);
}
