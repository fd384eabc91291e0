//! What a call would change that waits for an answer, asked of its tool.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_doors::ChangePreview;
use ostler_tools::{ToolContext, Tools};
use ostler_types::{FileChange, Session};
use serde_json::Value;

/// Of the tools that the native agent has.
pub(crate) struct ToolPreviews(pub(crate) Arc<Tools>);

impl ChangePreview for ToolPreviews {
    fn preview<'a>(
        &'a self,
        session: &'a Session,
        tool: &'a str,
        input: &'a Value,
    ) -> BoxFuture<'a, Option<Vec<FileChange>>> {
        let Some(tool) = self.0.get(tool).filter(|_| session.agent == NATIVE) else {
            return std::future::ready(None).boxed();
        };
        let workspace = PathBuf::from(&session.workspace_path);
        tool.preview(input.clone(), ToolContext::new(workspace, session.id, Arc::new(|_, _| {})))
    }
}

/// The agent whose calls are made by these tools; another's may only have the same name.
const NATIVE: &str = "native";
