//! What is said of sessions: a new one, lists, one with its state, and changes to it.

use std::collections::BTreeMap;

use ostler_types::{
    Budget, Effort, Message, MessageId, PendingApproval, Session, SessionId, SessionView, TurnId,
    optional_object,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::policy::PolicyBody;

/// What a new session is to be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NewSessionBody")]
#[serde(deny_unknown_fields)]
pub struct CreateSession {
    /// An existing directory, as an absolute path.
    pub workspace_path: String,
    /// Instructions for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Whether a message starts a turn unless it says otherwise; true when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_run: Option<bool>,
    /// Who runs its turns; `native` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Which model, as `provider:model`; found by the model policy when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Models that take its place, in this order, when it cannot begin to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_models: Option<Vec<String>>,
    /// How much the model thinks; as its maker thinks best when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Whether the traffic with providers is kept in `raw.jsonl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_log: Option<bool>,
    /// Whether thinking, times and tokens are kept in `verbose.md`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbose_log: Option<bool>,
    /// The directory in which its readable files are kept, each session in a folder of its own, instead of beside
    /// its log. An absolute path; made if it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_dir: Option<String>,
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What programs call it, unique among the open sessions.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The session that starts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<SessionId>,
    /// What it may spend.
    #[serde(default, deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = null))]
    pub budget: Option<Budget>,
    /// `repl`, `serve` or `agent`; `chat` is another name of the default, `serve`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<CreateMode>,
    /// Always empty or absent: there are no sessions that follow a specification file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec_path: Option<String>,
    /// What it may do by itself.
    #[serde(default, deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyBody>,
    /// Asking twice with one key makes one session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// What is chosen of the settings of someone else's agent, by the agent's own names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_settings: Option<BTreeMap<String, String>>,
    /// The session of someone else's agent to take over, as the agent calls it. One that was taken over before is
    /// found, and not made again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adopt: Option<String>,
}

/// How a session is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Mode")]
#[serde(rename_all = "snake_case")]
pub enum CreateMode {
    Repl,
    #[serde(alias = "chat")]
    Serve,
    Agent,
}

/// The new session's id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Created {
    pub session_id: SessionId,
}

/// A page of sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SessionList")]
pub struct SessionPage {
    pub sessions: Vec<ListedSession>,
    /// Where the next page begins; null on the last one.
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Entry")]
pub struct ListedSession {
    #[serde(flatten)]
    pub session: Session,
    pub last_seq: u64,
    /// The turn that runs or waits; null when there is none.
    pub running_turn_id: Option<TurnId>,
    /// The place that matches the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
    /// The message that the snippet is from; absent when it is from the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet_message_id: Option<MessageId>,
}

/// A session and its latest state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Shown")]
pub struct SessionWithContext {
    #[serde(flatten)]
    pub view: SessionView,
    /// How full the model's window is, as far as it is known.
    pub context: ContextUsage,
    /// Where its readable files lie.
    pub log_dir: String,
    /// Whether what lies in its workspace is trusted.
    pub trusted: bool,
    /// Its newest messages, oldest first, when they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<Message>>,
}

/// How full the model's window is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Context")]
pub struct ContextUsage {
    /// Roughly how many tokens the conversation has; null before the first answer.
    pub tokens: Option<u64>,
    /// How many the model takes; null where that is not known.
    pub window: Option<u64>,
}

/// What is to change; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UpdateBody")]
#[serde(deny_unknown_fields)]
pub struct UpdateSession {
    /// A new title; an empty one removes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Put it away, or back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// Keep it at the head of lists, or no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    /// Another model, from the next turn on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Other models to take its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_models: Option<Vec<String>>,
    /// Another effort, from the next turn on; null leaves it to the model's maker again.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = null))]
    pub effort: Option<Option<Effort>>,
    /// Begin or stop to keep the traffic with providers, from the next turn on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_log: Option<bool>,
    /// Begin or stop to keep thinking, times and tokens in `verbose.md`, from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbose_log: Option<bool>,
    /// Another policy, from now on.
    #[serde(default, deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyBody>,
    /// Other choices among the settings of someone else's agent, from the next turn on; those that are not named stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_settings: Option<BTreeMap<String, String>>,
}

/// The session is closed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Closed")]
pub struct SessionClosed {
    pub session_id: SessionId,
    /// Whether its files are gone too.
    pub purged: bool,
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

/// A value that is there, be it null: for fields where null means something else than absence.
pub(crate) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
