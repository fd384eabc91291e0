//! From a conversation to the body of a Messages request.
//!
//! The protocol has two roles that take turns, so neighbours of one role become one message, and a
//! tool's results stand first in the user's. The ends of the system prompt, the tools and the
//! conversation are marked for the provider's cache, which pays because a conversation only grows.

use std::borrow::Cow;

use ostler_types::{Message, Part, Role, ToolCall, ToolSpec};
use serde::Serialize;
use serde_json::{Value, json};

use super::PROVIDER;
use crate::{ModelError, ModelRequest, failure};

/// How long an answer may be; the protocol has no default.
const MAX_TOKENS: u32 = 8192;
/// Said for the user where the conversation ends with the model, which newer models refuse to go on from.
const GO_ON: &str = "Go on.";

/// The JSON to send. Fails on parts that this client cannot send, rather than leaving them out.
pub(super) fn body(model: &str, request: &ModelRequest) -> Result<Vec<u8>, ModelError> {
    let mut messages = Vec::new();
    for message in &request.messages {
        add(message, &mut messages)?;
    }
    if messages.last().is_some_and(|last| last.role == ASSISTANT) {
        push(&mut messages, USER, Block::text(GO_ON));
    }
    if let Some(last) = messages.last_mut().and_then(|message| message.content.last_mut()) {
        last.end_of_cache();
    }
    let system = request.system.as_deref().filter(|text| !is_blank(text));
    let mut tools: Vec<WireTool<'_>> = request.tools.iter().map(WireTool::of).collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(EPHEMERAL);
    }
    let body = Body {
        model,
        max_tokens: MAX_TOKENS,
        stream: true,
        system: system.map(|text| Block::Text { text: Cow::Borrowed(text), cache_control: Some(EPHEMERAL) }),
        tools,
        messages,
    };
    serde_json::to_vec(&body).map_err(|error| failure::unwritable(&error))
}

const USER: &str = "user";
const ASSISTANT: &str = "assistant";
const EPHEMERAL: CacheControl = CacheControl { r#type: "ephemeral" };

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    /// One block in an array, as only a block can be marked for the cache.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "in_array")]
    system: Option<Block<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
struct WireTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

impl<'a> WireTool<'a> {
    fn of(tool: &'a ToolSpec) -> WireTool<'a> {
        let ToolSpec { name, description, input_schema } = tool;
        WireTool { name, description, input_schema, cache_control: None }
    }
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
    /// How many blocks at the head are tool results.
    #[serde(skip)]
    results: usize,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: Cow<'a, Value>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        /// Absent where a tool said nothing, since an empty text is refused.
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// A block of the provider's own, as it came.
    #[serde(untagged)]
    Verbatim(&'a Value),
}

#[derive(Serialize, Clone, Copy)]
struct CacheControl {
    r#type: &'static str,
}

impl<'a> Block<'a> {
    fn text(text: impl Into<Cow<'a, str>>) -> Block<'a> {
        Block::Text { text: text.into(), cache_control: None }
    }

    fn end_of_cache(&mut self) {
        match self {
            Block::Text { cache_control, .. } | Block::ToolResult { cache_control, .. } => {
                *cache_control = Some(EPHEMERAL);
            }
            // Neither ends a user's message, and reasoning may not be marked.
            Block::ToolUse { .. } | Block::Verbatim(_) => {}
        }
    }
}

/// Adds what a message holds. What is blank is left out, as the provider refuses it.
fn add<'a>(message: &'a Message, messages: &mut Vec<WireMessage<'a>>) -> Result<(), ModelError> {
    for part in &message.parts {
        match (part, message.role) {
            (Part::Text { text }, Role::System | Role::User | Role::Assistant) if is_blank(text) => {}
            (Part::Text { text }, Role::User) => push(messages, USER, Block::text(text)),
            (Part::Text { text }, Role::Assistant) => push(messages, ASSISTANT, Block::text(text)),
            (Part::Text { text }, Role::System) => {
                push(messages, USER, Block::text(format!("System: {text}")));
            }
            (Part::ToolCall { call }, Role::Assistant) => push(messages, ASSISTANT, tool_use(call)),
            (Part::ToolResult { tool_call_id, ok, text, .. }, Role::Tool) => {
                push(messages, USER, tool_result(&tool_call_id.0, *ok, text));
            }
            (Part::Reasoning { opaque, .. }, Role::Assistant) => {
                if let Some(block) = opaque.as_ref().and_then(own_block) {
                    push(messages, ASSISTANT, Block::Verbatim(block));
                }
            }
            (Part::Reasoning { .. }, Role::System | Role::User | Role::Tool) => {}
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

/// Adds a block to the message of this role, and a tool's result before everything else that the user
/// said after the call.
fn push<'a>(messages: &mut Vec<WireMessage<'a>>, role: &'static str, block: Block<'a>) {
    match messages.last_mut() {
        Some(last) if last.role == role => last.add(block),
        Some(_) | None => {
            let mut message = WireMessage { role, content: Vec::new(), results: 0 };
            message.add(block);
            messages.push(message);
        }
    }
}

impl<'a> WireMessage<'a> {
    fn add(&mut self, block: Block<'a>) {
        if matches!(block, Block::ToolResult { .. }) {
            self.content.insert(self.results, block);
            self.results += 1;
        } else {
            self.content.push(block);
        }
    }
}

/// The input must be an object. One that the model broke is shown to it as it was.
fn tool_use(call: &ToolCall) -> Block<'_> {
    let input = match &call.input {
        Value::Object(_) => Cow::Borrowed(&call.input),
        Value::Null => Cow::Owned(json!({})),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Cow::Owned(json!({ "_raw": call.input }))
        }
    };
    Block::ToolUse { id: tool_use_id(&call.id.0), name: &call.name, input }
}

fn tool_result<'a>(id: &'a str, ok: bool, text: &'a str) -> Block<'a> {
    let content = (!is_blank(text)).then_some(text);
    Block::ToolResult { tool_use_id: tool_use_id(id), content, is_error: !ok, cache_control: None }
}

/// An id as this provider takes them. Another provider, which a session may have used before, can put
/// other characters there.
fn tool_use_id(id: &str) -> Cow<'_, str> {
    let taken = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if id.chars().all(taken) {
        return Cow::Borrowed(id);
    }
    let spelled = |c: char| if taken(c) { c.to_string() } else { format!("_{:x}_", u32::from(c)) };
    Cow::Owned(id.chars().map(spelled).collect())
}

/// The block in what was kept with reasoning, if it came from here.
fn own_block(opaque: &Value) -> Option<&Value> {
    let ours = opaque.get("provider").and_then(Value::as_str) == Some(PROVIDER);
    opaque.get("block").filter(|block| ours && block.is_object())
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn in_array<S: serde::Serializer>(block: &Option<Block<'_>>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(block)
}
