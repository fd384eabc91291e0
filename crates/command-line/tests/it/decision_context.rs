//! Git in a workspace whose configuration nobody has vouched for.

use ostler_command_line::{DecisionContext, ParsedLine, Pattern, allowed, parse, suggest};

const EVERYTHING: &[bool] = &[true; 16];

fn allowed_with(reading: &ParsedLine, patterns: &[Pattern], git_is_safe: bool) -> bool {
    let circumstances = DecisionContext { git_is_safe, proven: EVERYTHING };
    ostler_command_line::allowed_with(reading, patterns, circumstances)
}

fn suggest_with(reading: &ParsedLine, git_is_safe: bool) -> Option<Vec<Pattern>> {
    ostler_command_line::suggest_with(reading, DecisionContext { git_is_safe, proven: EVERYTHING })
}

/// The lines that ran a program of the repository's own in a workspace that came with its `.git`.
#[test]
fn git_needs_somebody_to_vouch_for_its_configuration() {
    for line in [
        "git status",
        "/usr/bin/git status",
        "git diff --stat HEAD",
        "git log --oneline -5",
        "git cat-file -p HEAD",
        "ls; git status",
        "ls | xargs git log",
        "timeout 5 git status",
        "nice git diff",
        "env git status",
        "(git status)",
        "echo $(git rev-parse HEAD)",
        "command git status",
        "GIT_PAGER=cat git log",
    ] {
        let reading = parse(line);
        assert!(!allowed_with(&reading, &[], false), "{line:?}");
    }
    for line in ["git --version", "git version", "ls -la && cat a", "cd src && grep -rn git ."] {
        assert!(allowed_with(&parse(line), &[], false), "{line:?}");
    }
    assert!(allowed_with(&parse("git status"), &[], true) && allowed(&parse("git status"), &[]));
}

#[test]
fn a_git_command_can_be_remembered_where_nobody_vouches() {
    let reading = parse("git status -s && cargo test | head -5");
    let of_all = suggest_with(&reading, false).unwrap();
    let shown: Vec<String> = of_all.iter().map(|pattern| pattern.argv.join(" ")).collect();
    assert_eq!(shown, ["git status -s", "cargo test"]);
    assert!(allowed_with(&reading, &of_all, false));
    assert!(allowed_with(&parse("git status -s"), &of_all, false));
    assert!(!allowed_with(&parse("git status"), &of_all, false));
    assert_eq!(suggest_with(&reading, true), suggest(&reading));
    assert_eq!(suggest(&reading).unwrap().len(), 1);
}
