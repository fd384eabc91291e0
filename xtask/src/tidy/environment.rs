//! Only `cli` reads the environment of the process. What others need of it is passed in, so that a test and an
//! embedder decide what they see.

use super::TidyFinding;
use super::production;
use super::tree::RepositoryTree;

/// What reads the environment.
const READS: [&str; 6] = ["var", "vars", "var_os", "vars_os", "temp_dir", "home_dir"];

/// Files that read it all the same.
const ALLOWED: [(&str, &str); 7] = [
    ("crates/checkpoint/src/restore/crash.rs", "a test"),
    ("crates/http-api/build.rs", "a build script, which cargo speaks to by variables"),
    (
        "crates/process/src/invocation.rs",
        "programs that the person at the terminal starts have that person's",
    ),
    ("crates/sandbox/build.rs", "a build script, which cargo speaks to by variables"),
    ("crates/sandbox-helper/src/environment.rs", "the helper inside is told its descriptors by variables"),
    ("crates/sandbox-helper/src/gate.rs", "the helper inside is told its descriptors by variables"),
    ("crates/tui/src/shell/effects.rs", "the text for the editor of the person at the terminal"),
];

/// The environment is read in one crate.
pub(super) fn read_by_one_crate(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for file in production::files(tree).filter(|file| file.text.contains("env::")) {
        let is_own = file.path.starts_with("crates/cli/") || file.path.starts_with("crates/testing/");
        if is_own || ALLOWED.iter().any(|(path, _)| *path == file.path) {
            continue;
        }
        let tokens = production::tokens(file);
        let names: Vec<&str> = tokens.iter().map(|(name, _)| name.as_str()).collect();
        let reads = |at: &usize| matches!(names[*at..], ["env", ":", ":", name, ..] if READS.contains(&name));
        let text = "reads the environment of the process; let `cli` pass it in, or name the file and its reason in \
                    xtask/src/tidy/environment.rs";
        let found = (0..names.len()).filter(reads);
        findings.extend(found.map(|at| TidyFinding::new(&file.path, tokens[at].1, text)));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::read_by_one_crate;
    use crate::tidy::tree::RepositoryTree;

    #[test]
    fn the_environment_is_read_by_cli_alone() {
        let found =
            |path: &str, code: &str| read_by_one_crate(&RepositoryTree::from_files(&[(path, code)])).len();
        for code in ["fn f() { std::env::var(\"HOME\"); }", "fn f() { std::env::temp_dir(); }"] {
            assert_eq!(found("crates/tools/src/a.rs", code), 1, "{code}");
            assert_eq!(found("crates/cli/src/a.rs", code) + found("crates/tools/tests/it/a.rs", code), 0);
        }
        assert_eq!(found("crates/tools/src/a.rs", "fn f() { std::env::split_paths(path); }"), 0);
    }
}
