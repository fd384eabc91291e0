//! What a call would change that waits for an answer: asked of its tool, or of the worktree that is to be merged.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_door_kit::ChangePreview;
use ostler_runner::{Runner, ToolContext};
use ostler_types::{FileChange, Session, SessionId};
use serde_json::Value;

/// The agent whose calls are made by these tools; another's may only have the same name.
const NATIVE: &str = "native";

/// Of the tools that the native agent has.
pub(crate) struct ToolPreviews {
    pub(crate) runner: Arc<dyn Runner>,
}

impl ChangePreview for ToolPreviews {
    fn preview<'a>(
        &'a self,
        session: &'a Session,
        tool: &'a str,
        input: &'a Value,
    ) -> BoxFuture<'a, Option<Vec<FileChange>>> {
        if session.agent != NATIVE {
            return std::future::ready(None).boxed();
        }
        if tool == "task_control" {
            return self.preview_merge(session, input).boxed();
        }
        let Some(tool) = self.runner.toolbox().built_in_tools().get(tool).cloned() else {
            return std::future::ready(None).boxed();
        };
        let workspace = PathBuf::from(&session.workspace_path);
        let context = ToolContext::new(workspace, session.id, Arc::new(|_, _| {}));
        let input = input.clone();
        async move { tool.preview(input, context).await }.boxed()
    }
}

impl ToolPreviews {
    /// What merging a child's worktree would change.
    async fn preview_merge(&self, session: &Session, input: &Value) -> Option<Vec<FileChange>> {
        let child: SessionId = input["task_id"].as_str()?.trim_start_matches("sessions/").parse().ok()?;
        let worktrees = self.runner.worktrees()?;
        let made_of = worktrees.source_workspace(child.to_string()).await;
        if input["action"] != "merge" || made_of.as_ref() != Some(&session.workspace_path) {
            return None;
        }
        worktrees.diff(child.to_string()).await.ok()
    }
}
