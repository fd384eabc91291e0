//! Tool calls as an editor sees them: their ids, titles and kinds, and the changes that they made.

use agent_client_protocol::v1::schema::{ToolCall as EditorCall, ToolCallLocation, ToolKind as EditorKind};
use ostler_acp::{to_call, to_plain_line};
use ostler_types::{ToolCall, ToolCallId, ToolKind, TurnId};
use std::path::Path;

/// How long a title is.
const MAX_TITLE_CHARS: usize = 200;
/// Bytes of an input that are passed on with its call; the title says what matters.
const MAX_INPUT_BYTES: usize = 64 * 1024;

/// The id of a call on this wire. A model's own ids need only be unique within a turn, and an editor's
/// throughout the session.
pub(super) fn wire_id(turn_id: Option<TurnId>, call: &ToolCallId) -> String {
    match turn_id {
        Some(turn_id) => format!("{turn_id}:{}", call.0),
        None => call.0.clone(),
    }
}

/// The call, as far as it is known before it runs.
pub(super) fn to_editor_call(
    turn_id: Option<TurnId>,
    call: &ToolCall,
    kind: ToolKind,
    workspace: &Path,
) -> EditorCall {
    let title = title(call);
    let mut told = to_call(call, kind, &title);
    told.tool_call_id = wire_id(turn_id, &call.id).into();
    told.kind = editor_kind(call, kind);
    if told.raw_input.as_ref().is_some_and(|input| input.to_string().len() > MAX_INPUT_BYTES) {
        told.raw_input = None;
    }
    if let Some(path) = text(call, "path") {
        let line = call.input["start_line"].as_u64().and_then(|line| u32::try_from(line).ok());
        told.locations = vec![ToolCallLocation::new(workspace.join(path)).line(line)];
    }
    told
}

/// What a call does, in a line.
fn title(call: &ToolCall) -> String {
    if let Some(said) = text(call, "_title") {
        return to_plain_line(said, MAX_TITLE_CHARS);
    }
    let subject = ["command", "path", "query", "url", "description"].iter().find_map(|name| text(call, name));
    match subject {
        Some(subject) if call.name == "shell" => to_plain_line(subject, MAX_TITLE_CHARS),
        Some(subject) => to_plain_line(&format!("{} {subject}", call.name), MAX_TITLE_CHARS),
        None => to_plain_line(&call.name, MAX_TITLE_CHARS),
    }
}

/// The protocol has more kinds than we have, so our own tools say more by their names.
fn editor_kind(call: &ToolCall, kind: ToolKind) -> EditorKind {
    match (call.name.as_str(), kind) {
        ("search" | "repo_map" | "repo_tree", _) => EditorKind::Search,
        ("task", _) => EditorKind::Other,
        (_, ToolKind::Read) => EditorKind::Read,
        (_, ToolKind::Write) => EditorKind::Edit,
        (_, ToolKind::Exec) => EditorKind::Execute,
        (_, ToolKind::Network) => EditorKind::Fetch,
    }
}

fn text<'a>(call: &'a ToolCall, name: &str) -> Option<&'a str> {
    call.input.get(name).and_then(|value| value.as_str())
}
