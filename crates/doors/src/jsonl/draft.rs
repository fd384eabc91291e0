//! Text as it streams, kept so that it can be shown whole: this wire replaces where ours splices.
//!
//! A message is encoded as it grows and never again from its beginning; what is new of it waits until the
//! reader is ready for it. Each update holds the whole message, so a long one is shown less often: then
//! the bytes sent stay in proportion to the text.

use std::time::Duration;

use jiff::Timestamp;
use ostler_types::{MessageId, SessionId, unseen_part};
use tokio::time::Instant;

use super::messages::MessageAuthor;

/// The time between two updates of a message: no screen shows more of them.
const MIN_UPDATE_INTERVAL: Duration = Duration::from_millis(16);
/// Bytes of a message that is shown anew with each frame.
const SHORT_MESSAGE_BYTES: usize = 16 * 1024;
/// A longer one is shown when it has grown by this part of itself, or after this time.
const UPDATE_GROWTH_DIVISOR: usize = 64;
const MAX_UPDATE_DELAY: Duration = Duration::from_millis(100);
/// Bytes of a call's output that are kept; its result has more.
const MAX_OUTPUT_BYTES: usize = 32 * 1024;

/// A message that is being written.
pub(super) struct JsonlDraft {
    pub(super) id: MessageId,
    timestamp: i64,
    parts: Vec<JsonlDraftPart>,
    /// What has come since the last update, all of one part.
    unshown: Option<UnshownText>,
    begun: Instant,
    /// When it was last shown.
    shown_at: Option<Instant>,
}

/// A part that is being written.
struct JsonlDraftPart {
    number: u32,
    thinking: bool,
    /// How much of it there is, in our count.
    bytes: u64,
    /// The same as it stands in JSON, without the quotes.
    json: String,
}

struct UnshownText {
    index: usize,
    json: String,
}

impl JsonlDraft {
    pub(super) fn new(id: MessageId, ts: Timestamp) -> JsonlDraft {
        JsonlDraft {
            id,
            timestamp: ts.as_millisecond(),
            parts: Vec::new(),
            unshown: None,
            begun: Instant::now(),
            shown_at: None,
        }
    }

    /// Whether a piece of this part can wait together with what waits already.
    pub(super) fn continues_part(&self, number: u32) -> bool {
        self.unshown.as_ref().is_none_or(|fresh| self.parts[fresh.index].number == number)
    }

    /// Takes a piece. One that has been seen, in whole or in part, adds only what is new of it.
    pub(super) fn splice(&mut self, number: u32, thinking: bool, offset: u64, text: &str) {
        let index = match self.parts.iter().position(|part| part.number == number) {
            Some(index) => index,
            None => {
                let place = self.parts.partition_point(|part| part.number < number);
                self.parts.insert(place, JsonlDraftPart { number, thinking, bytes: 0, json: String::new() });
                if let Some(fresh) = &mut self.unshown
                    && fresh.index >= place
                {
                    fresh.index += 1;
                }
                place
            }
        };
        let part = &mut self.parts[index];
        let Some(new) = unseen_part(part.bytes, offset, text) else { return };
        part.bytes = offset + text.len() as u64;
        let json = serde_json::to_string(new).expect("a string can be written as JSON");
        let json = &json[1..json.len() - 1];
        part.json.push_str(json);
        match &mut self.unshown {
            Some(fresh) => fresh.json.push_str(json),
            None => self.unshown = Some(UnshownText { index, json: json.to_owned() }),
        }
    }

    /// From when on what has come is to be shown; `None` when there is nothing.
    pub(super) fn update_due_at(&self) -> Option<Instant> {
        let fresh = self.unshown.as_ref()?;
        let Some(shown) = self.shown_at else { return Some(self.begun) };
        let size: usize = self.parts.iter().map(|part| part.json.len()).sum();
        let is_much = size <= SHORT_MESSAGE_BYTES || fresh.json.len() >= size / UPDATE_GROWTH_DIVISOR;
        Some(shown + if is_much { MIN_UPDATE_INTERVAL } else { MAX_UPDATE_DELAY })
    }

    /// Appends the update that shows what has come. Written by hand, because copying the text once is all
    /// that a delta should cost.
    pub(super) fn write_update(
        &mut self,
        id: SessionId,
        seq: u64,
        writer: &MessageAuthor,
        out: &mut Vec<u8>,
    ) {
        let Some(fresh) = self.unshown.take() else { return };
        self.shown_at = Some(Instant::now());
        let mut put = |text: &str| out.extend_from_slice(text.as_bytes());
        put(&format!(
            "{{\"type\":\"event\",\"session_id\":\"{id}\",\"event_seq\":{seq},\"event\":{{\"type\":\"message_update\",\
             \"data\":[{{\"role\":\"assistant\",\"id\":\"{}\",\"content\":[",
            self.id
        ));
        for (index, part) in self.parts.iter().enumerate() {
            put(match (index, part.thinking) {
                (0, false) => "{\"type\":\"text\",\"text\":\"",
                (_, false) => ",{\"type\":\"text\",\"text\":\"",
                (0, true) => "{\"type\":\"thinking\",\"thinking\":\"",
                (_, true) => ",{\"type\":\"thinking\",\"thinking\":\"",
            });
            put(&part.json);
            put("\"}");
        }
        put(&self.json_after_content(writer));
        let kind = if self.parts[fresh.index].thinking { "thinking_delta" } else { "text_delta" };
        put(&format!(",{{\"type\":\"{kind}\",\"content_index\":{},\"delta\":\"", fresh.index));
        put(&fresh.json);
        put("\"}]}}\n");
    }

