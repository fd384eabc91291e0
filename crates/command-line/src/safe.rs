//! Which commands only read. Known by program *and* arguments: an option that is not listed makes a command
//! unsafe, because many programs that read have one that writes or starts another program. Whether a whole
//! line may run is left to `decision`.

mod expression;
mod git;
mod options;
mod programs;

use crate::builtin::only_strictness;
use crate::environment::{assignments_are_harmless, redirects_only_read};
use crate::{Command, Word, list};
use options::{Options, operands};

/// Whether this command changes nothing, starts no program and reaches no network, whatever the files it
/// reads contain. What stands in substitutions of its words is a command of its own.
///
/// Git may start programs that its configuration names, such as a file system monitor or a driver for diffs.
/// The forms listed here do so only when the configuration of the repository says so. Who cannot answer for
/// that configuration asks [`crate::allowed_with`] not to count git as safe.
pub fn is_safe(command: &Command) -> bool {
    assignments_are_harmless(command) && redirects_only_read(command) && words_are_safe(command)
}

fn words_are_safe(command: &Command) -> bool {
    let [_, words @ ..] = command.argv.as_slice() else { return true };
    let Some(name) = command.program() else { return false };
    match name {
        "git" => git::is_safe(words),
        "find" => expression::find_is_safe(words),
        "test" | "[" => expression::test_is_safe(words),
        "[[" => expression::double_test_is_safe(words),
        "sed" => expression::sed_is_safe(words),
        "echo" => words.iter().all(is_operand),
        "printf" => {
            matches!(words, [format, rest @ ..] if only_prints(format) && rest.iter().all(is_operand))
        }
        "set" => only_strictness(&words.iter().map(Word::literal).collect::<Vec<_>>()),
        "command" => {
            matches!(words, [option, _] if matches!(option.literal(), Some("-v" | "-V")))
                && all_literal(words)
        }
        "date" => date_is_safe(words),
        "uniq" => {
            fits(words, &programs::UNIQ).is_some_and(|operands| operands.len() <= 1 && is_one(&operands))
        }
        "cd" => {
            matches!(words, [place] if place.literal().is_some_and(|place| !place.starts_with(['-', '+'])))
        }
        _ if list::has(programs::TELL_VERSION, name)
            && matches!(words, [word] if word.literal() == Some("--version")) =>
        {
            true
        }
        _ => match programs::of(name) {
            Some(options) => fits(words, options).is_some(),
            None => false,
        },
    }
}

/// The operands, when all options are among the listed ones.
fn fits<'words>(words: &'words [Word], options: &Options) -> Option<Vec<&'words Word>> {
    operands(words, options).filter(|operands| options.operands || operands.is_empty())
}

/// `echo` and `printf` print what they do not understand.
fn is_operand(word: &Word) -> bool {
    word.literal().is_some() || !word.could_be_option()
}

/// A format with `%n` sets the variable that an operand names.
fn only_prints(format: &Word) -> bool {
    let Some(text) = format.literal().filter(|_| !format.could_be_option()) else { return false };
    text.split('%').skip(1).all(|rest| {
        let conversion = rest.trim_start_matches(|character: char| {
            character.is_ascii_digit() || "-+ #.*hlLjzt".contains(character)
        });
        !conversion.starts_with('n')
    })
}

fn all_literal(words: &[Word]) -> bool {
    words.iter().all(|word| word.literal().is_some())
}

/// A second operand of `uniq` is written to, so one that may become two is too many.
fn is_one(operands: &[&Word]) -> bool {
    operands.iter().all(|word| word.literal().is_some())
}

/// An operand of `date` without `+` sets the clock.
fn date_is_safe(words: &[Word]) -> bool {
    fits(words, &programs::DATE).is_some_and(|operands| {
        operands.iter().all(|word| word.literal().is_some_and(|text| text.starts_with('+')))
    })
}
