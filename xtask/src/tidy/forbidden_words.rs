//! Words that must not be in the repository: marks of unfinished work, and paths of one machine.
//!
//! The lists are spelled in pieces so that this file does not break its own rule.

use super::TidyFinding;
use super::tree::{RepositoryFile, RepositoryTree};

const UNFINISHED: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("todo", "!"),
    concat!("unimple", "mented!"),
    concat!("#[ig", "nore"),
];

const MACHINE_PATHS: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("../sha", "red")];

/// Unfinished work is finished or left out; a test that is switched off is fixed or deleted.
pub(super) fn unfinished(tree: &RepositoryTree) -> Vec<TidyFinding> {
    // Recorded sessions may say anything.
    let files = tree.files.iter().filter(|file| !file.path.starts_with("testdata/"));
    files.flat_map(|file| occurrences(file, UNFINISHED, "finish it now or leave it out")).collect()
}

/// What is written must hold on every machine.
pub(super) fn machine_paths(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let advice =
        "it exists on one machine only; use a path relative to the repository, or one such as /home/me";
    tree.files.iter().flat_map(|file| occurrences(file, MACHINE_PATHS, advice)).collect()
}

fn occurrences(file: &RepositoryFile, words: &[&str], advice: &str) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        for word in words.iter().filter(|word| stands_alone(line, word)) {
            findings.push(TidyFinding::new(&file.path, number + 1, format!("`{word}`: {advice}")));
        }
    }
    findings
}

/// Whether a line has the word, and not merely a longer word that contains it.
fn stands_alone(line: &str, word: &str) -> bool {
    let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    line.match_indices(word).any(|(at, _)| {
        let before =
            line[..at].chars().next_back().filter(|c| in_word(*c) || (*c == '.' && word.starts_with('/')));
        let after = line[at + word.len()..].chars().next().filter(|c| in_word(*c));
        before.is_none() && (after.is_none() || !word.ends_with(char::is_alphanumeric))
    })
}

#[cfg(test)]
mod tests {
    use super::{machine_paths, unfinished};
    use crate::tidy::tree::RepositoryTree;

    #[test]
    fn unfinished_work_is_found_with_its_line() {
        for line in [
            concat!("// TO", "DO: later"),
            concat!("x(); // FIX", "ME"),
            concat!("todo", "!()"),
            concat!("unimple", "mented!(\"x\")"),
            concat!("#[ig", "nore]"),
            concat!("#[ig", "nore = \"slow\"]"),
        ] {
            let found = unfinished(&RepositoryTree::from_files(&[("a.rs", &format!("//! x\n{line}\n"))]));
            assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2], "{line}");
        }
        let clean = "//! A method, a mastodon, MASTO\u{44}ON, ignored.\n";
        assert!(unfinished(&RepositoryTree::from_files(&[("a.rs", clean)])).is_empty());
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        let bad =
            [concat!("cd /wo", "rk/x"), concat!("\"/ro", "ot/.cargo\""), concat!("see ../sha", "red/x.md")];
        for line in bad {
            assert_eq!(machine_paths(&RepositoryTree::from_files(&[("a.md", line)])).len(), 1, "{line}");
        }
        let good =
            [concat!("target/wo", "rk/x"), concat!("./ro", "ot/"), "/home/me/project", "../sharedness"];
        for line in good {
            assert!(machine_paths(&RepositoryTree::from_files(&[("a.md", line)])).is_empty(), "{line}");
        }
    }
}
