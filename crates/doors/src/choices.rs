//! The models and tools that sessions can have, as the doors need to know them. Which there are and how one is
//! found is not theirs: whoever wires a daemon together brings it.

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use ostler_types::{ModelInfo, ModelPolicy, Refusal, Resolution, ToolKind, ToolSpec};

/// Tools of other people's servers, which differ by workspace.
pub trait ToolServers: Send + Sync + 'static {
    /// The tools that sessions of a workspace have besides the built-in ones. Starts servers.
    fn tools(&self, workspace: PathBuf) -> BoxFuture<'_, Vec<(ToolSpec, ToolKind)>>;

    /// How the servers stand.
    fn status(&self) -> Vec<serde_json::Value>;
}

/// The models that sessions can have.
pub trait ModelChoices: Send + Sync + 'static {
    /// All that can be chosen; asks their servers anew when `refresh` is set.
    fn list(&self, refresh: bool) -> BoxFuture<'_, Vec<ModelInfo>>;

    /// The model of a session that names none.
    fn choose<'a>(&'a self, policy: &'a ModelPolicy) -> BoxFuture<'a, Result<Resolution, Refusal>>;

    /// Whether a model can be named at all, and why not. Its server is not asked.
    fn check(&self, name: &str) -> Result<(), Refusal>;
}
