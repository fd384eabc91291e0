//! What the native agent shows of a workspace, and when it makes a conversation shorter. Read by nobody
//! here: the values are given by the caller.

use std::path::PathBuf;
use std::time::Duration;

/// How a turn's context is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextSettings {
    /// Whether a session is told of its workspace: its instructions, its shape, files that may matter, skills.
    pub bundle: bool,
    /// The most tokens that this takes, about. A model with a small window is told less.
    pub bundle_tokens: u64,
    /// How long gathering it may take.
    pub deadline: Duration,
    /// The share of a model's window, in hundredths, from which on a conversation is made shorter.
    pub compact_at_percent: u32,
    /// Directories with skills of the owner's own.
    pub skill_directories: Vec<PathBuf>,
    /// What is never read for this, wherever it is; the same that the tools are given.
    pub hidden: Vec<PathBuf>,
}

impl Default for ContextSettings {
    fn default() -> ContextSettings {
        ContextSettings {
            bundle: true,
            bundle_tokens: 14_500,
            deadline: Duration::from_secs(2),
            compact_at_percent: 85,
            skill_directories: Vec::new(),
            hidden: Vec::new(),
        }
    }
}
