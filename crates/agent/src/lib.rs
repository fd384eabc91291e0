//! The contract between the engine and whatever thinks.
//!
//! The engine gives an [`Agent`] one turn at a time in a [`TurnContext`]. The agent reports what
//! happens; the engine records it. Neither knows more of the other: no model, tool, protocol or
//! socket is visible from here.

mod child;
mod turn;

use futures_util::future::BoxFuture;
use ostler_types::{Failure, SessionId};

pub use child::{ChildRequest, NewChild, WorktreeEnd};
pub use turn::{RawLogSink, ReportError, TurnContext, TurnLink, TurnRequest};

/// Runs turns. The native loop is one, someone else's agent in a child process another.
pub trait Agent: Send + Sync + 'static {
    /// A session of this agent is being created in a workspace. Called at most once for a session, before anybody can
    /// send it a prompt; the session may still not come to be. Whatever the first turn needs and takes long can be
    /// begun here. Returns at once.
    fn prepare(&self, session: SessionId, workspace: &str) {
        let (_, _) = (session, workspace);
    }

    /// Runs one turn to its end. Called once per turn, and again after a restart for a turn that
    /// only waited, if [`Agent::can_resume_turns`]; `turn.open` then holds the calls to go on with.
    ///
    /// It must return soon after `turn.canceled` fires, or when a report comes back
    /// [`ReportError::TurnOver`]; the engine drops the future of an agent that does not, so whatever it
    /// holds (a child process, a stream) must end when dropped. It must not report after returning. A turn
    /// that it has ended itself, with `Report::LastStepFinished`, is over: it returns without doing more.
    fn run_turn(&self, turn: TurnContext) -> BoxFuture<'_, Result<CompletedTurn, FailedTurn>>;

    /// Whether a turn that waited for an answer can be picked up by a new process.
    fn can_resume_turns(&self) -> bool;
}

/// A turn that ended as it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletedTurn {
    /// Why the model stopped.
    pub stop_reason: String,
    /// Whether the workspace was checked, and held.
    pub verified: Option<bool>,
    /// What there is to say of the check, such as why there was none.
    pub verification: Option<String>,
}

/// A turn that could not go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedTurn {
    /// What went wrong, and what to do about it.
    pub error: Failure,
    /// A stable word for why.
    pub reason: String,
}

impl From<ReportError> for FailedTurn {
    fn from(error: ReportError) -> FailedTurn {
        let (code, hint) = match &error {
            ReportError::TurnOver => ("turn_over", None),
            ReportError::Refused(refusal) => (refusal.code.as_str(), refusal.hint.clone()),
            ReportError::NotRecorded(_) => {
                ("not_recorded", Some("free some disk space, then retry the turn".to_owned()))
            }
        };
        let error = Failure { code: code.to_owned(), message: error.to_string(), hint };
        FailedTurn { error, reason: code.to_owned() }
    }
}
