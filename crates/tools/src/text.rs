//! Text for models and for people: cutting it, and showing what would hide.

/// How much of a line a message shows.
const EXCERPT_CHARACTERS: usize = 160;

/// The first `limit` characters of a text, and how many bytes come after them.
pub(crate) fn cut(text: &str, limit: usize) -> (&str, usize) {
    match text.char_indices().nth(limit) {
        Some((end, _)) => (&text[..end], text.len() - end),
        None => (text, 0),
    }
}

/// The longest prefix of at most `limit` bytes that ends between two characters.
pub(crate) fn head(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// The longest suffix of at most `limit` bytes that begins between two characters.
pub(crate) fn tail(text: &str, limit: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(limit))..]
}

/// The start of a line for a message, with nothing hidden in it.
pub(crate) fn excerpt(line: &str) -> String {
    let (start, left) = cut(line, EXCERPT_CHARACTERS);
    format!("{}{}", reveal_line(start), if left > 0 { "…" } else { "" })
}

/// A text with every character spelled out that a terminal or a page would obey or leave unseen.
/// Whoever approves a call must see the same thing that will run. Line breaks and tabs stay.
pub(crate) fn reveal(text: &str) -> String {
    spell_out(text, |character| matches!(character, '\n' | '\t'))
}

/// A text on one line, with every character spelled out that a terminal or a page would obey or leave unseen: line breaks
/// and tabs too.
pub fn reveal_line(text: &str) -> String {
    spell_out(text, |_| false)
}

fn spell_out(text: &str, keep: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) && !keep(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Whether a terminal or a page would obey a character, or leave it unseen.
pub(crate) fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::{cut, head, reveal, reveal_line, tail};

    #[test]
    fn cuts_fall_between_characters() {
        assert_eq!(cut("aéb", 2), ("aé", 1));
        assert_eq!(cut("aéb", 3), ("aéb", 0));
        assert_eq!(head("aéb", 2), "a");
        assert_eq!(tail("aéb", 2), "b");
        assert_eq!(tail("ab", 9), "ab");
    }

    #[test]
    fn hidden_characters_are_spelled_out() {
        assert_eq!(reveal("a\u{1b}[2Kb\n\tc"), "a\\u{1b}[2Kb\n\tc");
        assert_eq!(reveal("a\u{202e}b\u{e0041}\r"), "a\\u{202e}b\\u{e0041}\\r");
        assert_eq!(reveal_line("a\nb"), "a\\nb");
        assert_eq!(reveal("häßlich 漢字"), "häßlich 漢字");
    }
}
