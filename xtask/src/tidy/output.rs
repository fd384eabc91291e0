//! What commands print goes through one module, which makes it harmless for terminals: nothing else in `cli` touches
//! stdout or stderr.

use super::TidyFinding;
use super::tree::RepositoryTree;
use crate::rust_text;

const COMMANDS: &str = "crates/cli/src/";
/// The module itself, and what runs before there is anything to print.
const ALLOWED: [&str; 2] = ["crates/cli/src/output.rs", "crates/cli/src/main.rs"];
const STREAMS: [&str; 8] =
    ["println!(", "print!(", "eprintln!(", "eprint!(", "io::stdout", "io::stderr", "/dev/stdout", "/dev/tty"];

/// A command prints by `crate::output`.
pub(super) fn printed_by_one_module(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    let files = tree.ending(".rs").filter(|file| file.path.starts_with(COMMANDS));
    for file in files.filter(|file| !ALLOWED.contains(&file.path.as_str())) {
        let code = rust_text::scan(&file.text).code;
        for (number, line) in code.lines().enumerate() {
            if let Some(stream) = STREAMS.iter().find(|stream| line.contains(*stream)) {
                let text = format!(
                    "`{stream}` prints text of strangers as it is; use `say!`, `put!`, `report!` or `crate::output`"
                );
                findings.push(TidyFinding::new(&file.path, number + 1, text));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::printed_by_one_module;
    use crate::tidy::tree::RepositoryTree;

    #[test]
    fn a_command_that_prints_by_itself_is_found() {
        let direct = "//! x\nfn f() {\n    std::io::stdout().flush();\n}\n";
        let tree = RepositoryTree::from_files(&[
            ("crates/cli/src/commands/new.rs", direct),
            ("crates/cli/src/commands/good.rs", "//! println!( in words\nfn f() { say!(\"x\"); }\n"),
            ("crates/cli/src/output.rs", direct),
            ("crates/tui/src/shell.rs", direct),
        ]);
        let found: Vec<_> =
            printed_by_one_module(&tree).into_iter().map(|finding| (finding.path, finding.line)).collect();
        assert_eq!(found, [("crates/cli/src/commands/new.rs".to_owned(), 3)]);
    }
}
