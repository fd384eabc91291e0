//! What an agent is given for one turn, and how it speaks to the engine.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytes::Bytes;
use ostler_types::{
    Accepted, ApprovalOption, Clock, Delta, Message, MessageId, OpenTurn, ProposedCall, RawLine, Refusal,
    Reviewed, Session, Subject, ToolCall, ToolKind, TurnPatch, TurnReport, Verdict,
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::child::ChildRequest;

/// One turn: what it starts from, and the way to report on it. Reports are recorded in the order
/// in which they are made, and a report that returns `Ok` is on disk.
#[derive(Clone)]
pub struct TurnContext {
    /// The session as it stood when the turn began.
    pub session: Arc<Session>,
    /// The turn; it has open calls when it is being picked up after a restart.
    pub open_turn: Arc<OpenTurn>,
    /// The conversation so far, the messages to answer included.
    pub history: Vec<Arc<Message>>,
    /// Fires when the turn is over by someone else's word.
    pub canceled: CancellationToken,
    /// Where times and ids come from.
    pub clock: Arc<dyn Clock>,
    /// Whether the owner trusts what the workspace itself says: its settings, its commands.
    pub trusted: bool,
    /// Tokens that the sessions which this one has started have spent, now. The engine keeps it up to date.
    pub children_tokens: Arc<AtomicU64>,
    link: TurnLink,
}

/// The agent's line to its session; made by the engine.
#[derive(Clone)]
pub struct TurnLink {
    /// Takes reports, in order.
    pub requests: mpsc::Sender<TurnRequest>,
    /// Shows a delta to whoever is looking. Must not block.
    pub deltas: Arc<dyn Fn(Delta) + Send + Sync>,
    /// Keeps what goes over the wire to a provider, if the session wants that kept. Must not block.
    pub raw_log: Option<RawLogSink>,
}

/// Takes what goes over the wire.
pub type RawLogSink = Arc<dyn Fn(RawLine) + Send + Sync>;

/// What travels on that line.
#[derive(Debug)]
pub enum TurnRequest {
    /// Something happened.
    Report {
        /// What.
        report: TurnReport,
        /// Answered once it is recorded; for a proposed call, once it is allowed or denied.
        reply: oneshot::Sender<Result<Accepted, ReportError>>,
    },
    /// Keep this beside the log.
    PutArtifact {
        /// The file's name.
        name: String,
        /// Its content.
        content: Vec<u8>,
        /// Answered with where it lies, relative to the session's folder.
        reply: oneshot::Sender<Result<String, ReportError>>,
    },
    /// Read what lies beside the log.
    GetFile {
        /// Where it lies, relative to the session's folder.
        reference: String,
        /// Answered with its content.
        reply: oneshot::Sender<Result<Bytes, ReportError>>,
    },
    /// Something about the sessions that this one starts.
    Child(ChildRequest),
}

/// Why a report was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// The turn is over; the agent should return.
    #[error("the turn is over")]
    TurnOver,
    /// The rules forbid it; the agent made a mistake.
    #[error("the report was refused: {0}")]
    Refused(Refusal),
    /// It could not be written down.
    #[error("the session's log cannot be written: {0}")]
    NotRecorded(String),
}

impl TurnContext {
    /// Made by the engine, and by tests in its place.
    pub fn new(
        session: Arc<Session>,
        open: Arc<OpenTurn>,
        history: Vec<Arc<Message>>,
        canceled: CancellationToken,
        clock: Arc<dyn Clock>,
        link: TurnLink,
    ) -> TurnContext {
        let children_tokens = Arc::default();
        TurnContext {
            session,
            open_turn: open,
            history,
            canceled,
            clock,
            trusted: false,
            children_tokens,
            link,
        }
    }

    /// The same with somebody who says what the sessions have spent that this one has started.
    #[must_use]
    pub fn with_children_tokens(self, children_tokens: Arc<AtomicU64>) -> TurnContext {
        TurnContext { children_tokens, ..self }
    }

