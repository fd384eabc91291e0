//! The code that is in the binary, for the checks of what it may name: the sources of the crates, without their tests.

use super::tree::{RepositoryFile, RepositoryTree};
use crate::rust_text;

/// A token and its line.
type TokenAtLine = (String, usize);

const CRATES: &str = "crates/";
/// Folders whose code is not in the binary.
const NOT_SHIPPED: [&str; 3] = ["tests", "benches", "examples"];

/// The source files of the crates, without those that only hold tests.
pub(super) fn files(tree: &RepositoryTree) -> impl Iterator<Item = &RepositoryFile> {
    let is_shipped =
        |path: &str| !path.split('/').any(|part| NOT_SHIPPED.contains(&part) || part == "tests.rs");
    tree.ending(".rs").filter(move |file| file.path.starts_with(CRATES) && is_shipped(&file.path))
}

/// The tokens of a file outside of test modules, each with its line.
pub(super) fn tokens(file: &RepositoryFile) -> Vec<TokenAtLine> {
    split_off_tests(file).0
}

/// The lines of a file outside of test modules, each with its number.
pub(super) fn lines(file: &RepositoryFile) -> Vec<(usize, &str)> {
    let tests = split_off_tests(file).1;
    let lines = file.text.lines().enumerate().map(|(at, line)| (at + 1, line));
    lines.filter(|(number, _)| !tests.iter().any(|(first, last)| (first..=last).contains(&number))).collect()
}

/// The tokens outside of test modules, and the first and last line of each of those modules.
fn split_off_tests(file: &RepositoryFile) -> (Vec<TokenAtLine>, Vec<(usize, usize)>) {
    let mut tokens = rust_text::tokens(&rust_text::scan(&file.text).code);
    let mut tests = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let start = if tokens[at].0 == "#" { &tokens[at..tokens.len().min(at + 10)] } else { &[] };
        let names: Vec<&str> = start.iter().map(|(name, _)| name.as_str()).collect();
        if let ["#", "[", "cfg", "(", "test", ")", "]", "mod", _, "{"] = names[..] {
            let names: Vec<&str> = tokens.iter().map(|(name, _)| name.as_str()).collect();
            let end = block_end(&names, at + 9);
            let end = tokens.len().min(end + 1);
            tests.push((tokens[at].1, tokens[end - 1].1));
            tokens.drain(at..end);
        } else {
            at += 1;
        }
    }
    (tokens, tests)
}

/// Where the brace that opens here is closed.
pub(super) fn block_end(tokens: &[&str], opening: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(opening) {
        match *token {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}
