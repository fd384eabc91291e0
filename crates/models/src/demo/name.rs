//! The person's name, which this model can tell if it was told: the shortest way to see that a conversation is
//! remembered, over a restart too.

use std::sync::Arc;

use ostler_types::{Message, Role};

/// How a name is asked for.
const QUESTIONS: [&str; 6] = [
    "what is my name",
    "what's my name",
    "do you know my name",
    "do you remember my name",
    "tell me my name",
    "who am i",
];
/// What a name follows.
const INTRODUCTIONS: [&str; 3] = ["my name is ", "my name's ", "call me "];
/// The longest name, in characters.
const MAX_NAME_CHARS: usize = 40;

/// Whether a clause asks for the person's name.
pub(super) fn is_asked_for(clause: &str) -> bool {
    let clause = clause.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '?' | '.' | '!'));
    QUESTIONS.iter().any(|question| clause.eq_ignore_ascii_case(question))
}

/// What to say when it was.
pub(super) fn answer(messages: &[Arc<Message>]) -> String {
    let users = messages.iter().rev().filter(|message| message.role == Role::User);
    match users.filter_map(|message| introduced_name(&message.text())).next() {
        Some(name) => format!("Your name is {name}."),
        None => "You have not told me your name.".to_owned(),
    }
}

/// The name that a message tells.
fn introduced_name(text: &str) -> Option<String> {
    // Letters of other scripts keep their length this way, so that what is found is found in the text.
    let lower = text.to_ascii_lowercase();
    let at = INTRODUCTIONS.iter().find_map(|words| lower.find(words).map(|at| at + words.len()))?;
    let name: String =
        text[at..].chars().take_while(|c| !matches!(c, '.' | ',' | '!' | '?' | ';' | '\n')).collect();
    let name = name.split(" and ").next().unwrap_or_default().trim();
    (!name.is_empty() && name.chars().count() <= MAX_NAME_CHARS).then(|| name.to_owned())
}
