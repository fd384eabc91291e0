//! Tests of the reading of command lines, from outside.

mod bash;
mod decision_context;
mod fuzz;
mod line_corpus;
mod patterns;
mod read_targets;
mod safety;
mod second_parser;
mod shfmt;
mod wrappers;

use ostler_command_line::{ParsedLine, ShellWord, SimpleCommand, parse};

/// The commands of a line, each as its words with `?` for what is not known, assignments before and redirects left out.
fn read(line: &str) -> Vec<String> {
    let reading = parse(line);
    reading.commands.iter().map(shown).collect()
}

fn shown(command: &SimpleCommand) -> String {
    let word = |word: &ShellWord| word.literal().map_or_else(|| "?".to_owned(), str::to_owned);
    let env = command.env.iter().map(|(name, value)| format!("{name}={}", word(value)));
    env.chain(command.argv.iter().map(word)).collect::<Vec<_>>().join(" ")
}

fn clear(line: &str) -> ParsedLine {
    let reading = parse(line);
    assert_eq!(reading.unclear, None, "{line:?}");
    reading
}
