//! What is sent to the http door and what it answers, as far as `ostler-types` does not have it.

use std::collections::BTreeMap;

use bytes::Bytes;
use ostler_types::{
    Budget, Delivery, Effort, FileChange, Message, MessageId, ModelInfo, Part, PendingApproval, Policy,
    Resolution, ReviewAnswer, Role, Rule, Scope, Session, SessionId, SessionStatus, SessionView, ToolCallId,
    TurnId, Verdict,
};
use serde::{Deserialize, Serialize};

use crate::ClientError;

/// A session to be made. What is absent is the daemon's to choose.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CreateSession {
    /// An existing directory, as an absolute path.
    pub workspace_path: String,
    /// Instructions for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Whether a message starts a turn unless it says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_run: Option<bool>,
    /// Which agent runs its turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Which model the agent uses, as `provider:model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Models that take its place, in this order, when it cannot begin to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_models: Option<Vec<String>>,
    /// How much the model thinks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Whether the traffic with providers is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_log: Option<bool>,
    /// Whether thinking, times and tokens are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbose_log: Option<bool>,
    /// The directory in which its readable files are kept, as an absolute path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_dir: Option<String>,
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What programs call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it may spend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// The session that starts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<SessionId>,
    /// How it is used: `repl`, `serve` or `agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// What it may do by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// Asking twice with one key makes one session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// What is chosen of the settings of someone else's agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_settings: Option<BTreeMap<String, String>>,
    /// The session of someone else's agent to take over, as the agent calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adopt: Option<String>,
}

/// A message to be added.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SendMessage {
    /// Who speaks: `user` or `system`.
    pub role: Role,
    /// What is said.
    pub parts: Vec<Part>,
    /// Whether it starts a turn; the session's own setting when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_run: Option<bool>,
    /// What becomes of it while a turn runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// Asking twice with one key adds one message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

impl SendMessage {
    /// What a person types: one text, everything else as the session has it.
    pub fn prompt(text: impl Into<String>) -> SendMessage {
        let parts = vec![Part::text(text)];
        SendMessage { role: Role::User, parts, auto_run: None, delivery: None, idempotency_key: None }
    }
}

/// An answer to an approval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Approve {
    /// The turn that the call belongs to.
    pub turn_id: TurnId,
    /// The call.
    pub tool_call_id: ToolCallId,
    /// Yes or no.
    pub action: Verdict,
    /// For how long; this call only when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Why; the model sees it when the answer is no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What to put back and what to say, when a patch review is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewAnswer>,
}

/// A change of a session's settings; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct UpdateSession {
    /// A new title; an empty one removes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Put away or back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// Keep it at the head of lists, or no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    /// Another model, from the next turn on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Models that take its place, in this order, when it cannot begin to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_models: Option<Vec<String>>,
    /// How much the model thinks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Whether the traffic with providers is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_log: Option<bool>,
    /// Begin or stop to keep thinking, times and tokens, from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbose_log: Option<bool>,
    /// Another policy, from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// Other choices among the settings of someone else's agent, from the next turn on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_settings: Option<BTreeMap<String, String>>,
}

/// The models that sessions can have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelList {
    /// The one that a session gets when it names none, and why; none if there is none to be had.
    pub default: Option<Resolution>,
    /// Why there is none to be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_default: Option<String>,
    /// What can be chosen, what can be used first.
    pub models: Vec<ModelInfo>,
}

/// Which sessions to list. What is absent filters nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Only those that stand so.
    pub status: Option<SessionStatus>,
    /// Only those of this directory.
    pub workspace: Option<String>,
    /// Only those that are put away, or only those that are not.
    pub archived: Option<bool>,
    /// Only those that this session has started.
    pub parent: Option<SessionId>,
    /// Those that other sessions have started, too.
    pub children: bool,
    /// Only those in which these words occur.
    pub q: Option<String>,
    /// How many at most; the daemon allows 200.
    pub limit: Option<u32>,
    /// Where the page before this one ended.
    pub cursor: Option<String>,
}

impl SessionFilter {
    pub(crate) fn query(&self) -> String {
        let limit = self.limit.map(|limit| limit.to_string());
        let parent = self.parent.map(|parent| parent.to_string());
        query(&[
            ("parent", parent.as_deref()),
            ("children", self.children.then_some("true")),
            ("status", self.status.map(SessionStatus::as_str)),
            ("workspace", self.workspace.as_deref()),
            ("archived", self.archived.map(|archived| if archived { "true" } else { "false" })),
            ("q", self.q.as_deref()),
            ("limit", limit.as_deref()),
            ("cursor", self.cursor.as_deref()),
        ])
    }
}

/// How the daemon is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Health {
    /// A word for it, `ok` when all is well.
    pub status: Option<String>,
    /// The daemon's version.
    pub version: Option<String>,
}

