//! The models and tools that sessions can have, as the doors need to know them. Which there are and how one is
//! found is not theirs: whoever wires a daemon together brings it.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_types::{
    Brought, ContextSection, FileChange, Message, ModelInfo, ModelPolicy, Refusal, Resolution, Session,
    ToolKind, ToolSpec,
};
use serde_json::Value;

/// Tools of other people's servers, which differ by workspace.
pub trait ToolServers: Send + Sync + 'static {
    /// The tools that sessions of a workspace have besides the built-in ones. Starts servers; those that the
    /// workspace itself names only if it is trusted.
    fn tools(&self, workspace: PathBuf, trusted: bool) -> BoxFuture<'_, Vec<(ToolSpec, ToolKind)>>;

    /// How the servers stand.
    fn status(&self) -> Vec<serde_json::Value>;

    /// What a workspace says in its own files, read and not acted upon.
    fn workspace_config(&self, workspace: PathBuf, trusted: bool) -> BoxFuture<'_, Brought>;

    /// Is told before a workspace becomes trusted, and after it no longer is; then what it had running has
    /// ended when this returns.
    fn trust_changed(&self, workspace: PathBuf, trusted: bool) -> BoxFuture<'_, Result<(), Refusal>>;
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
pub trait ContextMeter: Send + Sync + 'static {
    /// The pieces, in the order in which the model is shown them. None is empty.
    fn measure(&self, session: &Session, messages: &[Arc<Message>]) -> Vec<ContextSection>;
}
