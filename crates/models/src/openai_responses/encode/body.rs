//! The shapes of a Responses request. What goes into them is left to the encoder.

use std::borrow::Cow;

use ostler_types::ToolSpec;
use serde::Serialize;
use serde_json::Value;

use crate::request_encoding::attachment::DataUrl;

#[derive(Serialize)]
pub(super) struct ResponsesBody<'a> {
    pub(super) model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instructions: Option<&'a str>,
    pub(super) input: Vec<ResponsesInputItem<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<ResponsesTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<ResponsesReasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt_cache_key: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) include: &'static [&'static str],
    pub(super) store: bool,
    pub(super) stream: bool,
}

#[derive(Serialize)]
pub(super) struct ResponsesReasoning {
    pub(super) effort: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) summary: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ResponsesInputItem<'a> {
    Message {
        role: &'static str,
        content: Vec<ResponsesContent<'a>>,
    },
    FunctionCall {
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: ResponsesCallOutput<'a>,
    },
    /// Names its own type.
    #[serde(untagged)]
    Reasoning(&'a Value),
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ResponsesCallOutput<'a> {
    Text(&'a str),
    Parts(Vec<ResponsesContent<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ResponsesContent<'a> {
    InputText { text: Cow<'a, str> },
    OutputText { text: &'a str },
    InputImage { image_url: DataUrl<'a> },
    InputFile { filename: &'a str, file_data: DataUrl<'a> },
}

impl<'a> ResponsesContent<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> ResponsesContent<'a> {
        ResponsesContent::InputText { text: text.into() }
    }
}

#[derive(Serialize)]
pub(super) struct ResponsesTool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    /// Strict schemas forbid optional fields, which our tools have.
    strict: bool,
}

impl<'a> ResponsesTool<'a> {
    pub(super) fn from_spec(tool: &'a ToolSpec) -> ResponsesTool<'a> {
        let ToolSpec { name, description, input_schema } = tool;
        ResponsesTool { r#type: "function", name, description, parameters: input_schema, strict: false }
    }
}
