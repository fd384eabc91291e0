//! Reads options the way that most programs do, against a list of the ones that are known. What the operands
//! mean is left to the callers.

use crate::Word;

/// The options of a program that leave it harmless.
pub(super) struct Options {
    /// Letters that stand alone.
    pub(super) flags: &'static str,
    /// Letters that take a value, in the same word or the next.
    pub(super) valued: &'static str,
    /// Long names; with `=` at the end where the value may be the next word.
    pub(super) long: &'static str,
    /// Whether `-20` is a number of lines.
    pub(super) number: bool,
    /// Whether operands are harmless.
    pub(super) operands: bool,
}

impl Options {
    /// Letters alone and letters with a value, for programs that only read their operands.
    pub(super) const fn letters(flags: &'static str, valued: &'static str) -> Self {
        Self { flags, valued, long: "", number: false, operands: true }
    }

    pub(super) const fn long(self, long: &'static str) -> Self {
        Self { long, ..self }
    }

    pub(super) const fn number(self) -> Self {
        Self { number: true, ..self }
    }

    pub(super) const fn no_operands(self) -> Self {
        Self { operands: false, ..self }
    }
}

/// The words that are not options, or nothing if a word is, or could become, an option that is not listed.
/// Options are looked for after operands too, because most programs do.
pub(super) fn operands<'words>(words: &'words [Word], options: &Options) -> Option<Vec<&'words Word>> {
    let mut operands = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if !word.could_be_option() {
            operands.push(word);
            continue;
        }
        let option = word.literal()?.strip_prefix('-')?;
        if option == "-" {
            operands.extend(words.by_ref());
            break;
        }
        if takes_next(option, options)? && words.next()?.literal().is_none_or(looks_like_option) {
            return None;
        }
    }
    Some(operands)
}

/// Programs differ in which values may stand apart. A value that looks like an option could be taken for
/// one.
fn looks_like_option(value: &str) -> bool {
    let number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    value.strip_prefix('-').is_some_and(|rest| !number(rest))
}

/// Whether the value of an option is the next word; nothing for an option that is not listed.
fn takes_next(option: &str, options: &Options) -> Option<bool> {
    if let Some(long) = option.strip_prefix('-') {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let known =
            options.long.split_ascii_whitespace().find(|known| known.trim_end_matches('=') == name)?;
        return Some(known.ends_with('=') && value.is_none());
    }
    if options.number && option.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(false);
    }
    for (position, letter) in option.char_indices() {
        if options.valued.contains(letter) {
            return Some(position + letter.len_utf8() == option.len());
        }
        if !options.flags.contains(letter) {
            return None;
        }
    }
    Some(false)
}
