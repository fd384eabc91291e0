//! Rust files: how long they are, how long their functions are, and whether they say what they are for.

use super::TidyFinding;
use super::tree::RepositoryTree;
use crate::rust_text::{self, RustFunction};

const LONG_FILE: usize = 500;
const LONGEST_FILE: usize = 800;
const LONGEST_FUNCTION: usize = 70;

/// A file has one subject, and fits into a reader's head.
pub(super) fn lengths(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let length = |path: &str, lines: usize| {
        let text =
            format!("{lines} lines; split it by subject (over {LONG_FILE} warns, over {LONGEST_FILE} fails)");
        let finding = if lines > LONGEST_FILE { TidyFinding::new } else { TidyFinding::warning };
        (lines > LONG_FILE).then(|| finding(path, lines, text))
    };
    tree.ending(".rs").filter_map(|file| length(&file.path, file.text.lines().count())).collect()
}

/// A function fits on a screen, but for a `match` over everything that can happen.
pub(super) fn functions(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for file in tree.ending(".rs") {
        let code = rust_text::scan(&file.text).code;
        let is_long = |function: &&RustFunction| {
            function.lines >= LONGEST_FUNCTION
                && function.lines - rust_text::lines_of_large_matches(&code, function) >= LONGEST_FUNCTION
        };
        for function in rust_text::functions(&code).iter().filter(is_long) {
            let (name, lines) = (&function.name, function.lines);
            let text = format!(
                "`{name}` has {lines} lines; a function stays under {LONGEST_FUNCTION}, move a part of it out"
            );
            findings.push(TidyFinding::new(&file.path, function.line, text));
        }
    }
    findings
}

/// A file says first what it does and what it leaves to others.
pub(super) fn heads(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let text = "begins without `//!`; say what the file does and what it leaves to others";
    let headless = tree.ending(".rs").filter(|file| !file.text.starts_with("//!"));
    headless.map(|file| TidyFinding::new(&file.path, 1, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::{functions, heads, lengths};
    use crate::tidy::tree::RepositoryTree;

    #[test]
    fn a_match_over_very_much_may_be_long() {
        let arms = |count: usize| "        A::B { .. } => {\n            x;\n        }\n".repeat(count);
        let of = |count: usize| {
            let text = format!("fn f() {{\n    match a {{\n{}    }}\n}}\n", arms(count));
            functions(&RepositoryTree::from_files(&[("a.rs", &text)])).len()
        };
        assert_eq!([of(19), of(20), of(60)], [0, 0, 0]);
        let long = format!("fn f() {{\n{}    match a {{\n{}    }}\n}}\n", "    x;\n".repeat(70), arms(30));
        assert_eq!(functions(&RepositoryTree::from_files(&[("a.rs", &long)])).len(), 1);
    }

    #[test]
    fn long_files_warn_and_longer_ones_fail() {
        let of = |lines: usize| {
            lengths(&RepositoryTree::from_files(&[("a.rs", &"x\n".repeat(lines))])).first().map(|f| f.fails)
        };
        assert_eq!([of(500), of(501), of(800), of(801)], [None, Some(false), Some(false), Some(true)]);
        assert!(lengths(&RepositoryTree::from_files(&[("a.md", &"x\n".repeat(900))])).is_empty());
    }

    #[test]
    fn long_functions_fail() {
        let of = |lines: usize| {
            let text = format!("//! x\nfn f() {{\n{}}}\n", "// {\n".repeat(lines - 2));
            functions(&RepositoryTree::from_files(&[("a.rs", &text)]))
        };
        assert!(of(69).is_empty());
        assert_eq!(of(70)[0].line, 2);
        assert!(of(70)[0].text.starts_with("`f` has 70 lines"));
    }

    #[test]
    fn a_file_without_a_head_fails() {
        let tree = RepositoryTree::from_files(&[
            ("good.rs", "//! Says.\n"),
            ("bad.rs", "use x;\n//! Late.\n"),
            ("empty.rs", ""),
        ]);
        let paths: Vec<String> = heads(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["bad.rs", "empty.rs"]);
    }
}
