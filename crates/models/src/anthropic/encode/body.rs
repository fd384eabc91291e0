//! The shapes of a Messages request. What goes into them is left to the encoder.

use std::borrow::Cow;

use ostler_types::ToolSpec;
use serde::Serialize;
use serde_json::Value;

use crate::outgoing::attachment::{Base64, Data};

pub(super) const USER: &str = "user";
pub(super) const ASSISTANT: &str = "assistant";
pub(super) const EPHEMERAL: CacheControl = CacheControl { r#type: "ephemeral" };

#[derive(Serialize)]
pub(super) struct Body<'a> {
    pub(super) model: &'a str,
    pub(super) max_tokens: u64,
    pub(super) stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<ThinkingConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output_config: Option<OutputConfig>,
    /// One block in an array, as only a block can be marked for the cache.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "in_array")]
    pub(super) system: Option<Block<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<WireTool<'a>>,
    pub(super) messages: Vec<WireMessage<'a>>,
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
pub(super) struct WireTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_control: Option<CacheControl>,
}

impl<'a> WireTool<'a> {
    pub(super) fn of(tool: &'a ToolSpec) -> WireTool<'a> {
        let ToolSpec { name, description, input_schema } = tool;
        WireTool { name, description, input_schema, cache_control: None }
    }
}

#[derive(Serialize)]
pub(super) struct WireMessage<'a> {
    pub(super) role: &'static str,
    pub(super) content: Vec<Block<'a>>,
    /// How many blocks at the head are tool results.
    #[serde(skip)]
    pub(super) results: usize,
}

impl<'a> WireMessage<'a> {
    pub(super) fn add(&mut self, block: Block<'a>) {
        if matches!(block, Block::ToolResult { .. }) {
            self.content.insert(self.results, block);
            self.results += 1;
        } else {
            self.content.push(block);
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Image {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Document {
        source: Source<'a>,
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
    Blocks(Vec<Block<'a>>),
}

#[derive(Serialize)]
pub(super) struct Source<'a> {
    r#type: &'static str,
    media_type: &'static str,
    data: Base64<'a>,
}

impl<'a> Source<'a> {
    fn of(data: Data<'a>) -> Source<'a> {
        Source { r#type: "base64", media_type: data.mime_type, data: Base64(data) }
    }
}

#[derive(Serialize, Clone, Copy)]
pub(super) struct CacheControl {
    r#type: &'static str,
}

impl<'a> Block<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Block<'a> {
        Block::Text { text: text.into(), cache_control: None }
    }

    pub(super) fn image(data: Data<'a>) -> Block<'a> {
        Block::Image { source: Source::of(data), cache_control: None }
    }

    pub(super) fn document(title: &'a str, data: Data<'a>) -> Block<'a> {
        Block::Document { source: Source::of(data), title, cache_control: None }
    }

    pub(super) fn end_of_cache(&mut self) {
        match self {
            Block::Text { cache_control, .. }
            | Block::Image { cache_control, .. }
            | Block::Document { cache_control, .. }
            | Block::ToolResult { cache_control, .. } => *cache_control = Some(EPHEMERAL),
            // Neither ends a user's message, and reasoning may not be marked.
            Block::ToolUse { .. } | Block::Verbatim(_) => {}
        }
    }
}

fn in_array<S: serde::Serializer>(block: &Option<Block<'_>>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(block)
}
