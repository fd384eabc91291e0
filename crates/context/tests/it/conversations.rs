//! Conversations for tests: written down in a line, or made up by proptest.

use std::sync::Arc;

use jiff::Timestamp;
use ostler_types::{Message, MessageId, Part, Role, ToolCall, ToolCallId};
use proptest::prelude::{Just, Strategy, prop, prop_oneof};
use serde_json::json;
use uuid::Uuid;

/// A message of one part each.
pub(crate) fn message(number: usize, role: Role, parts: Vec<Part>) -> Arc<Message> {
    let id = MessageId::new(Uuid::from_u128(number as u128));
    Arc::new(Message { id, role, parts, created_at: Timestamp::UNIX_EPOCH })
}

pub(crate) fn call_id(name: &str) -> ToolCallId {
    ToolCallId(name.to_owned())
}

pub(crate) fn call(id: &str) -> Part {
    Part::ToolCall {
        call: ToolCall { id: call_id(id), name: "shell".to_owned(), input: json!({"command": "x"}) },
    }
}

pub(crate) fn result(id: &str, text: impl Into<String>) -> Part {
    Part::ToolResult {
        tool_call_id: call_id(id),
        name: "shell".to_owned(),
        ok: true,
        text: text.into(),
        images: Vec::new(),
    }
}

/// One thing that happens in a conversation.
#[derive(Debug, Clone)]
pub(crate) enum Happening {
    Said(usize),
    Noted(usize),
    Answered(usize),
    /// A message with calls, and the sizes of their results.
    Worked(Vec<usize>),
}

/// Conversations that could have been recorded, beginning with what a user said.
pub(crate) fn conversations() -> impl Strategy<Value = Vec<Arc<Message>>> {
    let size = || prop_oneof![Just(10usize), 1usize..400, 1_000usize..6_000];
    let happening = prop_oneof![
        size().prop_map(Happening::Said),
        size().prop_map(Happening::Noted),
        size().prop_map(Happening::Answered),
        prop::collection::vec(size(), 1..4).prop_map(Happening::Worked),
    ];
    prop::collection::vec(happening, 0..40).prop_map(|happenings| recorded(&happenings))
}

/// What was recorded, with a wish of its own in everything that the user said.
pub(crate) fn recorded(happenings: &[Happening]) -> Vec<Arc<Message>> {
    let mut messages = vec![message(1, Role::User, vec![Part::text("wish-0. begin")])];
    for (number, happening) in happenings.iter().enumerate() {
        let next = messages.len() + 1;
        let said = |size: &usize| vec![Part::text(format!("wish-{}. {}", number + 1, "x".repeat(*size)))];
        match happening {
            Happening::Said(size) => messages.push(message(next, Role::User, said(size))),
            Happening::Noted(size) => messages.push(message(next, Role::System, said(size))),
            Happening::Answered(size) => messages.push(message(next, Role::Assistant, said(size))),
            Happening::Worked(sizes) => {
                let ids: Vec<String> = (0..sizes.len()).map(|at| format!("call-{next}-{at}")).collect();
                messages.push(message(next, Role::Assistant, ids.iter().map(|id| call(id)).collect()));
                for (id, size) in ids.iter().zip(sizes) {
                    let parts = vec![result(id, "y".repeat(*size))];
                    messages.push(message(messages.len() + 1, Role::Tool, parts));
                }
            }
        }
    }
    messages
}
