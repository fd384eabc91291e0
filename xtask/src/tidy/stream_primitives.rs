//! Primitives on streams that there is one of: the line framer of `line-framing` and the supervisor of `process`. A second one
//! is found by what it cannot do without. Files that do the same for another purpose are listed with their reason.

use std::collections::BTreeSet;

use super::TidyFinding;
use super::production;
use super::tree::{RepositoryFile, RepositoryTree};

/// A primitive, and how a second implementation is recognized.
struct StreamPrimitive {
    home: &'static str,
    /// Token sequences that only an implementation needs.
    tokens: &'static [&'static [&'static str]],
    /// Texts that a line of code has to hold all of, since literals are no tokens.
    texts: &'static [&'static [&'static str]],
    advice: &'static str,
    /// Files that are no second implementation, each with the reason.
    allowed: &'static [(&'static str, &'static str)],
}

const LINE_FRAMER: StreamPrimitive = StreamPrimitive {
    home: "crates/line-framing/",
    tokens: &[&["read_until"], &["read_line"], &["fill_buf"], &["AsyncBufReadExt"], &["LinesCodec"]],
    texts: &[&["memchr", "b'\\n'"], &[".position(", "b'\\n'"]],
    advice: "cuts a stream into lines by itself; use `ostler_line_framing`, or say in \
             xtask/src/tidy/stream_primitives.rs why this is something else",
    allowed: &[
        ("crates/eventlog/src/nested_sessions.rs", "reads the first record of a log and nothing else"),
        ("crates/eventlog/src/seek.rs", "looks for the start of a line by its offset in a file"),
        ("crates/eventlog/src/log_walk.rs", "reads a log by offsets, and tells a torn tail from damage"),
        ("crates/git/src/merge.rs", "parses the header of a blob whose length is known"),
        ("crates/http-api/src/import.rs", "needs the first bytes of a file also when they are no line"),
        ("crates/models/src/demo/report.rs", "counts the lines of a text in memory"),
        ("crates/models/src/sse.rs", "server-sent events: CR alone ends a line too"),
        ("crates/repo-map/src/tagger.rs", "finds the line around a position of a text in memory"),
        ("crates/sandbox-helper/src/protected_snapshot.rs", "parses a file that is in memory"),
        ("crates/tools/src/read_file/selected_lines.rs", "shows the start of a long line, and its length"),
    ],
};

const SUPERVISOR: StreamPrimitive = StreamPrimitive {
    home: "crates/process/",
    tokens: &[&["Stdio", ":", ":", "piped"]],
    texts: &[&["struct ", "Supervisor"], &["trait ", "Supervised"]],
    advice: "speaks to a child process by itself; use `ostler_process::Supervisor`, or say in \
             xtask/src/tidy/stream_primitives.rs why this is something else",
    allowed: &[
        ("crates/daemon/src/models/keys/command.rs", "runs a program to its end for the key that it prints"),
        ("crates/git/src/git_process.rs", "runs git to its end"),
        ("crates/tools/src/process/program_group.rs", "runs a command to its end for a tool call"),
        ("crates/tui/src/shell/effects.rs", "runs the clipboard program to its end"),
    ],
};

/// There is one line framer.
pub(super) fn one_line_framer(tree: &RepositoryTree) -> Vec<TidyFinding> {
    LINE_FRAMER.check(tree)
}

/// There is one supervisor of child processes.
pub(super) fn one_supervisor(tree: &RepositoryTree) -> Vec<TidyFinding> {
    SUPERVISOR.check(tree)
}

impl StreamPrimitive {
    fn check(&self, tree: &RepositoryTree) -> Vec<TidyFinding> {
        let mut findings = Vec::new();
        for file in production::files(tree).filter(|file| !file.path.starts_with(self.home)) {
            let lines = self.lines(file);
            let is_allowed = self.allowed.iter().any(|(path, _)| *path == file.path);
            if is_allowed && lines.is_empty() {
                let text = "is listed in xtask/src/tidy/stream_primitives.rs without need; remove it there";
                findings.push(TidyFinding::new(&file.path, 1, text));
            } else if !is_allowed {
                findings
                    .extend(lines.into_iter().map(|line| TidyFinding::new(&file.path, line, self.advice)));
            }
        }
        findings
    }

    /// Where shipped code looks like an implementation, from 1.
    fn lines(&self, file: &RepositoryFile) -> BTreeSet<usize> {
        let tokens = production::tokens(file);
        let names: Vec<&str> = tokens.iter().map(|(name, _)| name.as_str()).collect();
        let matches = |at: &usize| self.tokens.iter().any(|tokens| names[*at..].starts_with(tokens));
        let mut lines: BTreeSet<usize> = (0..names.len()).filter(matches).map(|at| tokens[at].1).collect();
        let shipped: BTreeSet<usize> = tokens.iter().map(|(_, line)| *line).collect();
        for (line, text) in (1..).zip(file.text.lines()).filter(|(line, _)| shipped.contains(line)) {
            if self.texts.iter().any(|parts| parts.iter().all(|part| text.contains(part))) {
                lines.insert(line);
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::{LINE_FRAMER, one_line_framer, one_supervisor};
    use crate::tidy::tree::RepositoryTree;

    fn lines(path: &str, code: &str) -> Vec<usize> {
        let tree = RepositoryTree::from_files(&[(path, &format!("//! x\n{code}\n"))]);
        let findings = one_line_framer(&tree).into_iter().chain(one_supervisor(&tree));
        findings.map(|finding| finding.line).collect()
    }

    #[test]
    fn a_second_framer_or_supervisor_is_found() {
        for code in [
            "fn f() { reader.read_until(10, &mut line); }",
            "use tokio::io::{AsyncBufReadExt, BufReader};",
            "fn f() { memchr::memchr(b'\\n', bytes); }",
            "fn f() { bytes.iter().position(|byte| *byte == b'\\n'); }",
            "fn f() { command.stdin(Stdio::piped()); }",
            "pub(crate) struct ServerSupervisor {}",
        ] {
            assert_eq!(lines("crates/mcp/src/a.rs", code), [2], "{code}");
        }
    }

    #[test]
    fn the_homes_tests_and_other_searches_are_fine() {
        for code in [
            "fn f() { bytes.iter().rposition(|byte| *byte == b'\\n'); }",
            "fn f() {\n    memchr::memchr(b':', bytes);\n    line.push(b'\\n');\n}",
            "// reader.read_until(b'\\n')\nfn f() { g(\"read_until\"); }",
            "#[cfg(test)]\nmod tests {\n    fn f() { reader.read_line(&mut line); }\n}",
        ] {
            assert!(lines("crates/mcp/src/a.rs", code).is_empty(), "{code}");
        }
        let framer = "fn f() { reader.fill_buf(); }";
        assert!(lines("crates/line-framing/src/reader.rs", framer).is_empty());
        assert!(lines("crates/mcp/tests/it/a.rs", framer).is_empty());
        assert!(lines("crates/process/src/supervisor.rs", "pub struct Supervisor;").is_empty());
    }

    #[test]
    fn an_exception_without_need_is_found() {
        let (path, _) = LINE_FRAMER.allowed[0];
        assert!(lines(path, "fn f() { input.read_until(10, &mut head); }").is_empty());
        assert_eq!(lines(path, "fn f() {}"), [1]);
    }
}
