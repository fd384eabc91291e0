//! Which commands only read, and which places they read. Known by program *and* arguments: an option that is
//! not listed makes a command unsafe, because many programs that read have one that writes or starts another
//! program. Whether a whole line may run is left to `decision`.

mod expression;
mod git;
mod options;
mod programs;

use crate::builtin::only_strictness;
use crate::environment::{assignments_are_harmless, redirects_only_read};
use crate::{
    CommandReads, ReadExtent, ReadTarget, RedirectKind, ShellWord, SimpleCommand, TargetSpelling,
    WordExpansion, word_list,
};

/// Whether this command changes nothing, starts no program and reaches no network, whatever the files it
/// reads contain. What stands in substitutions of its words is a command of its own.
///
/// Git may start programs that its configuration names, such as a file system monitor or a driver for diffs.
/// The forms listed here do so only when the configuration of the repository says so. Who cannot answer for
/// that configuration asks [`crate::allowed_with`] not to count git as safe.
pub fn is_safe(command: &SimpleCommand) -> bool {
    reads(command).is_some()
}

/// What a command reads; nothing for one that may do more than read.
pub(crate) fn reads(command: &SimpleCommand) -> Option<CommandReads> {
    if !assignments_are_harmless(command) || !redirects_only_read(command) {
        return None;
    }
    let mut reads = own_reads(command);
    reads.targets.extend(word_places(command)?);
    reads.reads_repository = reads_configuration(command);
    if command.argv.first().and_then(ShellWord::literal) == Some("cd") {
        reads.changes_directory_to = reads.targets.first().map(|place| place.spelling.clone());
    }
    Some(reads)
}

/// Whether it is git doing anything but telling its version.
pub(crate) fn reads_configuration(command: &SimpleCommand) -> bool {
    let tells_version = matches!(command.argv.as_slice(), [_, word] if matches!(word.literal(), Some("--version" | "version")));
    command.program() == Some("git") && !tells_version
}

/// What every command reads: its program, what is redirected into it, and the directories in which its globs
/// look for files.
pub(crate) fn own_reads(command: &SimpleCommand) -> CommandReads {
    let mut reads = CommandReads::default();
    if let Some(program) = command.argv.first().and_then(ShellWord::literal) {
        reads.programs.push(program.to_owned());
        // These are scripts that search for the program that does the work.
        if matches!(command.program(), Some("egrep" | "fgrep")) {
            reads.programs.push("grep".to_owned());
        }
    }
    let inputs = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
    reads
        .targets
        .extend(inputs.filter_map(|redirect| ReadTarget::from_word(&redirect.target, ReadExtent::Itself)));
    // In `[[` a glob is compared with text.
    let words = if command.program() == Some("[[") { &[] } else { command.argv.as_slice() };
    reads.targets.extend(words.iter().filter_map(|word| match word {
        ShellWord::Unknown { becomes: WordExpansion::Files(glob), .. } => {
            Some(ReadTarget { spelling: TargetSpelling::Glob(glob.clone()), extent: ReadExtent::Names })
        }
        ShellWord::Unknown { becomes: WordExpansion::Anything, .. } => {
            Some(ReadTarget { spelling: TargetSpelling::Unknown, extent: ReadExtent::Names })
        }
        ShellWord::Literal(_)
        | ShellWord::Unknown { becomes: WordExpansion::Text | WordExpansion::Pipe, .. } => None,
    }));
    reads
}

/// The places that the words of a command name; nothing when it may do more than read.
fn word_places(command: &SimpleCommand) -> Option<Vec<ReadTarget>> {
    let [_, words @ ..] = command.argv.as_slice() else { return Some(Vec::new()) };
    let name = command.program()?;
    let nowhere = |is_safe: bool| is_safe.then(Vec::new);
    match name {
        "git" => git::places(words),
        "find" => expression::find_places(words),
        "test" | "[" => expression::test_places(words),
        "[[" => expression::double_test_places(words),
        "sed" => expression::sed_places(words),
        "echo" => nowhere(words.iter().all(is_operand)),
        "printf" => nowhere(
            matches!(words, [format, rest @ ..] if only_prints(format) && rest.iter().all(is_operand)),
        ),
        "set" => nowhere(only_strictness(&words.iter().map(ShellWord::literal).collect::<Vec<_>>())),
        "command" => match words {
            [option, name] if matches!(option.literal(), Some("-v" | "-V")) => {
                name.literal().map(|name| named_programs([name]))
            }
            _ => None,
        },
        "which" | "type" => {
            let (_, parsed) = programs::parsed(name, words)?;
            Some(named_programs(parsed.operands.iter().map(|word| word.literal().unwrap_or("/"))))
        }
        "date" => date_places(words),
        "uniq" => {
            let parsed = options::parse_options(words, &programs::UNIQ)?;
            // A second operand is written to, so one that may become two is too many.
            let is_one = parsed.operands.len() <= 1 && parsed.operands.iter().all(|w| w.literal().is_some());
            is_one.then(|| parsed.files(ReadExtent::Itself))
        }
        "cd" => match words {
            [place] => changed_directory(place),
            [end, place] if end.literal() == Some("--") => changed_directory(place),
            _ => None,
        },
        _ if word_list::contains_word(programs::TELL_VERSION, name)
            && matches!(words, [word] if word.literal() == Some("--version")) =>
        {
            Some(Vec::new())
        }
        _ => programs::places(name, words),
    }
}

fn changed_directory(place: &ShellWord) -> Option<Vec<ReadTarget>> {
    let path = place.literal().filter(|path| !path.is_empty() && !path.starts_with(['-', '+']))?;
    Some(vec![ReadTarget::from_path(path, ReadExtent::Itself)])
}

/// Programs that are looked up by name are no places, those by path are.
fn named_programs<'names>(names: impl IntoIterator<Item = &'names str>) -> Vec<ReadTarget> {
    let paths = names.into_iter().filter(|name| name.contains('/'));
    paths.map(|path| ReadTarget::from_path(path, ReadExtent::Itself)).collect()
}

/// `echo` and `printf` print what they do not understand.
fn is_operand(word: &ShellWord) -> bool {
    word.literal().is_some() || !word.could_be_option()
}

/// A format with `%n` sets the variable that an operand names.
fn only_prints(format: &ShellWord) -> bool {
    let Some(text) = format.literal().filter(|_| !format.could_be_option()) else { return false };
    text.split('%').skip(1).all(|rest| {
        let conversion = rest.trim_start_matches(|character: char| {
            character.is_ascii_digit() || "-+ #.*hlLjzt'".contains(character)
        });
        !conversion.starts_with('n')
    })
}

/// An operand of `date` without `+` sets the clock.
fn date_places(words: &[ShellWord]) -> Option<Vec<ReadTarget>> {
    // A date may name a time zone, which is a file.
    let names_zone = |word: &ShellWord| word.literal().is_none_or(|text| text.contains("TZ"));
    if words.iter().any(names_zone) {
        return None;
    }
    let parsed = options::parse_options(words, &programs::DATE)?;
    let formats = parsed.operands.iter().all(|word| word.literal().is_some_and(|text| text.starts_with('+')));
    formats.then(|| parsed.option_files())
}
