//! What a client that draws sessions asks for besides: a session with what stands around it, what happens in all
//! sessions, and files of a workspace by name.

use std::collections::BTreeMap;

use hyper::Method;
use ostler_api_types::{ChangeQueued, FoundFiles, SessionWithContext, UpdateSession};
use ostler_types::{EventName, MessageId, SessionId, SessionView};

use crate::events::{self, EventStream};
use crate::{Client, ClientError, requests};

impl Client {
    /// Describes one session, how it stands, and how much room its model has left.
    pub async fn session_with_context(&self, id: SessionId) -> Result<SessionWithContext, ClientError> {
        self.get(&format!("/v1/sessions/{id}")).await
    }

    /// What happens from now on in all sessions, as far as it has one of these names. The stream ends with its
    /// connection; who comes back asks anew how everything stands.
    pub async fn feed(&self, types: &[EventName]) -> Result<EventStream, ClientError> {
        let types = types.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(",");
        let query = requests::query(&[("types", Some(&types))]);
        events::open_at(&self.connector, format!("/v1/events{query}")).await
    }

    /// Finds files of a session's workspace by a part of their path.
    pub async fn find_files(&self, id: SessionId, word: &str, limit: u32) -> Result<FoundFiles, ClientError> {
        let limit = limit.to_string();
        let query = requests::query(&[("q", Some(word)), ("limit", Some(&limit))]);
        self.get(&format!("/v1/sessions/{id}/files{query}")).await
    }

    /// Changes a message that still waits for its turn: what it says, where it stands, how it is delivered.
    pub async fn requeue(
        &self,
        id: SessionId,
        message: MessageId,
        change: &ChangeQueued,
    ) -> Result<(), ClientError> {
        self.send(Method::PATCH, &format!("/v1/sessions/{id}/queue/{message}"), change).await
    }

    /// Chooses something of what a session's agent offers, such as its mode.
    pub async fn set_agent_setting(
        &self,
        id: SessionId,
        settings: &BTreeMap<String, String>,
    ) -> Result<SessionView, ClientError> {
        let body = UpdateSession { agent_settings: Some(settings.clone()), ..UpdateSession::default() };
        self.request(Method::PATCH, &format!("/v1/sessions/{id}"), &body).await
    }
}
