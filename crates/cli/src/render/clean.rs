//! Takes out of a text whatever a terminal would act on, or would hide from the reader.

/// The text with line ends and tabs as its only control characters, and nothing in it that cannot be seen.
pub fn clean(text: &str) -> String {
    ostler_types::printable(text).into_owned()
}

/// The same on one line, cut to a width.
pub fn in_one_line(text: &str, width: usize) -> String {
    let text = clean(text);
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
    let word = clean(word).replace(['\n', '\t'], " ");
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(plain) {
        return word;
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::{clean, in_one_line, shell_word};

    #[test]
    fn nothing_that_drives_a_terminal_gets_through() {
        assert_eq!(clean("a\u{1b}[31mred\u{1b}[0m\tb\r\n"), "ared\tb\n");
        assert_eq!(clean("\u{1b}]0;title\u{7}x\u{9b}2Jy\u{7f}\u{8}"), "xy");
        assert_eq!(clean("rm \u{202e}txt.exe\u{2066}\u{e0041}"), "rm txt.exe");
        assert_eq!(clean("\u{1b}["), "");
        assert_eq!(clean("é 👩\u{200d}💻 ok"), "é 👩\u{200d}💻 ok");
        for c in (0..=0x9f).filter_map(char::from_u32).filter(|c| c.is_control() && !"\n\t".contains(*c)) {
            assert!(!clean(&format!("{c}x{c}")).contains(c), "{c:?}");
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
