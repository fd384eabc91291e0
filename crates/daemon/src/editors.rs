//! Wiring of what editors give to sessions: the files that they show go to the tools, the servers of tools that they
//! name are started for one session, and end when the editor leaves it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use ostler_acp::{McpDescription, McpTransport, plain};
use ostler_doors::acp::{EditorFiles, EditorLinks, NotUsed};
use ostler_mcp::{Limits, McpServers, ServerConfig, SpawnFn, Transport};
use ostler_tools::{EditorBuffers, Editors, Tool, WriteBuffer};
use ostler_types::SessionId;

use crate::workshop::Servers;

/// Servers that one session may have of an editor.
const OF_SESSION: usize = 16;
/// Servers that all sessions together may have of editors.
const OF_ALL: usize = 64;
/// How long a turn waits for one that is being started. Nobody but this session has it, so that it is new to its first.
const PATIENCE: Duration = Duration::from_secs(10);
/// Sessions of which it is remembered that their servers have gone.
const REMEMBERED: usize = 1_000;

/// What sessions have of editors.
pub struct EditorGifts {
    files: Arc<Editors>,
    servers: Arc<Servers>,
}

impl EditorGifts {
    /// With the tools that look at files, and where servers are started.
    pub fn new(files: Arc<Editors>, servers: Arc<Servers>) -> EditorGifts {
        EditorGifts { files, servers }
    }
}

impl EditorLinks for EditorGifts {
    fn show(&self, session: SessionId, files: EditorFiles) {
        let editor = files.editor();
        let writing = files.clone();
        let write: WriteBuffer = Arc::new(move |path, content| {
            let files = writing.clone();
            async move { files.write(path, content).await }.boxed()
        });
        let write = files.writes().then_some(write);
        let read = Arc::new(move |path| {
            let files = files.clone();
            async move { files.read(path).await }.boxed()
        });
        self.files.attach(session, editor, EditorBuffers { read, write });
    }

    fn bring(
        &self,
        session: SessionId,
        editor: u64,
        servers: Vec<McpDescription>,
    ) -> BoxFuture<'_, Vec<NotUsed>> {
        self.servers.handed.take(session, editor, servers).boxed()
    }

    fn leave(&self, session: SessionId, editor: u64) -> BoxFuture<'_, ()> {
        self.files.detach(session, editor);
        self.servers.handed.leave(session, editor).boxed()
    }
}

/// The servers of tools that editors bring, by session.
pub struct Handed {
    spawn: SpawnFn,
    /// The names of servers that are configured, which count before those of an editor.
    configured: Vec<String>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    sessions: HashMap<SessionId, OfSession>,
    /// Which servers have gone that a model was told of.
    gone: HashMap<SessionId, Vec<String>>,
}

struct OfSession {
    editor: u64,
    names: Vec<String>,
    servers: McpServers,
    /// Whether the model knows.
    is_told: bool,
}

impl Handed {
    /// None yet. They are started by this, like those that are configured.
    pub fn new(spawn: SpawnFn, configured: Vec<String>) -> Handed {
        Handed { spawn, configured, state: Mutex::default() }
    }

    /// The tools of a session's own servers.
    pub async fn tools(&self, session: SessionId, workspace: &Path) -> Vec<Arc<dyn Tool>> {
        let servers = self.state().sessions.get(&session).map(|of_session| of_session.servers.clone());
        match servers {
            Some(servers) => servers.for_workspace(workspace).await,
            None => Vec::new(),
        }
    }

    /// What the model of a session has not been told: that it has servers of an editor, or that they have gone.
    pub fn notice(&self, session: SessionId) -> Option<String> {
        let mut state = self.state();
        let gone = state.gone.remove(&session);
        if let Some(of_session) = state.sessions.get_mut(&session) {
            let is_new = !std::mem::replace(&mut of_session.is_told, true);
            return is_new.then(|| {
                format!(
                    "The user's editor has brought these servers of tools for as long as it shows this session: {}.",
                    of_session.names.join(", ")
                )
            });
        }
        let names = gone?.join(", ");
        Some(format!(
            "The editor that had brought the servers of tools {names} no longer shows this session. They are gone, and \
             their tools with them."
        ))
    }

    /// Ends all of them.
    pub async fn end_all(&self) {
        let all: Vec<McpServers> =
            self.state().sessions.drain().map(|(_, of_session)| of_session.servers).collect();
        join_all(all.iter().map(McpServers::shut_down)).await;
    }

    async fn take(&self, session: SessionId, editor: u64, named: Vec<McpDescription>) -> Vec<NotUsed> {
        let (configs, not_used) = self.usable(session, named);
        let before = {
            let mut state = self.state();
            let before = state.sessions.remove(&session);
            if !configs.is_empty() {
                let names: Vec<String> = configs.iter().map(|config| plain(&config.name, 200)).collect();
                let is_told = before.as_ref().is_some_and(|before| before.is_told && before.names == names);
                let limits = Limits { processes: OF_SESSION, patience: PATIENCE, ..Limits::default() };
                let servers = McpServers::new(configs, Arc::clone(&self.spawn), limits);
                state.sessions.insert(session, OfSession { editor, names, servers, is_told });
            }
            before
        };
        if let Some(before) = before {
            before.servers.shut_down().await;
        }
        not_used
    }

    /// Those that can be started, and why the others cannot.
    fn usable(&self, session: SessionId, named: Vec<McpDescription>) -> (Vec<ServerConfig>, Vec<NotUsed>) {
        let (mut configs, mut not_used) = (Vec::<ServerConfig>::new(), Vec::new());
        let others = {
            let state = self.state();
            let others = state.sessions.iter().filter(|(other, _)| **other != session);
            others.map(|(_, of_session)| of_session.names.len()).sum::<usize>()
        };
        for server in named {
            let config = config(server);
            let why = if self.configured.contains(&config.name) {
                Some("a server of this name is configured, and is used instead".to_owned())
            } else if configs.iter().any(|other| other.name == config.name) {
                Some("another one has this name".to_owned())
            } else if configs.len() >= OF_SESSION || others + configs.len() >= OF_ALL {
                Some(format!("a session has at most {OF_SESSION} of them, and all together {OF_ALL}"))
            } else {
                config.check_of_others().err()
            };
            match why {
                Some(why) => not_used.push(NotUsed { name: plain(&config.name, 200), why }),
                None => configs.push(config),
            }
        }
        (configs, not_used)
    }

    async fn leave(&self, session: SessionId, editor: u64) {
        let left = {
            let mut state = self.state();
            if state.sessions.get(&session).is_none_or(|of_session| of_session.editor != editor) {
                return;
            }
            let left = state.sessions.remove(&session);
            if let Some(left) = left.as_ref().filter(|left| left.is_told) {
                if state.gone.len() >= REMEMBERED {
                    state.gone.clear();
                }
                state.gone.insert(session, left.names.clone());
            }
            left
        };
        if let Some(left) = left {
            left.servers.shut_down().await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn config(server: McpDescription) -> ServerConfig {
    let transport = match server.transport {
        McpTransport::Stdio { command, env } => Transport::Stdio { command, env },
        McpTransport::Http { url, headers } => Transport::Http { url, headers },
    };
    ServerConfig::new(server.name, transport)
}
