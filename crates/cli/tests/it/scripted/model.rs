//! The model's side of a script: which step follows from what has been said. It keeps nothing of its own.

use serde_json::{Value, json};

use crate::raw_server::{Asked, Reply};

/// What a prompt with a script begins with.
const SCRIPT: &str = "play ";

/// The prompt that has a model play these steps.
pub(super) fn prompt(steps: &[Value]) -> String {
    format!("{SCRIPT}{}", Value::from(steps))
}

/// The step of the newest script that comes after what the model has said since. A text is a step too.
pub(super) fn next_step(asked: &Asked) -> Reply {
    let messages = asked.body["messages"].as_array().unwrap();
    let found =
        messages.iter().enumerate().rev().find_map(|(index, message)| Some((index, script(message)?)));
    let (from, steps) = found.expect("the prompt holds a script");
    let said = |messages: &[Value]| messages.iter().filter(|message| message["role"] == "assistant").count();
    let total = said(messages);
    match steps.get(said(&messages[from..])) {
        Some(Value::Array(calls)) => calls_reply(calls, total),
        Some(Value::String(text)) => Reply::chat(std::slice::from_ref(text)),
        _ => Reply::chat(&["done".to_owned()]),
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
    let script = texts.into_iter().find_map(|text| text.strip_prefix(SCRIPT))?;
    serde_json::from_str(script).ok()
}

fn calls_reply(calls: &[Value], total: usize) -> Reply {
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
    Reply { status: "200 OK", kind: "text/event-stream", pieces, together: None }
}
