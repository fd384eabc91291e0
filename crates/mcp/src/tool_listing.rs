//! What a server says of its tools, made fit for a model: named, cleaned, cut, counted. Nothing that a
//! server says here makes its tools count as more harmless than their owner said.

use std::sync::Arc;

use ostler_types::{ToolKind, ToolSpec};
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::config::ServerConfig;
use crate::server_text::{head, strip_hidden};
use crate::tool_names::ToolNames;

/// How many tools of a server are offered.
pub(crate) const MAXIMUM_TOOLS: usize = 128;
/// How long a description may be.
const DESCRIPTION_BYTES: usize = 4 * 1024;
/// How long a schema may be.
const SCHEMA_BYTES: usize = 64 * 1024;
/// How long the descriptions and schemas of a server may be together.
const LISTING_BYTES: usize = 2 * 1024 * 1024;
/// The longest name that a tool is called by on the wire.
const REMOTE_NAME_BYTES: usize = 1024;

/// A tool of a server, as it is offered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ListedTool {
    /// What a model is told.
    pub(crate) spec: ToolSpec,
    /// What the server calls it.
    pub(crate) remote_name: String,
    /// What it touches.
    pub(crate) kind: ToolKind,
}

/// The tools of a server.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ToolListing {
    pub(crate) tools: Arc<[Arc<ListedTool>]>,
    /// How many are not offered because there are too many.
    pub(crate) left_out: usize,
}

/// Takes a server's tools page by page. What is over the limits is counted and let go of at once.
pub(crate) struct ToolCollector<'a> {
    config: &'a ServerConfig,
    names: ToolNames,
    tools: Vec<Arc<ListedTool>>,
    bytes: usize,
    left_out: usize,
}