/// Some sessions, newest activity first.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<ListedSession>,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<String>,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ListedSession {
    /// The session.
    #[serde(flatten)]
    pub session: Session,
    /// The newest record.
    #[serde(default)]
    pub last_seq: u64,
    /// The turn that runs or waits, if there is one.
    #[serde(default)]
    pub running_turn_id: Option<TurnId>,
    /// The place that matches the search, if there was one.
    #[serde(default)]
    pub snippet: Option<String>,
}

impl ListedSession {
    /// As much of the session's view as a list says, with its own calls among those that wait for an answer.
    pub fn view(self, approvals: &[PendingApproval]) -> SessionView {
        let id = self.session.id;
        let own = approvals.iter().filter(|approval| approval.session_id == id);
        SessionView {
            pending_approvals: own.cloned().collect(),
            running_turn_id: self.running_turn_id,
            ..SessionView::new(self.session, self.last_seq)
        }
    }
}

/// Some messages of a session.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct MessagePage {
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// What to pass as `before` for the page of older messages, if there are any.
    pub before: Option<u64>,
}

/// A message was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Sent {
    /// The message.
    pub message_id: MessageId,
    /// The turn that will answer it; none when none was asked for.
    pub turn_id: Option<TurnId>,
}

#[derive(Deserialize)]
pub(crate) struct Created {
    pub(crate) session_id: SessionId,
}

#[derive(Deserialize)]
pub(crate) struct Started {
    pub(crate) turn_id: TurnId,
}

#[derive(Serialize)]
pub(crate) struct CancelTurn {
    pub(crate) turn_id: TurnId,
}

#[derive(Deserialize)]
pub(crate) struct Canceled {
    pub(crate) canceled: bool,
}

#[derive(Deserialize)]
pub(crate) struct ApprovalDiff {
    pub(crate) files: Option<Vec<FileChange>>,
}

#[derive(Deserialize)]
pub(crate) struct Approvals {
    pub(crate) approvals: Vec<PendingApproval>,
}

/// What to undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UndoTurn {
    /// The turn before which the workspace is to stand.
    pub turn_id: TurnId,
    /// Only say what would be done.
    pub preview: bool,
    /// Also put back what somebody else has changed since.
    pub force: bool,
}

/// What an undo did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Undone {
    /// Files that have their old content again.
    pub restored: Vec<String>,
    /// Files that are there again.
    pub recreated: Vec<String>,
    /// Files that are gone again.
    pub deleted: Vec<String>,
    /// Files that were left alone.
    pub conflicts: Vec<LeftAlone>,
    /// Files that have changed and cannot be brought back.
    #[serde(default)]
    pub left_out: Vec<LeftAlone>,
    /// What no undo covers, in words.
    #[serde(default)]
    pub note: String,
}

/// A file that an undo left alone.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LeftAlone {
    /// The file.
    pub path: String,
    /// Why.
    pub why: String,
}

/// Whether a workspace is trusted, and what it brings.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct WorkspaceTrust {
    /// Whether its owner trusts what it says itself.
    pub trusted: bool,
    /// What it says in its own files, which counts only while it is trusted.
    pub brings: Brought,
}

/// What a workspace says in its own files.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Brought {
    /// The commands that check a turn's work.
    pub verify_commands: Vec<String>,
    /// The servers of tools.
    pub servers: Vec<BroughtServer>,
    /// The calls that are allowed without asking.
    pub rules: Vec<BroughtRule>,
    /// What is asked about besides, in words.
    pub asks: Vec<String>,
    /// What cannot be used, and why.
    pub problems: Vec<String>,
}

/// A server that a workspace names.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct BroughtServer {
    /// What the workspace calls it.
    pub name: String,
    /// The command line that starts it, or its address.
    pub runs: String,
    /// The file that names it.
    pub file: String,
}

/// A rule that a workspace names.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct BroughtRule {
    /// The rule.
    pub rule: Rule,
    /// Whether it holds.
    pub in_force: bool,
}

/// The body of a request that has nothing to say beyond its path.
#[derive(Serialize)]
pub(crate) struct Nothing {}

/// A body as JSON.
pub(crate) fn encode(body: &impl Serialize) -> Result<Bytes, ClientError> {
    let json = serde_json::to_vec(body)
        .map_err(|error| ClientError::Protocol(format!("the request cannot be written as JSON: {error}")))?;
    Ok(json.into())
}

/// The query string of those pairs that have a value, with its question mark.
pub(crate) fn query(pairs: &[(&str, Option<&str>)]) -> String {
    let mut query = String::new();
    for (name, value) in pairs {
        if let Some(value) = value {
            query.push(if query.is_empty() { '?' } else { '&' });
            query.push_str(name);
            query.push('=');
            escape(value, &mut query);
        }
    }
    query
}

/// Everything but the unreserved characters of RFC 3986 is written as its bytes.
pub(crate) fn escape(value: &str, out: &mut String) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(b"0123456789ABCDEF"[usize::from(byte >> 4)]));
            out.push(char::from(b"0123456789ABCDEF"[usize::from(byte & 15)]));
        }
    }
}
