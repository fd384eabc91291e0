//! An answer as it comes in: pieces of text, reasoning and calls become a message, part by part and in
//! their order.

use ostler_models::{ModelError, ModelEvent};
use ostler_types::{
    Delta, DeltaKind, Message, MessageId, Part, Role, StateLimits, ToolCall, ToolCallId, Usage,
};
use serde_json::Value;

use crate::turn::NativeTurn;

/// What there is of an answer.
pub(crate) struct StreamedAnswer {
    id: MessageId,
    parts: Vec<Part>,
    calls: Vec<CallInProgress>,
    pub(crate) usage: Usage,
    bytes: usize,
}

/// A call whose input is not whole yet; its part stands where the model put it.
struct CallInProgress {
    index: usize,
    part: usize,
    id: Option<String>,
    input: String,
}

impl StreamedAnswer {
    pub(crate) fn new(id: MessageId) -> StreamedAnswer {
        StreamedAnswer { id, parts: Vec::new(), calls: Vec::new(), usage: Usage::default(), bytes: 0 }
    }

    /// Whether the model has said anything yet. Before that, another one can be asked in its place.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Takes one event, and returns what is to be shown of it.
    pub(crate) fn apply_event(&mut self, event: ModelEvent) -> Result<Option<Delta>, ModelError> {
        match event {
            // An empty piece opens no part, so that the parts keep the places that deltas named.
            ModelEvent::Text(text) | ModelEvent::Reasoning(text) if text.is_empty() => Ok(None),
            ModelEvent::Text(text) => {
                self.count_bytes(text.len())?;
                if !matches!(self.parts.last(), Some(Part::Text { .. })) {
                    self.parts.push(Part::text(""));
                }
                Ok(self.append(text))
            }
            ModelEvent::Reasoning(text) => {
                self.count_bytes(text.len())?;
                if !matches!(self.parts.last(), Some(Part::Reasoning { opaque: None, .. })) {
                    self.parts.push(Part::Reasoning { text: String::new(), opaque: None });
                }
                Ok(self.append(text))
            }
            ModelEvent::ReasoningOpaque(value) => {
                self.count_bytes(value.to_string().len())?;
                self.attach_opaque(value);
                Ok(None)
            }
            ModelEvent::CallStarted { index, id, name } => {
                self.count_bytes(name.len() + id.as_ref().map_or(0, String::len))?;
                if self.calls.len() >= StateLimits::CALLS {
                    return Err(too_many_calls());
                }
                self.calls.push(CallInProgress { index, part: self.parts.len(), id, input: String::new() });
                let id = ToolCallId(String::new());
                self.parts.push(Part::ToolCall { call: ToolCall { id, name, input: Value::Null } });
                Ok(None)
            }
            ModelEvent::CallInput { index, fragment } => {
                self.count_bytes(fragment.len())?;
                if let Some(call) = self.calls.iter_mut().rev().find(|call| call.index == index) {
                    call.input.push_str(&fragment);
                }
                Ok(None)
            }
            ModelEvent::Usage(usage) => {
                self.usage = usage;
                Ok(None)
            }
            ModelEvent::Waiting { .. } | ModelEvent::Stop(_) => Ok(None),
        }
    }

    /// The whole message. Calls get ids that are unique in the session.
    pub(crate) fn into_message(mut self, turn: &mut NativeTurn<'_>) -> Message {
        for call in self.calls {
            let own = call.id.filter(|id| !id.is_empty()).map(ToolCallId);
            let fresh = || ToolCallId(format!("call_{}", turn.context.clock.uuid().simple()));
            let id = own.filter(|id| !turn.call_ids.contains(id)).unwrap_or_else(fresh);
            turn.call_ids.insert(id.clone());
            if let Part::ToolCall { call: whole } = &mut self.parts[call.part] {
                whole.id = id;
                whole.input = input(&call.input);
            }
        }
        let created_at = turn.context.clock.now();
        Message { id: self.id, role: Role::Assistant, parts: self.parts, created_at }
    }

    /// Adds to the last part.
    fn append(&mut self, more: String) -> Option<Delta> {
        let part = u32::try_from(self.parts.len() - 1).unwrap_or(u32::MAX);
        let message_id = self.id;
        let (text, kind) = match self.parts.last_mut()? {
            Part::Text { text } => (text, DeltaKind::Text { message_id, part }),
            Part::Reasoning { text, .. } => (text, DeltaKind::Reasoning { message_id, part }),
            _ => return None,
        };
        let offset = text.len() as u64;
        text.push_str(&more);
        Some(Delta { kind, offset, text: more })
    }

    /// Keeps what the provider wants back with the reasoning that has just been streamed; without any,
    /// it is reasoning of which there is no text.
    fn attach_opaque(&mut self, value: Value) {
        match self.parts.last_mut() {
            Some(Part::Reasoning { opaque: opaque @ None, .. }) => *opaque = Some(value),
            _ => self.parts.push(Part::Reasoning { text: String::new(), opaque: Some(value) }),
        }
    }

    /// An answer without end must end here rather than in the log.
    fn count_bytes(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes += bytes;
        if self.bytes <= StateLimits::MESSAGE_BYTES {
            return Ok(());
        }
        let limit = StateLimits::MESSAGE_BYTES;
        let message = format!("the model's answer went beyond {limit} bytes and was stopped");
        Err(ModelError::new("answer_too_long", message)
            .hint("the text so far is kept; ask for a shorter answer"))
    }
}

/// A call's input. What is not JSON stays as a string, and the call comes back as an error.
fn input(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

fn too_many_calls() -> ModelError {
    let message =
        format!("the model asked for more than {} calls in one answer; none was run", StateLimits::CALLS);
    ModelError::new("too_many_calls", message).hint("ask for smaller steps")
}
