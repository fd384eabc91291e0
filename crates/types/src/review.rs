//! Patch reviews: what a turn changed, shown to a person as one question, and what they say to it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::PendingApproval;

/// The name under which a review waits among the approvals.
pub const PATCH_REVIEW: &str = "patch_review";

impl PendingApproval {
    /// Whether it is a review of a turn's change, and not a tool's call.
    pub fn is_review(&self) -> bool {
        self.tool == PATCH_REVIEW
    }
}

/// What a turn changed, as far as there is room to show it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnPatch {
    /// The changes, the largest of them when there are many.
    pub files: Vec<FileChange>,
    /// How many more files changed that are not shown.
    pub more: u64,
    /// The workspace that is shown; what is rejected is put back only from how it was then.
    pub checkpoint_id: Option<String>,
    /// Why the change cannot be shown, when it cannot.
    pub note: Option<String>,
}

/// What happened to one file of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChange {
    /// Its path in the workspace; the new one when it was moved.
    pub path: String,
    /// What happened to it.
    pub kind: ChangeKind,
    /// Where it was before, when it was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Lines that were added.
    pub added: u64,
    /// Lines that were removed.
    pub removed: u64,
    /// Whether it is no text, so that there is no diff to show.
    pub binary: bool,
    /// A unified diff, as far as there is room for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// What can happen to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// Its content changed.
    Modified,
    /// It is gone.
    Deleted,
    /// It has another name.
    Renamed,
    /// Only its mode changed.
    ModeChanged,
    /// It became something else, such as a link.
    TypeChanged,
}

/// What a person says to a review, beside yes or no. What is not named follows the answer as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReviewAnswer {
    /// Files that are to be put back as they were, wholly or in part.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reject: Vec<RejectedFile>,
    /// What the model is to hear.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<ReviewComment>,
}

/// A file whose change is not wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RejectedFile {
    /// Its path, as in the review.
    pub path: String,
    /// Which hunks of its diff, from 0; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunks: Option<Vec<usize>>,
}

/// A remark on a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewComment {
    /// The file that it is about, if one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The line of the new file that it is about, if one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The remark.
    pub text: String,
}

/// How a review was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewed {
    /// Whether the change as a whole is accepted.
    pub accepted: bool,
    /// Why not, or what else there is to say.
    pub reason: Option<String>,
    /// The particulars.
    pub answer: ReviewAnswer,
    /// The workspace that was shown.
    #[serde(default)]
    pub checkpoint_id: Option<String>,
}

/// When a checkpoint of the workspace was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// Before the first change of a turn.
    Before,
    /// When the turn had ended.
    After,
}
