//! Takes out of a text whatever a terminal would act on, or would hide from the reader.

/// The text with line ends and tabs as its only control characters. Whole colour sequences go; of
/// any other sequence the harmless letters stay.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' && rest.as_str().starts_with('[') {
            rest = after_sequence(rest.as_str()).chars();
        } else if is_safe(c) {
            out.push(c);
        }
    }
    out
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

/// What follows a sequence that begins with a bracket: parameters, then one letter.
fn after_sequence(text: &str) -> &str {
    let body = text.strip_prefix('[').unwrap_or(text);
    let parameters = body.trim_start_matches(|c: char| ('\u{20}'..='\u{3f}').contains(&c));
    parameters.strip_prefix(|c: char| ('\u{40}'..='\u{7e}').contains(&c)).unwrap_or(body)
}

/// Characters that reverse the direction of a line or cannot be seen at all would show a reader
/// another command than the one that runs.
fn is_safe(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => false,
        '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e0fff}' => false,
        c => !c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::{clean, in_one_line, shell_word};

    #[test]
    fn nothing_that_drives_a_terminal_gets_through() {
        assert_eq!(clean("a\u{1b}[31mred\u{1b}[0m\tb\r\n"), "ared\tb\n");
        assert_eq!(clean("\u{1b}]0;title\u{7}x\u{9b}2Jy\u{7f}\u{8}"), "]0;titlex2Jy");
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
