//! The section `context`: what a model is told of a workspace, and when a conversation is made shorter.

use serde::{Deserialize, Serialize};

/// What a model is told of a workspace, and when a conversation is made shorter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Context {
    /// Whether it is told of it at all.
    pub bundle: bool,
    /// The most tokens that this takes, about.
    pub bundle_tokens: u32,
    /// The share of a model's window, in hundredths, from which on a conversation is made shorter.
    pub compact_at_percent: u32,
    /// Directories with skills, beside the one next to the configuration file.
    pub skills: Vec<String>,
}

impl Default for Context {
    fn default() -> Context {
        Context { bundle: true, bundle_tokens: 14_500, compact_at_percent: 85, skills: Vec::new() }
    }
}
