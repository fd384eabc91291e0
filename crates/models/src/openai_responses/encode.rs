//! From a conversation to the body of a Responses request.
//!
//! The body is written once, from borrowed text. Reasoning goes back only where it came from this
//! protocol, and exactly as it came.

use ostler_types::{Message, Part, Role, ToolCall, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use super::PROTOCOL;
use crate::{ModelError, ModelRequest, failure};

/// The JSON to send. Fails on parts that this client cannot send, rather than leaving them out.
pub(super) fn body(model: &str, request: &ModelRequest) -> Result<Vec<u8>, ModelError> {
    let mut input = Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        add(message, &mut input)?;
    }
    let body = Body {
        model,
        instructions: request.system.as_deref(),
        input,
        tools: request.tools.iter().map(WireTool::of).collect(),
        parallel_tool_calls: (!request.tools.is_empty()).then_some(true),
        // A conversation keeps its first message as it grows, and so its place in the server's cache.
        prompt_cache_key: request.messages.first().map(|message| message.id.to_string()),
        include: if reasons(model) { &["reasoning.encrypted_content"] } else { &[] },
        store: false,
        stream: true,
    };
    serde_json::to_vec(&body).map_err(|error| failure::unwritable(&error))
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    input: Vec<WireItem<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    store: bool,
    stream: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireItem<'a> {
    Message {
        role: &'static str,
        content: Vec<WireText<'a>>,
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: &'a str,
    },
    /// Names its own type.
    #[serde(untagged)]
    Reasoning(&'a Value),
}

#[derive(Serialize)]
struct WireText<'a> {
    r#type: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct WireTool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    /// Strict schemas forbid optional fields, which our tools have.
    strict: bool,
}

impl<'a> WireTool<'a> {
    fn of(tool: &'a ToolSpec) -> WireTool<'a> {
        let ToolSpec { name, description, input_schema } = tool;
        WireTool { r#type: "function", name, description, parameters: input_schema, strict: false }
    }
}

/// Reasoning that waits for the item that it led to: without it, the server refuses the request.
struct Waiting<'a> {
    item: &'a Value,
    /// The call that it led to, if it was one of this message.
    call: Option<&'a str>,
}

/// Whether a model may have reasoning to seal. The older ones have none, and the server refuses a request
/// that asks them for it.
fn reasons(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let older = ["gpt-3", "gpt-4", "chatgpt-"].iter().any(|start| name.starts_with(start));
    !older && !name.contains("-chat")
}

/// Adds a message, as however many items it makes.
fn add<'a>(message: &'a Message, items: &mut Vec<WireItem<'a>>) -> Result<(), ModelError> {
    let (start, mut waiting) = (items.len(), Vec::new());
    for part in &message.parts {
        match (part, message.role) {
            (Part::Text { text }, Role::System) => say("developer", "input_text", text, start, items),
            (Part::Text { text }, Role::User) => say("user", "input_text", text, start, items),
            (Part::Text { text }, Role::Assistant) => {
                release(&mut waiting, None, items);
                say("assistant", "output_text", text, start, items);
            }
            (Part::ToolCall { call }, Role::Assistant) => {
                release(&mut waiting, Some(&call.id.0), items);
                items.push(wire_call(call));
            }
            (Part::ToolResult { tool_call_id, text, .. }, Role::Tool) => {
                items.push(WireItem::FunctionCallOutput { call_id: &tool_call_id.0, output: text });
            }
            (Part::Reasoning { opaque, .. }, _) => waiting.extend(sealed(message, opaque.as_ref())),
            (Part::Image { .. }, _) => return Err(failure::cannot_send("images")),
            (Part::Audio { .. }, _) => return Err(failure::cannot_send("audio")),
            (Part::File { .. }, _) => return Err(failure::cannot_send("files")),
            (Part::Text { .. } | Part::ToolCall { .. } | Part::ToolResult { .. }, role) => {
                return Err(failure::misplaced(role));
            }
        }
    }
    Ok(())
}

/// The item that this protocol left with a reasoning part.
fn sealed<'a>(message: &'a Message, opaque: Option<&'a Value>) -> Option<Waiting<'a>> {
    let opaque = opaque.filter(|opaque| opaque["provider"] == PROTOCOL)?;
    let item = opaque.get("item").filter(|item| item.is_object())?;
    let call = opaque["before"].as_str().filter(|id| message.tool_calls().any(|call| call.id.0 == **id));
    Some(Waiting { item, call })
}

/// Puts down the reasoning that led to what comes next.
fn release<'a>(waiting: &mut Vec<Waiting<'a>>, next: Option<&str>, items: &mut Vec<WireItem<'a>>) {
    waiting.retain(|reasoning| {
        let due = reasoning.call.is_none() || reasoning.call == next;
        if due {
            items.push(WireItem::Reasoning(reasoning.item));
        }
        !due
    });
}

/// Adds text to the message item that was begun last since `start`, or begins one.
fn say<'a>(
    role: &'static str,
    kind: &'static str,
    text: &'a str,
    start: usize,
    items: &mut Vec<WireItem<'a>>,
) {
    let text = WireText { r#type: kind, text };
    if let Some(WireItem::Message { content, .. }) = items[start..].last_mut() {
        content.push(text);
    } else {
        items.push(WireItem::Message { role, content: vec![text] });
    }
}

fn wire_call(call: &ToolCall) -> WireItem<'_> {
    let arguments = if call.input.is_null() { "{}".to_owned() } else { call.input.to_string() };
    WireItem::FunctionCall { call_id: &call.id.0, name: &call.name, arguments }
}

#[cfg(test)]
mod tests {
    use super::reasons;

    #[test]
    fn only_older_models_are_not_asked_for_reasoning() {
        for model in ["gpt-5", "gpt-5.1-codex", "o3", "o4-mini", "openai/gpt-5", "gpt-oss:20b", "x"] {
            assert!(reasons(model), "{model}");
        }
        for model in ["gpt-4o", "gpt-4.1-mini", "openai/gpt-4o", "chatgpt-4o-latest", "gpt-5-chat-latest"] {
            assert!(!reasons(model), "{model}");
        }
    }
}
