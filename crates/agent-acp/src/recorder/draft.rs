//! The message that the agent is writing: pieces of text and reasoning as they come, and calls in their places.

use ostler_agent::FailedTurn;
use ostler_types::{Delta, DeltaKind, MessageId, Part, StateLimits, ToolCallId};

use crate::failure::failed;

/// A message that is not recorded yet.
#[derive(Default)]
pub(crate) struct AcpMessageDraft {
    id: Option<MessageId>,
    /// The agent's own name of the message, where it has one.
    pub(crate) agent_name: Option<String>,
    items: Vec<DraftItem>,
    bytes: usize,
}

enum DraftItem {
    Part(Part),
    Call(ToolCallId),
}

/// What a piece of text belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextKind {
    Answer,
    Reasoning,
}

impl AcpMessageDraft {
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether the message has room for so many more bytes of text.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.is_empty() || self.bytes + bytes <= StateLimits::MESSAGE_BYTES / 2
    }

    /// The failure of a turn whose message grows while a question keeps it from being recorded.
    pub(crate) fn too_long(&self) -> Option<FailedTurn> {
        let message = "the agent said too much while a question of its was open, and was stopped".to_owned();
        let is_too_long = self.bytes > 4 * StateLimits::MESSAGE_BYTES;
        is_too_long.then(|| failed("answer_too_long", message, Some("retry the turn".to_owned())))
    }

    pub(crate) fn calls(&self) -> impl Iterator<Item = &ToolCallId> {
        self.items.iter().filter_map(|place| match place {
            DraftItem::Call(id) => Some(id),
            DraftItem::Part(_) => None,
        })
    }

    /// Adds text, and returns the delta that shows it.
    pub(crate) fn add_text(
        &mut self,
        kind: TextKind,
        text: String,
        new_id: impl FnOnce() -> MessageId,
    ) -> Delta {
        let message_id = *self.id.get_or_insert_with(new_id);
        let continues = matches!(
            (self.items.last(), kind),
            (Some(DraftItem::Part(Part::Text { .. })), TextKind::Answer)
                | (Some(DraftItem::Part(Part::Reasoning { .. })), TextKind::Reasoning)
        );
        if !continues {
            self.items.push(DraftItem::Part(match kind {
                TextKind::Answer => Part::text(""),
                TextKind::Reasoning => Part::Reasoning { text: String::new(), opaque: None },
            }));
        }
        let part = u32::try_from(self.items.len() - 1).unwrap_or(u32::MAX);
        let mut offset = 0;
        if let Some(DraftItem::Part(Part::Text { text: said } | Part::Reasoning { text: said, .. })) =
            self.items.last_mut()
        {
            offset = said.len() as u64;
            said.push_str(&text);
        }
        self.bytes += text.len();
        let kind = match kind {
            TextKind::Answer => DeltaKind::Text { message_id, part },
            TextKind::Reasoning => DeltaKind::Reasoning { message_id, part },
        };
        Delta { kind, offset, text }
    }

    /// Adds a part that is no text.
    pub(crate) fn add_part(&mut self, part: Part) {
        self.items.push(DraftItem::Part(part));
    }

    pub(crate) fn add_call(&mut self, id: ToolCallId) {
        self.items.push(DraftItem::Call(id));
    }

    /// Ends the message: its id, its parts, and the calls among them.
    pub(crate) fn finish(
        self,
        new_id: impl FnOnce() -> MessageId,
        mut call_part: impl FnMut(&ToolCallId) -> Part,
    ) -> (MessageId, Vec<Part>, Vec<ToolCallId>) {
        let mut calls = Vec::new();
        let parts = self.items.into_iter().map(|place| match place {
            DraftItem::Part(part) => part,
            DraftItem::Call(id) => {
                let part = call_part(&id);
                calls.push(id);
                part
            }
        });
        let parts = parts.collect();
        (self.id.unwrap_or_else(new_id), parts, calls)
    }
}
