//! What an editor gives to the sessions that it shows: its view of their files, and the servers of tools that it
//! names. What is done with them is not the door's: whoever wires a daemon together brings it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use agent_client_protocol::v1::schema::McpServer;
use futures_util::future::BoxFuture;
use ostler_acp::{McpDescription, from_mcp_server, to_plain_line};
use ostler_types::{SessionId, SessionView};
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};

use super::editor_connection::EditorConnection;
use super::notices::{EditorNotice, FileRequest};

/// Under which name an editor is told what became of the servers of tools that it named.
const SERVER_REPORT_KEY: &str = "ostler.mcpServers";
/// Characters of a server's name that are said again.
const MAX_NAME_CHARS: usize = 200;

/// Where sessions have what editors give them.
pub trait EditorLinks: Send + Sync + 'static {
    /// Has the files of a session looked at through this editor from now on, in place of others that show it.
    fn share_files(&self, session: SessionId, files: EditorFiles);

    /// Gives a session servers of tools for as long as this editor shows it, in place of those that it had from an
    /// editor. Returns which are not used, and why.
    fn set_servers(
        &self,
        session: SessionId,
        editor: u64,
        servers: Vec<McpDescription>,
    ) -> BoxFuture<'_, Vec<UnusedEditorServer>>;

    /// The editor no longer shows the session. What it gave has ended when this returns.
    fn end_sharing(&self, session: SessionId, editor: u64) -> BoxFuture<'_, ()>;
}

/// A server of tools that is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusedEditorServer {
    /// What the editor calls it.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// The files of a session as one editor shows them. Cheap to clone; when the editor has gone, it has no answers.
#[derive(Debug, Clone)]
pub struct EditorFiles {
    session: SessionId,
    editor_id: u64,
    can_write: bool,
    notice_sender: mpsc::Sender<(SessionId, EditorNotice)>,
}

impl EditorFiles {
    /// Which editor it is.
    pub fn editor_id(&self) -> u64 {
        self.editor_id
    }

    /// Whether it can be told what a file holds now.
    pub fn writes(&self) -> bool {
        self.can_write
    }

    /// The text of a file as it is shown; none where the editor does not say. May take as long as the editor does.
    pub async fn read(&self, path: PathBuf) -> Option<String> {
        let (reply, told) = oneshot::channel();
        self.ask(FileRequest { path, content: None, reply }).await?;
        told.await.ok()
    }

    /// Has the editor put a text into a file, and waits until it has.
    pub async fn write(&self, path: PathBuf, content: String) {
        let (reply, told) = oneshot::channel();
        if self.ask(FileRequest { path, content: Some(content), reply }).await.is_some() {
            _ = told.await;
        }
    }

    async fn ask(&self, wanted: FileRequest) -> Option<()> {
        self.notice_sender.send((self.session, EditorNotice::File(wanted))).await.ok()
    }
}

/// A number that no other editor of this process has.
pub(super) fn next_editor_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl EditorConnection {
    /// Has the files of a session looked at through this editor, if it offers that.
    pub(super) fn share_files(&self, session: SessionId) {
        if let (Some(links), true) = (&self.editors, self.file_capabilities.read_text_file) {
            let (editor, writes, desk) =
                (self.editor_id, self.file_capabilities.write_text_file, self.notice_sender.clone());
            links.share_files(
                session,
                EditorFiles { session, editor_id: editor, can_write: writes, notice_sender: desk },
            );
        }
    }

    /// Gives a session the servers of tools that the editor names, and says what became of them.
    pub(super) async fn start_servers(
        &self,
        view: &SessionView,
        servers: Vec<McpServer>,
    ) -> Option<Map<String, Value>> {
        if servers.is_empty() {
            return None;
        }
        let (mut used, mut not_used) = (Vec::new(), Vec::new());
        for server in servers {
            let name = to_plain_line(server_name(&server), MAX_NAME_CHARS);
            let why = match from_mcp_server(server) {
                None => "only servers on standard input and output and over Streamable HTTP are spoken to",
                Some(_) if view.session.agent != "native" => "the agent of this session has its own servers",
                Some(_) if self.editors.is_none() => "no servers are started here",
                Some(described) => {
                    used.push(described);
                    continue;
                }
            };
            not_used.push(UnusedEditorServer { name, reason: why.to_owned() });
        }
        let mut names: Vec<String> =
            used.iter().map(|server| to_plain_line(&server.name, MAX_NAME_CHARS)).collect();
        if let (Some(links), false) = (&self.editors, used.is_empty()) {
            not_used.extend(links.set_servers(view.session.id, self.editor_id, used).await);
        }
        names.retain(|name| not_used.iter().all(|not_used| not_used.name != *name));
        let not_used: Vec<Value> = not_used
            .iter()
            .map(|UnusedEditorServer { name, reason: why }| json!({"name": name, "why": why}))
            .collect();
        Some(Map::from_iter([(SERVER_REPORT_KEY.to_owned(), json!({"used": names, "not_used": not_used}))]))
    }

    /// Takes back what a session has of this editor.
    pub(super) async fn end_sharing(&self, session: SessionId) {
        if let Some(links) = &self.editors {
            links.end_sharing(session, self.editor_id).await;
        }
    }
}

fn server_name(server: &McpServer) -> &str {
    match server {
        McpServer::Stdio(stdio) => &stdio.name,
        McpServer::Http(http) => &http.name,
        McpServer::Sse(sse) => &sse.name,
        _ => "",
    }
}