    /// The message as it begins, without content.
    pub(super) fn empty_message_json(&self, writer: &MessageAuthor) -> String {
        format!(
            "{{\"role\":\"assistant\",\"id\":\"{}\",\"content\":[{}",
            self.id,
            self.json_after_content(writer)
        )
    }

    fn json_after_content(&self, writer: &MessageAuthor) -> String {
        let (provider, model) = writer.provider_and_model();
        let quoted = |text: &str| serde_json::to_string(text).expect("a string can be written as JSON");
        format!(
            "],\"provider\":{},\"model\":{},\"api\":{},\"usage\":{{\"input\":0,\"output\":0,\"cache_read\":0,\
             \"cache_write\":0,\"total_tokens\":0,\"cost\":{{\"total\":null}}}},\"error_message\":null,\"timestamp\":{}}}",
            quoted(provider),
            quoted(model),
            quoted(&writer.agent),
            self.timestamp
        )
    }
}

/// The end of what a call has printed.
#[derive(Default)]
pub(super) struct JsonlCallOutput {
    pub(super) text: String,
    /// How much of stdout and of stderr has been seen.
    seen: [u64; 2],
    /// Whether something has come that was not shown.
    pub(super) has_unshown: bool,
}

impl JsonlCallOutput {
    pub(super) fn splice(&mut self, stream: &str, offset: u64, text: &str) {
        let seen = &mut self.seen[usize::from(stream == "stderr")];
        let Some(new) = unseen_part(*seen, offset, text) else { return };
        *seen = offset + text.len() as u64;
        self.has_unshown = true;
        self.text.push_str(new);
        if self.text.len() > 2 * MAX_OUTPUT_BYTES {
            let mut cut = self.text.len() - MAX_OUTPUT_BYTES;
            while !self.text.is_char_boundary(cut) {
                cut += 1;
            }
            self.text.drain(..cut);
        }
    }
}

#[cfg(test)]
mod tests {
    use ostler_types::{MessageId, SessionId};
    use serde_json::Value;
    use uuid::Uuid;

    use super::{JsonlCallOutput, JsonlDraft, MAX_UPDATE_DELAY, MIN_UPDATE_INTERVAL, MessageAuthor};

    fn update(draft: &mut JsonlDraft) -> Value {
        let writer = MessageAuthor { model: "a:\"b\"".to_owned(), agent: "native".to_owned() };
        let mut out = Vec::new();
        draft.write_update(SessionId::new(Uuid::from_u128(1)), 7, &writer, &mut out);
        assert_eq!(out.pop(), Some(b'\n'));
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn pieces_seen_twice_and_in_one_make_the_same_message() {
        let ts = jiff::Timestamp::UNIX_EPOCH;
        let mut draft = JsonlDraft::new(MessageId::new(Uuid::from_u128(2)), ts);
        draft.splice(0, true, 0, "hm\n");
        let shown = update(&mut draft);
        assert_eq!(shown["event"]["data"][1]["type"], "thinking_delta");
        draft.splice(1, false, 0, "\"ä\u{2028}");
        draft.splice(1, false, 0, "\"ä\u{2028}b");
        draft.splice(1, false, 3, "\u{2028}b");
        let shown = update(&mut draft);
        let message = &shown["event"]["data"][0];
        assert_eq!(message["content"][0]["thinking"], "hm\n");
        assert_eq!(message["content"][1]["text"], "\"ä\u{2028}b");
        assert_eq!(message["model"], "\"b\"");
        assert_eq!(shown["event"]["data"][1]["delta"], "\"ä\u{2028}b");
        assert_eq!(shown["event"]["data"][1]["content_index"], 1);
        assert!(draft.update_due_at().is_none(), "nothing is left to show");
    }

    #[test]
    fn a_long_message_is_shown_when_it_has_grown() {
        let mut draft = JsonlDraft::new(MessageId::new(Uuid::from_u128(2)), jiff::Timestamp::UNIX_EPOCH);
        let text = "x".repeat(64 * 1024);
        draft.splice(0, false, 0, &text);
        assert!(draft.update_due_at().unwrap() <= tokio::time::Instant::now());
        update(&mut draft);
        draft.splice(0, false, text.len() as u64, "little");
        let shown = draft.shown_at.unwrap();
        assert_eq!(draft.update_due_at(), Some(shown + MAX_UPDATE_DELAY));
        draft.splice(0, false, text.len() as u64 + 6, &text[..2048]);
        assert_eq!(draft.update_due_at(), Some(shown + MIN_UPDATE_INTERVAL));
    }

    #[test]
    fn the_end_of_an_output_is_kept() {
        let mut output = JsonlCallOutput::default();
        output.splice("stdout", 0, "one ");
        output.splice("stderr", 0, "two ");
        output.splice("stdout", 0, "one three");
        assert_eq!(output.text, "one two three");
        for at in 0..100 {
            output.splice("stdout", 9 + at * 1000, &"ä".repeat(500));
        }
        assert!(output.text.len() <= 64 * 1024 && output.text.ends_with('ä'));
    }
}
