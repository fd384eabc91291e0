//! Text that a server wrote: cutting it, and taking out what would hide or be obeyed.

/// The longest prefix of at most `limit` bytes that ends between two characters.
pub(crate) fn head(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// The longest suffix of at most `limit` bytes that begins between two characters.
pub(crate) fn tail(text: &str, limit: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(limit))..]
}

/// A text without the characters that a terminal would obey or a reader would not see. Line breaks and
/// tabs stay.
pub(crate) fn strip_hidden(text: &str) -> String {
    text.chars().filter(|&character| matches!(character, '\n' | '\t') || !is_hidden(character)).collect()
}

/// A text with those characters spelled out, so that whoever approves a call sees what will be sent.
pub(crate) fn escape_hidden(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::{escape_hidden, head, strip_hidden, tail};

    #[test]
    fn cuts_fall_between_characters() {
        assert_eq!((head("aéb", 2), tail("aéb", 2), tail("ab", 9)), ("a", "b", "ab"));
    }

    #[test]
    fn what_hides_is_taken_out_or_spelled_out() {
        assert_eq!(strip_hidden("a\u{1b}[2K\u{202e}b\n\tc\u{e0041}\r\0"), "a[2Kb\n\tc");
        assert_eq!(escape_hidden("a\u{1b}\u{200b}\n"), "a\\u{1b}\\u{200b}\\n");
    }
}
