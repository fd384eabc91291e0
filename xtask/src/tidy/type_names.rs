//! Types that other modules can see: each name is defined once in the workspace, so that a search leads to one place.

use std::collections::BTreeMap;

use super::TidyFinding;
use super::tree::RepositoryTree;
use crate::rust_text;

/// Names that every crate may use for a thing of its own.
const SHARED: &[&str] = &["Error", "Config", "Args"];

/// No two visible types share a name.
pub(super) fn defined_once(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let mut defined: BTreeMap<String, Vec<(&str, usize)>> = BTreeMap::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".rs")) {
        let code = rust_text::scan(&file.text).code;
        for (at, line) in code.lines().enumerate() {
            if let Some(name) = visible_type(line) {
                defined.entry(name.to_owned()).or_default().push((&file.path, at + 1));
            }
        }
    }
    let shared =
        defined.into_iter().filter(|(name, places)| places.len() > 1 && !SHARED.contains(&name.as_str()));
    shared.flat_map(|(name, places)| findings(&name, &places)).collect()
}

fn findings(name: &str, places: &[(&str, usize)]) -> Vec<TidyFinding> {
    let (first, _) = places[0];
    let text = format!("`{name}` is also a type in {first}; say what this one is by its name alone");
    places[1..].iter().map(|(path, line)| TidyFinding::new(path, *line, text.clone())).collect()
}

/// The name of the type that a line defines, if other modules can see it.
fn visible_type(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(restricted) => restricted.split_once(')')?.1,
        None => rest,
    };
    let rest = rest.strip_prefix(' ')?;
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let name = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(name.len());
    Some(&name[..end])
}

#[cfg(test)]
mod tests {
    use super::defined_once;
    use crate::tidy::tree::RepositoryTree;

    #[test]
    fn a_visible_name_that_is_defined_twice_is_found() {
        let tree = RepositoryTree::from_files(&[
            ("crates/a/src/lib.rs", "pub struct Place;\npub(crate) enum Error {}\nstruct Own;\n"),
            (
                "crates/b/src/lib.rs",
                "pub(super) trait Place {}\npub enum Error {}\nstruct Own;\n// pub struct Own;\n",
            ),
        ]);
        let found = defined_once(&tree);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].path.as_str(), found[0].line), ("crates/b/src/lib.rs", 1));
    }
}
