//! The summary that takes the place of old messages: the model's notes, and beneath them what the user said.
//! A model may forget a wish; this does not.

use std::sync::Arc;

use ostler_types::{Message, Part, Role};

use crate::prompts::{self, SUMMARY_HEADINGS, USER_MESSAGES_HEADINGS, strip_heading};
use crate::redact::redact;
use crate::tokens::tokens_to_bytes;

/// What is kept of an older message at least, in bytes.
const MIN_EXCERPT: usize = 120;
/// The share of the room that the notes may take, in hundredths, when there is more to say.
const NOTES_PERCENT: usize = 60;
/// What a message is shown as at most, so that a pasted file does not drive out all other messages.
const MAX_MESSAGE_PERCENT: usize = 50;

/// A summary, composed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComposedSummary {
    /// The text of the message, which has role `system`.
    pub text: String,
    /// How many messages of the user are in it word for word.
    pub verbatim: usize,
    /// How many are in it with their beginning only.
    pub shortened: usize,
    /// How many are only counted.
    pub counted: usize,
}

/// Puts a summary together from the model's notes, the user's messages in the range, oldest first, and the
/// summary before it, if there was one. It has about `max_tokens` tokens at most. Where the model wrote
/// nothing, the earlier notes stay.
pub fn compose_summary(
    notes: &str,
    user_messages: &[String],
    earlier_summary: Option<&str>,
    max_tokens: u64,
) -> ComposedSummary {
    let earlier = earlier_summary.map(SummaryParts::parse).unwrap_or_default();
    let notes = if notes.trim().is_empty() { earlier.notes } else { notes };
    let notes = redact(notes.trim());
    let mut said: Vec<String> = user_messages.iter().rev().map(|text| redact(text.trim())).collect();
    said.extend(earlier.said.iter().map(|text| redact(text)));
    said.retain(|text| !text.is_empty());

    let room = tokens_to_bytes(max_tokens)
        .saturating_sub(SUMMARY_HEADINGS[0].len() + USER_MESSAGES_HEADINGS[0].len() + 100);
    let all: usize = said.iter().map(|text| text.len() + 4).sum();
    let notes_room =
        if said.is_empty() { room } else { (room * NOTES_PERCENT / 100).max(room.saturating_sub(all)) };
    let notes = shortened(&notes, notes_room);
    let mut composition =
        ComposedSummary { text: String::new(), verbatim: 0, shortened: 0, counted: earlier.counted };
    let list = composition.list_user_messages(&said, room.saturating_sub(notes.len()));
    composition.text = format!("{}\n\n{notes}\n{list}", SUMMARY_HEADINGS[0]).trim_end().to_owned() + "\n";
    composition
}

/// Whether a message is such a summary.
pub fn is_summary(message: &Message) -> bool {
    summary_of(message).is_some()
}

/// The text of a message that is such a summary.
pub fn summary_of(message: &Message) -> Option<&str> {
    match message.parts.first() {
        Some(Part::Text { text }) if message.role == Role::System => {
            strip_heading(text, &SUMMARY_HEADINGS).map(|_| text.as_str())
        }
        Some(_) | None => None,
    }
}

/// What the user said in some messages, in order. Attachments are named, so that they are not forgotten.
pub fn user_messages(messages: &[Arc<Message>]) -> Vec<String> {
    let users = messages.iter().filter(|message| message.role == Role::User);
    users.map(|message| message.parts.iter().filter_map(user_text).collect::<Vec<_>>().join("\n")).collect()
}

fn user_text(part: &Part) -> Option<String> {
    match part {
        Part::Text { text } => Some(text.clone()),
        Part::Image { reference, .. } | Part::Audio { reference, .. } | Part::File { reference, .. } => {
            Some(format!("[attached: {reference}]"))
        }
        Part::Reasoning { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => None,
    }
}

impl ComposedSummary {
    /// The list of what the user said: word for word as far as there is room, then beginnings, then a number.
    fn list_user_messages(&mut self, said: &[String], mut room: usize) -> String {
        if said.is_empty() && self.counted == 0 {
            return String::new();
        }
        let most = (room * MAX_MESSAGE_PERCENT / 100).max(MIN_EXCERPT);
        let mut lines = String::new();
        for (number, text) in said.iter().enumerate() {
            // The messages after this one need room for their beginnings.
            let reserved: usize = said[number + 1..]
                .iter()
                .take(room / MIN_EXCERPT + 1)
                .map(|text| text.len().min(MIN_EXCERPT) + 4)
                .sum();
            let mine = room.saturating_sub(reserved).clamp(MIN_EXCERPT, most);
            let shown = shortened(text, mine);
            let line = format!("\n- {}", shown.replace('\n', "\n  "));
            if line.len() > room {
                self.counted += said.len() - number;
                break;
            }
            if shown.len() == text.len() {
                self.verbatim += 1
            } else {
                self.shortened += 1
            }
            room -= line.len();
            lines.push_str(&line);
        }
        if self.counted > 0 {
            lines.push_str(&prompts::omitted_user_messages(self.counted));
        }
        format!("\n{}\n{lines}\n", USER_MESSAGES_HEADINGS[0])
    }
}

/// A text cut to about `limit` bytes, with a word on how much is left out.
fn shortened(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let kept = &text[..text.floor_char_boundary(limit.saturating_sub(40))];
    format!("{kept} [… {} bytes truncated]", text.len() - kept.len())
}

/// The pieces of an earlier summary.
#[derive(Debug, Default, PartialEq, Eq)]
struct SummaryParts<'a> {
    notes: &'a str,
    /// What the user said, the newest first.
    said: Vec<String>,
    /// How many messages it only counted.
    counted: usize,
}

