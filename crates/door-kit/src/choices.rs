//! The models and tools that sessions can have, as the doors need to know them. Which there are and how one is
//! found is not theirs: whoever wires a daemon together brings it.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_types::{
    FileChange, Message, ModelInfo, ModelPolicy, Refusal, Resolution, Rule, Session, ToolKind, ToolSpec,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Tools of other people's servers, which differ by workspace.
pub trait ToolServers: Send + Sync + 'static {
    /// The tools that sessions of a workspace have besides the built-in ones. Starts servers; those that the
    /// workspace itself names only if it is trusted.
    fn tools(&self, workspace: PathBuf, trusted: bool) -> BoxFuture<'_, Vec<(ToolSpec, ToolKind)>>;

    /// How the servers stand.
    fn status(&self) -> Vec<serde_json::Value>;

    /// What a workspace says in its own files, read and not acted upon.
    fn brought(&self, workspace: PathBuf, trusted: bool) -> BoxFuture<'_, Brought>;

    /// Is told before a workspace becomes trusted, and after it no longer is; then what it had running has
    /// ended when this returns.
    fn trust(&self, workspace: PathBuf, trusted: bool) -> BoxFuture<'_, Result<(), Refusal>>;
}

/// What a workspace brings in its own files, which counts once it is trusted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Brought {
    /// The commands that check a turn's work.
    pub verify_commands: Vec<String>,
    /// The servers of tools.
    pub servers: Vec<BroughtServer>,
    /// The calls that are allowed without asking.
    pub rules: Vec<BroughtRule>,
    /// The kinds of calls and the tools that are asked about besides, in words.
    pub asks: Vec<String>,
    /// What cannot be used, and why.
    pub problems: Vec<String>,
}

/// A server that a workspace names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BroughtServer {
    /// What the workspace calls it.
    pub name: String,
    /// The command line that starts it, or its address. Without what may be secret.
    pub runs: String,
    /// The file that names it.
    pub file: String,
}

/// A rule that a workspace names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BroughtRule {
    /// The rule.
    pub rule: Rule,
    /// Whether it holds: the workspace is trusted, and had this very rule when that was said.
    pub in_force: bool,
}

/// The models that sessions can have.
pub trait ModelChoices: Send + Sync + 'static {
    /// All that can be chosen; asks their servers anew when `refresh` is set.
    fn list(&self, refresh: bool) -> BoxFuture<'_, Vec<ModelInfo>>;

    /// The model of a session that names none.
    fn choose<'a>(&'a self, policy: &'a ModelPolicy) -> BoxFuture<'a, Result<Resolution, Refusal>>;

    /// Whether a model can be named at all, and why not. Its server is not asked.
    fn check(&self, name: &str) -> Result<(), Refusal>;

    /// What is known of a model by now. Its server is not asked.
    fn info(&self, name: &str) -> ModelInfo {
        ModelInfo::unknown(name)
    }
}

/// Tells what a call would change that waits for an answer: how it works is the tool's business.
pub trait ChangePreview: Send + Sync + 'static {
    /// The files as things are; none where that cannot be told.
    fn preview<'a>(
        &'a self,
        session: &'a Session,
        tool: &'a str,
        input: &'a Value,
    ) -> BoxFuture<'a, Option<Vec<FileChange>>>;
}

/// Measures what a model is shown of a session: how it is put together is the agent's business.
pub trait ContextGauge: Send + Sync + 'static {
    /// The pieces, in the order in which the model is shown them. None is empty.
    fn measure(&self, session: &Session, messages: &[Arc<Message>]) -> Vec<ContextSection>;
}

/// A piece of what a model is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextSection {
    /// What it is.
    pub kind: ContextKind,
    /// What it is called.
    pub name: String,
    /// Of how many messages it is made; none for what is no message.
    pub messages: u64,
    /// Roughly how many tokens it takes.
    pub tokens: u64,
}

/// What a piece of what a model is shown is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContextKind {
    /// How to work, and what the session's owner added.
    SystemPrompt,
    /// The tools that can be called.
    Tools,
    /// What was gathered about the workspace.
    Workspace,
    /// What stands for the part of the conversation that is no longer shown.
    Summary,
    /// Other notes that nobody typed.
    System,
    /// What people said.
    User,
    /// What the model said, thought and called.
    Assistant,
    /// What tools answered.
    ToolResults,
}
