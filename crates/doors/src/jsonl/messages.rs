//! Messages as this wire has them: roles, blocks, usage. From our words only; a client of this door sends
//! text.

use ostler_types::{Message, MessageId, Part, Role, ToolResult, Usage};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Something that was said.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "role", rename_all = "snake_case")]
pub(super) enum WireMessage<'a> {
    /// By the person, or the program that speaks for one.
    User {
        id: MessageId,
        content: Vec<Block<'a>>,
        /// Milliseconds since 1970.
        timestamp: i64,
    },
    /// By the model.
    Assistant {
        id: MessageId,
        content: Vec<Block<'a>>,
        provider: &'a str,
        model: &'a str,
        /// What runs the session's turns.
        api: &'a str,
        usage: WireUsage,
        /// Absent while the message is being written.
        #[serde(skip_serializing_if = "Option::is_none")]
        stop_reason: Option<StopReason>,
        /// Why it ended early.
        error_message: Option<&'a str>,
        /// Milliseconds since 1970.
        timestamp: i64,
    },
    /// By a tool, answering a call.
    ToolResult {
        id: MessageId,
        tool_call_id: &'a str,
        tool_name: &'a str,
        content: Vec<Block<'a>>,
        /// What the tool did, in structure.
        details: Option<&'a Value>,
        is_error: bool,
        /// Milliseconds since 1970.
        timestamp: i64,
    },
}

/// A piece of a message.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    /// Plain text or markdown.
    Text { text: std::borrow::Cow<'a, str> },
    /// What the model thought aloud.
    Thinking { thinking: &'a str },
    /// A call that the model asks for.
    ToolCall { id: &'a str, name: &'a str, arguments: &'a Value },
    /// A picture beside the session's log.
    Image {
        /// Where it lies in the session's folder.
        #[serde(rename = "ref")]
        reference: &'a str,
        mime_type: &'a str,
    },
}

/// Tokens, and what they cost.
#[derive(Serialize, JsonSchema)]
pub(super) struct WireUsage {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    total_tokens: u64,
    cost: WireCost,
}

/// US dollars.
#[derive(Serialize, JsonSchema)]
pub(super) struct WireCost {
    /// Null when no price is known.
    total: Option<f64>,
}

/// Why a message ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum StopReason {
    Stop,
    Length,
    ToolUse,
    Error,
    Aborted,
}

/// What a tool came to.
#[derive(Serialize, JsonSchema)]
pub(super) struct WireResult<'a> {
    content: Vec<Block<'a>>,
    details: Option<&'a Value>,
}

/// A message that has been encoded, to be put into several frames.
#[derive(Clone, Serialize)]
#[serde(transparent)]
pub(super) struct EncodedMessage(pub(super) std::sync::Arc<RawValue>);

impl EncodedMessage {
    pub(super) fn encode(value: &impl Serialize) -> EncodedMessage {
        let text = serde_json::to_string(value).expect("a message is plain strings and numbers");
        EncodedMessage::from_json(text)
    }

    /// Of text that is known to be JSON.
    pub(super) fn from_json(text: String) -> EncodedMessage {
        EncodedMessage(RawValue::from_string(text).expect("the text was written as JSON").into())
    }

    pub(super) fn len(&self) -> usize {
        self.0.get().len()
    }
}

impl JsonSchema for EncodedMessage {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        WireMessage::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        WireMessage::json_schema(generator)
    }
}

/// Who writes the messages of a session.
#[derive(Clone)]
pub(super) struct MessageAuthor {
    /// As `provider:model`.
    pub(super) model: String,
    /// What runs its turns.
    pub(super) agent: String,
}

impl MessageAuthor {
    pub(super) fn provider_and_model(&self) -> (&str, &str) {
        split_model(&self.model)
    }
}

/// The provider and the model's own id. A name without a provider is all id.
pub(super) fn split_model(name: &str) -> (&str, &str) {
    name.split_once(':').unwrap_or(("", name))
}

