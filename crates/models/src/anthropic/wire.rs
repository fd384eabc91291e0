//! The shapes of a Messages response, as far as they are read. What they mean is left to the decoder.

use std::borrow::Cow;

use ostler_types::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

/// One event of the stream, of any kind.
#[derive(Deserialize)]
pub(super) struct AnthropicEvent<'a> {
    #[serde(borrow)]
    pub(super) r#type: Option<AnthropicText<'a>>,
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) message: Option<StartedMessage<'a>>,
    #[serde(borrow)]
    pub(super) content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) delta: Option<AnthropicDelta<'a>>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct StartedMessage<'a> {
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct WholeMessage<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<AnthropicText<'a>>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct AnthropicResponseBlock<'a> {
    #[serde(borrow)]
    pub(super) r#type: Option<AnthropicText<'a>>,
    #[serde(borrow)]
    pub(super) text: Option<AnthropicText<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<AnthropicText<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<AnthropicText<'a>>,
    #[serde(borrow)]
    pub(super) id: Option<AnthropicText<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<AnthropicText<'a>>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
}

/// All kinds of deltas at once; each kind has a field of its own.
#[derive(Deserialize, Default)]
pub(super) struct AnthropicDelta<'a> {
    #[serde(borrow)]
    pub(super) r#type: Option<AnthropicText<'a>>,
    #[serde(borrow)]
    pub(super) text: Option<AnthropicText<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<AnthropicText<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<AnthropicText<'a>>,
    #[serde(borrow)]
    pub(super) partial_json: Option<AnthropicText<'a>>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<AnthropicText<'a>>,
}

impl AnthropicDelta<'_> {
    pub(super) fn is_known(&self) -> bool {
        let kind = self.r#type.as_ref().map(|kind| kind.0.as_ref());
        matches!(kind, Some("text_delta" | "thinking_delta" | "signature_delta" | "input_json_delta"))
    }
}

/// A wrapper because an optional `Cow` would always be copied.
#[derive(Deserialize)]
pub(super) struct AnthropicText<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(super) struct AnthropicUsage {
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) cache_read_input_tokens: Option<u64>,
    pub(super) cache_creation_input_tokens: Option<u64>,
}

impl AnthropicUsage {
    /// The larger of each count.
    pub(super) fn max(self, other: AnthropicUsage) -> AnthropicUsage {
        AnthropicUsage {
            input_tokens: self.input_tokens.max(other.input_tokens),
            output_tokens: self.output_tokens.max(other.output_tokens),
            cache_read_input_tokens: self.cache_read_input_tokens.max(other.cache_read_input_tokens),
            cache_creation_input_tokens: self
                .cache_creation_input_tokens
                .max(other.cache_creation_input_tokens),
        }
    }
}

impl From<AnthropicUsage> for Usage {
    fn from(wire: AnthropicUsage) -> Usage {
        let (read, created) = (wire.cache_read_input_tokens, wire.cache_creation_input_tokens);
        let input = [wire.input_tokens, read, created].into_iter().flatten().fold(0, u64::saturating_add);
        Usage {
            input_tokens: input,
            output_tokens: wire.output_tokens.unwrap_or(0),
            cached_tokens: read.unwrap_or(0),
            cache_write_tokens: created.unwrap_or(0),
            ..Usage::default()
        }
    }
}
