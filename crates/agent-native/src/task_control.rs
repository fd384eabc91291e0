//! The tool `task_control`: waits for a session that `task` has started, stops it, or ends its worktree.
//!
//! Waiting and stopping are of kind `read`. Merging changes the workspace, and dropping throws away what
//! nobody else has, so both are of kind `write` and are asked about like any other.

use ostler_agent::{FailedTurn, WorktreeEnd};
use ostler_runner::ToolOutcome;
use ostler_types::{SessionId, ToolCall, ToolKind, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::loop_tools::parse_input;
use crate::prompts;
use crate::task::{ended_outcome, refused_outcome, session_link};
use crate::turn::NativeTurn;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ControlInput {
    task_id: String,
    action: TaskAction,
}

/// What can be done with a session that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TaskAction {
    Wait,
    Cancel,
    Merge,
    Drop,
}

/// What a model is told of it.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: "task_control".to_owned(),
        description: prompts::TASK_CONTROL.to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "task_id": {"type": "string", "description": "The session id that task returned (sess_…)."},
                "action": {"type": "string", "enum": ["wait", "cancel", "merge", "drop"]},
            },
            "required": ["task_id", "action"],
            "additionalProperties": false,
        }),
    }
}

/// What this very call touches. One that is not understood does nothing, and counts as the worst.
pub(crate) fn kind_of(input: &Value) -> ToolKind {
    match TaskAction::deserialize(&input["action"]) {
        Ok(TaskAction::Wait | TaskAction::Cancel) => ToolKind::Read,
        Ok(TaskAction::Merge | TaskAction::Drop) | Err(_) => ToolKind::Write,
    }
}

/// Whether the daemon's git works for this call.
pub(crate) fn runs_git(input: &Value) -> bool {
    match TaskAction::deserialize(&input["action"]) {
        Ok(TaskAction::Merge) => true,
        Ok(TaskAction::Wait | TaskAction::Cancel | TaskAction::Drop) | Err(_) => false,
    }
}

/// What a call will do, for the person who approves it.
pub(crate) fn summary(input: &Value) -> String {
    let id = input["task_id"].as_str().unwrap_or_default();
    match TaskAction::deserialize(&input["action"]) {
        Ok(TaskAction::Wait) => format!("wait for {id}"),
        Ok(TaskAction::Cancel) => format!("stop {id}"),
        Ok(TaskAction::Merge) => {
            format!("make the changes of {id} in this workspace, and remove its worktree")
        }
        Ok(TaskAction::Drop) => format!("remove the worktree of {id} with all changes in it"),
        Err(_) => format!("task_control {input}"),
    }
}

/// The same with the files that a merge would change, where that can be told.
pub(crate) async fn summary_with_files(turn: &NativeTurn<'_>, input: &Value) -> String {
    let summary = summary(input);
    let (Ok(TaskAction::Merge), Some(child)) =
        (TaskAction::deserialize(&input["action"]), child(&input["task_id"]))
    else {
        return summary;
    };
    match turn.context.preview_merge(child).await {
        Ok(files) => format!("{summary}: {files}"),
        Err(_) => summary,
    }
}

/// The session that an input names.
fn child(task_id: &Value) -> Option<SessionId> {
    task_id.as_str()?.trim_start_matches("sessions/").parse().ok()
}

/// Does it.
pub(crate) async fn run(turn: &NativeTurn<'_>, call: &ToolCall) -> Result<ToolOutcome, FailedTurn> {
    let ControlInput { task_id, action } = match parse_input(&call.input) {
        Ok(input) => input,
        Err(why) => return Ok(ToolOutcome::failed(why)),
    };
    let Ok(session_id) = task_id.trim_start_matches("sessions/").parse::<SessionId>() else {
        let told = format!(
            "`{task_id}` is not a task id; use the one that task returned (`sess_` and 32 hex digits)."
        );
        return Ok(ToolOutcome::failed(told));
    };
    let context = turn.context;
    let done = |told: String| ToolOutcome::done(told, json!({"session_id": session_id}));
    match action {
        TaskAction::Wait => match context.wait_for_child(session_id).await {
            Ok(outcome) => Ok(ended_outcome(session_id, &outcome, false)),
            Err(error) => refused_outcome("Cannot wait for the task", error),
        },
        TaskAction::Cancel => match context.cancel_child(session_id).await {
            Ok(()) => Ok(done(format!("{} was stopped.", session_link(session_id)))),
            Err(error) => refused_outcome("Cannot stop the task", error),
        },
        TaskAction::Merge => match context.end_worktree(session_id, WorktreeEnd::Merge).await {
            Ok(told) => Ok(done(told)),
            Err(error) => refused_outcome("The worktree was not merged", error),
        },
        TaskAction::Drop => match context.end_worktree(session_id, WorktreeEnd::Drop).await {
            Ok(told) => Ok(done(told)),
            Err(error) => refused_outcome("The worktree was not dropped", error),
        },
    }
}

#[cfg(test)]
mod tests {
    use ostler_types::ToolKind;
    use serde_json::json;

    use super::{kind_of, runs_git};

    #[test]
    fn what_changes_or_throws_away_is_a_write() {
        for (action, kind) in [
            ("wait", ToolKind::Read),
            ("cancel", ToolKind::Read),
            ("merge", ToolKind::Write),
            ("drop", ToolKind::Write),
            ("other", ToolKind::Write),
        ] {
            assert_eq!(kind_of(&json!({"action": action})), kind, "{action}");
            assert_eq!(runs_git(&json!({"action": action})), action == "merge", "{action}");
        }
    }
}