    /// The same in a workspace that is trusted, or is not.
    #[must_use]
    pub fn trusted(self, trusted: bool) -> TurnContext {
        TurnContext { trusted, ..self }
    }

    /// Reports, and waits until it is recorded.
    pub async fn report(&self, report: TurnReport) -> Result<Accepted, ReportError> {
        let (reply, answer) = oneshot::channel();
        self.send(TurnRequest::Report { report, reply }).await?;
        answer.await.map_err(|_| ReportError::TurnOver)?
    }

    /// Asks whether a call may run, and waits for the answer however long it takes. A `risk` is put to a
    /// person whatever the policy says; the `subject` is what the policy
    /// judges, and what a rule would remember.
    pub async fn request_approval(
        &self,
        call: ToolCall,
        kind: ToolKind,
        summary: String,
        risk: Option<String>,
        subject: Subject,
    ) -> Result<(Verdict, Option<String>), ReportError> {
        let report = TurnReport::CallProposed(ProposedCall {
            tool_call: call,
            kind,
            summary,
            risk,
            trusted: self.trusted,
            subject,
            options: Vec::new(),
        });
        match self.report(report).await? {
            Accepted::Denied { reason } => Ok((Verdict::Deny, reason)),
            _ => Ok((Verdict::Approve, None)),
        }
    }

    /// Puts a question to a person with the answers that the agent itself offers, and waits however long it
    /// takes. Returns the answer that was chosen; none when a plain one had no counterpart among them.
    pub async fn request_choice(
        &self,
        call: ToolCall,
        kind: ToolKind,
        summary: String,
        options: Vec<ApprovalOption>,
    ) -> Result<Option<String>, ReportError> {
        let trusted = self.trusted;
        let report = TurnReport::CallProposed(ProposedCall {
            tool_call: call,
            kind,
            summary,
            risk: None,
            trusted,
            subject: Subject::Input,
            options,
        });
        match self.report(report).await? {
            Accepted::Chosen { option, .. } => Ok(Some(option)),
            _ => Ok(None),
        }
    }

    /// Shows what the turn changed. When it is to wait, returns what a person said to it, however long
    /// that takes.
    pub async fn request_review(
        &self,
        patch: TurnPatch,
        waits: bool,
    ) -> Result<Option<Reviewed>, ReportError> {
        match self.report(TurnReport::ReviewRequested { patch, waits }).await? {
            Accepted::Reviewed(reviewed) => Ok(Some(*reviewed)),
            _ => Ok(None),
        }
    }

    /// Shows text as it streams. Not recorded; never waits.
    pub fn delta(&self, delta: Delta) {
        (self.link.deltas)(delta);
    }

    /// Keeps something large beside the log, and returns where it lies.
    pub async fn put_artifact(&self, name: String, content: Vec<u8>) -> Result<String, ReportError> {
        let (reply, answer) = oneshot::channel();
        self.send(TurnRequest::PutArtifact { name, content, reply }).await?;
        answer.await.map_err(|_| ReportError::TurnOver)?
    }

    /// Reads what lies beside the log, such as an attachment.
    pub async fn read_file(&self, reference: String) -> Result<Bytes, ReportError> {
        let (reply, answer) = oneshot::channel();
        self.send(TurnRequest::GetFile { reference, reply }).await?;
        answer.await.map_err(|_| ReportError::TurnOver)?
    }

    /// Where the traffic with providers is kept, if it is.
    pub fn raw(&self) -> Option<RawLogSink> {
        self.link.raw_log.clone()
    }

    /// A new message's id.
    pub fn message_id(&self) -> MessageId {
        MessageId::new(self.clock.uuid())
    }

    pub(crate) async fn send(&self, request: TurnRequest) -> Result<(), ReportError> {
        self.link.requests.send(request).await.map_err(|_| ReportError::TurnOver)
    }
}
