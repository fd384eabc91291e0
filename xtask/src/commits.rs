//! Checks the messages of commits: a short subject, then an empty line, then a body with the reason. Commits before the
//! check was added are left as they are.

use std::process::Command;

use crate::repository;

/// The last commit before the check. A clone without it cannot be checked, and fails.
const UNCHECKED: &str = "3ede0d0b66454ed397aef6dd81657af4e5ed4dc0";

const MAX_SUBJECT: usize = 72;

/// Checks every commit since [`UNCHECKED`].
pub(crate) fn run() -> Result<(), String> {
    let log = |format: &str| {
        let mut git = Command::new("git");
        git.current_dir(repository::root()).args([
            "log",
            "--no-merges",
            format,
            &format!("{UNCHECKED}..HEAD"),
        ]);
        git
    };
    let messages = repository::output(&mut log("--format=%h%n%B%x00")).map_err(|error| {
        format!("{error}\nthe messages of commits need the whole history: git fetch --unshallow")
    })?;
    let messages: Vec<&str> =
        messages.split('\0').map(str::trim_start).filter(|text| !text.is_empty()).collect();
    let problems: Vec<String> = messages.iter().filter_map(|text| problem(text)).collect();
    if !problems.is_empty() {
        return Err(problems.join("\n"));
    }
    println!("{} commit messages checked", messages.len());
    Ok(())
}

/// The first thing that is wrong with a commit, given as its id and its message.
fn problem(commit: &str) -> Option<String> {
    let mut lines = commit.lines();
    let id = lines.next().unwrap_or_default();
    let subject = lines.next().unwrap_or_default();
    let columns = subject.chars().count();
    let wrong = if subject.is_empty() {
        "has no subject".to_owned()
    } else if columns > MAX_SUBJECT {
        format!("has a subject of {columns} columns; {MAX_SUBJECT} are allowed")
    } else if lines.next().is_some_and(|line| !line.is_empty()) {
        "needs an empty line after its subject".to_owned()
    } else if lines.all(|line| line.trim().is_empty()) {
        "has no body; say why the change is made, and what shows that it works".to_owned()
    } else {
        return None;
    };
    Some(format!("commit {id} {wrong}: {subject}"))
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn a_subject_an_empty_line_and_a_body_pass() {
        assert_eq!(problem("abc\npage: keep the scroll position\n\nIt was lost.\n"), None);
    }

    #[test]
    fn what_is_missing_is_named() {
        let long = format!("abc\n{}\n\nWhy.\n", "x".repeat(73));
        for (commit, word) in [
            ("abc\n", "no subject"),
            (long.as_str(), "73 columns"),
            ("abc\npage: keep\nthe position\n", "empty line"),
            ("abc\npage: keep the position\n", "no body"),
            ("abc\npage: keep the position\n\n  \n", "no body"),
        ] {
            assert!(
                problem(commit).is_some_and(|text| text.contains(word)),
                "{commit:?} should be told: {word}"
            );
        }
    }
}
