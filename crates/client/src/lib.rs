//! The typed client of the HTTP server, over TCP or a Unix socket.
//!
//! Each request has a connection of its own: a client makes few, and a connection that nobody shares
//! cannot go stale. The client holds no session state; it leaves drawing, waiting for turns and
//! reading the token file to whoever uses it.

// A new event must be looked at wherever one is told from another.
#![warn(clippy::wildcard_enum_match_arm)]

mod actor;
mod agents;
mod backoff;
mod connection;
mod derived_sessions;
mod error;
mod events;
mod files;
mod login;
mod projects;
mod requests;
mod session_screen;
mod tool_servers;
mod usage;

use std::sync::Arc;

use hyper::Method;
use ostler_api_types::{
    ApprovalAnswerBody, ApprovalDiff, Approvals, CancelRequest, Canceled, CreateSession, Created, Health,
    MessagePage, ModelList, SendMessage, Sent, SessionPage, Started, TrustWorkspace, UndoTurn, Undone,
    UpdateSession, UsageTable, WorkspaceTrust,
};
use ostler_types::{FileChange, MessageId, PendingApproval, SessionId, SessionView, ToolCallId, TurnId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use connection::HttpConnector;
use requests::EmptyBody;

pub use actor::actor_name;
pub use backoff::Backoff;
pub use connection::{DaemonEndpoint, UpgradedStream};
pub use derived_sessions::{Download, ExportFormat, ImportFormat};
pub use error::ClientError;
pub use events::{EventLine, EventStream};
pub use requests::SessionFilter;
pub use tool_servers::ToolServer;
pub use usage::UsageFilter;

/// A daemon that can be asked for things. Cloning it is cheap, and every method may be called from
/// any task.
#[derive(Debug, Clone)]
pub struct Client {
    connector: Arc<HttpConnector>,
    backoff: Backoff,
}

impl Client {
    /// Finds out whether a daemon listens there. The token is sent with every request.
    pub async fn connect(endpoint: DaemonEndpoint, token: Option<String>) -> Result<Client, ClientError> {
        let door = HttpConnector::new(endpoint, token.as_deref())?;
        door.probe().await?;
        Ok(Client { connector: Arc::new(door), backoff: Backoff::default() })
    }

    /// Replaces how [`Client::events_resuming`] waits between tries.
    #[must_use]
    pub fn with_backoff(mut self, backoff: Backoff) -> Client {
        self.backoff = backoff;
        self
    }

    /// Asks whether the daemon is well. Needs no token.
    pub async fn health(&self) -> Result<Health, ClientError> {
        self.get("/healthz").await
    }

    /// Asks to speak another protocol at a path, and returns the connection once the daemon agrees.
    pub async fn upgrade(&self, path: &str, protocol: &'static str) -> Result<UpgradedStream, ClientError> {
        self.connector.upgrade(path, protocol).await
    }

    /// Makes a session.
    pub async fn create_session(&self, session: &CreateSession) -> Result<SessionId, ClientError> {
        let created: Created = self.request(Method::POST, "/v1/sessions", session).await?;
        Ok(created.session_id)
    }

    /// Lists sessions, newest activity first.
    pub async fn list_sessions(&self, filter: &SessionFilter) -> Result<SessionPage, ClientError> {
        self.get(&format!("/v1/sessions{}", filter.query())).await
    }

    /// Describes one session and how it stands.
    pub async fn session(&self, id: SessionId) -> Result<SessionView, ClientError> {
        self.get(&format!("/v1/sessions/{id}")).await
    }

    /// Reads a page of messages, going back from `before` or from the newest.
    pub async fn messages(
        &self,
        id: SessionId,
        before: Option<u64>,
        limit: Option<u32>,
    ) -> Result<MessagePage, ClientError> {
        let (before, limit) = (before.map(|before| before.to_string()), limit.map(|limit| limit.to_string()));
        let query = requests::query(&[("before", before.as_deref()), ("limit", limit.as_deref())]);
        self.get(&format!("/v1/sessions/{id}/messages{query}")).await
    }

    /// Adds a message and, unless told otherwise, has it answered.
    pub async fn send_message(&self, id: SessionId, message: &SendMessage) -> Result<Sent, ClientError> {
        self.request(Method::POST, &format!("/v1/sessions/{id}/messages"), message).await
    }

    /// Starts a turn on the messages that no turn has answered.
    pub async fn run(&self, id: SessionId) -> Result<TurnId, ClientError> {
        let started: Started =
            self.request(Method::POST, &format!("/v1/sessions/{id}/run"), &EmptyBody {}).await?;
        Ok(started.turn_id)
    }

    /// Stops the running turn, and says whether there was one.
    pub async fn cancel(&self, id: SessionId) -> Result<bool, ClientError> {
        let canceled: Canceled =
            self.request(Method::POST, &format!("/v1/sessions/{id}/cancel"), &EmptyBody {}).await?;
        Ok(canceled.canceled)
    }

    /// Stops this turn if it runs, and no other; says whether it did.
    pub async fn cancel_turn(&self, id: SessionId, turn_id: TurnId) -> Result<bool, ClientError> {
        let body = CancelRequest { turn_id: Some(turn_id), reason: None };
        let canceled: Canceled =
            self.request(Method::POST, &format!("/v1/sessions/{id}/cancel"), &body).await?;
        Ok(canceled.canceled)
    }

    /// Repeats a turn that failed or was canceled.
    pub async fn retry(&self, id: SessionId, turn: TurnId) -> Result<TurnId, ClientError> {
        let path = format!("/v1/sessions/{id}/turns/{turn}/retry");
        let started: Started = self.request(Method::POST, &path, &EmptyBody {}).await?;
        Ok(started.turn_id)
    }

    /// Answers an approval. The first answer wins; a later one is refused with 409.
    pub async fn approve(&self, id: SessionId, answer: &ApprovalAnswerBody) -> Result<(), ClientError> {
        self.send(Method::POST, &format!("/v1/sessions/{id}/approve"), answer).await
    }

    /// Lists what waits for an answer, over all sessions.
    pub async fn approvals(&self) -> Result<Vec<PendingApproval>, ClientError> {
        let approvals: Approvals = self.get("/v1/approvals").await?;
        Ok(approvals.approvals)
    }

    /// What a call would change that waits for an answer; none where that cannot be told.
    pub async fn approval_diff(
        &self,
        id: SessionId,
        call: &ToolCallId,
    ) -> Result<Option<Vec<FileChange>>, ClientError> {
        let mut path = format!("/v1/sessions/{id}/approvals/");
        requests::escape(&call.0, &mut path);
        let told: ApprovalDiff = self.get(&format!("{path}/diff")).await?;
        Ok(told.files)
    }

    /// Sums up what models were used for.
    pub async fn usage(&self, filter: &UsageFilter) -> Result<UsageTable, ClientError> {
        self.get(&format!("/v1/usage{}", filter.query())).await
    }

    /// Lists the models that sessions can have; asks their servers anew with `refresh`.
    pub async fn models(&self, refresh: bool) -> Result<ModelList, ClientError> {
        self.get(if refresh { "/v1/models?refresh=true" } else { "/v1/models" }).await
    }

    /// Brings a session's workspace back to how it was before a turn, or says what that would do.
    pub async fn undo(&self, id: SessionId, undo: &UndoTurn) -> Result<Undone, ClientError> {
        self.request(Method::POST, &format!("/v1/sessions/{id}/undo"), undo).await
    }

    /// Whether a workspace is trusted.
    pub async fn is_trusted(&self, workspace: &str) -> Result<bool, ClientError> {
        Ok(self.workspace_trust(workspace).await?.trusted)
    }

    /// Whether a workspace is trusted, and what its own files bring.
    pub async fn workspace_trust(&self, workspace: &str) -> Result<WorkspaceTrust, ClientError> {
        let query = requests::query(&[("workspace_path", Some(workspace))]);
        self.get(&format!("/v1/trust{query}")).await
    }

    /// Trusts a workspace, or no longer, and returns how it stands then.
    pub async fn trust(&self, workspace: &str, trusted: bool) -> Result<WorkspaceTrust, ClientError> {
        let body = TrustWorkspace { workspace_path: workspace.to_owned(), trusted };
        self.request(Method::PUT, "/v1/trust", &body).await
    }

    /// Takes back a message that still waits for its turn.
    pub async fn withdraw(&self, id: SessionId, message: MessageId) -> Result<(), ClientError> {
        self.remove(&format!("/v1/sessions/{id}/queue/{message}")).await
    }

    /// Changes a session's title, model, policy or archive flag; what is absent stays.
    pub async fn update(&self, id: SessionId, change: &UpdateSession) -> Result<SessionView, ClientError> {
        self.request(Method::PATCH, &format!("/v1/sessions/{id}"), change).await
    }

    /// Closes a session, and with `purge` removes its files as well.
    pub async fn delete(&self, id: SessionId, purge: bool) -> Result<(), ClientError> {
        let query = if purge { "?purge=true" } else { "" };
        self.remove(&format!("/v1/sessions/{id}{query}")).await
    }

    /// Reads a session's whole history, one record a line, and ends there.
    pub async fn export(&self, id: SessionId) -> Result<EventStream, ClientError> {
        self.events(id, 0, false).await
    }

    /// Reads the events after a cursor and, with `follow`, those to come. The stream ends with the
    /// connection; [`Client::events_resuming`] outlives it.
    pub async fn events(&self, id: SessionId, after: u64, follow: bool) -> Result<EventStream, ClientError> {
        events::open(&self.connector, id, after, follow).await
    }

    /// Follows a session across broken connections: it comes back with its cursor, so that no record
    /// is missed and none is seen twice. Deltas may repeat; their offsets say where they belong. It
    /// fails at once when the first connection does, and gives up when the daemon stays away.
    pub async fn events_resuming(&self, id: SessionId, after: u64) -> Result<EventStream, ClientError> {
        events::open_resuming(self.connector.clone(), self.backoff, id, after).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.connector.send(Method::GET, path, None).await?.json().await
    }

    async fn request<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.connector.send(method, path, Some(requests::encode(body)?)).await?.json().await
    }

    async fn send(&self, method: Method, path: &str, body: &impl Serialize) -> Result<(), ClientError> {
        self.connector.send(method, path, Some(requests::encode(body)?)).await?.drain().await
    }

    async fn remove(&self, path: &str) -> Result<(), ClientError> {
        self.connector.send(Method::DELETE, path, None).await?.drain().await
    }
}
