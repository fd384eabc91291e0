//! What is to be started, and by whom: the caller decides what confines a server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ostler_process::PreparedChild;

/// Prepares the process of a server, confined as the caller sees fit. Called off the async threads, each
/// time that a server is started; an error is shown as it stands.
pub type ServerSpawnFn = Arc<dyn Fn(&ServerLaunch) -> Result<PreparedChild, String> + Send + Sync>;

/// What is to be started.
#[derive(Debug, Clone)]
pub struct ServerLaunch {
    /// The server's name, as configured.
    pub server: String,
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables that it gets beside those that every child process gets. They are the owner's or a workspace's
    /// choice, so nothing outside of the sandbox may obey them.
    pub env: BTreeMap<String, String>,
    /// The workspace, which is also the directory to start in.
    pub workspace: PathBuf,
}