impl SummaryParts<'_> {
    fn parse(summary: &str) -> SummaryParts<'_> {
        let body = strip_heading(summary, &SUMMARY_HEADINGS).unwrap_or(summary);
        // The model may write the heading as well; ours is the last.
        let lists = USER_MESSAGES_HEADINGS.iter().filter_map(|heading| body.rsplit_once(heading));
        let Some((notes, list)) = lists.max_by_key(|(notes, _)| notes.len()) else {
            return SummaryParts { notes: body.trim(), ..SummaryParts::default() };
        };
        let mut parts = SummaryParts { notes: notes.trim(), ..SummaryParts::default() };
        for line in list.trim().lines() {
            if let Some(count) = line.strip_prefix("- [… and ").and_then(|rest| rest.split(' ').next()) {
                parts.counted += count.parse::<usize>().unwrap_or(1);
            } else if let Some(text) = line.strip_prefix("- ") {
                parts.said.push(text.to_owned());
            } else if let Some(last) = parts.said.last_mut() {
                last.push('\n');
                last.push_str(line.strip_prefix("  ").unwrap_or(line));
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use ostler_types::{Message, MessageId, Part, Role};

    use super::{compose_summary, summary_of};

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn the_users_words_are_carried_from_summary_to_summary() {
        let first =
            compose_summary("notes one", &texts(&["make it\n- fast\n\nand small", "in Rust"]), None, 1_000);
        assert_eq!((first.verbatim, first.shortened, first.counted), (2, 0, 0));
        let newest = first.text.find("- in Rust").unwrap();
        assert!(newest < first.text.find("- make it\n  - fast\n  \n  and small").unwrap(), "{}", first.text);
        let second = compose_summary("notes two", &texts(&["now test it"]), Some(&first.text), 1_000);
        assert_eq!(second.verbatim, 3);
        for text in ["- now test it", "- in Rust", "- make it\n  - fast\n  \n  and small", "notes two"] {
            assert!(second.text.contains(text), "{text}: {}", second.text);
        }
        assert!(!second.text.contains("notes one"));
        let silent = compose_summary(" ", &[], Some(&first.text), 1_000);
        assert!(silent.text.contains("notes one") && silent.verbatim == 2);
    }

    #[test]
    fn a_summary_in_the_wording_of_an_earlier_version_is_carried_over() {
        let old = "[Summary of the conversation so far; what it was made from is still in the session's log.]\n\n\
                   old notes\n\n## What the user said, the newest first\n\n- in Rust\n- make it small\n\
                   - [… and 3 older messages, which are in the session's log]\n";
        let message = |text: &str| Message {
            id: MessageId::new(uuid::Uuid::nil()),
            role: Role::System,
            parts: vec![Part::text(text)],
            created_at: jiff::Timestamp::UNIX_EPOCH,
        };
        assert_eq!(summary_of(&message(old)), Some(old));
        let made = compose_summary(" ", &texts(&["now test it"]), Some(old), 1_000);
        assert_eq!((made.verbatim, made.counted), (3, 3), "{}", made.text);
        assert!(made.text.starts_with("[Summary of the conversation so far. The original"), "{}", made.text);
        assert!(
            made.text.contains("old notes\n") && !made.text.contains("What the user said"),
            "{}",
            made.text
        );
        assert_eq!(summary_of(&message(&made.text)), Some(made.text.as_str()));
        let again = compose_summary("new notes", &[], Some(&made.text), 1_000);
        assert_eq!((again.verbatim, again.counted), (3, 3), "{}", again.text);
    }

    #[test]
    fn what_does_not_fit_is_shortened_and_then_counted() {
        let many: Vec<String> = (0..200).map(|number| format!("wish {number} {}", "x".repeat(300))).collect();
        let made = compose_summary(&"n".repeat(9_000), &many, None, 2_000);
        assert!(made.text.len() <= 7_100, "{}", made.text.len());
        assert_eq!(made.verbatim + made.shortened + made.counted, 200);
        assert!(made.shortened > 10 && made.counted > 0, "{made:?}");
        assert!(made.text.contains("- wish 199 "));
        let again = compose_summary("m", &texts(&["one more"]), Some(&made.text), 2_000);
        assert_eq!(again.verbatim + again.shortened + again.counted, 201, "{}", again.text);
    }

    #[test]
    fn secrets_do_not_reach_a_summary() {
        let made = compose_summary(
            "used DB_PASSWORD=hunter2",
            &texts(&["my key is sk-abcdefghij0123456789abcd"]),
            None,
            500,
        );
        assert!(!made.text.contains("hunter2") && !made.text.contains("sk-abc"), "{}", made.text);
    }
}
