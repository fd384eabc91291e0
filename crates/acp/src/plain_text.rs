//! Texts of others as they can be shown in a line: nothing in them moves a cursor or hides a word.

/// One line without control characters and without characters that change the direction of a text, cut after
/// this many characters. What is replaced is still seen to be there.
pub fn to_plain_line(text: &str, limit: usize) -> String {
    let mut shown = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == limit {
            shown.push('…');
            break;
        }
        match character {
            '\n' => shown.push('⏎'),
            '\t' => shown.push(' '),
            hidden if is_hidden(hidden) => shown.extend(hidden.escape_unicode()),
            seen => shown.push(seen),
        }
    }
    shown
}

fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}
