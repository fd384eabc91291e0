//! The shapes of a Responses request. What goes into them is left to the encoder.

use std::borrow::Cow;

use ostler_types::ToolSpec;
use serde::Serialize;
use serde_json::Value;

use crate::outgoing::attachment::DataUrl;

#[derive(Serialize)]
pub(super) struct Body<'a> {
    pub(super) model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instructions: Option<&'a str>,
    pub(super) input: Vec<WireItem<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt_cache_key: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) include: &'static [&'static str],
    pub(super) store: bool,
    pub(super) stream: bool,
}

#[derive(Serialize)]
pub(super) struct Reasoning {
    pub(super) effort: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) summary: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum WireItem<'a> {
    Message {
        role: &'static str,
        content: Vec<Content<'a>>,
    },
    FunctionCall {
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: Output<'a>,
    },
    /// Names its own type.
    #[serde(untagged)]
    Reasoning(&'a Value),
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Output<'a> {
    Text(&'a str),
    Parts(Vec<Content<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Content<'a> {
    InputText { text: Cow<'a, str> },
    OutputText { text: &'a str },
    InputImage { image_url: DataUrl<'a> },
    InputFile { filename: &'a str, file_data: DataUrl<'a> },
}

impl<'a> Content<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Content<'a> {
        Content::InputText { text: text.into() }
    }
}

#[derive(Serialize)]
pub(super) struct WireTool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    /// Strict schemas forbid optional fields, which our tools have.
    strict: bool,
}

impl<'a> WireTool<'a> {
    pub(super) fn of(tool: &'a ToolSpec) -> WireTool<'a> {
        let ToolSpec { name, description, input_schema } = tool;
        WireTool { r#type: "function", name, description, parameters: input_schema, strict: false }
    }
}
