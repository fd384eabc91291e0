//! The code that is in the binary, for the checks of what it may name: the sources of the crates, without their tests.

use super::tree::{RepositoryFile, RepositoryTree};
use crate::rust_text;

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
pub(super) fn tokens(file: &RepositoryFile) -> Vec<(String, usize)> {
    let mut tokens = rust_text::tokens(&rust_text::scan(&file.text).code);
    let mut at = 0;
    while at < tokens.len() {
        let start = if tokens[at].0 == "#" { &tokens[at..tokens.len().min(at + 10)] } else { &[] };
        let names: Vec<&str> = start.iter().map(|(name, _)| name.as_str()).collect();
        if let ["#", "[", "cfg", "(", "test", ")", "]", "mod", _, "{"] = names[..] {
            let names: Vec<&str> = tokens.iter().map(|(name, _)| name.as_str()).collect();
            let end = block_end(&names, at + 9);
            tokens.drain(at..tokens.len().min(end + 1));
        } else {
            at += 1;
        }
    }
    tokens
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
