//! What the requests of all protocols share: how pictures and files travel, which ids and names a
//! provider takes, how a model is told to think, and whose sealed reasoning goes back to whom. How a
//! request is laid out is left to each protocol.

pub(crate) mod attachment;
pub(crate) mod call_ids;
pub(crate) mod effort;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod quirks;
pub(crate) mod reasoning_origin;

use std::borrow::Cow;

use serde_json::{Value, json};

/// Said for the user where a conversation would end with the model, which many models refuse to go on
/// from.
pub(crate) const CONTINUE_PROMPT: &str = "Continue.";

/// A call's input as an object, which is all that providers and the templates of open models take. One
/// that the model broke is shown to it as it was.
pub(crate) fn object_input(input: &Value) -> Cow<'_, Value> {
    match input {
        Value::Object(_) => Cow::Borrowed(input),
        Value::Null => Cow::Owned(json!({})),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Cow::Owned(json!({ "_raw": input }))
        }
    }
}

/// How a message of role `system` inside a conversation is worded for a provider that has no such role
/// there.
pub(crate) fn system_note(text: &str) -> String {
    format!("System: {text}")
}

/// Whether a text says nothing. Several providers refuse those.
pub(crate) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