/// What a person said; nothing for messages that only frame the conversation.
pub(super) fn encode_user_message(message: &Message) -> Option<EncodedMessage> {
    match message.role {
        Role::User => {}
        Role::System | Role::Assistant | Role::Tool => return None,
    }
    let timestamp = message.created_at.as_millisecond();
    Some(EncodedMessage::encode(&WireMessage::User {
        id: message.id,
        content: blocks(&message.parts),
        timestamp,
    }))
}

/// What the model said.
pub(super) fn encode_model_message(
    message: &Message,
    reason: StopReason,
    usage: &Usage,
    writer: &MessageAuthor,
) -> EncodedMessage {
    let (provider, model) = writer.provider_and_model();
    EncodedMessage::encode(&WireMessage::Assistant {
        id: message.id,
        content: blocks(&message.parts),
        provider,
        model,
        api: &writer.agent,
        usage: to_wire_usage(usage),
        stop_reason: Some(reason),
        error_message: match reason {
            StopReason::Error => Some("the turn failed while this was being written"),
            StopReason::Stop | StopReason::Length | StopReason::ToolUse | StopReason::Aborted => None,
        },
        timestamp: message.created_at.as_millisecond(),
    })
}

/// What a tool answered.
pub(super) fn encode_tool_message(
    id: MessageId,
    name: &str,
    result: &ToolResult,
    timestamp: i64,
) -> EncodedMessage {
    EncodedMessage::encode(&WireMessage::ToolResult {
        id,
        tool_call_id: &result.id.0,
        tool_name: name,
        content: blocks(&result.parts),
        details: result.details.as_ref(),
        is_error: !result.ok,
        timestamp,
    })
}

/// The same without the words around it.
pub(super) fn to_wire_result(result: &ToolResult) -> WireResult<'_> {
    WireResult { content: blocks(&result.parts), details: result.details.as_ref() }
}

/// What a tool has printed so far.
pub(super) fn output_to_wire_result(text: &str) -> WireResult<'_> {
    WireResult { content: vec![Block::Text { text: text.into() }], details: None }
}

/// Why a message ended, in the words of this wire.
pub(super) fn stop_reason(ours: &str, message: &Message) -> StopReason {
    match ours {
        "canceled" => StopReason::Aborted,
        "error" | "interrupted" => StopReason::Error,
        _ if message.tool_calls().next().is_some() => StopReason::ToolUse,
        "max_tokens" | "length" => StopReason::Length,
        _ => StopReason::Stop,
    }
}

pub(super) fn to_wire_usage(usage: &Usage) -> WireUsage {
    let plain = usage.input_tokens.saturating_sub(usage.cached_tokens + usage.cache_write_tokens);
    WireUsage {
        input: plain,
        output: usage.output_tokens,
        cache_read: usage.cached_tokens,
        cache_write: usage.cache_write_tokens,
        total_tokens: usage.input_tokens + usage.output_tokens,
        cost: WireCost { total: usage.cost_usd.map(|cost| cost.usd()) },
    }
}

fn blocks(parts: &[Part]) -> Vec<Block<'_>> {
    parts.iter().map(block).collect()
}

fn block(part: &Part) -> Block<'_> {
    match part {
        Part::Text { text } | Part::ToolResult { text, .. } => Block::Text { text: text.into() },
        Part::Reasoning { text, .. } => Block::Thinking { thinking: text },
        Part::ToolCall { call } => {
            Block::ToolCall { id: &call.id.0, name: &call.name, arguments: &call.input }
        }
        Part::Image { reference, mime_type } => Block::Image { reference, mime_type },
        // This wire knows no other files, so they are named where they stand.
        Part::Audio { reference, mime_type } | Part::File { reference, mime_type } => {
            Block::Text { text: format!("[{reference} ({mime_type})]").into() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split_model;

    #[test]
    fn a_model_is_split_at_its_first_colon() {
        assert_eq!(split_model("openai:gpt-5"), ("openai", "gpt-5"));
        assert_eq!(split_model("ollama:qwen3:4b"), ("ollama", "qwen3:4b"));
        assert_eq!(split_model("odd"), ("", "odd"));
    }
}
