//! Takes out of a text whatever a terminal would act on, or would hide from the reader.

use ostler_types::is_printable;

/// How wide a tab is drawn.
const TAB: usize = 4;

/// The text with line ends as its only control characters. Whole escape sequences go, tabs become spaces,
/// and of a line that was rewritten in place (a progress bar) only what was last to be seen stays.
pub fn sanitize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    let mut line_start = 0;
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => rest = after_escape(rest.as_str()).chars(),
            '\n' => {
                out.push('\n');
                line_start = out.len();
            }
            '\r' if !matches!(rest.as_str().chars().next(), None | Some('\n')) => out.truncate(line_start),
            '\t' => {
                let column = out[line_start..].chars().count();
                out.extend(std::iter::repeat_n(' ', TAB - column % TAB));
            }
            c if is_printable(c) => out.push(c),
            _ => {}
        }
    }
    out
}

/// The same on one line, with its line ends shown, cut to so many characters.
pub fn sanitize_line(text: &str, limit: usize) -> String {
    let text = sanitize(text);
    let text = text.trim().replace('\n', " ⏎ ");
    if text.chars().count() <= limit {
        return text;
    }
    let mut cut: String = text.chars().take(limit.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// What follows an escape character: a whole sequence is skipped, of which the text of a title or a link is a part.
fn after_escape(text: &str) -> &str {
    let mut chars = text.chars();
    match chars.next() {
        Some('[') => {
            let parameters = chars.as_str().trim_start_matches(|c: char| ('\u{20}'..='\u{3f}').contains(&c));
            parameters.strip_prefix(|c: char| ('\u{40}'..='\u{7e}').contains(&c)).unwrap_or(parameters)
        }
        Some(']' | 'P' | '_' | '^' | 'X') => {
            let body = chars.as_str();
            let end = body.char_indices().find(|(_, c)| matches!(c, '\u{7}' | '\u{1b}' | '\u{9c}' | '\n'));
            match end {
                Some((at, '\u{1b}')) => body[at + 1..].strip_prefix('\\').unwrap_or(&body[at..]),
                Some((at, '\n')) => &body[at..],
                Some((at, c)) => &body[at + c.len_utf8()..],
                None => "",
            }
        }
        Some('(' | ')' | '#' | '%') => {
            chars.next();
            chars.as_str()
        }
        Some(c) if c.is_ascii() && !c.is_control() => chars.as_str(),
        Some(_) | None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::{sanitize, sanitize_line};

    #[test]
    fn nothing_that_drives_a_terminal_gets_through() {
        assert_eq!(sanitize("a\u{1b}[31mred\u{1b}[0m b\r\n"), "ared b\n");
        assert_eq!(sanitize("\u{1b}]0;title\u{7}x\u{9b}2Jy\u{7f}\u{8}"), "x2Jy");
        assert_eq!(sanitize("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\"), "link");
        assert_eq!(sanitize("\u{1b}]52;c;aGk=\nnext"), "\nnext", "an unfinished sequence ends with its line");
        assert_eq!(sanitize("rm \u{202e}txt.exe\u{2066}\u{e0041}"), "rm txt.exe");
        assert_eq!(sanitize("\u{1b}["), "");
        assert_eq!(sanitize("é 👩\u{200d}💻 ok"), "é 👩\u{200d}💻 ok");
        for c in (0..=0x9f).filter_map(char::from_u32).filter(|c| c.is_control() && *c != '\n') {
            assert!(!sanitize(&format!("{c}x{c}")).contains(c), "{c:?}");
        }
    }

    #[test]
    fn tabs_are_spaces_and_a_progress_bar_shows_its_end() {
        assert_eq!(sanitize("a\tb\n\tc"), "a   b\n    c");
        assert_eq!(sanitize("10%\r50%\r100%\r\ndone"), "100%\ndone");
    }

    #[test]
    fn one_line_shows_where_lines_ended_and_is_cut() {
        assert_eq!(sanitize_line("a\nb\tc\n", 20), "a ⏎ b   c");
        assert_eq!(sanitize_line("abcdef", 4), "abc…");
    }
}
