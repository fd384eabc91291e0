//! What came of a tool call.

use std::path::Path;

use agent_client_protocol::v1::schema::{
    Diff, ToolCall as AgentCall, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields,
};
use ostler_types::{Part, ToolResult};
use ostler_workspace_fs::{DiffNames, LineComparison};
use serde_json::{Value, json};

use crate::content::{AcpContentPiece, from_block};
use crate::diffs::to_diffs;
use crate::plain_text::to_plain_line;

/// How much diff text one call gives, over all its files.
const MAX_DIFF_BYTES: usize = 256 * 1024;
/// How long a text may be that is compared line by line.
const MAX_COMPARED_BYTES: usize = 4 * 1024 * 1024;
/// How much of an agent's own structure is kept.
const MAX_RAW_BYTES: usize = 64 * 1024;
/// How many files one call lists.
const MAX_FILES: usize = 200;

/// What came of a call, before it is put where it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct AcpCallOutcome {
    /// What it said.
    pub text: String,
    /// Pictures that belong to it, each with its type.
    pub images: Vec<(String, Vec<u8>)>,
    /// The terminals whose output belongs to it.
    pub terminals: Vec<String>,
    /// What it did, in structure.
    pub details: Value,
}

/// What the agent says came of its call. Paths in the workspace are given from there on.
pub fn from_outcome(call: &AgentCall, workspace: &Path) -> AcpCallOutcome {
    let (mut texts, mut images, mut terminals, mut files) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut room = MAX_DIFF_BYTES;
    for content in &call.content {
        match content {
            ToolCallContent::Content(content) => match from_block(&content.content) {
                AcpContentPiece::Text(text) => texts.push(text),
                AcpContentPiece::Image { mime_type, bytes } => images.push((mime_type, bytes)),
                AcpContentPiece::Audio { mime_type, .. } => texts.push(format!("[a sound: {mime_type}]")),
                AcpContentPiece::File { name, bytes, .. } => match String::from_utf8(bytes) {
                    Ok(text) => texts.push(text),
                    Err(_) => texts.push(format!("[a file: {}]", to_plain_line(&name, 500))),
                },
                AcpContentPiece::Link { name, uri } => {
                    texts.push(format!("[{}]({})", to_plain_line(&name, 500), to_plain_line(&uri, 2_000)));
                }
            },
            ToolCallContent::Diff(diff) if files.len() < MAX_FILES => {
                files.push(changed_file(diff, workspace, &mut room));
            }
            ToolCallContent::Terminal(terminal) => terminals.push(terminal.terminal_id.0.to_string()),
            _ => {}
        }
    }
    if texts.is_empty() && images.is_empty() {
        texts.extend(call.raw_output.as_ref().and_then(raw_text));
    }
    if texts.is_empty() {
        let paths = files.iter().filter_map(|file: &Value| file["path"].as_str());
        texts.extend(paths.map(|path| format!("Changed {}.", to_plain_line(path, 2_000))));
    }
    let details = details(call, files);
    AcpCallOutcome { text: texts.join("\n"), images, terminals, details }
}

/// What came of our own call, for an editor. Paths of files are those of the workspace, which they are in.
pub fn to_call_update(result: &ToolResult, workspace: &Path) -> ToolCallUpdate {
    let status = if result.ok { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
    let texts = result.parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(ToolCallContent::from(text.clone())),
        _ => None,
    });
    let mut content: Vec<ToolCallContent> = texts.collect();
    let files = result.details.as_ref().and_then(|details| details["files"].as_array());
    let mut places = Vec::new();
    for file in files.into_iter().flatten().take(MAX_FILES) {
        let Some(path) = file["path"].as_str().map(|path| workspace.join(path)) else { continue };
        let unified = file["diff"].as_str().unwrap_or_default();
        let diffs = to_diffs(&path, file["action"] == "add", unified);
        content.extend(diffs.into_iter().map(ToolCallContent::from));
        places.push(ToolCallLocation::new(path));
    }
    let mut fields = ToolCallUpdateFields::new().status(status).content(content);
    if !places.is_empty() {
        fields = fields.locations(places);
    }
    if let Some(details) = &result.details {
        fields = fields.raw_output(details.clone());
    }
    ToolCallUpdate::new(result.id.0.clone(), fields)
}

fn changed_file(diff: &Diff, workspace: &Path, room: &mut usize) -> Value {
    let path = diff.path.strip_prefix(workspace).unwrap_or(&diff.path).to_string_lossy().into_owned();
    let old = diff.old_text.as_deref();
    let action = if old.is_none() { "add" } else { "update" };
    let mut file = json!({"path": path, "action": action});
    if old.map_or(0, str::len) + diff.new_text.len() > MAX_COMPARED_BYTES {
        file["truncated"] = json!(true);
        return file;
    }
    let comparison = LineComparison::new(old.unwrap_or_default().as_bytes(), diff.new_text.as_bytes());
    let (added, removed) = comparison.counts();
    let names = DiffNames { old: old.map(|_| path.as_str()), new: Some(&path) };
    let (text, truncated) = comparison.unified_diff(names, *room);
    *room -= text.len().min(*room);
    file["added"] = json!(added);
    file["removed"] = json!(removed);
    file["diff"] = json!(text);
    if truncated {
        file["truncated"] = json!(true);
    }
    file
}

fn details(call: &AgentCall, files: Vec<Value>) -> Value {
    let mut details = json!({"title": to_plain_line(&call.title, 500)});
    if !files.is_empty() {
        details["files"] = Value::Array(files);
    }
    if let Some(raw) = &call.raw_output
        && raw.is_object()
        && raw.to_string().len() <= MAX_RAW_BYTES
    {
        details["raw_output"] = raw.clone();
    }
    let code = call
        .raw_output
        .as_ref()
        .and_then(|raw| ["exit_code", "exitCode"].iter().find_map(|name| raw.get(name)?.as_i64()));
    if let Some(code) = code {
        details["exit_code"] = json!(code);
    }
    details
}

/// The words of an agent's own structure, where it has some.
fn raw_text(raw: &Value) -> Option<String> {
    let named = ["formatted_output", "aggregated_output", "output", "stdout", "text", "content", "error"];
    match raw {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Object(members) => {
            let found = named.iter().find_map(|name| members.get(*name)?.as_str());
            Some(found.map_or_else(|| raw.to_string(), str::to_owned))
        }
        other => Some(other.to_string()),
    }
}
