//! What a workspace brings in its own files, which counts once it is trusted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::Rule;

/// What a workspace brings in its own files, which counts once it is trusted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Brought {
    /// The commands that check a turn's work.
    pub verify_commands: Vec<String>,
    /// The servers of tools.
    pub servers: Vec<BroughtServer>,
    /// The calls that are allowed without asking.
    pub rules: Vec<BroughtRule>,
    /// The kinds of calls and the tools that are asked about besides, in words.
    pub asks: Vec<String>,
    /// What cannot be used, and why.
    pub problems: Vec<String>,
}

/// A server that a workspace names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BroughtServer {
    /// What the workspace calls it.
    pub name: String,
    /// The command line that starts it, or its address. Without what may be secret.
    pub runs: String,
    /// The file that names it.
    pub file: String,
}

/// A rule that a workspace names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BroughtRule {
    /// The rule.
    pub rule: Rule,
    /// Whether it holds: the workspace is trusted, and had this very rule when that was said.
    pub in_force: bool,
}
