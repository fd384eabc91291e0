//! Our side of a connection: what a server may ask of us, and what it may tell us.

// Roots and sampling are deprecated in the newest version of the protocol, but servers use the older ones.
#![expect(deprecated)]

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationAction, ErrorCode, Implementation, ListRootsResult, ProgressNotificationParam,
    ProgressToken, ProtocolVersion, Root, RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use tokio::sync::{Notify, mpsc};

use crate::server_text::{head, strip_hidden};

/// How much of a progress message is shown.
const PROGRESS_BYTES: usize = 1024;
/// How many progress messages of a call may wait to be shown; more are let go of.
const MAX_PENDING_PROGRESS: usize = 16;

/// Answers a server.
pub(crate) struct McpClientHandler {
    /// The one root that a server is told of.
    pub(crate) workspace: PathBuf,
    /// Woken when the server says that its tools have changed.
    pub(crate) changed: Arc<Notify>,
    pub(crate) progress: ProgressReceivers,
}

/// Who waits for signs of progress of which call.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProgressReceivers(Arc<Mutex<HashMap<ProgressToken, mpsc::Sender<String>>>>);

/// The signs of progress of one call, for as long as it is kept.
pub(crate) struct CallProgress {
    progress: ProgressReceivers,
    token: ProgressToken,
    messages: mpsc::Receiver<String>,
}

impl ProgressReceivers {
    pub(crate) fn register(&self, token: ProgressToken) -> CallProgress {
        let (sender, messages) = mpsc::channel(MAX_PENDING_PROGRESS);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(token.clone(), sender);
        CallProgress { progress: self.clone(), token, messages }
    }

    fn deliver(&self, told: &ProgressNotificationParam) {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = waiting.get(&told.progress_token) {
            // One that is full is told often enough.
            let _ = sender.try_send(progress_text(told));
        }
    }
}

impl CallProgress {
    /// The next sign of progress.
    pub(crate) async fn next(&mut self) -> String {
        match self.messages.recv().await {
            Some(message) => message,
            None => std::future::pending().await,
        }
    }
}

impl Drop for CallProgress {
    fn drop(&mut self) {
        self.progress.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.token);
    }
}

fn progress_text(told: &ProgressNotificationParam) -> String {
    let count = match told.total {
        Some(total) => format!("{} of {total}", told.progress),
        None => told.progress.to_string(),
    };
    match told.message.as_deref().map(|message| strip_hidden(head(message, PROGRESS_BYTES))) {
        Some(message) if !message.trim().is_empty() => format!("{count}: {}\n", message.trim()),
        Some(_) | None => format!("{count}\n"),
    }
}

impl rmcp::ClientHandler for McpClientHandler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        let ours = Implementation::new("ostler", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, ours).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        let uri = reqwest::Url::from_file_path(&self.workspace)
            .map_err(|()| ErrorData::internal_error("The workspace has no absolute path", None))?;
        Ok(ListRootsResult::new(vec![Root::new(uri.as_str()).with_name("workspace")]))
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let why = "Sampling is not offered: this client lets no server use its model";
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Decline))
    }

    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.deliver(&told);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}
