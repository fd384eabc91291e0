//! What turns changed in a workspace, and undoing that.

use ostler_types::{FileChange, TurnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UndoBody")]
#[serde(deny_unknown_fields)]
pub struct UndoTurn {
    /// The turn before which the workspace is to stand.
    pub turn_id: TurnId,
    /// Only say what would be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<bool>,
    /// Also put back what somebody else has changed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
}

/// What was done, or would be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Undone {
    /// Whether nothing was done yet.
    pub preview: bool,
    /// Files that have their old content again.
    pub restored: Vec<String>,
    /// Files that are there again.
    pub recreated: Vec<String>,
    /// Files that are gone again.
    pub deleted: Vec<String>,
    /// Files that were left alone, because somebody else changed them.
    pub conflicts: Vec<NotUndone>,
    /// Files that have changed and cannot be brought back, because no checkpoint holds them.
    pub left_out: Vec<NotUndone>,
    /// What no undo covers, in words.
    pub note: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NotUndone")]
pub struct NotUndone {
    pub path: String,
    /// Why it is not as it was.
    pub why: String,
}

/// What a turn changed in the workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnDiff {
    pub turn_id: TurnId,
    /// The files, in the order of their paths; none when nothing changed.
    pub files: Vec<TurnFile>,
    /// How many more have changed that are not listed.
    pub more: u64,
    /// Whether the turn still runs, so that this may change.
    pub running: bool,
    /// What is to be known about it, in words; null when it is exactly what the turn did.
    pub note: Option<String>,
}

/// A file that a turn changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnFile {
    #[serde(flatten)]
    pub change: FileChange,
    /// Whether the diff lacks its end, or is missing because there is too much of it.
    pub truncated: bool,
}
