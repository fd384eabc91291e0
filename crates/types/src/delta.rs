//! Deltas: text as it streams. Shown at once, not recorded, harmless to see twice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{MessageId, ToolCallId};

/// Which stream a delta belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeltaKind {
    /// The model's answer.
    Text {
        /// The message that is being written.
        message_id: MessageId,
        /// Which of its parts.
        part: u32,
    },
    /// The model's reasoning.
    Reasoning {
        /// The message that is being written.
        message_id: MessageId,
        /// Which of its parts.
        part: u32,
    },
    /// A running tool's output.
    ToolOutput {
        /// The call.
        tool_call_id: ToolCallId,
        /// `stdout` or `stderr`.
        stream: String,
    },
}

/// A piece of text and where it goes. A client splices it at `offset`, so that seeing it twice,
/// or seeing two deltas as one, leads to the same text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delta {
    /// The stream.
    pub kind: DeltaKind,
    /// Bytes of UTF-8 before this text in its stream.
    pub offset: u64,
    /// The text.
    pub text: String,
}

impl Delta {
    /// The event name that clients see.
    pub fn name(&self) -> &'static str {
        match self.kind {
            DeltaKind::Text { .. } => "model_output_delta",
            DeltaKind::Reasoning { .. } => "reasoning_delta",
            DeltaKind::ToolOutput { .. } => "tool_output_delta",
        }
    }
}
