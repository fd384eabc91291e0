//! What a message says as plain text, for files that hold nothing else.

use std::borrow::Cow;

use ostler_types::{Message, Part, ToolResult};

/// The text of a message. Files beside the log are named where they stand; reasoning and calls have their own
/// places and are left out.
pub(crate) fn message_text(message: &Message) -> String {
    let said: Vec<Cow<'_, str>> = message.parts.iter().filter_map(part_text).collect();
    said.join("\n")
}

/// What a tool said: what the model reads, or the error of a call that came to nothing without a word.
pub(crate) fn result_text(result: &ToolResult) -> String {
    let said: Vec<Cow<'_, str>> = result.parts.iter().filter_map(part_text).collect();
    match (said.join("\n"), &result.error) {
        (text, Some(error)) if text.is_empty() => error.clone(),
        (text, _) => text,
    }
}

fn part_text(part: &Part) -> Option<Cow<'_, str>> {
    match part {
        Part::Text { text } | Part::ToolResult { text, .. } => Some(Cow::Borrowed(text)),
        Part::Image { reference, .. } => Some(Cow::Owned(format!("[image: {reference}]"))),
        Part::Audio { reference, .. } => Some(Cow::Owned(format!("[audio: {reference}]"))),
        Part::File { reference, .. } => Some(Cow::Owned(format!("[file: {reference}]"))),
        Part::Reasoning { .. } | Part::ToolCall { .. } => None,
    }
}
