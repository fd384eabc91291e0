//! One tool, and a set of them by name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_types::{FileChange, SessionId, Subject, ToolKind, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Shows output as it comes: the stream's name, and text. Must not block.
pub type OutputSink = dyn Fn(&'static str, &str) + Send + Sync;

/// Does one thing in a workspace.
pub trait Tool: Send + Sync + 'static {
    /// What a model is told of it.
    fn spec(&self) -> ToolSpec;

    /// What it touches.
    fn kind(&self) -> ToolKind;

    /// What this very call touches, where a tool does things of different kinds. Never less than the
    /// call really does; a call that is not understood is of the tool's own kind.
    fn kind_of(&self, _input: &Value) -> ToolKind {
        self.kind()
    }

    /// What a call will do, in a line, for the person who approves it. Shown in full, so it must
    /// leave nothing out that matters.
    fn summary(&self, input: &Value) -> String;

    /// The paths in the workspace that a call would write, as the model spells them, for tools that write files.
    fn written_paths(&self, input: &Value) -> Vec<String> {
        let path = input.get("path").and_then(Value::as_str).filter(|_| self.kind() == ToolKind::Write);
        path.map(str::to_owned).into_iter().collect()
    }

    /// What is at risk in this call beyond what its kind says, for the person who approves it. Where there
    /// is something, the call must not run without that person's word, whatever the policy says, and then
    /// with [`ToolContext::unconfined`] set.
    fn warning(&self, _input: &Value) -> Option<String> {
        None
    }

    /// What a call acts on, for the policy and for rules that remember it. Which commands of a line only read depends on
    /// the state of the disk, so that this is to be asked just before the call is judged.
    fn subject(&self, _input: &Value, _workspace: &Path) -> BoxFuture<'_, Subject> {
        std::future::ready(Subject::Input).boxed()
    }

    /// The files that a call would change as things are, for the person who approves it; none where that cannot be told.
    fn preview(&self, _input: Value, _context: ToolContext) -> BoxFuture<'_, Option<Vec<FileChange>>> {
        std::future::ready(None).boxed()
    }

    /// Does it. Called once per call, after `tool_call_started` is on disk. Dropping the future ends
    /// the work, child processes included.
    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome>;
}

/// Where a call runs, and where its output goes while it runs.
#[derive(Clone)]
pub struct ToolContext {
    /// The directory that the session works in.
    pub workspace: PathBuf,
    /// Shows output as it comes: the stream's name, and text. Must not block.
    pub output: Arc<OutputSink>,
    /// The session, to which processes belong that outlive the call.
    pub session: SessionId,
    /// Whether somebody who was shown [`Tool::warning`] has agreed that this call runs unconfined. A call
    /// that can be confined is confined all the same.
    pub unconfined: bool,
    /// The commands that say whether the work holds, by the session's policy.
    pub verify_commands: Vec<String>,
}

impl ToolContext {
    /// The context of an ordinary call.
    pub fn new(workspace: PathBuf, session: SessionId, output: Arc<OutputSink>) -> ToolContext {
        ToolContext { workspace, output, session, unconfined: false, verify_commands: Vec::new() }
    }
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// Whether it did what was asked.
    pub ok: bool,
    /// What the model is told; head and tail where it is long.
    pub text: String,
    /// The same in structure, for clients.
    pub details: Option<Value>,
    /// The whole output, where `text` leaves some out.
    pub whole: Option<Vec<u8>>,
    /// What the model is to see beside the text, as an image: each with its MIME type.
    pub attachments: Vec<(String, Vec<u8>)>,
    /// What the call made for people to keep, each with the name of a file. Data from elsewhere: to be
    /// stored and downloaded, never to be run or shown as a page.
    pub files: Vec<(String, Vec<u8>)>,
}

impl ToolOutcome {
    /// The outcome of a call that did what was asked.
    pub fn done(text: impl Into<String>, details: Value) -> ToolOutcome {
        ToolOutcome { ok: true, details: Some(details), ..ToolOutcome::failed(text) }
    }

    /// The outcome of a call that came to nothing, and why.
    pub fn failed(text: impl Into<String>) -> ToolOutcome {
        let (attachments, files) = (Vec::new(), Vec::new());
        ToolOutcome { ok: false, text: text.into(), details: None, whole: None, attachments, files }
    }
}

/// Tools with different names, in a fixed order.
#[derive(Clone, Default)]
pub struct ToolSet {
    tools: Vec<(String, Arc<dyn Tool>)>,
    specs: Arc<[ToolSpec]>,
}

impl ToolSet {
    /// These tools and no others, in this order. Of tools with one name only the first counts.
    pub fn from_tools(tools: Vec<Arc<dyn Tool>>) -> ToolSet {
        ToolSet::default().with_tools(tools)
    }

    /// The same with more tools behind them. Of tools with one name only the first counts, so that a
    /// later one cannot take its place.
    #[must_use]
    pub fn with_tools(mut self, tools: Vec<Arc<dyn Tool>>) -> ToolSet {
        let mut specs = self.specs.to_vec();
        for tool in tools {
            let spec = tool.spec();
            if self.get(&spec.name).is_none() {
                self.tools.push((spec.name.clone(), tool));
                specs.push(spec);
            }
        }
        self.specs = specs.into();
        self
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|(known, _)| known == name).map(|(_, tool)| tool)
    }

    /// What a model is told of them. The order never changes, so that prompts can be cached.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        Arc::clone(&self.specs)
    }

    /// What each of them touches, in the order of the specs.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, ToolKind)> {
        self.tools.iter().map(|(name, tool)| (name.as_str(), tool.kind()))
    }
}
