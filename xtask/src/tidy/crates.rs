//! The dependency table of `ARCHITECTURE.md` against every manifest under `crates/`. A crate is worth
//! what it cannot see, so the table and the manifests say exactly the same.

use std::collections::{BTreeMap, BTreeSet};

use super::TidyFinding;
use super::tree::{RepositoryFile, RepositoryTree};

const DOCUMENT: &str = "ARCHITECTURE.md";
const PREFIX: &str = "ostler-";

/// Every crate has a row, every row has a crate, and both name the same crates.
pub(super) fn dependencies(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let rows = tree.file(DOCUMENT).map(|file| table(&file.text)).unwrap_or_default();
    if rows.is_empty() {
        let text = "no table with a column `may use`; it says which crate may use which";
        return vec![TidyFinding::new(DOCUMENT, 1, text)];
    }
    let mut findings = Vec::new();
    let mut folders = BTreeSet::new();
    for file in tree.ending("/Cargo.toml") {
        let Some(folder) = crate_folder(&file.path) else { continue };
        folders.insert(folder);
        match (rows.get(folder), used(file)) {
            (Some(row), Ok(used)) => findings.extend(compare(folder, row, &used)),
            (None, _) => {
                let text =
                    format!("the crate `{folder}` has no row in the dependency table of {DOCUMENT}; add one");
                findings.push(TidyFinding::new(&file.path, 1, text));
            }
            (_, Err(error)) => findings.push(TidyFinding::new(&file.path, 1, error)),
        }
    }
    let gone = rows.iter().filter(|(folder, _)| !folders.contains(folder.as_str()));
    findings.extend(gone.map(|(folder, row)| {
        TidyFinding::new(
            DOCUMENT,
            row.line,
            format!("the table names `{folder}`, but there is no crates/{folder}"),
        )
    }));
    findings
}

/// A row of the table.
struct CrateRow {
    line: usize,
    /// The crates that it allows; none when it allows all.
    allowed: Option<BTreeSet<String>>,
}

fn compare(folder: &str, row: &CrateRow, used: &BTreeSet<String>) -> Option<TidyFinding> {
    let allowed = row.allowed.as_ref()?;
    let list =
        |names: Vec<&String>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let extra: Vec<&String> = used.difference(allowed).collect();
    let unused: Vec<&String> = allowed.difference(used).collect();
    let text = match (extra.is_empty(), unused.is_empty()) {
        (true, true) => return None,
        (false, _) => format!("`{folder}` uses {}, which this row does not allow", list(extra)),
        (true, false) => {
            format!("`{folder}` does not use {}; take it out of the row, or use it", list(unused))
        }
    };
    Some(TidyFinding::new(DOCUMENT, row.line, text))
}

/// The rows of the table whose heading has a column `may use`, by crate.
fn table(text: &str) -> BTreeMap<String, CrateRow> {
    let mut rows = BTreeMap::new();
    let mut column = None;
    for (number, line) in text.lines().enumerate() {
        if !line.trim_start().starts_with('|') {
            column = None;
            continue;
        }
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        let Some(column) = column else {
            column = cells.iter().position(|cell| cell.trim_matches('`').eq_ignore_ascii_case("may use"));
            continue;
        };
        if let (Some(folder), Some(cell)) = (in_backticks(cells[0]).pop(), cells.get::<usize>(column)) {
            let all = cell.trim_matches('`') == "all";
            let allowed = (!all).then(|| in_backticks(cell).into_iter().collect());
            rows.insert(folder, CrateRow { line: number + 1, allowed });
        }
    }
    rows
}

fn in_backticks(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn crate_folder(path: &str) -> Option<&str> {
    let folder = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
    (!folder.contains('/')).then_some(folder)
}

/// Our own crates among a manifest's dependencies, those for one platform included.
pub(super) fn used(file: &RepositoryFile) -> Result<BTreeSet<String>, String> {
    let manifest: toml::Table = file.text.parse().map_err(|error| format!("is not TOML: {error}"))?;
    let mut tables: Vec<&toml::Value> = manifest.get("dependencies").into_iter().collect();
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    tables.extend(
        targets.iter().flat_map(|targets| targets.values()).filter_map(|target| target.get("dependencies")),
    );
    let names = tables.iter().filter_map(|table| table.as_table()).flatten().map(|(key, value)| {
        // A renamed dependency is still the crate that it is.
        value.get("package").and_then(toml::Value::as_str).unwrap_or(key)
    });
    Ok(names.filter_map(|name| name.strip_prefix(PREFIX)).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::dependencies;
    use crate::tidy::tree::RepositoryTree;

    const TABLE: &str = "# A\n\n| crate | purpose | may use |\n| --- | --- | --- |\n| `types` | nouns | – |\n| `log` | keeps | `types` |\n| `cli` | wires | all |\n";
    const TYPES: (&str, &str) = ("crates/types/Cargo.toml", "[dependencies]\nserde = \"1\"\n");
    const CLI: (&str, &str) = ("crates/cli/Cargo.toml", "[dependencies]\nostler-log.workspace = true\n");

    fn found(log: &str, table: &str) -> Vec<String> {
        let tree = RepositoryTree::from_files(&[
            ("ARCHITECTURE.md", table),
            TYPES,
            CLI,
            ("crates/log/Cargo.toml", log),
        ]);
        dependencies(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn equal_sets_pass_and_tests_may_use_what_they_like() {
        let log = "[dependencies]\nostler-types.workspace = true\n[dev-dependencies]\nostler-cli.workspace = true\n";
        assert_eq!(found(log, TABLE), Vec::<String>::new());
    }

    #[test]
    fn a_dependency_that_is_not_allowed_is_found_however_it_is_written() {
        for extra in [
            "[dependencies]\nostler-types.workspace = true\nostler-cli.workspace = true\n",
            "[dependencies]\nostler-types.workspace = true\nx = { package = \"ostler-cli\", path = \"../cli\" }\n",
            "[dependencies]\nostler-types.workspace = true\n[target.'cfg(unix)'.dependencies]\nostler-cli.workspace = true\n",
        ] {
            assert_eq!(
                found(extra, TABLE),
                ["ARCHITECTURE.md:6: `log` uses `cli`, which this row does not allow"]
            );
        }
    }

    #[test]
    fn a_row_that_allows_too_much_is_found() {
        assert!(found("[dependencies]\n", TABLE)[0].contains("does not use `types`"));
    }

    #[test]
    fn rows_and_crates_must_match() {
        let gone = format!("{TABLE}| `gone` | was | – |\n");
        let log = "[dependencies]\nostler-types.workspace = true\n";
        assert!(found(log, &gone)[0].contains("there is no crates/gone"));
        let short = TABLE.replace("| `log` | keeps | `types` |\n", "");
        assert!(found(log, &short)[0].contains("has no row"));
        assert!(found(log, "no table")[0].contains("no table with a column"));
    }
}
