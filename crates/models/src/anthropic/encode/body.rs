//! The shapes of a Messages request. What goes into them is left to the encoder.

use std::borrow::Cow;

use ostler_types::ToolSpec;
use serde::Serialize;
use serde_json::Value;

use crate::request_encoding::attachment::{AttachmentData, Base64};

pub(super) const USER: &str = "user";
pub(super) const ASSISTANT: &str = "assistant";
pub(super) const EPHEMERAL: CacheControl = CacheControl { r#type: "ephemeral" };

#[derive(Serialize)]
pub(super) struct AnthropicBody<'a> {
    pub(super) model: &'a str,
    pub(super) max_tokens: u64,
    pub(super) stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<ThinkingConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output_config: Option<OutputConfig>,
    /// One block in an array, as only a block can be marked for the cache.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "in_array")]
    pub(super) system: Option<AnthropicBlock<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<AnthropicTool<'a>>,
    pub(super) messages: Vec<AnthropicMessage<'a>>,
}

#[derive(Serialize, Clone, Copy)]
pub(super) struct ThinkingConfig {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_tokens: Option<u64>,
    /// Newer models give only the seal of their thinking unless its text is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    display: Option<&'static str>,
}

impl ThinkingConfig {
    pub(super) const ADAPTIVE: ThinkingConfig =
        ThinkingConfig { r#type: "adaptive", budget_tokens: None, display: Some("summarized") };

    pub(super) fn enabled(budget_tokens: u64) -> ThinkingConfig {
        ThinkingConfig { r#type: "enabled", budget_tokens: Some(budget_tokens), display: None }
    }

    /// Whether an answer of the model that goes on with calls need not begin with thinking.
    pub(super) fn may_begin_anywhere(&self) -> bool {
        self.budget_tokens.is_none()
    }
}

#[derive(Serialize)]
pub(super) struct OutputConfig {
    pub(super) effort: &'static str,
}

#[derive(Serialize)]
pub(super) struct AnthropicTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_control: Option<CacheControl>,
}

impl<'a> AnthropicTool<'a> {
    pub(super) fn from_spec(tool: &'a ToolSpec) -> AnthropicTool<'a> {
        let ToolSpec { name, description, input_schema } = tool;
        AnthropicTool { name, description, input_schema, cache_control: None }
    }
}

#[derive(Serialize)]
pub(super) struct AnthropicMessage<'a> {
    pub(super) role: &'static str,
    pub(super) content: Vec<AnthropicBlock<'a>>,
    /// How many blocks at the head are tool results.
    #[serde(skip)]
    pub(super) results: usize,
}

impl<'a> AnthropicMessage<'a> {
    pub(super) fn add(&mut self, block: AnthropicBlock<'a>) {
        if matches!(block, AnthropicBlock::ToolResult { .. }) {
            self.content.insert(self.results, block);
            self.results += 1;
        } else {
            self.content.push(block);
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum AnthropicBlock<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Image {
        source: AnthropicMediaSource<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Document {
        source: AnthropicMediaSource<'a>,
        title: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Cow<'a, Value>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        /// Absent where a tool said nothing, since an empty text is refused.
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<ResultContent<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// A block of the provider's own, as it came.
    #[serde(untagged)]
    Verbatim(&'a Value),
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ResultContent<'a> {
    Text(&'a str),
    Blocks(Vec<AnthropicBlock<'a>>),
}

#[derive(Serialize)]
pub(super) struct AnthropicMediaSource<'a> {
    r#type: &'static str,
    media_type: &'static str,
    data: Base64<'a>,
}

impl<'a> AnthropicMediaSource<'a> {
    fn from_data(data: AttachmentData<'a>) -> AnthropicMediaSource<'a> {
        AnthropicMediaSource { r#type: "base64", media_type: data.mime_type, data: Base64(data) }
    }
}

#[derive(Serialize, Clone, Copy)]
pub(super) struct CacheControl {
    r#type: &'static str,
}

impl<'a> AnthropicBlock<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> AnthropicBlock<'a> {
        AnthropicBlock::Text { text: text.into(), cache_control: None }
    }

    pub(super) fn image(data: AttachmentData<'a>) -> AnthropicBlock<'a> {
        AnthropicBlock::Image { source: AnthropicMediaSource::from_data(data), cache_control: None }
    }

    pub(super) fn document(title: &'a str, data: AttachmentData<'a>) -> AnthropicBlock<'a> {
        AnthropicBlock::Document { source: AnthropicMediaSource::from_data(data), title, cache_control: None }
    }

    pub(super) fn mark_cache_end(&mut self) {
        match self {
            AnthropicBlock::Text { cache_control, .. }
            | AnthropicBlock::Image { cache_control, .. }
            | AnthropicBlock::Document { cache_control, .. }
            | AnthropicBlock::ToolResult { cache_control, .. } => *cache_control = Some(EPHEMERAL),
            // Neither ends a user's message, and reasoning may not be marked.
            AnthropicBlock::ToolUse { .. } | AnthropicBlock::Verbatim(_) => {}
        }
    }
}

fn in_array<S: serde::Serializer>(
    block: &Option<AnthropicBlock<'_>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(block)
}
