//! Text of models, tools and strangers, as it may be shown to a person. Terminals act on control characters, and
//! invisible ones show a reader something else than what is there.

use std::borrow::Cow;

/// Whether a character may be shown: it neither controls a terminal, nor changes the direction of a line, nor hides
/// what is there. Line ends and tabs are for the caller to allow.
///
/// The joiners U+200C and U+200D stay, since scripts and emoji need them, and so do the variation selectors of emoji
/// (U+FE0E, U+FE0F); the other selectors and the tag characters can carry text that nobody sees.
pub fn is_printable(c: char) -> bool {
    match c {
        // Soft hyphen, grapheme joiner, Arabic letter mark, Hangul fillers, Khmer and Mongolian invisible letters.
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => false,
        '\u{180b}'..='\u{180f}' | '\u{3164}' | '\u{ffa0}' => false,
        // Zero-width space, direction marks, line and paragraph separator, embeddings, isolates, invisible operators.
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => false,
        // Variation selectors but for those of emoji, byte order mark, interlinear notes, invisible music, tags.
        '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' => false,
        '\u{1bca0}'..='\u{1bca3}' | '\u{e0000}'..='\u{e0fff}' => false,
        c => !c.is_control(),
    }
}

/// The text with line ends and tabs as its only control characters, and without invisible ones. Whole escape sequences
/// go, with the text of a title or a link in them.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_kept) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(visible_chars(text).map(|(_, c)| c).collect())
}

/// The printable text on one line, cut to a width.
pub fn in_one_line(text: &str, width: usize) -> String {
    let text = printable(text);
    let text = text.trim().replace('\n', " ⏎ ").replace('\t', " ");
    if text.chars().count() <= width {
        return text;
    }
    let mut cut: String = text.chars().take(width).collect();
    cut.push('…');
    cut
}

/// A word that a shell reads as it is, for a line that people copy. A model chose it.
pub fn shell_word(word: &str) -> String {
    let word = printable(word).replace(['\n', '\t'], " ");
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(plain) {
        return word;
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The characters that are left of a text, each with its place in it.
pub(crate) fn visible_chars(text: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let c = rest.chars().next()?;
            let (at, after) = (text.len() - rest.len(), &rest[c.len_utf8()..]);
            rest = match c {
                '\u{1b}' => after_escape(after),
                '\u{9b}' => after_parameters(after),
                '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => after_string(after),
                _ => after,
            };
            if is_kept(c) {
                return Some((at, c));
            }
        }
    })
}

fn is_kept(c: char) -> bool {
    matches!(c, '\n' | '\t') || is_printable(c)
}

/// What follows an escape character and the sequence that it begins.
fn after_escape(text: &str) -> &str {
    let mut chars = text.chars();
    match chars.next() {
        Some('[') => after_parameters(chars.as_str()),
        Some(']' | 'P' | '_' | '^' | 'X') => after_string(chars.as_str()),
        Some(' '..='/') => {
            let rest = chars.as_str().trim_start_matches(|c: char| (' '..='/').contains(&c));
            rest.strip_prefix(|c: char| ('0'..='~').contains(&c)).unwrap_or(rest)
        }
        Some(c) if ('0'..='~').contains(&c) => chars.as_str(),
        Some(_) | None => text,
    }
}

/// What follows parameters and the letter that ends them.
fn after_parameters(text: &str) -> &str {
    let rest = text.trim_start_matches(|c: char| (' '..='?').contains(&c));
    rest.strip_prefix(|c: char| ('@'..='~').contains(&c)).unwrap_or(rest)
}

/// What follows a string for the terminal. One that has no end is over with its line, or a single character would hide
/// all that comes after it.
fn after_string(text: &str) -> &str {
    let end = text.char_indices().find(|(_, c)| matches!(c, '\u{7}' | '\u{1b}' | '\u{9c}' | '\n'));
    match end {
        Some((at, '\u{1b}')) => text[at + 1..].strip_prefix('\\').unwrap_or(&text[at..]),
        Some((at, '\n')) => &text[at..],
        Some((at, c)) => &text[at + c.len_utf8()..],
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::{in_one_line, is_printable, printable, shell_word};

    #[test]
    fn nothing_that_drives_a_terminal_or_hides_gets_through() {
        assert_eq!(printable("a\u{1b}[31mred\u{1b}[0m\tb\r\n"), "ared\tb\n");
        assert_eq!(printable("\u{1b}]0;title\u{7}x\u{9b}2Jy\u{7f}\u{8}"), "xy");
        assert_eq!(printable("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\"), "link");
        assert_eq!(printable("\u{9d}52;c;aGk=\nnext\u{90}x\u{9c}y"), "\nnexty");
        assert_eq!(printable("\u{1b}(0x\u{1b}%Gy\u{1b}cz\u{1b}"), "xyz");
        assert_eq!(printable("rm \u{202e}txt.exe\u{2066}\u{e0041}\u{61c}\u{200b}\u{fe01}"), "rm txt.exe");
        assert_eq!(printable("\u{1b}["), "");
        assert!(matches!(printable("é 👩\u{200d}💻 ☂\u{fe0f} می\u{200c}خواهم ok\n"), Cow::Borrowed(_)));
        for c in (0..=0x10_ffff).filter_map(char::from_u32).filter(|c| !is_printable(*c)) {
            let shown = printable(&format!("{c}x{c}")).into_owned();
            assert!(matches!(c, '\n' | '\t') || !shown.contains(c), "{c:?}");
        }
    }

    #[test]
    fn one_line_shows_where_lines_ended_and_is_cut() {
        assert_eq!(in_one_line("a\nb\tc\n", 20), "a ⏎ b c");
        assert_eq!(in_one_line("abcdef", 3), "abc…");
    }

    #[test]
    fn a_word_for_the_shell_cannot_be_two() {
        assert_eq!(shell_word("call_1-a.b:c"), "call_1-a.b:c");
        assert_eq!(shell_word("x; rm -rf ~"), "'x; rm -rf ~'");
        assert_eq!(shell_word("a'b"), r"'a'\''b'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("--deny"), "'--deny'");
    }
}
