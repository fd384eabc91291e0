//! What the desk of an editor has to know of a session beside the updates that its follower sends.

use std::path::PathBuf;

use agent_client_protocol::v1::schema::StopReason;
use ostler_types::{
    AgentState, ApprovalOption, Failure, FileChange, PendingApproval, Session, SessionId, ToolCall,
    ToolCallId, ToolKind, TurnId,
};
use tokio::sync::oneshot;

/// What the desk is told of a session.
#[derive(Debug)]
pub(super) enum EditorNotice {
    /// A question waits for an answer.
    Asked(Box<EditorQuestion>),
    /// A question was answered, here or elsewhere.
    Answered(EditorQuestionKey),
    /// A turn is over.
    TurnEnded(TurnId, EditorTurnEnd),
    /// A turn will not begin: its message was taken back.
    TurnDropped(TurnId),
    /// Its title, model or policy may be others now.
    Changed(Box<Session>),
    /// Its agent says something else of itself now.
    AgentChanged(Box<AgentState>),
    /// All that had happened before it was opened has been told.
    Replayed,
    /// A tool wants to know or to say what a file holds.
    File(FileRequest),
    /// No more will come of this session.
    Gone,
}

/// What the editor is to be asked about a file.
#[derive(Debug)]
pub(super) struct FileRequest {
    pub(super) path: PathBuf,
    /// What it is to hold; none when that is asked.
    pub(super) content: Option<String>,
    /// Takes what it holds. Dropped where there is no answer.
    pub(super) reply: oneshot::Sender<String>,
}

/// How a turn ended.
#[derive(Debug)]
pub(super) enum EditorTurnEnd {
    /// By itself, for this reason, or because somebody stopped it.
    Stopped(StopReason),
    /// In an error.
    Failed(Failure),
}

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EditorQuestionKey {
    pub(super) session_id: SessionId,
    pub(super) turn_id: TurnId,
    pub(super) call: ToolCallId,
}

/// Something that waits for an answer.
#[derive(Debug, Clone)]
pub(super) struct EditorQuestion {
    pub(super) key: EditorQuestionKey,
    /// The call as it stands in the session that shows it.
    pub(super) tool_call: ToolCall,
    pub(super) kind: ToolKind,
    /// What it is about, for people.
    pub(super) summary: String,
    /// The answers that its agent offers.
    pub(super) options: Vec<ApprovalOption>,
    /// What a turn has changed, when the question is whether to keep it.
    pub(super) review: Option<Vec<FileChange>>,
    /// What a merge would change, once that is known.
    pub(super) merged: Option<Vec<FileChange>>,
}

impl EditorQuestion {
    /// Whether it is about the merge of a child's worktree, whose files its input does not tell.
    pub(super) fn is_merge(&self) -> bool {
        self.tool_call.name == "task_control" && self.tool_call.input["action"] == "merge"
    }
}

impl From<&PendingApproval> for EditorQuestion {
    fn from(approval: &PendingApproval) -> EditorQuestion {
        let call = approval.tool_call_id.clone();
        let key = EditorQuestionKey {
            session_id: approval.session_id,
            turn_id: approval.turn_id,
            call: call.clone(),
        };
        EditorQuestion {
            key,
            tool_call: ToolCall { id: call, name: approval.tool.clone(), input: approval.input.clone() },
            kind: approval.kind,
            summary: approval.summary.clone(),
            options: approval.options.clone(),
            review: approval.is_review().then(Vec::new),
            merged: None,
        }
    }
}
