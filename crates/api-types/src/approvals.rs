//! Approvals: what waits for an answer, and answers.

use ostler_types::{
    FileChange, PendingApproval, ReviewAnswer, Scope, ToolCallId, TurnId, Verdict, optional_object,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AnswerBody")]
#[serde(deny_unknown_fields)]
pub struct ApprovalAnswerBody {
    /// The turn that the call belongs to.
    pub turn_id: TurnId,
    /// The call.
    pub tool_call_id: ToolCallId,
    /// Yes or no.
    pub action: Verdict,
    /// For how long; `once` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Why; the model sees it when the answer is no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What to put back and what to say, when a patch review is answered.
    #[serde(default, deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = null))]
    pub review: Option<ReviewAnswer>,
    /// Which of the offered answers, when the approval lists some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
}

/// The answer was taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Answered")]
pub struct ApprovalAnswered {
    pub tool_call_id: ToolCallId,
    pub action: Verdict,
}

/// What a call would change that waits for an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalDiff {
    pub tool_call_id: ToolCallId,
    /// The files as they would become of what they are now; null when that cannot be told, as of a command.
    pub files: Option<Vec<FileChange>>,
}

/// Everything that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Approvals {
    pub approvals: Vec<PendingApproval>,
}
