//! Messages and the parts that they are made of.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{MessageId, ToolCall, ToolCallId};

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions that frame the conversation.
    System,
    /// The person, or the program that speaks for one.
    User,
    /// The model.
    Assistant,
    /// A tool, answering a call.
    Tool,
}

impl Role {
    /// The word used on every wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}

/// One piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Plain text or markdown.
    Text {
        /// The text itself.
        text: String,
    },
    /// A picture beside the log.
    Image {
        /// Where it lies, relative to the session's folder.
        #[serde(rename = "ref")]
        reference: String,
        /// Its type, as sniffed from the bytes.
        mime_type: String,
    },
    /// A sound beside the log.
    Audio {
        /// Where it lies, relative to the session's folder.
        #[serde(rename = "ref")]
        reference: String,
        /// Its type, as sniffed from the bytes.
        mime_type: String,
    },
    /// Any other file beside the log.
    File {
        /// Where it lies, relative to the session's folder.
        #[serde(rename = "ref")]
        reference: String,
        /// Its type, as sniffed from the bytes.
        mime_type: String,
    },
    /// What the model thought aloud.
    Reasoning {
        /// The text itself.
        text: String,
        /// What the provider wants back with it, verbatim.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Value>,
    },
    /// A call that the model asked for.
    ToolCall {
        /// The call.
        #[serde(flatten)]
        call: ToolCall,
    },
    /// What a tool answered; only in messages of role `tool`.
    ToolResult {
        /// The call that it answers.
        tool_call_id: ToolCallId,
        /// The tool's name.
        name: String,
        /// Whether the tool did what was asked.
        ok: bool,
        /// The answer as the model reads it.
        text: String,
        /// Pictures that belong to the answer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Picture>,
    },
}

/// A picture beside the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Picture {
    /// Where it lies, relative to the session's folder.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Its type, as sniffed from the bytes.
    pub mime_type: String,
}

impl Part {
    /// A text part.
    pub fn text(text: impl Into<String>) -> Part {
        Part::Text { text: text.into() }
    }
}

/// Something said in a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// Who said it.
    pub role: Role,
    /// What was said, in order.
    pub parts: Vec<Part>,
    /// When it was accepted or finished.
    pub created_at: Timestamp,
}

impl Message {
    /// The message's text parts, joined by newlines: what a person would quote.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Text { text } | Part::ToolResult { text, .. } => Some(text.as_str()),
                Part::Image { .. }
                | Part::Audio { .. }
                | Part::File { .. }
                | Part::Reasoning { .. }
                | Part::ToolCall { .. } => None,
            })
            .collect();
        texts.join("\n")
    }

    /// The tool calls that this message asks for.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall { call } => Some(call),
            Part::Text { .. }
            | Part::Image { .. }
            | Part::Audio { .. }
            | Part::File { .. }
            | Part::Reasoning { .. }
            | Part::ToolResult { .. } => None,
        })
    }

    /// Roughly how many bytes the message holds, for limits.
    pub fn size(&self) -> usize {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text { text } | Part::ToolResult { text, .. } => text.len(),
                Part::Reasoning { text, opaque } => {
                    text.len() + opaque.as_ref().map_or(0, |opaque| opaque.to_string().len())
                }
                Part::Image { reference, mime_type }
                | Part::Audio { reference, mime_type }
                | Part::File { reference, mime_type } => reference.len() + mime_type.len(),
                Part::ToolCall { call } => call.name.len() + call.input.to_string().len(),
            })
            .map(|bytes| bytes.max(1))
            .sum()
    }
}
