//! Texts that a model reads: the descriptions of the loop's own tools, each a file of `prompts/`, and what those tools,
//! a plan and the turn itself add to the conversation.

use std::fmt::Write;

use ostler_types::SessionId;

/// The description of `task`.
pub(crate) const TASK: &str = include_str!("prompts/task.md").trim_ascii_end();
/// The description of `task_control`.
pub(crate) const TASK_CONTROL: &str = include_str!("prompts/task_control.md").trim_ascii_end();
/// The description of `skill`.
pub(crate) const SKILL: &str = include_str!("prompts/skill.md").trim_ascii_end();

/// Follows an answer of the model where a turn continues, since many providers refuse a request that ends with one.
pub(crate) const CONTINUE: &str = "Continue.";
/// The first line of what a plan adds to the conversation.
pub(crate) const PLAN_ENDED: &str = "The subtasks of the plan have ended.";
/// Follows the result of a subtask that changed files.
pub(crate) fn subtask_changes(files: &str) -> String {
    format!("\n[It changed {files} in its git worktree. Use task_control to merge or drop the changes.]")
}

/// Passes the answer of one subtask to another that depends on it.
pub(crate) fn dependency_answer(name: &str, answer: &str) -> String {
    format!("\n\nResult of subtask `{name}`, which this one depends on:\n{answer}")
}

/// The answer of a task that runs in the background.
pub(crate) fn background_task(link: &str, session_id: SessionId) -> String {
    format!(
        "The task runs in the background as {link}. You will be notified when it ends. To wait for it or stop it, call \
         task_control with task_id {session_id}."
    )
}

/// Follows the answer of a task that has a worktree.
pub(crate) fn worktree(session_id: SessionId) -> String {
    format!(
        "[Its changes stay in a separate git worktree. When it has ended, call task_control with task_id {session_id} \
         and action merge or drop.]"
    )
}

/// Follows the error of a task that was cut short.
pub(crate) fn partial_answer(text: &str) -> String {
    if text.trim().is_empty() { String::new() } else { format!("\n\nPartial answer:\n{text}") }
}

/// Answers a call of a tool that panicked.
pub(crate) fn tool_crashed(name: &str) -> String {
    format!("Tool {name} crashed; it may or may not have taken effect.")
}

/// The summary where no model could write one: the tool calls, as name and input, the newest last.
pub(crate) fn summary_without_model(why: &str, omitted: usize, calls: &[(String, String)]) -> String {
    let mut text = format!("The conversation could not be summarized by a model ({why}). ");
    if calls.is_empty() {
        text.push_str("No tools were called.");
        return text;
    }
    text.push_str("Tool calls made:\n");
    if omitted > 0 {
        _ = writeln!(text, "- [{omitted} earlier calls]");
    }
    for (name, input) in calls {
        _ = writeln!(text, "- {name} {input}");
    }
    text
}
