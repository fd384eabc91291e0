//! What is gathered of workspaces, by the public interface: bundles of real directories, rankings, skills.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod context_messages;
mod git_state;
mod instructions;
mod ranking;
mod skills;

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use ostler_runner::ToolSet;
use ostler_types::{Message, MessageId, Part, Role};
use ostler_workspace_context::GatherSources;
use uuid::Uuid;

/// Writes files beneath a directory.
fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, content) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

/// These tools, where nothing is known of a repository without git.
fn sources(tools: &Arc<ToolSet>) -> GatherSources {
    GatherSources { tools: Arc::clone(tools), checked_out: Arc::new(|_| None) }
}

/// A system message with this text.
fn system_message(text: String) -> Arc<Message> {
    let id = MessageId::new(Uuid::from_u128(1));
    Arc::new(Message {
        id,
        role: Role::System,
        parts: vec![Part::text(text)],
        created_at: Timestamp::UNIX_EPOCH,
    })
}
