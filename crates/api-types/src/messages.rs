//! Messages and the turns that answer them: said, listed, queued, canceled.

use ostler_types::{Delivery, Message, MessageId, Part, Queued, TurnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sessions::given;

/// Something to say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MessageBody")]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    /// Who says it.
    pub role: Speaker,
    /// What is said.
    #[schemars(length(min = 1))]
    pub parts: Vec<InputPart>,
    /// Whether to answer it now; the session's own setting when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_run: Option<bool>,
    /// What to do when a turn is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// Asking twice with one key adds one message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// Who a client can speak as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    User,
    System,
}

/// A piece of a message, as a client sends it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum InputPart {
    Text { text: String },
    Image(AttachmentReference),
    Audio(AttachmentReference),
    File(AttachmentReference),
}

/// A file that was attached before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttachmentReference {
    /// Where it lies: `attachments/NAME`.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Not looked at: the type is told from the content.
    #[serde(default)]
    pub mime_type: Option<String>,
}

/// The message is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sent {
    pub message_id: MessageId,
    /// The turn that answers it; null when none was asked for.
    pub turn_id: Option<TurnId>,
}

/// Some messages, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Page")]
pub struct MessagePage {
    pub messages: Vec<Message>,
    /// Pass this as `before` for the page before; null on the first one.
    pub before: Option<u64>,
}

/// What waits for its turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Queue")]
pub struct MessageQueue {
    pub queue: Vec<Queued>,
}

/// What is to change of a message that waits; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "QueuedBody")]
#[serde(deny_unknown_fields)]
pub struct ChangeQueued {
    /// What it says now.
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<InputPart>>,
    /// Whether it waits for a turn of its own or goes to the running one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Waits>,
    /// The waiting message that it is to stand before; null puts it last.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = null))]
    pub before: Option<Option<MessageId>>,
}

/// How a message that waits can be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Waits {
    /// It is a turn of its own.
    Queue,
    /// The model gets it before its next step.
    Steer,
}

/// The message is taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Withdrawn")]
pub struct MessageWithdrawn {
    pub message_id: MessageId,
}

/// The turn begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Started {
    pub turn_id: TurnId,
}

/// What to stop, and why.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CancelBody")]
#[serde(deny_unknown_fields, default)]
pub struct CancelRequest {
    /// The turn that is meant. Only this one is stopped; whichever runs when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = null))]
    pub turn_id: Option<TurnId>,
    /// Shown to everybody who looks on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = null))]
    pub reason: Option<String>,
}

/// Whether there was anything to stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Canceled {
    pub canceled: bool,
}

impl SendMessage {
    /// What a person types: one text, everything else as the session has it.
    pub fn prompt(text: impl Into<String>) -> SendMessage {
        let parts = vec![InputPart::Text { text: text.into() }];
        SendMessage { role: Speaker::User, parts, auto_run: None, delivery: None, idempotency_key: None }
    }
}

impl InputPart {
    /// A file that was attached: a picture, a sound or any other, as its type says.
    pub fn attached(reference: String, mime_type: String) -> InputPart {
        let kind = mime_type.split('/').next().unwrap_or_default().to_owned();
        let attached = AttachmentReference { reference, mime_type: Some(mime_type) };
        match kind.as_str() {
            "image" => InputPart::Image(attached),
            "audio" => InputPart::Audio(attached),
            _ => InputPart::File(attached),
        }
    }

    /// The text, where it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            InputPart::Text { text } => Some(text),
            InputPart::Image(_) | InputPart::Audio(_) | InputPart::File(_) => None,
        }
    }

    /// A part of a message as a client can send it; none where only an agent can say it.
    pub fn from_part(part: Part) -> Option<InputPart> {
        let attached = |reference, mime_type| AttachmentReference { reference, mime_type: Some(mime_type) };
        match part {
            Part::Text { text } => Some(InputPart::Text { text }),
            Part::Image { reference, mime_type } => Some(InputPart::Image(attached(reference, mime_type))),
            Part::Audio { reference, mime_type } => Some(InputPart::Audio(attached(reference, mime_type))),
            Part::File { reference, mime_type } => Some(InputPart::File(attached(reference, mime_type))),
            Part::Reasoning { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => None,
        }
    }
}
