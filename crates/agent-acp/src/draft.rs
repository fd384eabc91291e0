//! The message that the agent is writing: pieces of text and thinking as they come, and calls in their places.

use ostler_agent::Failed;
use ostler_types::{Delta, DeltaKind, Limits, MessageId, Part};

use crate::calls::CallKey;
use crate::failure::failed;

/// What there is of a message.
#[derive(Default)]
pub(crate) struct Draft {
    id: Option<MessageId>,
    /// The agent's own name of the message, where it has one.
    pub(crate) message: Option<String>,
    places: Vec<Place>,
    bytes: usize,
}

enum Place {
    Part(Part),
    Call(CallKey),
}

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    Answer,
    Thinking,
}

impl Draft {
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether so much more text has room in the message.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.is_empty() || self.bytes + bytes <= Limits::MESSAGE_BYTES / 2
    }

    /// Fails a turn whose message grows without being able to end.
    pub(crate) fn refuse_endless(&self) -> Result<(), Failed> {
        if self.bytes <= 4 * Limits::MESSAGE_BYTES {
            return Ok(());
        }
        let message = "the agent said too much while a question of its was open, and was stopped".to_owned();
        Err(failed("answer_too_long", message, Some("retry the turn".to_owned())))
    }

    pub(crate) fn calls(&self) -> impl Iterator<Item = &CallKey> {
        self.places.iter().filter_map(|place| match place {
            Place::Call(key) => Some(key),
            Place::Part(_) => None,
        })
    }

    /// Adds text, and returns what is to be shown of it.
    pub(crate) fn say(&mut self, voice: Voice, text: String, fresh: impl FnOnce() -> MessageId) -> Delta {
        let message_id = *self.id.get_or_insert_with(fresh);
        let goes_on = matches!(
            (self.places.last(), voice),
            (Some(Place::Part(Part::Text { .. })), Voice::Answer)
                | (Some(Place::Part(Part::Reasoning { .. })), Voice::Thinking)
        );
        if !goes_on {
            self.places.push(Place::Part(match voice {
                Voice::Answer => Part::text(""),
                Voice::Thinking => Part::Reasoning { text: String::new(), opaque: None },
            }));
        }
        let part = u32::try_from(self.places.len() - 1).unwrap_or(u32::MAX);
        let mut offset = 0;
        if let Some(Place::Part(Part::Text { text: said } | Part::Reasoning { text: said, .. })) =
            self.places.last_mut()
        {
            offset = said.len() as u64;
            said.push_str(&text);
        }
        self.bytes += text.len();
        let kind = match voice {
            Voice::Answer => DeltaKind::Text { message_id, part },
            Voice::Thinking => DeltaKind::Reasoning { message_id, part },
        };
        Delta { kind, offset, text }
    }

    /// Adds a part that came as a whole.
    pub(crate) fn add(&mut self, part: Part) {
        self.places.push(Place::Part(part));
    }

    pub(crate) fn call(&mut self, key: CallKey) {
        self.places.push(Place::Call(key));
    }

    /// Ends the message: its id, its parts, and the calls among them.
    pub(crate) fn finish(
        self,
        fresh: impl FnOnce() -> MessageId,
        mut part: impl FnMut(&CallKey) -> Part,
    ) -> (MessageId, Vec<Part>, Vec<CallKey>) {
        let mut calls = Vec::new();
        let parts = self.places.into_iter().map(|place| match place {
            Place::Part(part) => part,
            Place::Call(key) => {
                let made = part(&key);
                calls.push(key);
                made
            }
        });
        let parts = parts.collect();
        (self.id.unwrap_or_else(fresh), parts, calls)
    }
}
