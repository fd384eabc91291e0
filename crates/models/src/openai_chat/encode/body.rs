//! The shapes of a Chat Completions request. What goes into them is left to the encoder.

use std::borrow::Cow;

use ostler_types::{Role, ToolSpec};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::request_encoding::attachment::DataUrl;

#[derive(Serialize)]
pub(super) struct ChatBody<'a> {
    pub(super) model: &'a str,
    pub(super) messages: Vec<ChatMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<ChatTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<ChatReasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt_cache_key: Option<Cow<'a, str>>,
    pub(super) stream: bool,
    pub(super) stream_options: StreamOptions,
}

#[derive(Serialize)]
pub(super) struct ChatReasoning {
    pub(super) effort: &'static str,
}

#[derive(Serialize)]
pub(super) struct StreamOptions {
    pub(super) include_usage: bool,
}

#[derive(Serialize)]
pub(super) struct ChatMessage<'a> {
    pub(super) role: &'static str,
    #[serde(serialize_with = "content")]
    pub(super) content: Vec<ContentPart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) reasoning_details: Vec<&'a Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<ChatCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_call_id: Option<Cow<'a, str>>,
}

impl ChatMessage<'_> {
    /// An empty message of this role.
    pub(super) fn new(role: Role) -> Self {
        ChatMessage {
            role: role.as_str(),
            content: Vec::new(),
            reasoning_content: None,
            reasoning_details: Vec::new(),
            tool_calls: Vec::new(),
            tool_call_id: None,
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ContentPart<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl<'a> },
    File { file: FileData<'a> },
}

impl<'a> ContentPart<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> ContentPart<'a> {
        ContentPart::Text { text: text.into() }
    }

    fn as_text(&self) -> Option<&str> {
        match self {
            ContentPart::Text { text } => Some(text),
            ContentPart::ImageUrl { .. } | ContentPart::File { .. } => None,
        }
    }
}

/// Text alone goes as one string, which servers that know no images want. Null, not absent, beside tool
/// calls: some servers insist on the field.
fn content<S: Serializer>(parts: &[ContentPart<'_>], serializer: S) -> Result<S::Ok, S::Error> {
    let texts: Option<Vec<&str>> = parts.iter().map(ContentPart::as_text).collect();
    match texts.as_deref() {
        Some([]) => serializer.serialize_none(),
        Some([text]) => serializer.serialize_str(text),
        Some(texts) => serializer.serialize_str(&texts.join("\n")),
        None => parts.serialize(serializer),
    }
}

#[derive(Serialize)]
pub(super) struct ImageUrl<'a> {
    pub(super) url: DataUrl<'a>,
}

#[derive(Serialize)]
pub(super) struct FileData<'a> {
    pub(super) filename: &'a str,
    pub(super) file_data: DataUrl<'a>,
}

#[derive(Serialize)]
pub(super) struct ChatCall<'a> {
    pub(super) id: Cow<'a, str>,
    pub(super) r#type: &'static str,
    pub(super) function: ChatCallFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extra_content: Option<Cow<'a, Value>>,
}

#[derive(Serialize)]
pub(super) struct ChatCallFunction<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) arguments: String,
}

#[derive(Serialize)]
pub(super) struct ChatTool<'a> {
    r#type: &'static str,
    function: ChatToolFunction<'a>,
}

#[derive(Serialize)]
struct ChatToolFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> ChatTool<'a> {
    pub(super) fn from_spec(tool: &'a ToolSpec) -> ChatTool<'a> {
        let ToolSpec { name, description, input_schema } = tool;
        ChatTool {
            r#type: "function",
            function: ChatToolFunction { name, description, parameters: input_schema },
        }
    }
}
