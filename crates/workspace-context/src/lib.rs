//! What is to be known of a workspace, gathered from its files for a model.
//!
//! A [`ContextGatherer`] puts together a bundle: the workspace's instructions, its shape, the files that matter for a prompt,
//! the skills there are. It reads and records nothing; when a model is told, and what it was told before, is for the agent
//! to know.

mod gather;
mod git_state;
mod instructions;
mod prompts;
mod rank;
mod relevant_files;
mod repository_shape;
mod single_flight;
mod skills;
mod visible_files;

pub use gather::{ContextGatherer, GatherRequest, GatherResult, GatherSources, ReadCheckedOut};
pub use rank::{RankDeadline, RankQuery, RankedChunk, RankedFile, Ranker, Ranking, ScoreParts};
pub use skills::{Skill, SkillError, SkillLocations, Skills};
