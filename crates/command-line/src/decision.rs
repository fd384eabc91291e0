//! Whole lines: what they read, whether rules allow one, and which rules would. Single commands are left to
//! `safe` and `pattern`.

use crate::environment::{assignments_are_harmless, redirects_only_read};
use crate::{CommandReads, ParsedLine, Pattern, ShellWord, SimpleCommand, is_safe, safe, wrapper};

/// What must be known of a workspace to decide on a line.
#[derive(Debug, Clone, Copy)]
pub struct DecisionContext<'a> {
    /// Whether git counts as a program that only reads. Even `git status` starts what the repository's
    /// configuration names (a monitor, a filter, a driver for diffs, a transport for a missing object), and no
    /// option turns all of that off. So in a workspace that nobody has vouched for, a git command is allowed
    /// only where it is remembered.
    pub git_is_safe: bool,
    /// For each command of the reading, whether what [`reads`] says of it was looked up, and is no more than
    /// anybody may read. One that is missing was not.
    pub proven: &'a [bool],
}

/// What each command of a line reads. Nothing for a command that does more than read, or that is not
/// understood.
pub fn reads(reading: &ParsedLine) -> Vec<Option<CommandReads>> {
    let of_command = |command: &SimpleCommand| {
        safe::reads(command).or_else(|| is_transparent_wrapper(command).then(|| safe::own_reads(command)))
    };
    reading.commands.iter().map(of_command).collect()
}

/// Whether a line may run without asking: nothing about it is unclear, and each of its commands either only
/// reads or is remembered. For a workspace whose git configuration somebody has vouched for, wherever the
/// places are that it reads.
pub fn allowed(reading: &ParsedLine, patterns: &[Pattern]) -> bool {
    let proven = vec![true; reading.commands.len()];
    allowed_with(reading, patterns, DecisionContext { git_is_safe: true, proven: &proven })
}

/// The same where the circumstances are known. A remembered command is allowed whatever it reads.
pub fn allowed_with(reading: &ParsedLine, patterns: &[Pattern], circumstances: DecisionContext<'_>) -> bool {
    let harmless_anywhere = are_harmless_anywhere(reading);
    let moves = reading.commands.iter().any(runs_in_other_directory);
    reading.unclear.is_none()
        && !reading.commands.is_empty()
        && (!moves || harmless_anywhere)
        && reading.commands.iter().enumerate().all(|(position, command)| {
            circumstances.is_allowed_without_rule(position, command, harmless_anywhere)
                || patterns.iter().any(|pattern| pattern.matches(command))
        })
}

/// The closed patterns that would allow this line from now on, one for each command that needs one. None
/// when no pattern can, as for a command that writes into a file or has a word that nobody knows yet, or for one that
/// runs in another directory: what is remembered of a command holds where it was seen, so that such a line can only be
/// remembered as a whole.
pub fn suggest(reading: &ParsedLine) -> Option<Vec<Pattern>> {
    let proven = vec![true; reading.commands.len()];
    suggest_with(reading, DecisionContext { git_is_safe: true, proven: &proven })
}

/// The same for [`allowed_with`].
pub fn suggest_with(reading: &ParsedLine, circumstances: DecisionContext<'_>) -> Option<Vec<Pattern>> {
    let harmless_anywhere = are_harmless_anywhere(reading);
    let mut patterns = Vec::new();
    for (position, command) in reading.commands.iter().enumerate() {
        if circumstances.is_allowed_without_rule(position, command, harmless_anywhere) {
            continue;
        }
        let words = command.argv.iter().map(|word| word.literal().map(str::to_owned));
        let pattern = Pattern { argv: words.collect::<Option<_>>()?, open: false };
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    allowed_with(reading, &patterns, circumstances).then_some(patterns)
}

impl DecisionContext<'_> {
    /// `cd` is harmless among commands that only read. Before any other command it decides what that one does.
    fn is_allowed_without_rule(
        &self,
        position: usize,
        command: &SimpleCommand,
        harmless_anywhere: bool,
    ) -> bool {
        if !self.proven.get(position).is_some_and(|is_proven| *is_proven) {
            return false;
        }
        if changes_directory(command) {
            return harmless_anywhere && is_safe(command);
        }
        let counts = self.git_is_safe || !safe::reads_configuration(command);
        is_safe(command) && counts || is_transparent_wrapper(command)
    }
}

fn are_harmless_anywhere(reading: &ParsedLine) -> bool {
    reading.commands.iter().all(|command| changes_directory(command) || is_safe_anywhere(command))
}

/// Returns true where a command, or a command that it starts, runs in another directory.
pub(crate) fn runs_in_other_directory(command: &SimpleCommand) -> bool {
    changes_directory(command) || wrapper::wrapped_commands(command).changes_directory
}

fn changes_directory(command: &SimpleCommand) -> bool {
    command
        .argv
        .first()
        .and_then(ShellWord::literal)
        .is_some_and(|name| matches!(name, "cd" | "pushd" | "popd"))
}

/// Git runs what the configuration of the directory says, so where it runs is part of the question.
fn is_safe_anywhere(command: &SimpleCommand) -> bool {
    (is_safe(command) || is_transparent_wrapper(command)) && command.program() != Some("git")
}

/// Whether the command is a wrapper that may run whenever what it starts may. That is in the same reading.
fn is_transparent_wrapper(command: &SimpleCommand) -> bool {
    wrapper::wrapped_commands(command).adds_nothing
        && assignments_are_harmless(command)
        && redirects_only_read(command)
}
