//! Who refers to whom: edges from a file to the definitions, in other files, of the names it uses.
//! How much an edge says depends on the name; what follows from all of them is left to `rank`.

use std::collections::HashMap;

use crate::index::IndexedFile;
use crate::language::LanguageFamily;

/// How much a definition counts that lies among tests and examples: others seldom mean it.
const TEST_CODE_WEIGHT: f64 = 0.2;
/// Names that more files than this define, as `new` or `main`, point nowhere.
const MAX_DEFINERS: usize = 12;
/// How many edges a graph holds.
const MAX_EDGES: usize = 4_000_000;
/// Names shorter than this say little.
const SHORT_NAME: usize = 4;
/// Names of several words that are at least this long are hardly ever met by chance.
const LONG_NAME: usize = 8;

/// Names that the languages' own libraries use, so that they mostly mean something else. Sorted.
const COMMON_NAMES: &[&str] = &[
    "Clone",
    "Context",
    "Copy",
    "Debug",
    "Default",
    "Display",
    "Drop",
    "Error",
    "Exception",
    "From",
    "Into",
    "Item",
    "Iterator",
    "List",
    "Map",
    "None",
    "Option",
    "Output",
    "Result",
    "Self",
    "Send",
    "Some",
    "String",
    "Sync",
    "Text",
    "Value",
    "append",
    "apply",
    "as_str",
    "bind",
    "call",
    "clear",
    "clone",
    "close",
    "collect",
    "contains",
    "copy",
    "count",
    "create",
    "default",
    "delete",
    "display",
    "drop",
    "equals",
    "expect",
    "extend",
    "file_name",
    "filter",
    "find",
    "first",
    "flush",
    "format",
    "from",
    "get_or_insert_with",
    "hash",
    "index",
    "init",
    "insert",
    "into",
    "into_iter",
    "isEmpty",
    "is_empty",
    "items",
    "iter",
    "join",
    "keys",
    "last",
    "length",
    "lines",
    "main",
    "match",
    "matches",
    "name",
    "next",
    "open",
    "parse",
    "path",
    "print",
    "push",
    "read",
    "remove",
    "replace",
    "reset",
    "send",
    "size",
    "sort",
    "split",
    "start",
    "stop",
    "toString",
    "to_string",
    "type",
    "unwrap",
    "update",
    "value",
    "values",
    "wait",
    "write",
];

/// One file's use of one definition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) from: u32,
    /// The number of a definition.
    pub(crate) to: u32,
    pub(crate) weight: f32,
}

/// The edges between files, in the order of the files they start from.
pub(crate) fn edges(files: &[IndexedFile]) -> Vec<Edge> {
    let definers = definers(files);
    let referrers = referrers(files);
    let aside: Vec<bool> = files.iter().map(|file| is_test_or_example(&file.path)).collect();
    let mut edges = Vec::new();
    for (from, file) in (0u32..).zip(files) {
        for (name, count) in file.tags.references() {
            let Some(definers) = definers.get(&(file.family, name)) else {
                continue;
            };
            // A name that the file defines itself most likely means its own.
            if definers.files > MAX_DEFINERS || definers.sites.iter().any(|(file, _)| *file == from) {
                continue;
            }
            // A name that nearly every file has, as those of a language's own library, says little in each.
            let rarity = (1.0 + files.len() as f64 / f64::from(referrers[&(file.family, name)])).ln();
            let share = f64::from(count).sqrt() * name_weight(name) * rarity / definers.sites.len() as f64;
            for (file, to) in &definers.sites {
                if edges.len() == MAX_EDGES {
                    return edges;
                }
                let share = if aside[*file as usize] { TEST_CODE_WEIGHT * share } else { share };
                edges.push(Edge { from, to: *to, weight: share as f32 });
            }
        }
    }
    edges
}

/// Where one name is defined.
#[derive(Default)]
struct Definers {
    files: usize,
    /// File and definition. Not kept for names that too many files define.
    sites: Vec<(u32, u32)>,
}

fn definers(files: &[IndexedFile]) -> HashMap<(LanguageFamily, &str), Definers> {
    let mut definers: HashMap<(LanguageFamily, &str), Definers> = HashMap::new();
    for (number, file) in (0u32..).zip(files) {
        for (site, definition) in (file.first_definition..).zip(file.tags.definitions()) {
            if definition.name.is_empty() {
                continue;
            }
            let known = definers.entry((file.family, definition.name)).or_default();
            if known.sites.last().is_none_or(|(last, _)| *last != number) {
                known.files += 1;
            }
            if known.files <= MAX_DEFINERS {
                known.sites.push((number, site));
            }
        }
    }
    definers
}

/// How many files refer to each name.
fn referrers(files: &[IndexedFile]) -> HashMap<(LanguageFamily, &str), u32> {
    let mut referrers = HashMap::new();
    for file in files {
        for (name, _) in file.tags.references() {
            *referrers.entry((file.family, name)).or_default() += 1;
        }
    }
    referrers
}

/// Whether a path lies among tests, examples or the like.
fn is_test_or_example(path: &str) -> bool {
    const FOLDERS: &[&str] = &[
        "test",
        "tests",
        "__tests__",
        "spec",
        "specs",
        "testdata",
        "fixtures",
        "examples",
        "example",
        "benches",
        "bench",
    ];
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    folders.split('/').any(|folder| FOLDERS.contains(&folder))
        || ["_test.", ".test.", ".spec.", "_spec."].iter().any(|mark| name.contains(mark))
        || name.starts_with("test_")
}

/// How much a reference by this name says.
fn name_weight(name: &str) -> f64 {
    let is_private = name.starts_with('_');
    let has_words = name.trim_matches('_').contains('_')
        || name
            .chars()
            .zip(name.chars().skip(1))
            .any(|(one, next)| one.is_lowercase() && next.is_uppercase());
    let mut weight = 1.0;
    if is_private || name.len() < SHORT_NAME || COMMON_NAMES.binary_search(&name).is_ok() {
        weight *= 0.1;
    }
    if has_words && name.len() >= LONG_NAME {
        weight *= 3.0;
    }
    weight
}

#[cfg(test)]
mod tests {
    use super::{is_test_or_example, name_weight};

    #[test]
    fn tests_and_examples_are_told() {
        for path in ["a/tests/b.rs", "tests/b.rs", "a_test.go", "src/a.spec.ts", "test_a.py", "examples/x.c"]
        {
            assert!(is_test_or_example(path), "{path}");
        }
        for path in ["src/testing.rs", "src/contest.rs", "attest/a.go", "latest.ts"] {
            assert!(!is_test_or_example(path), "{path}");
        }
    }

    #[test]
    fn the_common_names_are_sorted() {
        assert!(super::COMMON_NAMES.is_sorted());
        assert!(name_weight("unwrap") < name_weight("engine"));
    }

    #[test]
    fn names_that_say_more_weigh_more() {
        let in_order = ["_id", "run", "_private_helper", "parser", "parse_request"];
        for pair in in_order.windows(2) {
            assert!(name_weight(pair[0]) <= name_weight(pair[1]), "{pair:?}");
        }
        assert!(name_weight("run") < name_weight("parser"));
        assert!(name_weight("parser") < name_weight("parseRequest"));
    }
}
