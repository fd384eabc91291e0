//! A message in this wire's words.

use ostler_types::{Message, Part};
use serde_json::{Value, json};

/// A message of the conversation that the model is shown, and its place in it.
pub(super) fn to_row(index: usize, message: &Message) -> Value {
    let mut row = json!({
        "index": index,
        "role": message.role.as_str(),
        "content": content(message),
        "tool_call_id": message.parts.iter().find_map(|part| match part {
            Part::ToolResult { tool_call_id, .. } => Some(tool_call_id),
            Part::Text { .. }
            | Part::Image { .. }
            | Part::Audio { .. }
            | Part::File { .. }
            | Part::Reasoning { .. }
            | Part::ToolCall { .. } => None,
        }),
    });
    let calls: Vec<Value> = message
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall { call } => {
                Some(json!({"id": call.id, "name": call.name, "arguments": call.input}))
            }
            Part::Text { .. }
            | Part::Image { .. }
            | Part::Audio { .. }
            | Part::File { .. }
            | Part::Reasoning { .. }
            | Part::ToolResult { .. } => None,
        })
        .collect();
    if !calls.is_empty() {
        row["tool_calls"] = calls.into();
    }
    row
}

/// What is said in a message: its text, and what a tool answered.
pub(super) fn content(message: &Message) -> String {
    let said = message.parts.iter().filter_map(|part| match part {
        Part::Text { text } | Part::ToolResult { text, .. } => Some(text.as_str()),
        Part::Image { .. }
        | Part::Audio { .. }
        | Part::File { .. }
        | Part::Reasoning { .. }
        | Part::ToolCall { .. } => None,
    });
    said.collect()
}
