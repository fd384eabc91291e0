//! Wiring of what editors give to sessions: the files that they show go to the tools, the servers of tools that they
//! name are started for one session, and end when the editor leaves it.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_acp::{McpDescription, McpTransport};
use ostler_doors::acp::{EditorFiles, EditorLinks, UnusedEditorServer};
use ostler_local_runner::{RunnerToolServers, UnusedServer};
use ostler_mcp::{ServerConfig, Transport};
use ostler_tools::{EditorBuffers, Editors, WriteBuffer};
use ostler_types::SessionId;

/// What sessions have of editors.
pub(crate) struct EditorBridge {
    files: Arc<Editors>,
    servers: Arc<RunnerToolServers>,
}

impl EditorBridge {
    /// With the tools that look at files, and where servers are started.
    pub(crate) fn new(files: Arc<Editors>, servers: Arc<RunnerToolServers>) -> EditorBridge {
        EditorBridge { files, servers }
    }
}

impl EditorLinks for EditorBridge {
    fn share_files(&self, session: SessionId, files: EditorFiles) {
        let editor = files.editor_id();
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

    fn set_servers(
        &self,
        session: SessionId,
        editor: u64,
        servers: Vec<McpDescription>,
    ) -> BoxFuture<'_, Vec<UnusedEditorServer>> {
        let servers = servers.into_iter().map(config).collect();
        async move {
            let unused = self.servers.of_editors().attach(session, editor, servers).await;
            unused
                .into_iter()
                .map(|UnusedServer { name, why }| UnusedEditorServer { name, reason: why })
                .collect()
        }
        .boxed()
    }

    fn end_sharing(&self, session: SessionId, editor: u64) -> BoxFuture<'_, ()> {
        self.files.detach(session, editor);
        self.servers.of_editors().detach(session, editor).boxed()
    }
}

fn config(server: McpDescription) -> ServerConfig {
    let transport = match server.transport {
        McpTransport::Stdio { command, env } => Transport::Stdio { command, env },
        McpTransport::Http { url, headers } => Transport::Http { url, headers },
    };
    ServerConfig::new(server.name, transport)
}
