//! What tells one conversation from another: how many answers it holds, and what the user has said.
//!
//! It is read from our own messages and from the bodies of all three protocols, which cut the same
//! conversation into different pieces; so only words count, not how they are spaced or divided. What tools
//! said is left out, as it differs from machine to machine.

use std::hash::{DefaultHasher, Hash, Hasher};

use ostler_types::{Message, Part, Role};
use serde_json::Value;

use crate::ModelRequest;

/// A conversation, as far as it is compared. Texts are kept as hashes, since each request of a session holds
/// all of those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConversationShape {
    /// How many times the model has answered.
    pub(super) answers: usize,
    /// All that the user said.
    said: u64,
    /// The same with the instructions in between, which some protocols make the user say.
    said_with_system: u64,
    /// What the user said last.
    said_last: u64,
}

impl ConversationShape {
    /// Of a conversation that is to be answered.
    pub(super) fn from_request(request: &ModelRequest) -> ConversationShape {
        let mut reader = ShapeReader::default();
        for message in &request.messages {
            match message.role {
                Role::User => reader.user(&texts(message)),
                Role::System => reader.system(&texts(message)),
                Role::Tool => reader.interrupt(),
                Role::Assistant => {
                    if message.tool_calls().next().is_some() || !texts(message).trim().is_empty() {
                        reader.assistant();
                    }
                }
            }
        }
        reader.shape()
    }

    /// Of a body that was sent, in any of the protocols.
    pub(super) fn from_payload(payload: &Value) -> ConversationShape {
        let mut reader = ShapeReader::default();
        match &payload["input"] {
            Value::String(text) => reader.user(text),
            input => {
                let messages = if input.is_array() { input } else { &payload["messages"] };
                messages.as_array().into_iter().flatten().for_each(|message| reader.message(message));
            }
        }
        reader.shape()
    }

    /// Whether they are the same conversation.
    pub(super) fn is_same(&self, other: &ConversationShape) -> bool {
        let said = self.said == other.said || self.said == other.said_with_system;
        self.answers == other.answers && said
    }

    /// Whether at least the last words are the same, after as many answers.
    pub(super) fn ends_like(&self, other: &ConversationShape) -> bool {
        self.answers == other.answers && self.said_last == other.said_last
    }
}

/// Reads a conversation from its beginning to its end.
#[derive(Default)]
struct ShapeReader {
    answers: usize,
    /// Whether what was read last was the model's: one answer can be cut into many pieces.
    in_answer: bool,
    said: DefaultHasher,
    said_with_system: DefaultHasher,
    said_last: DefaultHasher,
}

impl ShapeReader {
    fn message(&mut self, message: &Value) {
        match (message["type"].as_str(), message["role"].as_str()) {
            (Some("function_call"), _) => self.assistant(),
            (Some("reasoning"), _) => {}
            (_, Some("user")) => self.user(&content_text(&message["content"])),
            (_, Some("assistant")) => {
                let calls = |value: &Value| value.as_array().is_some_and(|calls| !calls.is_empty());
                let blocks = message["content"].as_array().into_iter().flatten();
                let has_use = blocks.into_iter().any(|block| block["type"] == "tool_use");
                let has_text = !content_text(&message["content"]).trim().is_empty();
                if has_text || has_use || calls(&message["tool_calls"]) {
                    self.assistant();
                }
            }
            _ => self.interrupt(),
        }
    }

    fn assistant(&mut self) {
        self.answers += usize::from(!self.in_answer);
        self.in_answer = true;
    }

    fn interrupt(&mut self) {
        self.in_answer = false;
    }

    fn user(&mut self, text: &str) {
        self.in_answer = false;
        if text.trim().is_empty() {
            return;
        }
        self.said_last = DefaultHasher::new();
        for word in text.split_whitespace() {
            word.hash(&mut self.said);
            word.hash(&mut self.said_with_system);
            word.hash(&mut self.said_last);
        }
    }

    fn system(&mut self, text: &str) {
        self.in_answer = false;
        text.split_whitespace().for_each(|word| word.hash(&mut self.said_with_system));
    }

    fn shape(&self) -> ConversationShape {
        ConversationShape {
            answers: self.answers,
            said: self.said.finish(),
            said_with_system: self.said_with_system.finish(),
            said_last: self.said_last.finish(),
        }
    }
}

fn texts(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        Part::Image { .. }
        | Part::Audio { .. }
        | Part::File { .. }
        | Part::Reasoning { .. }
        | Part::ToolCall { .. }
        | Part::ToolResult { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The text of a content, which is a string or blocks.
fn content_text(content: &Value) -> String {
    let blocks = content.as_array().into_iter().flatten();
    let texts = blocks.filter_map(|block| block["text"].as_str());
    content.as_str().into_iter().chain(texts).collect::<Vec<_>>().join("\n")
}
