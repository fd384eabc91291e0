//! What a client that draws sessions asks for besides: a session with what stands around it, what happens in all
//! sessions, and files of a workspace by name.

use std::collections::BTreeMap;

use hyper::Method;
use ostler_types::{Delivery, EventName, MessageId, Part, SessionId, SessionView};
use serde::{Deserialize, Serialize};

use crate::events::{self, EventStream};
use crate::{Approve, Client, ClientError, requests};

/// A session, and what stands around it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionShown {
    /// The session and how it stands.
    #[serde(flatten)]
    pub view: SessionView,
    /// How full the model's window is.
    #[serde(default)]
    pub context: ContextRoom,
    /// Where its readable files lie.
    #[serde(default)]
    pub log_dir: String,
    /// Whether what lies in its workspace is trusted.
    #[serde(default)]
    pub trusted: bool,
}

/// How full a model's window is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextRoom {
    /// Roughly how many tokens the conversation has, once that is known.
    pub tokens: Option<u64>,
    /// How many the model takes, where that is known.
    pub window: Option<u64>,
}

/// Files of a workspace that a word leads to, the likeliest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct FoundFiles {
    /// The files.
    pub files: Vec<FoundFile>,
    /// Whether there are more than these.
    #[serde(default)]
    pub truncated: bool,
}

/// A file of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FoundFile {
    /// Its path in the workspace.
    pub path: String,
}

/// What is to change of a message that waits; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ChangeQueued {
    /// What it says now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<Part>>,
    /// Whether it waits for a turn of its own or goes to the running one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// The waiting message that it is to stand before; none in here puts it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Option<MessageId>>,
}

#[derive(Serialize)]
struct Offered<'a> {
    #[serde(flatten)]
    answer: &'a Approve,
    option: &'a str,
}

impl Client {
    /// Describes one session, how it stands, and how much room its model has left.
    pub async fn shown(&self, id: SessionId) -> Result<SessionShown, ClientError> {
        self.get(&format!("/v1/sessions/{id}")).await
    }

    /// What happens from now on in all sessions, as far as it has one of these names. The stream ends with its
    /// connection; who comes back asks anew how everything stands.
    pub async fn feed(&self, types: &[EventName]) -> Result<EventStream, ClientError> {
        let types = types.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(",");
        let query = requests::query(&[("types", Some(&types))]);
        events::open_at(&self.door, format!("/v1/events{query}")).await
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
        self.tell(Method::PATCH, &format!("/v1/sessions/{id}/queue/{message}"), change).await
    }

    /// Answers an approval with one of the answers that its agent offers.
    pub async fn approve_with(
        &self,
        id: SessionId,
        answer: &Approve,
        option: &str,
    ) -> Result<(), ClientError> {
        self.tell(Method::POST, &format!("/v1/sessions/{id}/approve"), &Offered { answer, option }).await
    }

    /// Chooses something of what a session's agent offers, such as its mode.
    pub async fn choose(
        &self,
        id: SessionId,
        settings: &BTreeMap<String, String>,
    ) -> Result<SessionView, ClientError> {
        let body = serde_json::json!({ "agent_settings": settings });
        self.ask(Method::PATCH, &format!("/v1/sessions/{id}"), &body).await
    }
}
