//! Whole lines: whether rules allow one, and which rules would. Single commands are left to `safe` and
//! `pattern`.

use crate::environment::{assignments_are_harmless, redirects_only_read};
use crate::{Command, Pattern, Reading, Word, is_safe, wrapper};

/// Whether a line may run without asking: nothing about it is unclear, and each of its commands either only
/// reads or is remembered. For a workspace whose git configuration somebody has vouched for.
pub fn allowed(reading: &Reading, patterns: &[Pattern]) -> bool {
    allowed_with(reading, patterns, true)
}

/// The same where it is said whether git counts as a program that only reads. Even `git status` starts what
/// the repository's configuration names (a monitor, a filter, a driver for diffs, a transport for a missing
/// object), and no option turns all of that off. So in a workspace that nobody has vouched for, a git command
/// is allowed only where it is remembered.
pub fn allowed_with(reading: &Reading, patterns: &[Pattern], git_is_safe: bool) -> bool {
    let moves = reading.commands.iter().filter(|command| is_move(command)).count();
    let harmless_anywhere =
        reading.commands.iter().all(|command| is_move(command) || is_safe_anywhere(command));
    reading.unclear.is_none()
        && !reading.commands.is_empty()
        && (moves <= 1 || harmless_anywhere)
        && reading.commands.iter().all(|command| {
            passes_by_itself(command, harmless_anywhere, git_is_safe)
                || patterns.iter().any(|pattern| pattern.matches(command))
        })
}

/// The closed patterns that would allow this line from now on, one for each command that needs one. None
/// when no pattern can, as for a command that writes into a file or has a word that nobody knows yet.
pub fn suggest(reading: &Reading) -> Option<Vec<Pattern>> {
    suggest_with(reading, true)
}

/// The same for [`allowed_with`]: where git does not count as safe, its commands need a pattern too.
pub fn suggest_with(reading: &Reading, git_is_safe: bool) -> Option<Vec<Pattern>> {
    let harmless_anywhere =
        reading.commands.iter().all(|command| is_move(command) || is_safe_anywhere(command));
    let needs_one = |command: &&Command| !passes_by_itself(command, harmless_anywhere, git_is_safe);
    let mut patterns = Vec::new();
    for command in reading.commands.iter().filter(needs_one) {
        let words = command.argv.iter().map(|word| word.literal().map(str::to_owned));
        let pattern = Pattern { argv: words.collect::<Option<_>>()?, open: false };
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    allowed_with(reading, &patterns, git_is_safe).then_some(patterns)
}

/// `cd` is harmless among commands that only read. Before any other command it decides what that one does,
/// so then it must be remembered too.
fn passes_by_itself(command: &Command, harmless_anywhere: bool, git_is_safe: bool) -> bool {
    if is_move(command) {
        return harmless_anywhere && is_safe(command);
    }
    let counts = git_is_safe || !reads_configuration(command);
    is_safe(command) && counts || adds_nothing(command)
}

/// Whether it is git doing anything but telling its version.
fn reads_configuration(command: &Command) -> bool {
    let tells_version = matches!(command.argv.as_slice(), [_, word] if matches!(word.literal(), Some("--version" | "version")));
    command.program() == Some("git") && !tells_version
}

fn is_move(command: &Command) -> bool {
    command.argv.first().and_then(Word::literal).is_some_and(|name| matches!(name, "cd" | "pushd" | "popd"))
}

/// Git runs what the configuration of the directory says, so where it runs is part of the question.
fn is_safe_anywhere(command: &Command) -> bool {
    (is_safe(command) || adds_nothing(command)) && command.program() != Some("git")
}

/// Whether the command is a wrapper that may run whenever what it starts may. That is in the same reading.
fn adds_nothing(command: &Command) -> bool {
    wrapper::inside(command).plain && assignments_are_harmless(command) && redirects_only_read(command)
}
