//! Says in one line each what the commands of a line are, so that nothing in it can mislead the reader. What
//! to do about them is left to others.

use crate::parser::is_hidden;
use crate::{ParsedLine, RedirectKind, ShellWord, SimpleCommand};

/// One line for each command, in the shell's own notation.
pub fn describe(reading: &ParsedLine) -> Vec<String> {
    reading.commands.iter().map(line).collect()
}

fn line(command: &SimpleCommand) -> String {
    let assignments =
        command.env.iter().map(|(name, value)| format!("{}={}", escape_invisible(name), word(value)));
    let words = command.argv.iter().map(word);
    let redirects = command.redirects.iter().map(|redirect| {
        let operator = match redirect.kind {
            RedirectKind::Read => "< ",
            RedirectKind::Write => "> ",
            RedirectKind::Append => ">> ",
            RedirectKind::ReadWrite => "<> ",
            RedirectKind::Dup => ">&",
            RedirectKind::Heredoc => "<<",
            RedirectKind::HereString => "<<< ",
        };
        format!("{operator}{}", word(&redirect.target))
    });
    let background = command.background.then(|| "&".to_owned());
    assignments.chain(words).chain(redirects).chain(background).collect::<Vec<_>>().join(" ")
}

fn word(word: &ShellWord) -> String {
    match word {
        ShellWord::Literal(text) => quoted(text),
        ShellWord::Unknown { source, .. } => escape_invisible(source),
    }
}

/// Quoted where the shell would otherwise read it as anything but one literal word.
fn quoted(text: &str) -> String {
    let bare = |character: char| character.is_alphanumeric() || "_-./=:@%+,^".contains(character);
    if !text.is_empty() && text.chars().all(bare) {
        return text.to_owned();
    }
    if text.chars().any(|character| is_hidden(character) || character == '\n' || character == '\t') {
        return format!("$'{}'", escape_invisible(&text.replace('\\', "\\\\").replace('\'', "\\'")));
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The text with all that does not show written out.
fn escape_invisible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            hidden if is_hidden(hidden) => shown.push_str(&format!("\\u{:04x}", u32::from(hidden))),
            other => shown.push(other),
        }
    }
    shown
}
