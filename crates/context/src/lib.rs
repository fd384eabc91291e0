//! What a model is shown.
//!
//! A [`Gatherer`] puts together a [`Bundle`]: the workspace's instructions, its shape, the files that matter for
//! a prompt, the skills there are. [`Plan`] says how a conversation that has become too long is made shorter,
//! [`validate`] whether one may be sent at all. Nothing here asks a model, records anything or decides when
//! to do either: that is for the agent.

mod budget;
mod bundle;
mod compaction;
mod gather;
mod instructions;
mod looks;
mod rank;
mod redact;
mod relevant;
mod repository;
mod skills;
mod system;
mod tokens;
mod validate;
mod visible_files;

pub use budget::Budget;
pub use bundle::{Bundle, Section, SectionKind, Shown, sections_of};
pub use compaction::{
    Composition, Limits, Plan, compose, is_due, is_summary, prompt_for_summary, summary_of, user_messages,
};
pub use gather::{Gatherer, Request};
pub use rank::{Chunk, Question, RankedFile, Ranker, Ranking, ScoreParts, Until};
pub use redact::redact;
pub use skills::{Skill, SkillError, SkillPlaces, Skills};
pub use system::{SystemPrompt, system};
pub use tokens::{Estimate, text_tokens};
pub use validate::{Violation, ViolationKind, validate};
