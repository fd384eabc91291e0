//! From a conversation to the body of a Chat Completions request.
//!
//! The body is written once, from borrowed text. Reasoning is not sent back, as this protocol has no
//! place for it.

use std::borrow::Cow;

use ostler_types::{Message, Part, Role, ToolCall, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use crate::{ModelError, ModelRequest, failure};

/// The JSON to send. Fails on parts that this client cannot send, rather than leaving them out.
pub(super) fn body(model: &str, request: &ModelRequest) -> Result<Vec<u8>, ModelError> {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if let Some(system) = &request.system {
        messages.push(WireMessage::says(Role::System, Cow::Borrowed(system)));
    }
    for message in &request.messages {
        add(message, &mut messages)?;
    }
    let body = Body {
        model,
        messages,
        tools: request.tools.iter().map(WireTool::of).collect(),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
    };
    serde_json::to_vec(&body).map_err(|error| failure::unwritable(&error))
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    stream: bool,
    stream_options: StreamOptions,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    /// Null, not absent, beside tool calls: some servers insist on the field.
    content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

impl<'a> WireMessage<'a> {
    fn says(role: Role, content: Cow<'a, str>) -> WireMessage<'a> {
        WireMessage {
            role: role.as_str(),
            content: Some(content),
            tool_calls: Vec::new(),
            tool_call_id: None,
        }
    }
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: WireCallFunction<'a>,
}

#[derive(Serialize)]
struct WireCallFunction<'a> {
    name: &'a str,
    arguments: String,
}

#[derive(Serialize)]
struct WireTool<'a> {
    r#type: &'static str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> WireTool<'a> {
    fn of(tool: &'a ToolSpec) -> WireTool<'a> {
        let ToolSpec { name, description, input_schema } = tool;
        WireTool {
            r#type: "function",
            function: WireFunction { name, description, parameters: input_schema },
        }
    }
}

/// Adds a message; one of role `tool` becomes as many as it has results.
fn add<'a>(message: &'a Message, messages: &mut Vec<WireMessage<'a>>) -> Result<(), ModelError> {
    let mut texts: Vec<&str> = Vec::new();
    let mut tool_calls = Vec::new();
    for part in &message.parts {
        match (part, message.role) {
            (Part::Text { text }, Role::System | Role::User | Role::Assistant) => texts.push(text),
            (Part::ToolCall { call }, Role::Assistant) => tool_calls.push(wire_call(call)),
            (Part::ToolResult { tool_call_id, text, .. }, Role::Tool) => messages.push(WireMessage {
                tool_call_id: Some(&tool_call_id.0),
                ..WireMessage::says(Role::Tool, Cow::Borrowed(text))
            }),
            (Part::Reasoning { .. }, _) => {}
            (Part::Image { .. }, _) => return Err(failure::cannot_send("images")),
            (Part::Audio { .. }, _) => return Err(failure::cannot_send("audio")),
            (Part::File { .. }, _) => return Err(failure::cannot_send("files")),
            (Part::Text { .. } | Part::ToolCall { .. } | Part::ToolResult { .. }, role) => {
                return Err(failure::misplaced(role));
            }
        }
    }
    let content = match texts.as_slice() {
        [] => None,
        [text] => Some(Cow::Borrowed(*text)),
        [_, ..] => Some(Cow::Owned(texts.join("\n"))),
    };
    // A message of which nothing is left, such as an answer cut in its reasoning, would be refused.
    if content.is_some() || !tool_calls.is_empty() {
        messages.push(WireMessage { role: message.role.as_str(), content, tool_calls, tool_call_id: None });
    }
    Ok(())
}

fn wire_call(call: &ToolCall) -> WireCall<'_> {
    let arguments = if call.input.is_null() { "{}".to_owned() } else { call.input.to_string() };
    WireCall {
        id: &call.id.0,
        r#type: "function",
        function: WireCallFunction { name: &call.name, arguments },
    }
}
