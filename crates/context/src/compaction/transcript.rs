//! What a model is asked when it is to summarise: our instructions, and the conversation as plain text. Plain
//! text can be summarised by any model, with or without tools, and nothing in it is taken for a call.

use std::sync::Arc;

use ostler_types::{Message, Part, Role};

use crate::prompts;
use crate::redact::redact;
use crate::tokens::tokens_to_bytes;

/// How much of one output, of one call's input and of one other text is shown, in bytes, while there is room.
const MAX_OUTPUT: usize = 2_000;
const MAX_INPUT: usize = 1_000;
const MAX_TEXT: usize = 8_000;
/// How often the pieces are made half as long before the oldest are left out.
const MAX_HALVINGS: u32 = 4;

/// The text that asks a model for a summary of some messages: `summary_tokens` is how long the notes may be,
/// `max_tokens` how long all of this may be, and `focus` what whoever asked for it wants kept.
pub fn prompt_for_summary(
    messages: &[Arc<Message>],
    focus: Option<&str>,
    summary_tokens: u64,
    max_tokens: u64,
) -> String {
    // A word of English takes about four tokens for three.
    let max_words = (summary_tokens * 3 / 4).max(50).to_string();
    let mut prompt = prompts::SUMMARY_REQUEST.replace("{max_words}", &max_words);
    if let Some(focus) = focus.map(str::trim).filter(|focus| !focus.is_empty()) {
        prompt.push_str(&prompts::summary_focus(focus));
    }
    prompt.push_str("\n<transcript>\n");
    let room = tokens_to_bytes(max_tokens).saturating_sub(prompt.len() + 20);
    prompt.push_str(&redact(&transcript(messages, room)));
    prompt.push_str("</transcript>\n");
    prompt
}

/// The messages as text, in at most `room` bytes. Pieces become shorter before any message is left out.
fn transcript(messages: &[Arc<Message>], room: usize) -> String {
    for halvings in 0..MAX_HALVINGS {
        let text: String = messages.iter().map(|message| message_text(message, halvings)).collect();
        if text.len() <= room {
            return text;
        }
    }
    let mut newest = Vec::new();
    let mut left = room.saturating_sub(80);
    for message in messages.iter().rev() {
        let text = message_text(message, MAX_HALVINGS);
        if text.len() > left {
            break;
        }
        left -= text.len();
        newest.push(text);
    }
    let left_out = messages.len() - newest.len();
    newest.push(prompts::omitted_transcript_messages(left_out));
    newest.into_iter().rev().collect()
}

fn message_text(message: &Message, halvings: u32) -> String {
    let who = match message.role {
        Role::System => "NOTE",
        Role::User => "USER",
        Role::Assistant => "AGENT",
        Role::Tool => "TOOL",
    };
    let mut text = String::new();
    for part in &message.parts {
        let told = match part {
            Part::Text { text } => cut(text, MAX_TEXT >> halvings),
            Part::Image { reference, .. } | Part::Audio { reference, .. } | Part::File { reference, .. } => {
                format!("[attached: {reference}]")
            }
            // What was thought aloud led to what was said and done, which is here.
            Part::Reasoning { .. } => continue,
            Part::ToolCall { call } => {
                format!("[calls {}: {}]", call.name, cut(&call.input.to_string(), MAX_INPUT >> halvings))
            }
            Part::ToolResult { name, ok, text, .. } => {
                let how = if *ok { "" } else { " failed" };
                format!("[{name}{how}] {}", cut(text, MAX_OUTPUT >> halvings))
            }
        };
        text.push_str(&format!("{who}: {}\n", told.trim_end()));
    }
    text
}

/// Head and tail of a text: commands say what they do at the beginning, and what came of it at the end.
fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(limit / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - limit / 2)..];
    format!("{head} [… {} bytes …] {tail}", text.len() - head.len() - tail.len())
}
