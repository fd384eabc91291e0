//! What the native agent shows of a workspace, and when it makes a conversation shorter. Read by nobody
//! here: the values are given by the caller.

/// How a turn's context is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnContextSettings {
    /// Whether a session is told of its workspace: its instructions, its shape, files that may matter, skills.
    pub bundle: bool,
    /// The most tokens that this takes, about. A model with a small window is told less.
    pub bundle_tokens: u64,
    /// The share of a model's window, in hundredths, from which on a conversation is made shorter.
    pub compact_at_percent: u32,
}

impl Default for TurnContextSettings {
    fn default() -> TurnContextSettings {
        TurnContextSettings { bundle: true, bundle_tokens: 14_500, compact_at_percent: 85 }
    }
}
