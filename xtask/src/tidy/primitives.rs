//! Primitives on files have one implementation, in the crate `workspace-fs`: opening beneath a directory, replacing a
//! file, reading git's index and ignore rules. A second one could be weaker than the first, or diverge from it.

use super::TidyFinding;
use super::production::{self, block_end};
use super::tree::RepositoryTree;

const HOME: &str = "crates/workspace-fs/";

/// Files that rename for another purpose than to replace a file by its path.
const RENAMES: [(&str, &str); 7] = [
    ("crates/eventlog/src/disk.rs", "the file system of the log, whose operations tests make fail"),
    (
        "crates/checkpoint/src/store_files.rs",
        "the store names contents by their digest, and empties one folder at start",
    ),
    ("crates/checkpoint/src/restore/crash.rs", "a test, which moves directories away"),
    (
        "crates/checkpoint/src/restore/execute.rs",
        "the journal knows the temporary names, to remove them after a crash",
    ),
    ("crates/index/src/schema.rs", "moves a damaged database aside"),
    ("crates/recorder/src/views/rebuild.rs", "moves finished views in"),
    ("crates/sandbox/src/run_directory.rs", "gives a directory its name once it is locked"),
];

/// Paths that others can influence are resolved by `ostler_workspace_fs::open_beneath`.
pub(super) fn opened_by_one_crate(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let text = "resolves a path by itself; use `ostler_workspace_fs::Tree` or `open_beneath`";
    named_elsewhere(tree, text, &["openat2", "ResolveFlags"], |rest| {
        matches!(rest, ["openat2" | "ResolveFlags", ..])
    })
}

/// Files of ignore rules are read by `ostler_workspace_fs::IgnoreRules`.
pub(super) fn ignored_by_one_crate(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let text = "reads ignore rules by itself; use `ostler_workspace_fs::IgnoreRules`";
    named_elsewhere(tree, text, &["Gitignore"], |rest| matches!(rest, ["Gitignore" | "GitignoreBuilder", ..]))
}

/// Git's index is read by `ostler_workspace_fs::visit_git_index`.
pub(super) fn index_read_by_one_crate(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let others = production::files(tree).filter(|file| !file.path.starts_with(HOME));
    let lines =
        others.flat_map(|file| file.text.lines().enumerate().map(move |(at, line)| (file, at + 1, line)));
    let reads = lines.filter(|(_, _, line)| line.contains("DIRC"));
    let text = "reads git's index by itself; use `ostler_workspace_fs::visit_git_index`";
    reads.map(|(file, line, _)| TidyFinding::new(&file.path, line, text)).collect()
}

/// Files are replaced by `ostler_workspace_fs::replace_file`, and by `Tree` in a workspace.
pub(super) fn replaced_by_one_crate(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let text = "renames a file by itself; use `ostler_workspace_fs::replace_file`, or name the file and its reason in \
                xtask/src/tidy/primitives.rs";
    let (allowed, mut findings): (Vec<_>, Vec<_>) =
        named_elsewhere(tree, text, &["rename", "persist"], is_rename)
            .into_iter()
            .partition(|finding| RENAMES.iter().any(|(path, _)| *path == finding.path));
    let is_stale =
        |path: &str| tree.file(path).is_some() && !allowed.iter().any(|finding| finding.path == path);
    findings.extend(RENAMES.iter().filter(|(path, _)| is_stale(path)).map(|(path, reason)| {
        TidyFinding::new(
            path,
            1,
            format!("renames nothing ({reason}); take it out of xtask/src/tidy/primitives.rs"),
        )
    }));
    findings
}

fn is_rename(rest: &[&str]) -> bool {
    match rest {
        ["renameat" | "renameat_with" | "persist" | "persist_noclobber", ..]
        | ["fs", ":", ":", "rename", ..] => true,
        ["fs", ":", ":", "{", ..] => rest[..block_end(rest, 3)].contains(&"rename"),
        _ => false,
    }
}

/// Only files with one of the words are taken apart, since that takes long.
fn named_elsewhere(
    tree: &RepositoryTree,
    text: &str,
    words: &[&str],
    is_found: fn(&[&str]) -> bool,
) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    let has_word = |text: &str| words.iter().any(|word| text.contains(word));
    let others = production::files(tree).filter(|file| !file.path.starts_with(HOME));
    for file in others.filter(|file| has_word(&file.text)) {
        let tokens = production::tokens(file);
        let names: Vec<&str> = tokens.iter().map(|(name, _)| name.as_str()).collect();
        let mut lines: Vec<usize> =
            (0..names.len()).filter(|at| is_found(&names[*at..])).map(|at| tokens[at].1).collect();
        lines.dedup();
        findings.extend(lines.into_iter().map(|line| TidyFinding::new(&file.path, line, text)));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{ignored_by_one_crate, index_read_by_one_crate, opened_by_one_crate, replaced_by_one_crate};
    use crate::tidy::tree::RepositoryTree;

    const CHECKS: [fn(&RepositoryTree) -> Vec<super::TidyFinding>; 4] =
        [ignored_by_one_crate, opened_by_one_crate, index_read_by_one_crate, replaced_by_one_crate];

    fn found(path: &str, code: &str) -> Vec<usize> {
        let tree = RepositoryTree::from_files(&[(path, &format!("//! x\n{code}\n"))]);
        CHECKS.iter().flat_map(|check| check(&tree)).map(|finding| finding.line).collect()
    }

    #[test]
    fn a_second_implementation_is_found() {
        for code in [
            "use rustix::fs::{Mode, openat2};",
            "fn f() { let resolve = rustix::fs::ResolveFlags::BENEATH; }",
            "fn f(bytes: &[u8]) { bytes.strip_prefix(b\"DIRC\"); }",
            "use ignore::gitignore::GitignoreBuilder;",
            "fn f() { std::fs::rename(a, b); }",
            "fn f() { tokio::fs::rename(a, b); }",
            "use std::fs::{File, rename};",
            "fn f() { renameat(directory, a, directory, b); }",
            "fn f() { temporary.persist(path); }",
        ] {
            assert_eq!(found("crates/tools/src/a.rs", code), [2], "{code}");
            assert!(found("crates/workspace-fs/src/a.rs", code).is_empty(), "{code}");
            assert!(found("crates/tools/tests/it/a.rs", code).is_empty(), "{code}");
        }
    }

    #[test]
    fn tests_words_and_the_log_s_own_disk_are_fine() {
        for code in [
            "// openat2\nfn f() { g(\"openat2\"); libc::SYS_openat2; }",
            "#[cfg(test)]\nmod tests {\n    fn f() { std::fs::rename(a, b); }\n}",
            "fn f() { disk.rename(a, b); }",
        ] {
            assert!(found("crates/eventlog/src/a.rs", code).is_empty(), "{code}");
        }
        assert!(found("crates/eventlog/src/disk.rs", "fn f() { std::fs::rename(a, b); }").is_empty());
        assert_eq!(found("crates/eventlog/src/disk.rs", "fn f() {}"), [1], "a reason that holds no longer");
    }
}
