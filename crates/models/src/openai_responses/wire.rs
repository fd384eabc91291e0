//! The shapes of a Responses stream, as far as they are read.
//!
//! What they mean is left to the decoder. Fields that some servers leave out are optional.

use std::borrow::Cow;

use ostler_types::Usage;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// What every event has. The rest is read once its type is known, as events that are not known may
/// hold anything.
#[derive(Deserialize, Default)]
pub(super) struct ResponsesEventHead<'a> {
    #[serde(borrow)]
    pub(super) r#type: Option<ResponsesText<'a>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// A wrapper because an optional `Cow` would always be copied.
#[derive(Deserialize)]
pub(super) struct ResponsesText<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// More of an item.
#[derive(Deserialize)]
pub(super) struct ResponsesDelta<'a> {
    pub(super) output_index: Option<u64>,
    /// Which piece of the item, in a summary.
    pub(super) summary_index: Option<u64>,
    /// Which piece of the item, elsewhere.
    pub(super) content_index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Cow<'a, str>,
}

/// A call's whole input.
#[derive(Deserialize)]
pub(super) struct ArgumentsDone {
    pub(super) output_index: Option<u64>,
    pub(super) arguments: Option<Value>,
}

/// An item that begins or is whole.
#[derive(Deserialize)]
pub(super) struct ItemEvent<'a> {
    pub(super) output_index: Option<u64>,
    #[serde(borrow)]
    pub(super) item: &'a RawValue,
}

/// A piece of output. Tools that run on the server make items of their own, which are not ours.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ResponsesItem {
    Message {
        content: Option<Vec<ResponsesTextPiece>>,
    },
    FunctionCall {
        call_id: Option<String>,
        name: Option<String>,
        /// JSON inside a string; some servers send the object itself.
        arguments: Option<Value>,
    },
    Reasoning {
        summary: Option<Vec<ResponsesTextPiece>>,
        content: Option<Vec<ResponsesTextPiece>>,
        encrypted_content: Option<String>,
    },
    #[serde(other)]
    Other,
}

/// A piece of an item's text. It is a refusal where it has one.
#[derive(Deserialize)]
pub(super) struct ResponsesTextPiece {
    pub(super) text: Option<String>,
    pub(super) refusal: Option<String>,
}

/// An event about the response itself.
#[derive(Deserialize)]
pub(super) struct ResponseEvent<'a> {
    #[serde(borrow)]
    pub(super) response: Option<ResponsesResponse<'a>>,
}

/// A response. Each field is read where it is needed: the last event repeats the whole answer.
#[derive(Deserialize, Default)]
pub(super) struct ResponsesResponse<'a> {
    #[serde(borrow)]
    pub(super) status: Option<ResponsesText<'a>>,
    #[serde(borrow)]
    pub(super) output: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) incomplete_details: Option<IncompleteDetails<'a>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct IncompleteDetails<'a> {
    #[serde(borrow)]
    pub(super) reason: Option<ResponsesText<'a>>,
}

#[derive(Deserialize)]
pub(super) struct ResponsesUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<InputDetails>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

impl From<ResponsesUsage> for Usage {
    fn from(wire: ResponsesUsage) -> Usage {
        let (input, output) = (wire.input_tokens_details, wire.output_tokens_details);
        Usage {
            input_tokens: wire.input_tokens.unwrap_or(0),
            output_tokens: wire.output_tokens.unwrap_or(0),
            cached_tokens: input.as_ref().and_then(|details| details.cached_tokens).unwrap_or(0),
            cache_write_tokens: input.and_then(|details| details.cache_write_tokens).unwrap_or(0),
            reasoning_tokens: output.and_then(|details| details.reasoning_tokens).unwrap_or(0),
            ..Usage::default()
        }
    }
}
