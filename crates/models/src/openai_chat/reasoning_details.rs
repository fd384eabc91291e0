//! The `reasoning_details` of a stream, put together again. The server sends them in pieces and wants
//! them back whole.

use serde_json::{Map, Value};

/// How many details an answer may have.
const MAX_DETAILS: usize = 1024;
/// The fields that come in pieces.
const PIECES: [&str; 4] = ["text", "summary", "data", "signature"];

/// The details so far, in their order.
#[derive(Debug, Default)]
pub(super) struct ReasoningDetails(Vec<Map<String, Value>>);

impl ReasoningDetails {
    /// Takes the details of one chunk. What cannot be read is passed over, as an answer without them is
    /// better than none.
    pub(super) fn add(&mut self, json: &str) {
        if json == "[]" {
            return;
        }
        let Ok(pieces) = serde_json::from_str::<Vec<Map<String, Value>>>(json) else { return };
        for piece in pieces {
            let same = |detail: &Map<String, Value>| {
                ["type", "index"].iter().all(|field| detail.get(*field) == piece.get(*field))
                    && piece.get("index").is_some_and(Value::is_number)
            };
            match self.0.iter().rposition(same) {
                Some(place) => merge(&mut self.0[place], piece),
                None if self.0.len() < MAX_DETAILS => self.0.push(piece),
                None => {}
            }
        }
    }

    /// The whole details, if there were any.
    pub(super) fn take(&mut self) -> Option<Value> {
        let details: Vec<Value> = std::mem::take(&mut self.0).into_iter().map(Value::Object).collect();
        (!details.is_empty()).then_some(Value::Array(details))
    }
}

fn merge(detail: &mut Map<String, Value>, piece: Map<String, Value>) {
    for (field, value) in piece {
        match (detail.get_mut(&field), value) {
            (_, Value::Null) => {}
            (Some(Value::String(text)), Value::String(more)) if PIECES.contains(&field.as_str()) => {
                text.push_str(&more);
            }
            (Some(old), new) => *old = new,
            (None, new) => {
                detail.insert(field, new);
            }
        }
    }
}
