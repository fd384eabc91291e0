//! The rules of this repository that a program can check, and its figures. Each check is a function
//! over the [`RepositoryTree`] in a file of its own; what rustc, clippy and rustfmt check is left to them.

mod crates;
mod environment;
mod events;
mod figures;
mod forbidden_words;
mod links;
mod output;
mod primitives;
mod processes;
mod production;
mod prompt_path;
mod pure_rules;
mod sizes;
mod source;
mod storage;
mod stream_primitives;
mod tree;
mod type_names;
mod wires;
mod workspaces;

use std::fmt;

use crate::repository;
use tree::RepositoryTree;

/// Prints the figures and the warnings; fails when a rule is broken.
pub(crate) fn run() -> Result<(), String> {
    let tree = RepositoryTree::read(&repository::root())?;
    let (failures, warnings): (Vec<_>, Vec<_>) = check(&tree).into_iter().partition(|finding| finding.fails);
    for warning in &warnings {
        println!("warning: {warning}");
    }
    println!("{}", figures::count_figures(&tree));
    if failures.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = failures.iter().map(TidyFinding::to_string).collect();
    Err(format!("{}\n{} rules broken", lines.join("\n"), lines.len()))
}

/// Everything that is wrong, in the order of the paths.
fn check(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let checks = [
        source::lengths,
        source::functions,
        source::heads,
        forbidden_words::unfinished,
        forbidden_words::machine_paths,
        sizes::large_files,
        sizes::long_lines_of_page,
        type_names::defined_once,
        crates::dependencies,
        wires::wires_independent,
        wires::native_api_unseen,
        events::events_documented,
        events::commands_mentioned,
        links::dead_links,
        output::printed_by_one_module,
        processes::started_by_one_crate,
        environment::read_by_one_crate,
        primitives::opened_by_one_crate,
        primitives::index_read_by_one_crate,
        primitives::ignored_by_one_crate,
        primitives::replaced_by_one_crate,
        storage::appended_in_two_places,
        storage::session_folders_known_once,
        stream_primitives::one_line_framer,
        stream_primitives::one_supervisor,
        events::named_by_type,
        workspaces::reached_by_runner,
        prompt_path::functions_are_where_it_says,
        pure_rules::rules_are_pure,
    ];
    let mut findings: Vec<TidyFinding> = checks.iter().flat_map(|check| check(tree)).collect();
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    findings
}

/// Something that is not as it should be, where it is, and what to do.
#[derive(Debug, PartialEq, Eq)]
struct TidyFinding {
    path: String,
    /// From 1.
    line: usize,
    text: String,
    /// Whether it breaks a rule; a warning only comes near one.
    fails: bool,
}

impl TidyFinding {
    fn new(path: &str, line: usize, text: impl Into<String>) -> TidyFinding {
        TidyFinding { path: path.to_owned(), line, text: text.into(), fails: true }
    }

    fn warning(path: &str, line: usize, text: impl Into<String>) -> TidyFinding {
        TidyFinding { fails: false, ..TidyFinding::new(path, line, text) }
    }
}

impl fmt::Display for TidyFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::tree::RepositoryTree;
    use super::{TidyFinding, check};
    use crate::repository;

    #[test]
    fn the_repository_is_tidy() {
        let tree = RepositoryTree::read(&repository::root()).unwrap();
        let failures: Vec<String> =
            check(&tree).iter().filter(|finding| finding.fails).map(TidyFinding::to_string).collect();
        assert!(failures.is_empty(), "{} rules broken:\n{}", failures.len(), failures.join("\n"));
    }

    #[test]
    fn findings_point_to_a_line_and_are_sorted() {
        let tree = RepositoryTree::from_files(&[("b.rs", "fn f() {}\n"), ("a.rs", "fn f() {}\n")]);
        let found: Vec<String> = check(&tree).iter().map(TidyFinding::to_string).collect();
        let a = found.iter().position(|line| line.starts_with("a.rs:1: "));
        let b = found.iter().position(|line| line.starts_with("b.rs:1: "));
        assert!(a.is_some() && a < b, "{found:?}");
    }
}
