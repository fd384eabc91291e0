//! Programs are started by the crate `process` alone, which finds them where nobody can have put another and gives
//! them an environment of its own. Nothing else in production names the commands of `std` or `tokio`, but the helper of
//! the sandbox, which is too small for that crate, and the build script that builds it.

use super::TidyFinding;
use super::production::{self, block_end};
use super::tree::RepositoryTree;

const STARTS_PROCESSES: [&str; 4] = [
    "crates/process/",
    "crates/sandbox/build.rs",
    "crates/sandbox-helper/src/confine.rs",
    "crates/sandbox-helper/src/supervise.rs",
];

/// A program is started by `ostler_process`.
pub(super) fn started_by_one_crate(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    let is_own = |path: &str| STARTS_PROCESSES.iter().any(|own| path.starts_with(own));
    for file in production::files(tree).filter(|file| !is_own(&file.path)) {
        let tokens = production::tokens(file);
        let names: Vec<&str> = tokens.iter().map(|(name, _)| name.as_str()).collect();
        let mut lines: Vec<usize> = forbidden(&names).into_iter().map(|at| tokens[at].1).collect();
        lines.dedup();
        findings.extend(lines.into_iter().map(|line| {
            let text =
                "starts a program by itself or could; use `ostler_process::Invocation` and its `Program`";
            TidyFinding::new(&file.path, line, text)
        }));
    }
    findings
}

/// Where tokens name a command, or import or rename it so that it could be used under another
/// name.
fn forbidden(tokens: &[&str]) -> Vec<usize> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        match &tokens[at..] {
            ["Command", ":", ":", "new", ..] | ["process", ":", ":", "Command" | "*", ..] => found.push(at),
            ["std" | "tokio", ":", ":", "process", "as", ..] => found.push(at),
            ["process", ":", ":", "{", ..] => {
                let imported = at + 3..block_end(tokens, at + 3);
                let is_bad = |index: &usize| {
                    let renamed = tokens[*index] == "self" && tokens.get(index + 1) == Some(&"as");
                    matches!(tokens[*index], "Command" | "*") || renamed
                };
                found.extend(imported.filter(is_bad));
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::started_by_one_crate;
    use crate::tidy::tree::RepositoryTree;

    fn lines(path: &str, code: &str) -> Vec<usize> {
        let tree = RepositoryTree::from_files(&[(path, &format!("//! x\n{code}\n"))]);
        started_by_one_crate(&tree).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn every_way_to_start_a_program_is_found() {
        for code in [
            "fn f() { std::process::Command::new(\"git\"); }",
            "use tokio::process::Command;",
            "use std::process::{ExitCode, Command as Start};",
            "use std::{fs, process::{Child,\u{20}Command}};",
            "use std::process::*;",
            "use tokio::process as p;",
            "use tokio::process::{self as p, Child};",
            "fn f() { p::Command::new(\"git\"); }",
            "fn f(command: &mut std::process::Command) {}",
            "fn f() { process :: Command :: new(\"git\"); }",
        ] {
            assert!(lines("crates/tools/src/a.rs", code).first() == Some(&2), "{code}");
        }
    }

    #[test]
    fn children_tests_and_the_crate_itself_are_fine() {
        for code in [
            "use tokio::process::{Child, ChildStdin};",
            "fn f() { std::process::id(); AvailableCommand::new(\"x\"); Command::Submit; }",
            "// std::process::Command\nfn f() { g(\"Command::new\"); }",
            "#[cfg(test)]\nmod tests {\n    use std::process::Command;\n    fn f() { {} Command::new(\"x\"); }\n}",
        ] {
            assert!(lines("crates/tools/src/a.rs", code).is_empty(), "{code}");
        }
        let starts = "use std::process::Command;";
        for path in [
            "crates/process/src/a.rs",
            "crates/tools/tests/it/a.rs",
            "crates/tools/src/a/tests.rs",
            "crates/cli/examples/a.rs",
            "xtask/src/a.rs",
            "bench/src/a.rs",
        ] {
            assert!(lines(path, starts).is_empty(), "{path}");
        }
        let after = "#[cfg(test)]\nmod tests { fn f() {} }\nuse std::process::Command;";
        assert_eq!(lines("crates/tools/src/a.rs", after), [4], "what follows a test module counts");
    }
}
