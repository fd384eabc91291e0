//! Whole lines: whether rules allow one, and which rules would. Single commands are left to `safe` and
//! `pattern`.

use crate::environment::{assignments_are_harmless, redirects_only_read};
use crate::{Command, Pattern, Reading, Word, is_safe, wrapper};

/// Whether a line may run without asking: nothing about it is unclear, and each of its commands either only
/// reads or is remembered.
pub fn allowed(reading: &Reading, patterns: &[Pattern]) -> bool {
    let moves = reading.commands.iter().filter(|command| is_move(command)).count();
    let harmless_anywhere =
        reading.commands.iter().all(|command| is_move(command) || is_safe_anywhere(command));
    reading.unclear.is_none()
        && !reading.commands.is_empty()
        && (moves <= 1 || harmless_anywhere)
        && reading.commands.iter().all(|command| {
            passes_by_itself(command, harmless_anywhere)
                || patterns.iter().any(|pattern| pattern.matches(command))
        })
}

/// The closed patterns that would allow this line from now on, one for each command that needs one. None
/// when no pattern can, as for a command that writes into a file or has a word that nobody knows yet.
pub fn suggest(reading: &Reading) -> Option<Vec<Pattern>> {
    let harmless_anywhere =
        reading.commands.iter().all(|command| is_move(command) || is_safe_anywhere(command));
    let mut patterns = Vec::new();
    for command in reading.commands.iter().filter(|command| !passes_by_itself(command, harmless_anywhere)) {
        let words = command.argv.iter().map(|word| word.literal().map(str::to_owned));
        let pattern = Pattern { argv: words.collect::<Option<_>>()?, open: false };
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    allowed(reading, &patterns).then_some(patterns)
}

/// `cd` is harmless among commands that only read. Before any other command it decides what that one does,
/// so then it must be remembered too.
fn passes_by_itself(command: &Command, harmless_anywhere: bool) -> bool {
    if is_move(command) {
        return harmless_anywhere && is_safe(command);
    }
    is_safe(command) || adds_nothing(command)
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
