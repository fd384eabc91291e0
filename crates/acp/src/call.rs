//! Tool calls of an agent. Their kind, title and places are the agent's word: they are shown as such, and
//! nothing is ever allowed because of them.

use std::path::PathBuf;

use agent_client_protocol::v1::schema::{
    ToolCall as AgentCall, ToolCallContent, ToolCallStatus, ToolKind as AgentKind,
};
use ostler_types::{ToolCall, ToolCallId, ToolKind};
use serde_json::{Map, Value, json};

use crate::plain_text::to_plain_line;

/// How much of one text of an input is kept.
const MAX_TEXT_BYTES: usize = 256 * 1024;
/// How much of an input is kept that has many texts.
const MAX_INPUT_BYTES: usize = 768 * 1024;
/// How many places and changes are listed with a call.
const MAX_LISTED: usize = 64;
/// Prefix of the recorded tool names of third-party agents.
pub const AGENT_TOOL_PREFIX: &str = "acp__";
/// How long a title is shown.
const TITLE_LENGTH: usize = 500;
/// How long the words are by which a call is summed up.
const SUMMARY_LENGTH: usize = 4_000;

/// The members of an input that hold a path, by the names that agents give them.
const PATHS: [&str; 8] =
    ["file_path", "path", "filePath", "abs_path", "absolute_path", "notebook_path", "filename", "dir_path"];
/// The members of an input that hold an address.
const ADDRESSES: [&str; 2] = ["url", "uri"];

/// The call as it is recorded, under this id. Its name tells whose it is, so that no rule for our own tools
/// covers it. What the agent says besides its arguments has names that begin with `_`.
pub fn from_call(agent: &str, id: ToolCallId, call: &AgentCall) -> ToolCall {
    let mut input = match call.raw_input.clone() {
        Some(Value::Object(members)) => members,
        Some(Value::Null) | None => Map::new(),
        Some(other) => Map::from_iter([("value".to_owned(), other)]),
    };
    input.retain(|name, _| !name.starts_with('_'));
    let mut input = Value::Object(input);
    truncate_texts(&mut input);
    if input.to_string().len() > MAX_INPUT_BYTES {
        input = json!({ "left_out": "the arguments are too long to be kept" });
    }
    let listed: Vec<Value> = call.locations.iter().take(MAX_LISTED).map(|place| json!(place.path)).collect();
    input["_title"] = json!(to_plain_line(&call.title, TITLE_LENGTH));
    if !listed.is_empty() {
        input["_locations"] = Value::Array(listed);
    }
    ToolCall { id, name: tool_name(agent, call), input }
}

/// Our own call as an editor is told of it.
pub fn to_call(call: &ToolCall, kind: ToolKind, title: &str) -> AgentCall {
    let kind = match kind {
        ToolKind::Read => AgentKind::Read,
        ToolKind::Write => AgentKind::Edit,
        ToolKind::Exec => AgentKind::Execute,
        ToolKind::Network => AgentKind::Fetch,
    };
    AgentCall::new(call.id.0.clone(), title.to_owned())
        .name(call.name.clone())
        .kind(kind)
        .raw_input(call.input.clone())
}

/// Whether the call is over, and whether it did what was asked.
pub fn has_ended(call: &AgentCall) -> Option<bool> {
    match call.status {
        ToolCallStatus::Completed => Some(true),
        ToolCallStatus::Failed => Some(false),
        _ => None,
    }
}

/// What the call touches: what its arguments show, or what the agent says, whichever is the more. A kind that
/// is not known could be anything.
pub fn call_kind(call: &AgentCall) -> ToolKind {
    let said = match call.kind {
        AgentKind::Read | AgentKind::Search | AgentKind::Think => ToolKind::Read,
        AgentKind::Edit | AgentKind::Delete | AgentKind::Move => ToolKind::Write,
        AgentKind::Fetch => ToolKind::Network,
        _ => ToolKind::Exec,
    };
    let named = subjects(call);
    let seen = if !named.commands.is_empty() {
        ToolKind::Exec
    } else if call.content.iter().any(|content| matches!(content, ToolCallContent::Diff(_))) {
        ToolKind::Write
    } else {
        ToolKind::Read
    };
    if strictness(seen) > strictness(said) { seen } else { said }
}

