//! What a workspace says of how it is checked: its AGENTS.md, else its Makefile. Only said to a turn
//! whose owner trusts the workspace; reading it runs nothing. Its settings are stronger, and read elsewhere.

use std::io::Read;
use std::path::Path;

use ostler_runner::DocumentedChecks;
use ostler_workspace_fs::open_regular;

/// How much of a file is looked at.
const MAX_BYTES: u64 = 256 * 1024;
/// How many commands a file may name.
const MAX_COMMANDS: usize = 16;

/// Looks for the commands that a workspace names in its AGENTS.md or its Makefile. Blocks.
pub(crate) fn documented_checks(workspace: &Path) -> Option<DocumentedChecks> {
    let agents = read(&workspace.join("AGENTS.md")).map(|text| agents_commands(&text)).unwrap_or_default();
    if !agents.is_empty() {
        let file = "AGENTS.md".to_owned();
        return Some(DocumentedChecks { commands: agents, origin: file.clone(), file });
    }
    let makefiles = ["GNUmakefile", "makefile", "Makefile"];
    let (file, text) = makefiles.into_iter().find_map(|name| Some((name, read(&workspace.join(name))?)))?;
    let has_target = text.lines().any(is_test_target);
    has_target.then(|| DocumentedChecks {
        commands: vec!["make test".to_owned()],
        origin: "the Makefile".to_owned(),
        file: file.to_owned(),
    })
}

fn read(path: &Path) -> Option<String> {
    let mut text = Vec::new();
    open_regular(path).ok()?.take(MAX_BYTES).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// The lines of the code blocks under a heading such as `## Verification`.
fn agents_commands(text: &str) -> Vec<String> {
    let (mut inside, mut fenced) = (false, false);
    let mut commands = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            fenced = !fenced;
        } else if fenced {
            let command = trimmed.strip_prefix("$ ").unwrap_or(trimmed);
            if inside && !command.is_empty() && !command.starts_with('#') {
                commands.push(command.to_owned());
            }
        } else if let Some(title) = trimmed.strip_prefix('#') {
            let title = title.trim_start_matches('#').trim().to_lowercase();
            inside = matches!(title.as_str(), "verify" | "verification" | "how to verify" | "checks");
        }
    }
    commands.truncate(MAX_COMMANDS);
    commands
}

/// Whether a line of a Makefile is a rule for `test`.
fn is_test_target(line: &str) -> bool {
    let Some((targets, rest)) = line.split_once(':') else { return false };
    let assigns = rest.starts_with('=') || rest.starts_with(":=");
    !line.starts_with(['\t', '#', ' ']) && !assigns && targets.split_whitespace().any(|name| name == "test")
}

#[cfg(test)]
mod tests {
    use super::{agents_commands, is_test_target};

    #[test]
    fn commands_stand_in_the_code_blocks_of_one_section() {
        let text = "# Shop\n```\nrm -rf /\n```\n## Verification\nRun this:\n```sh\n$ cargo fmt --check\n\
                    # a remark\ncargo test\n```\n## Style\n```\nnever\n```\n";
        assert_eq!(agents_commands(text), ["cargo fmt --check", "cargo test"]);
        assert!(agents_commands("## Verification\nnothing to run").is_empty());
    }

    #[test]
    fn a_test_target_is_a_rule_and_no_variable() {
        for yes in ["test:", "test: build", "build test: x", "test :: x"] {
            assert!(is_test_target(yes), "{yes}");
        }
        for no in ["tests:", "\ttest: x", "test := x", "test = x", "# test:", "latest:", ".PHONY: test"] {
            assert!(!is_test_target(no), "{no}");
        }
    }
}
