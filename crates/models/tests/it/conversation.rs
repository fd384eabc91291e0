//! Short ways to write down conversations and to read answers.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use jiff::Timestamp;
use ostler_models::{ModelError, ModelEvent, ModelRequest};
use ostler_types::{Message, MessageId, Part, Role, ToolCall, ToolCallId, ToolSpec};
use serde_json::{Value, json};

pub(crate) fn message(role: Role, parts: Vec<Part>) -> Arc<Message> {
    Arc::new(Message {
        id: MessageId::new(uuid::Uuid::nil()),
        role,
        parts,
        created_at: Timestamp::UNIX_EPOCH,
    })
}

pub(crate) fn user(text: &str) -> Arc<Message> {
    message(Role::User, vec![Part::text(text)])
}

pub(crate) fn assistant(text: &str) -> Arc<Message> {
    message(Role::Assistant, vec![Part::text(text)])
}

pub(crate) fn call(id: &str, name: &str, input: Value) -> Part {
    Part::ToolCall { call: ToolCall { id: ToolCallId(id.to_owned()), name: name.to_owned(), input } }
}

pub(crate) fn result(id: &str, name: &str, ok: bool, text: &str) -> Arc<Message> {
    let (tool_call_id, name, text) = (ToolCallId(id.to_owned()), name.to_owned(), text.to_owned());
    message(Role::Tool, vec![Part::ToolResult { tool_call_id, name, ok, text, images: Vec::new() }])
}

pub(crate) fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: format!("Does {name}."),
        input_schema: json!({"type": "object", "properties": {}}),
    }
}

pub(crate) fn request(messages: Vec<Arc<Message>>, tools: &[&str]) -> ModelRequest {
    let tools: Vec<ToolSpec> = tools.iter().map(|name| tool(name)).collect();
    ModelRequest { tools: tools.into(), ..ModelRequest::new(messages) }
}

/// A whole answer, put together.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct CollectedAnswer {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) opaque: Vec<Value>,
    pub(crate) calls: Vec<(Option<String>, String, String)>,
    pub(crate) stop: Option<String>,
    pub(crate) error: Option<ModelError>,
}

impl CollectedAnswer {
    pub(crate) fn code(&self) -> Option<&'static str> {
        self.error.as_ref().map(|error| error.code)
    }

    pub(crate) fn stop(&self) -> &str {
        self.stop.as_deref().unwrap_or_default()
    }
}

/// Reads an answer to its end, and checks that nothing follows a stop or an error.
pub(crate) async fn read(mut stream: BoxStream<'static, Result<ModelEvent, ModelError>>) -> CollectedAnswer {
    let mut answer = CollectedAnswer::default();
    while let Some(event) = stream.next().await {
        assert!(answer.stop.is_none() && answer.error.is_none(), "{event:?} after the end of {answer:?}");
        match event {
            Ok(ModelEvent::Text(text)) => answer.text.push_str(&text),
            Ok(ModelEvent::Reasoning(text)) => answer.reasoning.push_str(&text),
            Ok(ModelEvent::ReasoningOpaque(value)) => answer.opaque.push(value),
            Ok(ModelEvent::CallStarted { index, id, name }) => {
                assert_eq!(index, answer.calls.len());
                answer.calls.push((id, name, String::new()));
            }
            Ok(ModelEvent::CallInput { index, fragment }) => answer.calls[index].2.push_str(&fragment),
            Ok(ModelEvent::Usage(_) | ModelEvent::Waiting { .. }) => {}
            Ok(ModelEvent::Stop(reason)) => answer.stop = Some(reason),
            Err(error) => answer.error = Some(error),
        }
    }
    answer
}
