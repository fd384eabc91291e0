//! The model's side of a script: which step follows from what has been said. It keeps nothing of its own.

use serde_json::{Value, json};

use crate::raw_server::{RawServerReply, RawServerRequest};

/// What a prompt with a script begins with.
const SCRIPT: &str = "play ";

/// What the model says when it is asked to sum up.
const NOTES: &str = "notes of what was said";

/// The prompt that has a model play these steps.
pub(crate) fn prompt(steps: &[Value]) -> String {
    format!("{SCRIPT}{}", Value::from(steps))
}

/// The step of the newest script that comes after what the model has said since. A text is a step too.
pub(super) fn next_step(asked: &RawServerRequest) -> RawServerReply {
    let messages = asked.body["messages"].as_array().unwrap();
    let found =
        messages.iter().enumerate().rev().find_map(|(index, message)| Some((index, script(message)?)));
    // Without tools there is nothing to play: the model is asked to sum up what was said.
    let (from, steps) = match found {
        Some(found) => found,
        None if asked.body["tools"].is_null() => return RawServerReply::chat(&[NOTES.to_owned()]),
        None => panic!("the prompt holds a script"),
    };
    let said = |messages: &[Value]| messages.iter().filter(|message| message["role"] == "assistant").count();
    let total = said(messages);
    match steps.get(said(&messages[from..])) {
        Some(Value::Array(calls)) => calls_reply(calls, total),
        Some(Value::String(text)) => RawServerReply::chat(std::slice::from_ref(text)),
        _ => RawServerReply::chat(&["done".to_owned()]),
    }
}

fn script(message: &Value) -> Option<Vec<Value>> {
    if message["role"] != "user" {
        return None;
    }
    let texts: Vec<&str> = match &message["content"] {
        Value::String(text) => vec![text],
        parts => parts.as_array()?.iter().filter_map(|part| part["text"].as_str()).collect(),
    };
    // Neighbours of one role are one message, so an older script may stand before the newest.
    let mut lines = texts.into_iter().flat_map(str::lines).rev();
    let script = lines.find_map(|line| line.strip_prefix(SCRIPT))?;
    // More words may follow in the same line.
    serde_json::Deserializer::from_str(script).into_iter().next()?.ok()
}

fn calls_reply(calls: &[Value], total: usize) -> RawServerReply {
    let of_call = |(index, call): (usize, &Value)| {
        let function = json!({"name": call["name"], "arguments": call["input"].to_string()});
        json!({"index": index, "id": format!("call-{total}-{index}"), "type": "function", "function": function})
    };
    let calls: Vec<Value> = calls.iter().enumerate().map(of_call).collect();
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!("data: {}\n\n", json!({"object": "chat.completion.chunk", "choices": [choice]}))
    };
    let pieces = vec![
        chunk(json!({"tool_calls": calls}), Value::Null),
        chunk(json!({}), json!("tool_calls")),
        "data: [DONE]\n\n".to_owned(),
    ];
    RawServerReply { status: "200 OK", kind: "text/event-stream", pieces, together: None }
}
