//! Approvals: what waits for an answer, and answers.

use ostler_types::{
    FileChange, PendingApproval, ReviewAnswer, Scope, ToolCallId, TurnId, Verdict, optional_object,
};
use schemars::JsonSchema;
use serde::de::IntoDeserializer;
use serde::{Deserialize, Deserializer, Serialize};

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AnswerBody")]
#[serde(deny_unknown_fields)]
pub struct ApprovalAnswerBody {
    /// The turn that the call belongs to. Absent or empty: the pending call of that id, which must be the only one.
    #[serde(default, deserialize_with = "optional_turn", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<TurnId>")]
    pub turn_id: Option<TurnId>,
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

/// A turn, where an empty text counts as none.
fn optional_turn<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TurnId>, D::Error> {
    match Option::<String>::deserialize(deserializer)?.as_deref() {
        None | Some("") => Ok(None),
        Some(turn) => TurnId::deserialize(turn.into_deserializer()).map(Some),
    }
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
