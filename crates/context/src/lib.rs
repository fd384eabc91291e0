//! What a model is shown.
//!
//! A [`Bundle`] is what it is told of a workspace, as the text of one message. [`Plan`] says how a conversation that has
//! become too long is made shorter, [`validate`] whether one may be sent at all. Nothing here asks a model, opens a file,
//! records anything or decides when to do either: that is for the agent and the runner.

mod bundle;
mod compaction;
mod redact;
mod system;
mod tokens;
mod validate;

pub use bundle::{ContextMessage, GatheredSection, GatheredSectionKind, sections_of, shown_in};
pub use compaction::{
    CompactionLimits, CompactionPlan, ComposedSummary, compose, is_due, is_summary, prompt_for_summary,
    summary_of, user_messages,
};
pub use redact::redact;
pub use system::{SystemPrompt, system};
pub use tokens::{TokenEstimate, bytes_of, text_tokens};
pub use validate::{ConversationViolation, ConversationViolationKind, validate};
