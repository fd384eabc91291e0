//! The tools of the loop itself. They need the turn, not only a workspace, so they are no [`Tool`]s; to the
//! model and to people they look like any other.
//!
//! [`Tool`]: ostler_runner::Tool

use ostler_agent::FailedTurn;
use ostler_runner::ToolOutcome;
use ostler_types::{MAX_SESSION_DEPTH, Session, ToolCall, ToolKind, ToolSpec};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::turn::NativeTurn;
use crate::{skill, task, task_control};

/// A tool of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopTool {
    /// Has another session work on something.
    Task,
    /// Waits for such a session, stops it, or ends its worktree.
    TaskControl,
    /// Reads a skill.
    Skill,
}

impl LoopTool {
    /// Those that a session has: none to start sessions where it may not, none to read skills without any.
    pub(crate) fn for_session(session: &Session, has_skills: bool) -> Vec<LoopTool> {
        let starts =
            [LoopTool::Task, LoopTool::TaskControl].into_iter().filter(|_| session.depth < MAX_SESSION_DEPTH);
        starts.chain(has_skills.then_some(LoopTool::Skill)).collect()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            LoopTool::Task => "task",
            LoopTool::TaskControl => "task_control",
            LoopTool::Skill => "skill",
        }
    }

    /// What a model is told of it.
    pub(crate) fn spec(self) -> ToolSpec {
        match self {
            LoopTool::Task => task::spec(),
            LoopTool::TaskControl => task_control::spec(),
            LoopTool::Skill => skill::spec(),
        }
    }

    /// What this very call touches.
    pub(crate) fn kind_of(self, input: &Value) -> ToolKind {
        match self {
            LoopTool::Task => task::kind_of(input),
            LoopTool::TaskControl => task_control::kind_of(input),
            LoopTool::Skill => ToolKind::Read,
        }
    }

    /// Whether others may change the workspace because of this call, whatever its kind.
    pub(crate) fn lets_child_change_workspace(self, input: &Value) -> bool {
        match self {
            LoopTool::Task => task::shares_workspace(input),
            LoopTool::TaskControl | LoopTool::Skill => false,
        }
    }

    /// What a call will do, in a line, for the person who approves it.
    pub(crate) fn summary(self, input: &Value) -> String {
        match self {
            LoopTool::Task => task::summary(input),
            LoopTool::TaskControl => task_control::summary(input),
            LoopTool::Skill => skill::summary(input),
        }
    }

    /// The same with what can only be told in a turn, such as the files of a merge.
    pub(crate) async fn summary_in_turn(self, turn: &NativeTurn<'_>, input: &Value) -> String {
        match self {
            LoopTool::TaskControl => task_control::summary_with_files(turn, input).await,
            LoopTool::Task | LoopTool::Skill => self.summary(input),
        }
    }

    /// Whether the daemon's git works for this call.
    pub(crate) fn runs_git(self, input: &Value) -> bool {
        match self {
            LoopTool::Task => !task::shares_workspace(input),
            LoopTool::TaskControl => task_control::runs_git(input),
            LoopTool::Skill => false,
        }
    }

    /// Does it. What fails is an outcome; only a turn that is over, or a log that cannot be written, is an
    /// error.
    pub(crate) async fn run(self, turn: &NativeTurn<'_>, call: &ToolCall) -> Result<ToolOutcome, FailedTurn> {
        match self {
            LoopTool::Task => task::run(turn, call).await,
            LoopTool::TaskControl => task_control::run(turn, call).await,
            LoopTool::Skill => skill::run(turn, call).await,
        }
    }
}

/// Reads a call's input, or says what is wrong with it in words that a model can act on.
pub(crate) fn parse_input<T: DeserializeOwned>(input: &Value) -> Result<T, String> {
    T::deserialize(input)
        .map_err(|error| format!("Invalid input: {error}. Correct it and call the tool again."))
}
