//! What the model is told of the workspace: gathered at the start of a turn, recorded as a message, and from
//! then on part of the conversation. Later turns, and a turn whose conversation was made shorter, add only
//! what is no longer or not yet in it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ostler_agent::Failed;
use ostler_context::{Budget, Request, Shown, SkillPlaces, Skills};
use ostler_types::{Role, ToolCall};
use serde_json::Value;

use crate::settings::ContextSettings;
use crate::turn::Turn;

/// How many files count as being worked on.
const MAX_IN_PLAY: usize = 64;
/// How a patch names the files that it changes.
const PATCHED: &[&str] = &["*** Update File: ", "*** Add File: ", "*** Move to: ", "+++ b/", "+++ "];

/// Tells the model what it does not know of the workspace. What cannot be found out in time is left out.
pub(crate) async fn show(turn: &mut Turn<'_>) -> Result<(), Failed> {
    let Some(settings) = turn.agent.context.as_ref().filter(|settings| settings.bundle) else {
        return Ok(());
    };
    let request = request(turn, settings);
    let bundle = turn.agent.gatherer.gather(request, &turn.tools).await;
    match bundle.text() {
        Some(text) => turn.tell(Role::System, text).await,
        None => Ok(()),
    }
}

/// The skills of a session.
pub(crate) async fn skills(settings: Option<&ContextSettings>, workspace: &str, trusted: bool) -> Skills {
    let Some(settings) = settings else { return Skills::default() };
    let places = SkillPlaces {
        directories: settings.skill_directories.clone(),
        trusted_workspace: trusted.then(|| PathBuf::from(workspace)),
        hidden: settings.hidden.clone(),
    };
    tokio::task::spawn_blocking(move || Skills::find(&places)).await.unwrap_or_default()
}

fn request(turn: &Turn<'_>, settings: &ContextSettings) -> Request {
    let session = &turn.context.session;
    // A budget is at most a fifth of a window.
    let budget = Budget::default().within(settings.bundle_tokens.saturating_mul(5));
    let window = turn.models.info().context_window;
    Request {
        in_play: in_play(turn),
        shown: Shown::in_conversation(&turn.conversation),
        budget: window.map_or(budget, |window| budget.within(window)),
        is_trusted: turn.context.trusted,
        skill_directories: settings.skill_directories.clone(),
        hidden: settings.hidden.clone(),
        deadline: settings.deadline,
        ..Request::new(PathBuf::from(&session.workspace_path), session.id, prompt(turn))
    }
}

/// What the turn answers. Its messages may no longer be shown, but the turn was given them.
fn prompt(turn: &Turn<'_>) -> String {
    let asked = &turn.context.open.message_ids;
    let texts = turn.context.history.iter().filter(|message| asked.contains(&message.id));
    texts.map(|message| message.text()).collect::<Vec<_>>().join("\n")
}

/// The files that calls have opened or changed, the newest first.
fn in_play(turn: &Turn<'_>) -> Vec<String> {
    let workspace = Path::new(&turn.context.session.workspace_path);
    let mut seen = HashSet::new();
    let newest = turn.conversation.iter().rev();
    let calls = newest.flat_map(|message| message.tool_calls().collect::<Vec<_>>().into_iter().rev());
    let relative = |path: &str| {
        let path = Path::new(path);
        path.strip_prefix(workspace).unwrap_or(path).to_string_lossy().into_owned()
    };
    let named = calls.flat_map(paths).map(relative);
    named.filter(|path| seen.insert(path.clone())).take(MAX_IN_PLAY).collect()
}

fn paths(call: &ToolCall) -> Vec<&str> {
    match call.name.as_str() {
        "read_file" | "write_file" | "edit_file" => {
            call.input.get("path").and_then(Value::as_str).into_iter().collect()
        }
        "apply_patch" => {
            let patch = call.input.get("patch").and_then(Value::as_str).unwrap_or_default();
            patch.lines().filter_map(patched).map(str::trim).collect()
        }
        _ => Vec::new(),
    }
}

fn patched(line: &str) -> Option<&str> {
    PATCHED.iter().find_map(|prefix| line.strip_prefix(prefix))
}

#[cfg(test)]
mod tests {
    use ostler_types::{ToolCall, ToolCallId};
    use serde_json::{Value, json};

    use super::paths;

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
            assert_eq!(paths(&call), expected, "{call:?}");
        }
    }
}
