//! Reads options the way that most programs do, against a list of the ones that are known. What the operands
//! mean is left to the callers.

use crate::{ReadExtent, ReadTarget, ShellWord};

/// The options of a program that leave it harmless.
pub(super) struct SafeOptions {
    /// Letters that stand alone.
    pub(super) flags: &'static str,
    /// Letters that take a value, in the same word or the next.
    pub(super) valued: &'static str,
    /// Those of them whose value is a file that is read.
    pub(super) files: &'static str,
    /// Letters that may have a value, in the same word only.
    pub(super) attached: &'static str,
    /// Long names; with `=` at the end where the value may be the next word, and with `@` where that is a
    /// file that is read.
    pub(super) long: &'static str,
    /// Whether `-20` is a number of lines.
    pub(super) number: bool,
    /// What operands are.
    pub(super) operands: OperandKind,
}

/// What the operands of a program are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperandKind {
    /// It is not harmless with any.
    None,
    /// Text that names no file.
    Text,
    /// Files and directories that are read.
    Files,
}

impl SafeOptions {
    /// Letters alone and letters with a value, for programs that only read their operands.
    pub(super) const fn letters(flags: &'static str, valued: &'static str) -> Self {
        let operands = OperandKind::Files;
        Self { flags, valued, files: "", attached: "", long: "", number: false, operands }
    }

    pub(super) const fn long(self, long: &'static str) -> Self {
        Self { long, ..self }
    }

    pub(super) const fn files(self, files: &'static str) -> Self {
        Self { files, ..self }
    }

    pub(super) const fn attached(self, attached: &'static str) -> Self {
        Self { attached, ..self }
    }

    pub(super) const fn number(self) -> Self {
        Self { number: true, ..self }
    }

    pub(super) const fn operands(self, operands: OperandKind) -> Self {
        Self { operands, ..self }
    }
}

/// The words of a command, sorted out.
#[derive(Default)]
pub(super) struct ParsedOptions<'words> {
    /// The words that are not options.
    pub(super) operands: Vec<&'words ShellWord>,
    /// The options that were given: letters, and long names.
    given: Vec<&'words str>,
    /// The values of options that name files.
    option_files: Vec<&'words str>,
    /// The values that stood in words of their own.
    pub(super) separate_values: Vec<&'words str>,
}

impl ParsedOptions<'_> {
    /// Whether one of these options, separated by blanks, was given.
    pub(super) fn has(&self, options: &str) -> bool {
        options.split_ascii_whitespace().any(|option| self.given.contains(&option))
    }

    /// The files that options name.
    pub(super) fn option_files(&self) -> Vec<ReadTarget> {
        self.option_files.iter().map(|path| ReadTarget::from_path(path, ReadExtent::Itself)).collect()
    }

    /// The files that options and operands name.
    pub(super) fn files(&self, extent: ReadExtent) -> Vec<ReadTarget> {
        self.files_after(0, extent)
    }

    /// The same without the first operands, which are something else.
    pub(super) fn files_after(&self, skipped: usize, extent: ReadExtent) -> Vec<ReadTarget> {
        let mut places = self.option_files();
        // A word that becomes several may also become files by its later ones.
        let is_one = |word: &&ShellWord| word.literal().is_some();
        let skipped = self.operands.iter().take(skipped).take_while(|word| is_one(word)).count();
        places.extend(self.operands[skipped..].iter().filter_map(|word| ReadTarget::from_word(word, extent)));
        places
    }
}

/// Sorts out the words, or nothing if a word is, or could become, an option that is not listed. Options are
/// looked for after operands too, because most programs do.
pub(super) fn parse_options<'words>(
    words: &'words [ShellWord],
    options: &SafeOptions,
) -> Option<ParsedOptions<'words>> {
    let mut parsed = ParsedOptions::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if !word.could_be_option() {
            parsed.operands.push(word);
            continue;
        }
        let option = word.literal()?.strip_prefix('-')?;
        if option == "-" {
            parsed.operands.extend(words.by_ref());
            break;
        }
        let valued = match option.strip_prefix('-') {
            Some(long) => long_option(long, options, &mut parsed)?,
            None => letters(option, options, &mut parsed)?,
        };
        let Some(valued) = valued else { continue };
        let value = match valued.value {
            Some(value) => value,
            None => {
                let value = words.next()?.literal().filter(|value| !looks_like_option(value))?;
                parsed.separate_values.push(value);
                value
            }
        };
        if valued.is_file {
            parsed.option_files.push(value);
        }
    }
    let is_allowed = options.operands != OperandKind::None || parsed.operands.is_empty();
    is_allowed.then_some(parsed)
}

/// Programs differ in which values may stand apart. A value that looks like an option could be taken for
/// one.
fn looks_like_option(value: &str) -> bool {
    let number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    value.strip_prefix('-').is_some_and(|rest| !number(rest))
}

/// An option that takes a value.
struct ValuedOption<'words> {
    /// The value, unless it is the next word.
    value: Option<&'words str>,
    is_file: bool,
}

fn long_option<'words>(
    long: &'words str,
    options: &SafeOptions,
    parsed: &mut ParsedOptions<'words>,
) -> Option<Option<ValuedOption<'words>>> {
    let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
    let mut all = options.long.split_ascii_whitespace();
    let known = all.find(|known| known.trim_end_matches(['=', '@']) == name)?;
    parsed.given.push(name);
    let is_file = known.ends_with('@');
    Some((is_file || known.ends_with('=')).then_some(ValuedOption { value, is_file }))
}

fn letters<'words>(
    letters: &'words str,
    options: &SafeOptions,
    parsed: &mut ParsedOptions<'words>,
) -> Option<Option<ValuedOption<'words>>> {
    if options.number && letters.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(None);
    }
    for (position, letter) in letters.char_indices() {
        let end = position + letter.len_utf8();
        parsed.given.push(&letters[position..end]);
        if options.attached.contains(letter) {
            return Some(None);
        }
        if options.valued.contains(letter) || options.files.contains(letter) {
            let value = Some(&letters[end..]).filter(|value| !value.is_empty());
            return Some(Some(ValuedOption { value, is_file: options.files.contains(letter) }));
        }
        if !options.flags.contains(letter) {
            return None;
        }
    }
    Some(None)
}
