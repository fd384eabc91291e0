//! How an agent has other sessions work for it. The engine makes, watches and ends them; the agent only says
//! what it wants done and waits.

use ostler_types::{Budget, ChildOutcome, SessionId, ToolCallId};
use tokio::sync::oneshot;

use crate::{ReportError, TurnContext, TurnRequest};

/// A session that is to be started.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewChild {
    /// The call that starts it, unless a plan does. Asking again with the same call or subtask, as after a
    /// restart, finds the session that was started before.
    pub tool_call_id: Option<ToolCallId>,
    /// The subtask of the plan that it works on.
    pub subtask: Option<String>,
    /// What it is for, in a line.
    pub description: String,
    /// What it is told to do.
    pub prompt: String,
    /// Which agent does it; this session's when absent.
    pub agent: Option<String>,
    /// Which model is used; this session's when absent.
    pub model: Option<String>,
    /// Whether it works in a git worktree of its own.
    pub worktree: bool,
    /// Whether the turn goes on without waiting for it.
    pub background: bool,
    /// What it may spend.
    pub budget: Budget,
}

/// What becomes of a git worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorktreeEnd {
    /// Its changes are made in the parent's workspace, then it is removed.
    Merge,
    /// It is removed.
    Drop,
}

/// What an agent can ask about the sessions that it has started.
#[derive(Debug)]
pub enum ChildRequest {
    /// Start one. Answered once it is recorded and at work.
    Start {
        /// What it is to be.
        child: Box<NewChild>,
        /// Answered with its id.
        reply: oneshot::Sender<Result<SessionId, ReportError>>,
    },
    /// Wait until it has ended, however long that takes.
    Wait {
        /// The session.
        session_id: SessionId,
        /// Answered with what came of it.
        reply: oneshot::Sender<Result<ChildOutcome, ReportError>>,
    },
    /// Stop it.
    Cancel {
        /// The session.
        session_id: SessionId,
        /// Answered when it was told.
        reply: oneshot::Sender<Result<(), ReportError>>,
    },
    /// Say what a merge of the worktree of one that has ended would change.
    PreviewMerge {
        /// The session.
        session_id: SessionId,
        /// Answered with the files, for people.
        reply: oneshot::Sender<Result<String, ReportError>>,
    },
    /// Merge or drop the worktree of one that has ended.
    EndWorktree {
        /// The session.
        session_id: SessionId,
        /// Which of the two.
        end: WorktreeEnd,
        /// Answered with what was done, for people and models.
        reply: oneshot::Sender<Result<String, ReportError>>,
    },
}

impl TurnContext {
    /// Has another session work on something.
    pub async fn start_child(&self, child: NewChild) -> Result<SessionId, ReportError> {
        self.child_request(|reply| ChildRequest::Start { child: Box::new(child), reply }).await
    }

    /// Waits until a session that this one has started has ended.
    pub async fn wait_for_child(&self, session_id: SessionId) -> Result<ChildOutcome, ReportError> {
        self.child_request(|reply| ChildRequest::Wait { session_id, reply }).await
    }

    /// Stops a session that this one has started.
    pub async fn cancel_child(&self, session_id: SessionId) -> Result<(), ReportError> {
        self.child_request(|reply| ChildRequest::Cancel { session_id, reply }).await
    }

    /// Says what a merge of the worktree of a session that this one has started would change: the files, for people.
    pub async fn preview_merge(&self, session_id: SessionId) -> Result<String, ReportError> {
        self.child_request(|reply| ChildRequest::PreviewMerge { session_id, reply }).await
    }

    /// Merges or drops the worktree of a session that this one has started, and says what was done.
    pub async fn end_worktree(&self, session_id: SessionId, end: WorktreeEnd) -> Result<String, ReportError> {
        self.child_request(|reply| ChildRequest::EndWorktree { session_id, end, reply }).await
    }

    async fn child_request<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T, ReportError>>) -> ChildRequest,
    ) -> Result<T, ReportError> {
        let (reply, answer) = oneshot::channel();
        self.send(TurnRequest::Child(request(reply))).await?;
        answer.await.map_err(|_| ReportError::TurnOver)?
    }
}
