//! What makes sessions of sessions: forks, plans, exports and imports; and what a model is shown of one.

use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use ostler_api_types::{ContextView, Created, ForkSession, Started};
use ostler_types::{Plan, SessionId, TurnId};

use crate::connection::ClientResponse;
use crate::requests::{self, EmptyBody};
use crate::{Client, ClientError};

/// How long an export may send nothing.
const DOWNLOAD_IDLE_LIMIT: Duration = Duration::from_secs(60);

/// What a session can be exported as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// The records as JSON lines.
    Ndjson,
    /// The conversation to read.
    Markdown,
    /// The conversation to look at.
    Html,
    /// The database of the conversation.
    Sqlite,
    /// All files of the session.
    Zip,
}

impl ExportFormat {
    /// The word that asks for it.
    pub fn name(self) -> &'static str {
        match self {
            ExportFormat::Ndjson => "ndjson",
            ExportFormat::Markdown => "md",
            ExportFormat::Html => "html",
            ExportFormat::Sqlite => "sqlite",
            ExportFormat::Zip => "zip",
        }
    }
}

/// What a session can be imported from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportFormat {
    /// An archive of all its files.
    Zip,
    /// Its records, one a line.
    Ndjson,
    /// A conversation, one message per line.
    Transcript,
}

impl ImportFormat {
    fn name(self) -> &'static str {
        match self {
            ImportFormat::Zip => "zip",
            ImportFormat::Ndjson => "ndjson",
            ImportFormat::Transcript => "transcript",
        }
    }
}

/// A file on its way.
pub struct Download {
    answer: ClientResponse,
}

impl Download {
    /// Its next bytes; none at its end. A file that breaks off is an error.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        self.answer.chunk(DOWNLOAD_IDLE_LIMIT).await
    }
}

impl Client {
    /// Makes a session that goes its own way after a turn of another one: the last finished one when absent.
    pub async fn fork(&self, id: SessionId, turn: Option<TurnId>) -> Result<SessionId, ClientError> {
        let body = ForkSession { turn_id: turn };
        let created: Created = self.request(Method::POST, &format!("/v1/sessions/{id}/fork"), &body).await?;
        Ok(created.session_id)
    }

    /// Has the conversation made shorter for the model, and returns the turn that does it.
    pub async fn compact(&self, id: SessionId) -> Result<TurnId, ClientError> {
        let path = format!("/v1/sessions/{id}/compact");
        let started: Started = self.request(Method::POST, &path, &EmptyBody {}).await?;
        Ok(started.turn_id)
    }

    /// Has other sessions work on a plan, and returns the turn that sees to it.
    pub async fn run_plan(&self, id: SessionId, plan: &Plan) -> Result<TurnId, ClientError> {
        let started: Started =
            self.request(Method::POST, &format!("/v1/sessions/{id}/subtasks"), plan).await?;
        Ok(started.turn_id)
    }

    /// Measures what the model is shown of a session.
    pub async fn context(&self, id: SessionId) -> Result<ContextView, ClientError> {
        self.get(&format!("/v1/sessions/{id}/context")).await
    }

    /// Fetches a session as one file.
    pub async fn download(&self, id: SessionId, format: ExportFormat) -> Result<Download, ClientError> {
        let path = format!("/v1/sessions/{id}/export?format={}", format.name());
        Ok(Download { answer: self.connector.send_accepting("*/*", Method::GET, &path, None).await? })
    }

    /// Makes a session of an exported one, or of a transcript. Told from the content when no format is given; it
    /// works in the directory that is named, or in the one that it worked in.
    pub async fn import(
        &self,
        content: Bytes,
        format: Option<ImportFormat>,
        workspace: Option<&str>,
    ) -> Result<SessionId, ClientError> {
        let query =
            requests::query(&[("format", format.map(ImportFormat::name)), ("workspace_path", workspace)]);
        let path = format!("/v1/sessions/import{query}");
        let answer = self.connector.send_bytes(Method::POST, &path, content).await?;
        let created: Created = answer.json().await?;
        Ok(created.session_id)
    }
}
