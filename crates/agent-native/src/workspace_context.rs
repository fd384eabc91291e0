//! What the model is told of the workspace: gathered at the start of a turn, recorded as a message, and from
//! then on part of the conversation. Later turns, and a turn whose conversation was made shorter, add only
//! what is no longer or not yet in it.

use std::collections::HashSet;
use std::path::Path;

use ostler_agent::{FailedTurn, TurnContext};
use ostler_context::shown_context;
use ostler_runner::{ContextBudget, FindSkills, GatherContext, GatheredContext, LateContext, ShownContext};
use ostler_types::{Purpose, Role, ToolCall};
use serde_json::Value;

use crate::NativeAgent;
use crate::context_settings::TurnContextSettings;
use crate::model_fallback::ModelFallback;
use crate::turn::NativeTurn;

/// How many files count as being worked on.
const MAX_IN_PLAY: usize = 64;
/// How a patch names the files that it changes.
const PATCH_FILE_PREFIXES: &[&str] =
    &["*** Update File: ", "*** Add File: ", "*** Move to: ", "+++ b/", "+++ "];

/// Finds out what a turn that begins is to tell the model of the workspace, and which skills there are. What cannot be
/// found out in time is left out.
pub(crate) async fn gather(
    agent: &NativeAgent,
    context: &TurnContext,
    models: &ModelFallback<'_>,
    shown: ShownContext,
) -> GatheredContext {
    let Some(settings) = &agent.context else { return GatheredContext::default() };
    let begins = context.open_turn.steps == 0 && context.open_turn.purpose == Purpose::Answer;
    let workspaces = agent.runner.context();
    if settings.bundle && begins {
        return workspaces.gather(gather_request(context, budget(models, settings), shown)).await;
    }
    GatheredContext { text: None, skills: workspaces.skill_names(skills_request(context)).await }
}

/// Tells the model what it does not know of the workspace.
pub(crate) async fn record_context(turn: &mut NativeTurn<'_>) -> Result<(), FailedTurn> {
    match turn.pending_context.take() {
        Some(text) => record_context_message(turn, text).await,
        None => Ok(()),
    }
}

/// Tells the model what an earlier bundle said would follow, if it is known by now.
pub(crate) async fn record_late_context(turn: &mut NativeTurn<'_>) -> Result<(), FailedTurn> {
    let Some(settings) = turn.agent.context.as_ref().filter(|_| turn.awaits_git) else { return Ok(()) };
    let session = &turn.context.session;
    let (workspace, budget) = (session.workspace_path.clone(), budget(&turn.models, settings));
    let late = LateContext { session: session.id, workspace, budget };
    match turn.agent.runner.context().late_context(late).await {
        Some(text) => record_context_message(turn, text).await,
        None => Ok(()),
    }
}

async fn record_context_message(turn: &mut NativeTurn<'_>, text: String) -> Result<(), FailedTurn> {
    turn.record_message(Role::System, text).await?;
    let told = turn.conversation.len() - 1;
    turn.awaits_git = shown_context(&turn.conversation[told..]).awaits_git.unwrap_or(turn.awaits_git);
    Ok(())
}

/// Whose skills a turn can read.
pub(crate) fn skills_request(context: &TurnContext) -> FindSkills {
    FindSkills { workspace: context.session.workspace_path.clone(), trusted: context.trusted }
}

fn budget(models: &ModelFallback<'_>, settings: &TurnContextSettings) -> ContextBudget {
    // A budget is at most a fifth of a window.
    let budget = ContextBudget::default().scaled_to_window(settings.bundle_tokens.saturating_mul(5));
    models.info().context_window.map_or(budget, |window| budget.scaled_to_window(window))
}

fn gather_request(context: &TurnContext, budget: ContextBudget, shown: ShownContext) -> GatherContext {
    let session = &context.session;
    GatherContext {
        session: session.id,
        workspace: session.workspace_path.clone(),
        trusted: context.trusted,
        prompt: prompt_text(context),
        in_play: files_in_play(context),
        shown,
        budget,
    }
}

/// What the turn answers. Its messages may no longer be shown, but the turn was given them.
fn prompt_text(context: &TurnContext) -> String {
    let asked = &context.open_turn.message_ids;
    let texts = context.history.iter().filter(|message| asked.contains(&message.id));
    texts.map(|message| message.text()).collect::<Vec<_>>().join("\n")
}

/// The files that calls have opened or changed, the newest first.
fn files_in_play(context: &TurnContext) -> Vec<String> {
    let workspace = Path::new(&context.session.workspace_path);
    let mut seen = HashSet::new();
    let newest = context.history.iter().rev();
    let calls = newest.flat_map(|message| message.tool_calls().collect::<Vec<_>>().into_iter().rev());
    let relative = |path: &str| {
        let path = Path::new(path);
        path.strip_prefix(workspace).unwrap_or(path).to_string_lossy().into_owned()
    };
    let named = calls.flat_map(paths_of_call).map(relative);
    named.filter(|path| seen.insert(path.clone())).take(MAX_IN_PLAY).collect()
}

fn paths_of_call(call: &ToolCall) -> Vec<&str> {
    match call.name.as_str() {
        "read_file" | "write_file" | "edit_file" => {
            call.input.get("path").and_then(Value::as_str).into_iter().collect()
        }
        "apply_patch" => {
            let patch = call.input.get("patch").and_then(Value::as_str).unwrap_or_default();
            patch.lines().filter_map(patched_path).map(str::trim).collect()
        }
        _ => Vec::new(),
    }
}

fn patched_path(line: &str) -> Option<&str> {
    PATCH_FILE_PREFIXES.iter().find_map(|prefix| line.strip_prefix(prefix))
}

#[cfg(test)]
mod tests {
    use ostler_types::{ToolCall, ToolCallId};
    use serde_json::{Value, json};

    use super::paths_of_call;

    #[test]
    fn calls_name_the_files_that_they_touch() {
        let patch =
            "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n@@\n+++ x\n*** Add File: c d.rs\n";
        let table: [(&str, Value, &[&str]); 5] = [
            ("read_file", json!({"path": "src/a.rs"}), &["src/a.rs"]),
            ("edit_file", json!({}), &[]),
            ("shell", json!({"path": "x"}), &[]),
            ("apply_patch", json!({"patch": patch}), &["a.rs", "b.rs", "x", "c d.rs"]),
            ("apply_patch", json!({"patch": "--- a/old\n+++ b/new\n@@ -1 +1 @@\n"}), &["new"]),
        ];
        for (name, input, expected) in table {
            let call = ToolCall { id: ToolCallId("c".to_owned()), name: name.to_owned(), input };
            assert_eq!(paths_of_call(&call), expected, "{call:?}");
        }
    }
}
