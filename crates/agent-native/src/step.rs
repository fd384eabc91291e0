//! One step: the model's answer, shown as it streams and recorded when it is whole.

use std::sync::Arc;

use futures_util::StreamExt;
use ostler_agent::Failed;
use ostler_models::{ModelError, ModelEvent, ModelRequest};
use ostler_types::{
    Delta, DeltaKind, Limits, Message, MessageId, Part, Report, Role, ToolCall, ToolCallId, Usage,
};
use serde_json::Value;

use crate::prompt;
use crate::turn::{Turn, model_failed};

/// Asks the model once. Returns the message, which is on disk, and why the model stopped.
pub(crate) async fn run_step(turn: &mut Turn<'_>) -> Result<(Arc<Message>, String), Failed> {
    let request = ModelRequest {
        system: Some(prompt::system(&turn.context.session)),
        messages: turn.conversation.clone(),
        tools: turn.agent.tools.specs(),
    };
    let mut answer = Answer::new(turn.context.message_id());
    let mut events = turn.model.stream(request);
    let stop_reason = loop {
        match events.next().await {
            Some(Ok(ModelEvent::Stop(reason))) => break reason,
            Some(Ok(event)) => {
                if let Some(delta) = answer.take(event).map_err(|error| model_failed(&error))? {
                    turn.context.delta(delta);
                }
            }
            Some(Err(error)) => return Err(model_failed(&error)),
            None => return Err(model_failed(&cut())),
        }
    };
    let usage = answer.usage;
    let message = answer.finish(turn);
    let report = Report::StepFinished { message: message.clone(), stop_reason: stop_reason.clone(), usage };
    turn.context.report(report).await?;
    let message = Arc::new(message);
    turn.conversation.push(Arc::clone(&message));
    Ok((message, stop_reason))
}

/// An answer as it comes in.
struct Answer {
    id: MessageId,
    parts: Vec<Part>,
    calls: Vec<CallInProgress>,
    usage: Usage,
    bytes: usize,
}

struct CallInProgress {
    index: usize,
    id: Option<String>,
    name: String,
    input: String,
}

impl Answer {
    fn new(id: MessageId) -> Answer {
        Answer { id, parts: Vec::new(), calls: Vec::new(), usage: Usage::default(), bytes: 0 }
    }

    /// Takes one event, and returns what is to be shown of it.
    fn take(&mut self, event: ModelEvent) -> Result<Option<Delta>, ModelError> {
        match event {
            // An empty piece opens no part, so that the parts keep the places that deltas named.
            ModelEvent::Text(text) | ModelEvent::Reasoning(text) if text.is_empty() => Ok(None),
            ModelEvent::Text(text) => {
                self.count(text.len())?;
                if !matches!(self.parts.last(), Some(Part::Text { .. })) {
                    self.parts.push(Part::text(""));
                }
                Ok(self.append(text))
            }
            ModelEvent::Reasoning(text) => {
                self.count(text.len())?;
                if !matches!(self.parts.last(), Some(Part::Reasoning { opaque: None, .. })) {
                    self.parts.push(Part::Reasoning { text: String::new(), opaque: None });
                }
                Ok(self.append(text))
            }
            ModelEvent::ReasoningOpaque(value) => {
                self.count(value.to_string().len())?;
                self.attach(value);
                Ok(None)
            }
            ModelEvent::CallStarted { index, id, name } => {
                self.count(name.len() + id.as_ref().map_or(0, String::len))?;
                if self.calls.len() >= Limits::CALLS {
                    return Err(too_many_calls());
                }
                self.calls.push(CallInProgress { index, id, name, input: String::new() });
                Ok(None)
            }
            ModelEvent::CallInput { index, fragment } => {
                self.count(fragment.len())?;
                if let Some(call) = self.calls.iter_mut().rev().find(|call| call.index == index) {
                    call.input.push_str(&fragment);
                }
                Ok(None)
            }
            ModelEvent::Usage(usage) => {
                self.usage = usage;
                Ok(None)
            }
            ModelEvent::Stop(_) => Ok(None),
        }
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

    /// Keeps what the provider wants back with the last reasoning, unless that has its own already.
    fn attach(&mut self, value: Value) {
        let last = self.parts.iter_mut().rev().find(|part| matches!(part, Part::Reasoning { .. }));
        match last {
            Some(Part::Reasoning { opaque: opaque @ None, .. }) => *opaque = Some(value),
            _ => self.parts.push(Part::Reasoning { text: String::new(), opaque: Some(value) }),
        }
    }

    /// An answer without end must end here rather than in the log.
    fn count(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes += bytes;
        if self.bytes <= Limits::MESSAGE_BYTES {
            return Ok(());
        }
        Err(ModelError {
            code: "answer_too_long",
            message: format!(
                "the model's answer went beyond {} bytes and was stopped",
                Limits::MESSAGE_BYTES
            ),
            hint: Some("the text so far is kept; ask for a shorter answer".to_owned()),
        })
    }

    /// The whole message. Calls get ids that are unique in the session.
    fn finish(self, turn: &mut Turn<'_>) -> Message {
        let mut parts = self.parts;
        for call in self.calls {
            let own = call.id.filter(|id| !id.is_empty()).map(ToolCallId);
            let fresh = || ToolCallId(format!("call_{}", turn.context.clock.uuid().simple()));
            let id = own.filter(|id| !turn.call_ids.contains(id)).unwrap_or_else(fresh);
            turn.call_ids.insert(id.clone());
            parts.push(Part::ToolCall { call: ToolCall { id, name: call.name, input: input(&call.input) } });
        }
        let created_at = turn.context.clock.now();
        Message { id: self.id, role: Role::Assistant, parts, created_at }
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
    ModelError {
        code: "too_many_calls",
        message: format!("the model asked for more than {} calls in one answer; none was run", Limits::CALLS),
        hint: Some("ask for smaller steps".to_owned()),
    }
}

fn cut() -> ModelError {
    ModelError {
        code: "cut_stream",
        message: "the model's answer ended before it was whole".to_owned(),
        hint: Some("the text so far is kept; retry the turn".to_owned()),
    }
}
