//! When two lines count as the same although they are spelled differently.

use std::borrow::Cow;

/// How much of a difference between two lines is overlooked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineTolerance {
    Exact,
    TrailingSpace,
    Space,
    Typography,
}

/// From nothing overlooked to the most.
pub(super) const TOLERANCES: [LineTolerance; 4] =
    [LineTolerance::Exact, LineTolerance::TrailingSpace, LineTolerance::Space, LineTolerance::Typography];

/// A line without what a step overlooks.
pub(crate) fn normalize(line: &str, likeness: LineTolerance) -> Cow<'_, str> {
    match likeness {
        LineTolerance::Exact => Cow::Borrowed(line),
        LineTolerance::TrailingSpace => Cow::Borrowed(line.trim_end()),
        LineTolerance::Space => Cow::Borrowed(line.trim()),
        LineTolerance::Typography => {
            let line = line.trim();
            if line.is_ascii() {
                return Cow::Borrowed(line);
            }
            let plain: String = line.chars().map(plain_character).collect();
            Cow::Owned(plain.trim().to_owned())
        }
    }
}

fn plain_character(character: char) -> char {
    match character {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{02bc}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => '-',
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}
