//! Sizes of files and lines: none is so large that it burdens every checkout for ever, or a reader.

use super::TidyFinding;
use super::tree::{MAX_READ_BYTES, RepositoryTree};

/// Large files are made at build time or fetched, not kept.
pub(super) fn large_files(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let found = tree.files.iter().filter(|file| file.size > MAX_READ_BYTES);
    found
        .map(|file| {
            let text = format!(
                "{} bytes; keep files under {MAX_READ_BYTES}, or make this one when it is needed",
                file.size
            );
            TidyFinding::new(&file.path, 1, text)
        })
        .collect()
}

/// Longest line of the page's code. The formatter wraps at less, but leaves long texts as they are.
const MAX_COLUMNS: usize = 140;

/// Lines of the page's code fit on a screen. rustfmt checks those of Rust.
pub(super) fn long_lines_of_page(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let is_code = |path: &str| {
        path.starts_with("web/")
            && [".ts", ".svelte", ".css", ".js", ".mjs"].iter().any(|ending| path.ends_with(ending))
    };
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| is_code(&file.path)) {
        for (at, line) in file.text.lines().enumerate() {
            let columns = line.chars().count();
            if columns > MAX_COLUMNS {
                let text = format!("{columns} columns; break the line, at most {MAX_COLUMNS} are allowed");
                findings.push(TidyFinding::new(&file.path, at + 1, text));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{MAX_COLUMNS, large_files, long_lines_of_page};
    use crate::tidy::tree::{MAX_READ_BYTES, RepositoryTree};

    #[test]
    fn a_large_file_is_found() {
        let mut tree = RepositoryTree::from_files(&[("small.bin", ""), ("large.bin", "")]);
        tree.files[0].size = MAX_READ_BYTES;
        tree.files[1].size = MAX_READ_BYTES + 1;
        let found = large_files(&tree);
        assert_eq!((found.len(), found[0].path.as_str()), (1, "large.bin"));
    }

    #[test]
    fn a_long_line_of_the_page_is_found() {
        let (fits, long) = ("x".repeat(MAX_COLUMNS), format!("short\n{}", "x".repeat(MAX_COLUMNS + 1)));
        let files = [("web/src/a.ts", fits.as_str()), ("web/src/b.svelte", &long), ("docs/c.md", &long)];
        let found = long_lines_of_page(&RepositoryTree::from_files(&files));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].path.as_str(), found[0].line), ("web/src/b.svelte", 2));
    }
}
