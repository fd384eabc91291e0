//! Conversations and models to write requests from.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use ostler_types::{Ability, Message, MessageId, Part, Picture, Role, ToolCall, ToolCallId, ToolSpec};
use serde_json::{Value, json};

use crate::profile::{ModelProfile, ThinkingControl};
use crate::{ModelError, ModelRequest};

pub(crate) fn message(role: Role, parts: Vec<Part>) -> Arc<Message> {
    let id = MessageId::new(uuid::Uuid::nil());
    Arc::new(Message { id, role, parts, created_at: Timestamp::UNIX_EPOCH })
}

pub(crate) fn user(text: &str) -> Arc<Message> {
    message(Role::User, vec![Part::text(text)])
}

pub(crate) fn assistant(parts: Vec<Part>) -> Arc<Message> {
    message(Role::Assistant, parts)
}

pub(crate) fn call(id: &str, name: &str, input: Value) -> Part {
    Part::ToolCall { call: ToolCall { id: ToolCallId(id.to_owned()), name: name.to_owned(), input } }
}

pub(crate) fn result(id: &str, name: &str, ok: bool, text: &str, images: &[&str]) -> Arc<Message> {
    let picture =
        |reference: &&str| Picture { reference: (*reference).to_owned(), mime_type: "image/png".to_owned() };
    let result = Part::ToolResult {
        tool_call_id: ToolCallId(id.to_owned()),
        name: name.to_owned(),
        ok,
        text: text.to_owned(),
        images: images.iter().map(picture).collect(),
    };
    message(Role::Tool, vec![result])
}

pub(crate) fn reasoning(text: &str, opaque: Option<Value>) -> Part {
    Part::Reasoning { text: text.to_owned(), opaque }
}

pub(crate) fn image(reference: &str, mime_type: &str) -> Part {
    Part::Image { reference: reference.to_owned(), mime_type: mime_type.to_owned() }
}

pub(crate) fn file(reference: &str, mime_type: &str) -> Part {
    Part::File { reference: reference.to_owned(), mime_type: mime_type.to_owned() }
}

/// The files that the fixtures refer to.
fn files() -> Arc<HashMap<String, Bytes>> {
    let files: [(&str, &'static [u8]); 5] = [
        ("attachments/a.png", b"PNG?"),
        ("attachments/b.pdf", b"PDF"),
        ("attachments/c.txt", "gr\u{fc}n \"x\"".as_bytes()),
        ("attachments/d.txt", b"\xff\xfe"),
        ("attachments/empty.png", b""),
    ];
    let large = ("attachments/large.png".to_owned(), Bytes::from(vec![0; 21 * 1024 * 1024]));
    let files = files.map(|(name, bytes)| (name.to_owned(), Bytes::from_static(bytes)));
    Arc::new(files.into_iter().chain([large]).collect())
}

pub(crate) fn request(messages: Vec<Arc<Message>>) -> ModelRequest {
    ModelRequest { files: files(), ..ModelRequest::new(messages) }
}

pub(crate) fn tools() -> Arc<[ToolSpec]> {
    let shell = ToolSpec {
        name: "shell".to_owned(),
        description: "Runs.".to_owned(),
        input_schema: json!({"type": "object"}),
    };
    Arc::from([shell])
}

/// A model of provider `home`.
pub(crate) fn model(id: &str, thinking: ThinkingControl) -> ModelProfile {
    ModelProfile { thinking, ..ModelProfile::unknown("home", id) }
}

/// A model that can do these things and nothing else.
pub(crate) fn model_with_abilities(abilities: &[Ability]) -> ModelProfile {
    let mut profile = ModelProfile::unknown("home", "m");
    profile.info.abilities = Some(abilities.to_vec());
    profile
}

/// The JSON that was written.
pub(crate) fn json_of(body: &Result<Vec<u8>, ModelError>) -> Value {
    serde_json::from_slice(body.as_ref().unwrap()).unwrap()
}

/// What was written of a field, as text.
pub(crate) fn field(body: &Result<Vec<u8>, ModelError>, name: &str) -> String {
    json_of(body)[name].to_string()
}
