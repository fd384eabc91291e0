//! Files of a workspace are touched by the runner and the crates below it. The engine, the doors and the agents go
//! through `ostler_runner::Runner`, so that a workspace can lie on another machine. `cli` is left out: it reads files that the
//! person at its terminal names, on the machine of that terminal. So does `tui`, in three files. `mcp` and the crates that are
//! not listed are below the runner.

use super::TidyFinding;
use super::production;
use super::tree::RepositoryTree;

/// The crates that know workspaces by `Runner` only.
const CRATES_ABOVE_RUNNER: [&str; 13] = [
    "crates/acp/",
    "crates/agent/",
    "crates/agent-acp/",
    "crates/agent-native/",
    "crates/client/",
    "crates/context/",
    "crates/daemon/",
    "crates/door-kit/",
    "crates/doors/",
    "crates/engine/",
    "crates/http-api/",
    "crates/tui/",
    "crates/acceptance/",
];

/// Files of these crates that use the file system all the same.
const ALLOWED: [(&str, &str); 17] = [
    ("crates/daemon/src/daemon.rs", "the token of the data directory"),
    ("crates/daemon/src/gateway.rs", "makes the directory that sessions of the gateway work in"),
    (
        "crates/daemon/src/local_machine.rs",
        "finds the files of this machine that hold secrets, to have them hidden",
    ),
    ("crates/daemon/src/models/keys.rs", "files that hold keys"),
    (
        "crates/door-kit/src/directories.rs",
        "makes the directory of readable files, and finds the daemon's own data",
    ),
    ("crates/door-kit/src/serve.rs", "the socket of the data directory"),
    ("crates/door-kit/src/token.rs", "the token of the data directory"),
    ("crates/doors/src/jsonl/session_files.rs", "session files that a client of this machine names"),
    ("crates/engine/src/session_folder.rs", "the folders of sessions"),
    ("crates/engine/src/view_files.rs", "the readable files of sessions"),
    ("crates/http-api/build.rs", "a build script, which finds the built page"),
    ("crates/http-api/src/built_page.rs", "the page, while it is developed"),
    ("crates/http-api/src/import.rs", "uploads in the data directory"),
    ("crates/http-api/src/scratch.rs", "uploads in the data directory"),
    ("crates/tui/src/shell/effects.rs", "files and drafts of the person at the terminal"),
    ("crates/tui/src/shell/files.rs", "files that the person at the terminal completes the names of"),
    ("crates/tui/src/shell/history.rs", "the prompts of the person at the terminal"),
];

/// A workspace is reached through its runner.
pub(super) fn reached_by_runner(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for file in production::files(tree) {
        if !CRATES_ABOVE_RUNNER.iter().any(|above| file.path.starts_with(above)) {
            continue;
        }
        let tokens = production::tokens(file);
        let names: Vec<&str> = tokens.iter().map(|(name, _)| name.as_str()).collect();
        let uses = |at: &usize| {
            matches!(
                names[*at..],
                ["std" | "tokio", ":", ":", "fs", ..]
                    | [".", "canonicalize" | "read_dir" | "read_link" | "is_dir" | "exists", "(", ..]
            )
        };
        let found: Vec<usize> = (0..names.len()).filter(uses).map(|at| tokens[at].1).collect();
        let is_allowed = ALLOWED.iter().any(|(path, _)| *path == file.path);
        if is_allowed && found.is_empty() {
            let text = "is listed in xtask/src/tidy/workspaces.rs without need; remove it there";
            findings.push(TidyFinding::new(&file.path, 1, text));
        } else if !is_allowed {
            let text = "uses the file system; go through `ostler_runner::Runner`, or name the file and its reason in \
                        xtask/src/tidy/workspaces.rs";
            findings.extend(found.into_iter().map(|line| TidyFinding::new(&file.path, line, text)));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::reached_by_runner;
    use crate::tidy::tree::RepositoryTree;

    #[test]
    fn the_file_system_is_for_the_runner_and_below() {
        let found =
            |path: &str, code: &str| reached_by_runner(&RepositoryTree::from_files(&[(path, code)])).len();
        for code in ["fn f() { std::fs::read(path); }", "use tokio::fs;", "fn f() { path.canonicalize(); }"] {
            assert_eq!(found("crates/engine/src/a.rs", code), 1, "{code}");
            assert_eq!(found("crates/doors/src/acp/a.rs", code), 1, "{code}");
            assert_eq!(found("crates/local-runner/src/a.rs", code), 0, "{code}");
            assert_eq!(found("crates/engine/src/view_files.rs", code), 0, "{code}");
            assert_eq!(found("crates/engine/tests/it/a.rs", code), 0, "{code}");
        }
        assert_eq!(found("crates/engine/src/view_files.rs", "fn f() {}"), 1, "it need not be listed");
        assert_eq!(found("crates/engine/src/a.rs", "fn f() { list.is_empty(); }"), 0);
    }
}
