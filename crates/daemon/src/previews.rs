//! What a call would change that waits for an answer: asked of its tool, or of the worktree that is to be merged.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_door_kit::ChangePreview;
use ostler_git::Worktrees;
use ostler_tools::{ToolContext, Tools};
use ostler_types::{ChangeKind, FileChange, Session, SessionId};
use serde_json::Value;

/// The agent whose calls are made by these tools; another's may only have the same name.
const NATIVE: &str = "native";

/// Of the tools that the native agent has.
pub(crate) struct ToolPreviews {
    pub(crate) tools: Arc<Tools>,
    pub(crate) worktrees: Arc<Worktrees>,
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
            return self.merge(session, input).boxed();
        }
        let Some(tool) = self.tools.get(tool) else { return std::future::ready(None).boxed() };
        let workspace = PathBuf::from(&session.workspace_path);
        tool.preview(input.clone(), ToolContext::new(workspace, session.id, Arc::new(|_, _| {})))
    }
}

impl ToolPreviews {
    /// What merging a child's worktree would change.
    async fn merge(&self, session: &Session, input: &Value) -> Option<Vec<FileChange>> {
        let child: SessionId = input["task_id"].as_str()?.trim_start_matches("sessions/").parse().ok()?;
        let name = child.to_string();
        let is_own = self.worktrees.made_of(&name).is_some_and(|of| of == Path::new(&session.workspace_path));
        if input["action"] != "merge" || !is_own {
            return None;
        }
        let changed = self.worktrees.diff(&name).await.ok()?;
        let change = |file: ostler_git::ChangedLines| FileChange {
            path: file.path,
            kind: match file.what {
                "added" => ChangeKind::Added,
                "deleted" => ChangeKind::Deleted,
                _ => ChangeKind::Modified,
            },
            from: None,
            added: file.added,
            removed: file.removed,
            binary: file.is_binary,
            diff: file.diff,
        };
        Some(changed.into_iter().map(change).collect())
    }
}
