//! What a model is shown.
//!
//! A [`ContextMessage`] is what it is told of a workspace, as the text of one message. [`CompactionPlan`] says how a conversation that has
//! become too long is made shorter, [`validate`] whether one may be sent at all. Nothing here asks a model, opens a file,
//! records anything or decides when to do either: that is for the agent and the runner.

mod compaction;
mod context_message;
mod prompts;
mod redact;
mod system_prompt;
mod tokens;
mod validate;

pub use compaction::{
    CompactionLimits, CompactionPlan, ComposedSummary, compose_summary, is_compaction_due, is_summary,
    prompt_for_summary, summary_of, user_messages,
};
pub use context_message::{
    ContextMessage, GatheredSection, GatheredSectionKind, section_sizes, shown_context,
};
pub use redact::redact;
pub use system_prompt::{SystemPrompt, system_prompt};
pub use tokens::{TokenEstimate, text_tokens, tokens_to_bytes};
pub use validate::{ConversationViolation, ConversationViolationKind, validate};
