//! The figures that show where the code is heading, before a rule is broken.

use std::fmt;

use super::production;
use super::tree::{RepositoryFile, RepositoryTree};
use crate::rust_text;

/// The most lines of code that the binary should be made of.
const CODE_BUDGET: usize = 110_000;

/// Sizes of the repository's Rust code.
pub(super) struct CodeFigures {
    files: usize,
    lines: usize,
    /// Lines of the crates without `testing`: no tests, comments and blank lines.
    production: usize,
    median: usize,
    ninetieth: usize,
    comment_lines: usize,
    packages: usize,
}

/// Counts.
pub(super) fn count_figures(tree: &RepositoryTree) -> CodeFigures {
    let mut lengths: Vec<usize> = tree.ending(".rs").map(|file| file.text.lines().count()).collect();
    lengths.sort_unstable();
    let at = |percent: usize| lengths.get(lengths.len() * percent / 100).copied().unwrap_or_default();
    let lockfile = tree.file("Cargo.lock").map_or("", |file| file.text.as_str());
    CodeFigures {
        files: lengths.len(),
        lines: lengths.iter().sum(),
        production: production::files(tree).map(code_lines).sum(),
        median: at(50),
        ninetieth: at(90),
        comment_lines: tree.ending(".rs").map(|file| rust_text::scan(&file.text).comment_lines).sum(),
        packages: lockfile.lines().filter(|line| *line == "[[package]]").count(),
    }
}

/// The lines of a file that are code of the binary.
fn code_lines(file: &RepositoryFile) -> usize {
    if file.path.starts_with("crates/testing/") {
        return 0;
    }
    let shipped: Vec<&str> = production::lines(file).into_iter().map(|(_, line)| line).collect();
    let filled = shipped.iter().filter(|line| !line.trim().is_empty()).count();
    filled - rust_text::scan(&shipped.join("\n")).comment_lines
}

impl fmt::Display for CodeFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CodeFigures { files, lines, production, median, ninetieth, comment_lines, packages } = self;
        let share = 100 * comment_lines / (*lines).max(1);
        writeln!(f, "{files} Rust files, {lines} lines")?;
        writeln!(f, "{production} lines of code in the binary (budget: {CODE_BUDGET})")?;
        writeln!(
            f,
            "median file {median} lines (aim: at most 180), 90th percentile {ninetieth} (aim: at most 450)"
        )?;
        writeln!(f, "comment lines {share} % (aim: 12 to 20)")?;
        write!(f, "{packages} packages in the lockfile")
    }
}

#[cfg(test)]
mod tests {
    use super::count_figures;
    use crate::tidy::tree::RepositoryTree;

    #[test]
    fn figures_are_counted() {
        let ten: Vec<(String, String)> =
            (1..=10).map(|n| (format!("{n}.rs"), format!("//! x\n{}", "f();\n".repeat(n - 1)))).collect();
        let mut files: Vec<(&str, &str)> =
            ten.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let code = "//! x\n\nfn f() {\n    // y\n    g(\n        \"text\",\n    );\n}\n#[cfg(test)]\nmod tests {\n}\n";
        let crates = [
            ("crates/a/src/lib.rs", code),
            ("crates/testing/src/lib.rs", code),
            ("crates/a/tests/b.rs", code),
        ];
        assert_eq!(count_figures(&RepositoryTree::from_files(&crates)).production, 5);
        files.push(("Cargo.lock", "[[package]]\nname = \"a\"\n\n[[package]]\n"));
        let figures = count_figures(&RepositoryTree::from_files(&files));
        assert_eq!((figures.files, figures.lines, figures.comment_lines, figures.packages), (10, 55, 10, 2));
        assert_eq!((figures.median, figures.ninetieth), (6, 10));
    }
}
