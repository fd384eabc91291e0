//! Tool servers that editors bring: started for one session, and ended when the editor leaves it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use ostler_acp::to_plain_line;
use ostler_mcp::{McpLimits, McpServers, ServerConfig, ServerSpawnFn};
use ostler_runner::Tool;
use ostler_types::SessionId;

/// Servers that one session may have of an editor.
const MAX_PER_SESSION: usize = 16;
/// Servers that all sessions together may have of editors.
const MAX_IN_ALL: usize = 64;
/// How long a turn waits for one that is being started. Nobody but this session has it, so that it is new to its first.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Sessions of which it is remembered that their servers have gone.
const MAX_REMEMBERED_SESSIONS: usize = 1_000;

/// The servers of tools that editors bring, by session.
pub struct EditorServers {
    spawn: ServerSpawnFn,
    /// The names of servers that are configured, which count before those of an editor.
    configured: Vec<String>,
    state: Mutex<EditorServerState>,
}

/// A server of an editor that is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusedServer {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: String,
}

#[derive(Default)]
struct EditorServerState {
    sessions: HashMap<SessionId, SessionEditorServers>,
    /// Which servers have gone that a model was told of.
    ended_servers: HashMap<SessionId, Vec<String>>,
}

struct SessionEditorServers {
    editor: u64,
    names: Vec<String>,
    servers: McpServers,
    /// Whether the model knows.
    is_announced: bool,
}

impl EditorServers {
    /// None yet. They are started by this, like those that are configured.
    pub(crate) fn new(spawn: ServerSpawnFn, configured: Vec<String>) -> EditorServers {
        EditorServers { spawn, configured, state: Mutex::default() }
    }

    /// The tools of a session's own servers.
    pub(crate) async fn tools(&self, session: SessionId, workspace: &Path) -> Vec<Arc<dyn Tool>> {
        let servers = self.state().sessions.get(&session).map(|of_session| of_session.servers.clone());
        match servers {
            Some(servers) => servers.for_workspace(workspace).await,
            None => Vec::new(),
        }
    }

    /// What the model of a session has not been told: that it has servers of an editor, or that they have gone.
    pub(crate) fn notice(&self, session: SessionId) -> Option<String> {
        let mut state = self.state();
        let gone = state.ended_servers.remove(&session);
        if let Some(of_session) = state.sessions.get_mut(&session) {
            let is_new = !std::mem::replace(&mut of_session.is_announced, true);
            return is_new.then(|| {
                format!(
                    "The user's editor provides these MCP servers while it shows this session: {}.",
                    of_session.names.join(", ")
                )
            });
        }
        let names = gone?.join(", ");
        Some(format!(
            "The editor no longer shows this session, so its MCP servers ({names}) and their tools are no \
             longer available."
        ))
    }

    /// Ends all of them.
    pub(crate) async fn end_all(&self) {
        let all: Vec<McpServers> =
            self.state().sessions.drain().map(|(_, of_session)| of_session.servers).collect();
        join_all(all.iter().map(McpServers::shut_down)).await;
    }

    /// Takes the servers that an editor brings for a session, in place of those that it had. Returns those that are not
    /// used.
    pub async fn attach(
        &self,
        session: SessionId,
        editor: u64,
        named: Vec<ServerConfig>,
    ) -> Vec<UnusedServer> {
        let (configs, not_used) = self.usable(session, named);
        let before = {
            let mut state = self.state();
            let before = state.sessions.remove(&session);
            if !configs.is_empty() {
                let names: Vec<String> =
                    configs.iter().map(|config| to_plain_line(&config.name, 200)).collect();
                let is_told =
                    before.as_ref().is_some_and(|before| before.is_announced && before.names == names);
                let limits = McpLimits {
                    processes: MAX_PER_SESSION,
                    tools_wait: START_TIMEOUT,
                    ..McpLimits::default()
                };
                let servers = McpServers::new(configs, Arc::clone(&self.spawn), limits);
                state
                    .sessions
                    .insert(session, SessionEditorServers { editor, names, servers, is_announced: is_told });
            }
            before
        };
        if let Some(before) = before {
            before.servers.shut_down().await;
        }
        not_used
    }

    /// Those that can be started, and why the others cannot.
    fn usable(&self, session: SessionId, named: Vec<ServerConfig>) -> (Vec<ServerConfig>, Vec<UnusedServer>) {
        let (mut configs, mut not_used) = (Vec::<ServerConfig>::new(), Vec::new());
        let others = {
            let state = self.state();
            let others = state.sessions.iter().filter(|(other, _)| **other != session);
            others.map(|(_, of_session)| of_session.names.len()).sum::<usize>()
        };
        for config in named {
            let why = if self.configured.contains(&config.name) {
                Some("a server of this name is configured, and is used instead".to_owned())
            } else if configs.iter().any(|other| other.name == config.name) {
                Some("another one has this name".to_owned())
            } else if configs.len() >= MAX_PER_SESSION || others + configs.len() >= MAX_IN_ALL {
                Some(format!(
                    "a session has at most {MAX_PER_SESSION} of them, and all together {MAX_IN_ALL}"
                ))
            } else {
                config.check_untrusted().err()
            };
            match why {
                Some(why) => not_used.push(UnusedServer { name: to_plain_line(&config.name, 200), why }),
                None => configs.push(config),
            }
        }
        (configs, not_used)
    }

    /// Ends the servers that an editor brought for a session.
    pub async fn detach(&self, session: SessionId, editor: u64) {
        let left = {
            let mut state = self.state();
            if state.sessions.get(&session).is_none_or(|of_session| of_session.editor != editor) {
                return;
            }
            let left = state.sessions.remove(&session);
            if let Some(left) = left.as_ref().filter(|left| left.is_announced) {
                if state.ended_servers.len() >= MAX_REMEMBERED_SESSIONS {
                    state.ended_servers.clear();
                }
                state.ended_servers.insert(session, left.names.clone());
            }
            left
        };
        if let Some(left) = left {
            left.servers.shut_down().await;
        }
    }

    fn state(&self) -> MutexGuard<'_, EditorServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
