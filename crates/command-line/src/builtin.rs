//! Programs after which, or in which, the rest of a line no longer means what it says. Programs that merely
//! start another one are left to `wrapper`.

use crate::{SimpleCommand, word_list};

/// Why nothing certain can be said about a line with this command, if so.
pub(crate) fn unclear_reason(command: &SimpleCommand) -> Option<String> {
    let first = command.argv.first()?;
    let Some(path) = first.literal() else {
        return Some("the name of a program is only known when it runs".to_owned());
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    let arguments: Vec<Option<&str>> = command.argv[1..].iter().map(|word| word.literal()).collect();
    if path.is_empty() {
        return Some("the name of a program is empty".to_owned());
    }
    if let Some((_, why)) =
        CHANGES_LATER_COMMANDS.iter().find(|(names, _)| word_list::contains_word(names, name))
    {
        return Some(format!("`{name}` {why}"));
    }
    let literal = || arguments.iter().flatten().copied();
    match name {
        "set" if !only_strictness(&arguments) => {
            Some("`set` changes how the rest of the line is read".to_owned())
        }
        "printf" if literal().next().is_some_and(|word| word.starts_with("-v")) => {
            Some("`printf -v` sets a variable".to_owned())
        }
        "test" | "[" if literal().any(|word| matches!(word, "-v" | "-R")) => {
            Some(format!("`{name} -v` evaluates its words, which can run commands"))
        }
        _ if is_interpreter(name) && reads_program_from_input(&arguments) => {
            Some(format!("`{name}` takes its program from standard input"))
        }
        _ => None,
    }
}

const CHANGES_LATER_COMMANDS: &[(&str, &str)] = &[
    ("alias unalias", "gives other meanings to names"),
    ("eval source .", "runs text that is not part of the line"),
    ("trap bind complete compgen compopt", "runs commands at a later time"),
    ("shopt enable hash", "changes how the rest of the line is read"),
    (
        "export declare typeset readonly local unset read getopts mapfile readarray let",
        "changes variables that later commands depend on",
    ),
    ("fc history", "takes commands from the shell's history"),
    ("at batch crontab parallel", "takes commands from standard input"),
];

/// Programs that run what they are given as a program; versions such as `python3.12` count too.
pub(crate) fn is_interpreter(name: &str) -> bool {
    let name = name.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    let interpreters = "\
        sh bash rbash dash ash zsh ksh mksh fish csh tcsh python pypy node nodejs deno bun perl ruby irb \
        php lua luajit Rscript R tclsh wish expect osascript pwsh guile julia ghci scala groovy ed ex \
        psql mysql sqlite gdb lldb";
    word_list::contains_word(interpreters, name)
}

/// An interpreter without an operand, or with one that is its input, runs whatever comes through the pipe.
fn reads_program_from_input(arguments: &[Option<&str>]) -> bool {
    let asks_only = |word: &&str| matches!(*word, "--version" | "-V" | "-v" | "--help" | "-h");
    let is_input = |word: &&str| {
        matches!(*word, "-" | "/dev/stdin" | "-s")
            || word.starts_with("/dev/fd/")
            || word.starts_with("/proc/self/fd/")
    };
    let mut literal = arguments.iter().flatten();
    if literal.clone().any(is_input) {
        return true;
    }
    let no_operand = arguments.iter().all(|word| word.is_some_and(|text| text.starts_with('-')));
    no_operand && !literal.any(asks_only)
}

/// `set -euo pipefail` and its like, which make a line stop early and change nothing else.
pub(crate) fn only_strictness(arguments: &[Option<&str>]) -> bool {
    let mut names = arguments.iter();
    while let Some(word) = names.next() {
        let Some(letters) = word.and_then(|text| text.strip_prefix('-')) else { return false };
        let takes_name = letters.ends_with('o');
        let flags = letters.strip_suffix('o').unwrap_or(letters);
        if letters.is_empty() || !flags.chars().all(|letter| "eux".contains(letter)) {
            return false;
        }
        if takes_name && !matches!(names.next(), Some(Some("pipefail" | "errexit" | "nounset" | "xtrace"))) {
            return false;
        }
    }
    !arguments.is_empty()
}