/// What a call names in its arguments and its changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subjects {
    /// The command lines that it runs.
    pub commands: Vec<String>,
    /// The files that it changes or reads.
    pub paths: Vec<PathBuf>,
    /// The addresses that it reaches.
    pub addresses: Vec<String>,
}

/// What the call names, as far as its arguments can be read.
pub fn subjects(call: &AgentCall) -> Subjects {
    let mut found = Subjects::default();
    let changes = call.content.iter().filter_map(|content| match content {
        ToolCallContent::Diff(diff) => Some(diff.path.clone()),
        _ => None,
    });
    found.paths.extend(changes.take(MAX_LISTED));
    let Some(Value::Object(members)) = &call.raw_input else { return found };
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let paths = PATHS.iter().filter_map(|name| text(name)).map(PathBuf::from);
    let paths: Vec<PathBuf> = paths.filter(|path| !found.paths.contains(path)).collect();
    found.paths.extend(paths);
    found.addresses.extend(ADDRESSES.iter().filter_map(|name| text(name)).map(str::to_owned));
    for name in ["command", "cmd", "script"] {
        match members.get(name) {
            Some(Value::String(line)) => found.commands.push(line.clone()),
            Some(Value::Array(words)) => {
                let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                found.commands.push(words.join(" "));
            }
            _ => {}
        }
    }
    found
}

/// What the call will do, for the person who approves it: first what its arguments say, then, marked as such,
/// what the agent says.
pub fn summary(call: &AgentCall) -> String {
    let Subjects { commands, paths, addresses } = subjects(call);
    let lines =
        |what: &str, named: Vec<String>| (!named.is_empty()).then(|| format!("{what} {}", named.join(", ")));
    let shown = |path: &PathBuf| to_plain_line(&path.to_string_lossy(), SUMMARY_LENGTH);
    let verb = if call_kind(call) == ToolKind::Read { "look at" } else { "touch" };
    let mut said: Vec<String> =
        commands.iter().map(|line| format!("run {}", to_plain_line(line, SUMMARY_LENGTH))).collect();
    said.extend(lines(verb, paths.iter().map(shown).collect()));
    said.extend(lines("reach", addresses.iter().map(|uri| to_plain_line(uri, SUMMARY_LENGTH)).collect()));
    if said.is_empty() {
        said.push(match &call.raw_input {
            Some(input) => format!("a call with {}", to_plain_line(&input.to_string(), SUMMARY_LENGTH)),
            None => "a call of which the agent gives no arguments".to_owned(),
        });
    }
    format!("{}\nThe agent says: {}", said.join("; "), to_plain_line(&call.title, TITLE_LENGTH))
}

/// The tool's name, in letters that every provider takes.
fn tool_name(agent: &str, call: &AgentCall) -> String {
    let kind = match call.kind {
        AgentKind::Read => "read",
        AgentKind::Edit => "edit",
        AgentKind::Delete => "delete",
        AgentKind::Move => "move",
        AgentKind::Search => "search",
        AgentKind::Execute => "execute",
        AgentKind::Think => "think",
        AgentKind::Fetch => "fetch",
        AgentKind::SwitchMode => "switch_mode",
        _ => "tool",
    };
    let safe = |text: &str, limit: usize| -> String {
        let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        text.chars().map(safe).take(limit).collect()
    };
    let tool = call.name.as_deref().filter(|name| !name.is_empty()).unwrap_or(kind);
    format!("{AGENT_TOOL_PREFIX}{}__{}", safe(agent, 20), safe(tool, 36))
}

fn strictness(kind: ToolKind) -> u8 {
    match kind {
        ToolKind::Read => 0,
        ToolKind::Write => 1,
        ToolKind::Network => 2,
        ToolKind::Exec => 3,
    }
}

/// Cuts texts that are too long to be kept, and says so in them.
fn truncate_texts(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > MAX_TEXT_BYTES => {
            let whole = text.len();
            text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
            text.push_str(&format!(" [cut: it has {whole} bytes]"));
        }
        Value::Array(values) => values.iter_mut().for_each(truncate_texts),
        Value::Object(members) => members.values_mut().for_each(truncate_texts),
        _ => {}
    }
}
