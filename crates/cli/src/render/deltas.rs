//! Deltas of text, as they come on the stream.

use ostler_types::{DeltaKind, MessageId};
use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct TextDeltaLine {
    #[serde(rename = "type")]
    pub(super) name: StreamKind,
    pub(super) data: TextDeltaData,
}

/// The kind of a text stream. Each variant has the name of its delta on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum StreamKind {
    #[serde(rename = "model_output_delta")]
    Text,
    #[serde(rename = "reasoning_delta")]
    Reasoning,
}

impl StreamKind {
    pub(super) fn of_part(self, message_id: MessageId, part: u32) -> DeltaKind {
        match self {
            StreamKind::Text => DeltaKind::Text { message_id, part },
            StreamKind::Reasoning => DeltaKind::Reasoning { message_id, part },
        }
    }
}

#[derive(Deserialize)]
pub(super) struct TextDeltaData {
    pub(super) message_id: MessageId,
    pub(super) part: u32,
    pub(super) offset: u64,
    pub(super) text: String,
}