impl<'a> ToolCollector<'a> {
    pub(crate) fn new(config: &'a ServerConfig, server_key: &str) -> ToolCollector<'a> {
        let names = ToolNames::new(server_key);
        ToolCollector { config, names, tools: Vec::new(), bytes: 0, left_out: 0 }
    }

    pub(crate) fn add(&mut self, tool: &Tool) {
        if !self.config.offers(&tool.name) {
            return;
        }
        if self.tools.len() >= MAXIMUM_TOOLS || tool.name.len() > REMOTE_NAME_BYTES {
            self.left_out += 1;
            return;
        }
        let (input_schema, schema_bytes) = schema(&tool.input_schema);
        let description = description(self.config, tool, schema_bytes > SCHEMA_BYTES);
        let bytes = description.len() + schema_bytes.min(SCHEMA_BYTES);
        if self.bytes + bytes > LISTING_BYTES {
            self.left_out += 1;
            return;
        }
        self.bytes += bytes;
        let spec = ToolSpec { name: self.names.name(&tool.name), description, input_schema };
        let kind = stricter_kind(self.config.kind, tool.annotations.as_ref());
        let remote_name = tool.name.clone().into_owned();
        self.tools.push(Arc::new(ListedTool { spec, remote_name, kind }));
    }

    pub(crate) fn finish(self) -> ToolListing {
        ToolListing { tools: self.tools.into(), left_out: self.left_out }
    }
}

/// The kind that the owner chose, or a stricter one where the server itself says that the tool does more.
fn stricter_kind(kind: ToolKind, annotations: Option<&ToolAnnotations>) -> ToolKind {
    let Some(hints) = annotations else {
        return kind;
    };
    let changes = hints.read_only_hint == Some(false) || hints.destructive_hint == Some(true);
    let reaches_out = hints.open_world_hint == Some(true);
    match kind {
        ToolKind::Read | ToolKind::Write if reaches_out => ToolKind::Network,
        ToolKind::Read if changes => ToolKind::Write,
        ToolKind::Read | ToolKind::Write | ToolKind::Exec | ToolKind::Network => kind,
    }
}

fn description(config: &ServerConfig, tool: &Tool, lost_schema: bool) -> String {
    let server = strip_hidden(head(&config.name, 64));
    let words = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
    let note = if lost_schema {
        "\n[The server's schema of the arguments is too long to show; any object is passed on.]"
    } else {
        ""
    };
    let start = format!("[A tool of the MCP server {server}] ");
    let cleaned = strip_hidden(head(words, DESCRIPTION_BYTES * 4));
    let room = DESCRIPTION_BYTES - start.len() - note.len() - '…'.len_utf8();
    let cut = head(cleaned.trim(), room);
    let mark = if cut.len() < cleaned.trim().len() { "…" } else { "" };
    format!("{start}{cut}{mark}{note}")
}

/// The schema without what hides in it, and how long it was. One that is too long says nothing instead.
fn schema(schema: &Map<String, Value>) -> (Value, usize) {
    let mut schema = clean_object(schema);
    schema.insert("type".to_owned(), "object".into());
    let schema = Value::Object(schema);
    let bytes = schema.to_string().len();
    if bytes > SCHEMA_BYTES { (json!({ "type": "object" }), bytes) } else { (schema, bytes) }
}

fn clean_object(object: &Map<String, Value>) -> Map<String, Value> {
    object.iter().map(|(name, value)| (strip_hidden(name), clean_value(value))).collect()
}

fn clean_value(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) => strip_hidden(text).into(),
        Value::Array(values) => values.iter().map(clean_value).collect(),
        Value::Object(object) => clean_object(object).into(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ostler_types::ToolKind;
    use rmcp::model::{Tool, ToolAnnotations};
    use serde_json::{Map, Value, json};

    use super::{
        DESCRIPTION_BYTES, LISTING_BYTES, MAXIMUM_TOOLS, SCHEMA_BYTES, ToolCollector, stricter_kind,
    };
    use crate::config::{ServerConfig, Transport};

    fn config() -> ServerConfig {
        let transport = Transport::Stdio { command: vec!["x".to_owned()], env: BTreeMap::new() };
        ServerConfig::new("near", transport)
    }

    fn tool(name: &str, description: &str, schema: Value) -> Tool {
        let Value::Object(schema) = schema else { panic!("a schema is an object") };
        Tool::new(name.to_owned(), description.to_owned(), schema)
    }

    #[test]
    fn descriptions_and_schemas_are_cleaned_and_cut() {
        let config = config();
        let mut collector = ToolCollector::new(&config, "near");
        let hostile = format!("good\u{1b}[2J\u{e0041}{}", "x".repeat(100_000));
        let schema = json!({ "properties": { "a\u{202e}": { "description": "\u{200b}b\u{7}" } } });
        collector.add(&tool("one", &hostile, schema));
        let long = json!({ "type": "object", "description": "y".repeat(SCHEMA_BYTES) });
        collector.add(&tool("two", "short", long));
        let tools = collector.finish().tools;
        let spec = &tools[0].spec;
        assert!(spec.description.starts_with("[A tool of the MCP server near] good[2Jxxx"));
        assert!(spec.description.ends_with('…') && spec.description.len() <= DESCRIPTION_BYTES);
        assert_eq!(
            spec.input_schema,
            json!({ "properties": { "a": { "description": "b" } }, "type": "object" })
        );
        assert_eq!(tools[1].spec.input_schema, json!({ "type": "object" }));
        assert!(tools[1].spec.description.contains("too long to show"));
    }

    #[test]
    fn what_is_over_the_limits_is_counted() {
        let config = config();
        let mut collector = ToolCollector::new(&config, "near");
        for number in 0..1000 {
            collector.add(&tool(&format!("t{number}"), "", Value::Object(Map::new())));
        }
        let listing = collector.finish();
        assert_eq!((listing.tools.len(), listing.left_out), (MAXIMUM_TOOLS, 1000 - MAXIMUM_TOOLS));
        let mut collector = ToolCollector::new(&config, "near");
        for number in 0..100 {
            let schema = json!({ "description": "z".repeat(60_000) });
            collector.add(&tool(&format!("t{number}"), "", schema));
        }
        let listing = collector.finish();
        assert!(
            listing.tools.len() < LISTING_BYTES / 60_000 + 1 && listing.left_out > 60,
            "{}",
            listing.left_out
        );
    }

    #[test]
    fn hints_make_a_tool_stricter_and_never_laxer() {
        let harmless = ToolAnnotations::new().read_only(true).destructive(false).open_world(false);
        let kinds = [ToolKind::Read, ToolKind::Write, ToolKind::Exec, ToolKind::Network];
        for kind in kinds {
            assert_eq!(stricter_kind(kind, Some(&harmless)), kind);
            assert_eq!(stricter_kind(kind, None), kind);
        }
        let destructive = ToolAnnotations::new().destructive(true);
        assert_eq!(stricter_kind(ToolKind::Read, Some(&destructive)), ToolKind::Write);
        let open = ToolAnnotations::new().read_only(true).open_world(true);
        assert_eq!(
            kinds.map(|kind| stricter_kind(kind, Some(&open))),
            [ToolKind::Network, ToolKind::Network, ToolKind::Exec, ToolKind::Network]
        );
    }
}
