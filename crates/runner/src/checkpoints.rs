//! Workspaces as they were: captured, compared, brought back. Contents stay on the runner; ids travel.

use std::any::Any;
use std::fmt;

use futures_util::future::BoxFuture;
use ostler_types::{FileChange, RejectedFile};
use serde::{Deserialize, Serialize};

/// Keeps workspaces as they were.
///
/// An operation that changes a workspace needs a [`HoldGuard`] on it, which the caller takes first and drops last. One that
/// was cut short by a crash is completed by asking for the same again.
pub trait Checkpoints: Send + Sync {
    /// Waits until the workspace is free, then keeps the other kind of work away from it.
    fn hold_workspace(&self, workspace: String, purpose: HoldPurpose) -> BoxFuture<'_, HoldGuard>;

    /// Captures a workspace. Two captures of files that did not change between them have the same id.
    fn capture(
        &self,
        capture: CaptureWorkspace,
    ) -> BoxFuture<'_, Result<CapturedCheckpoint, CheckpointError>>;

    /// A checkpoint that was made before.
    fn find(&self, id: CheckpointId) -> BoxFuture<'_, Result<CapturedCheckpoint, CheckpointError>>;

    /// Keeps a checkpoint from being removed to make room, until the hold is dropped.
    fn retain(&self, id: CheckpointId) -> BoxFuture<'_, HoldGuard>;

    /// What is different between a checkpoint and a later one, or the workspace as it is.
    fn compare(
        &self,
        compare: CompareCheckpoints,
    ) -> BoxFuture<'_, Result<Vec<ChangedFile>, CheckpointError>>;

    /// Puts back what was rejected of a change, as far as it is still as it was shown. Says of each file what came of
    /// it, in the order of the rejections; where all was rejected, those first that could not be put back.
    fn revert_rejected(
        &self,
        rejected: RevertRejected,
    ) -> BoxFuture<'_, Result<Vec<RevertOutcome>, CheckpointError>>;

    /// Takes back what turns did, the newest first.
    fn undo_turns(&self, undo: UndoTurns) -> BoxFuture<'_, Result<UndoOutcome, CheckpointError>>;

    /// Removes old checkpoints if it is time to. Returns at once; failures are the runner's to log.
    fn prune(&self);
}

/// By which a checkpoint is found again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckpointId(pub String);

impl fmt::Display for CheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a checkpoint cannot be made or used, in sentences for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum CheckpointError {
    /// There is no such checkpoint, or not any more.
    #[error("{0}")]
    Gone(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

/// Something that is kept until this is dropped.
pub struct HoldGuard {
    _kept: Box<dyn Any + Send + Sync>,
}

impl HoldGuard {
    /// Ends with the value.
    pub fn new(kept: impl Any + Send + Sync) -> HoldGuard {
        HoldGuard { _kept: Box::new(kept) }
    }
}

/// What a workspace is held for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HoldPurpose {
    /// Turns that change it; several may at once.
    Changing,
    /// An undo, which is alone.
    Undoing,
}

/// What to capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureWorkspace {
    /// The workspace.
    pub workspace: String,
    /// The checkpoint from before a turn, when this is the one after it. The files of that one are taken even where
    /// the turn made git ignore them, so that the two can be compared.
    pub since: Option<CheckpointId>,
}

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedCheckpoint {
    /// By which it is found again.
    pub id: CheckpointId,
    /// How many files and links it holds.
    pub files: u64,
    /// How many bytes these come to.
    pub bytes: u64,
    /// How many paths it lists without their content.
    pub left_out: u64,
}

/// What to compare.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompareCheckpoints {
    /// The workspace.
    pub workspace: String,
    /// The earlier checkpoint.
    pub from: CheckpointId,
    /// The later one; none for the workspace as it is.
    pub to: Option<CheckpointId>,
}

/// A file that is different.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// What happened to it.
    pub change: FileChange,
    /// Whether its diff lacks its end, or is missing because there is too much of it.
    pub truncated: bool,
}

/// A change that a person did not accept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevertRejected {
    /// The workspace.
    pub workspace: String,
    /// The workspace before the turn.
    pub before: CheckpointId,
    /// The workspace as the person was shown it.
    pub shown: CheckpointId,
    /// The files and hunks that are not wanted; none for all of the change.
    pub files: Vec<RejectedFile>,
}

/// What came of one rejection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevertOutcome {
    /// The path, with the hunks where these were named.
    pub what: String,
    /// Why it is not as it was; none where it is.
    pub failure: Option<String>,
}

/// Turns to take back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoTurns {
    /// The workspace.
    pub workspace: String,
    /// The turns, the newest first.
    pub turns: Vec<TurnSpan>,
    /// Only say what would be done.
    pub preview: bool,
    /// Also put back what somebody else has changed since.
    pub force: bool,
}

/// By which checkpoints a turn is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnSpan {
    /// Before its first change.
    pub before: CheckpointId,
    /// As it left the workspace. Where that is not known, nobody can tell its changes from others, so that all of
    /// them are conflicts.
    pub after: Option<CheckpointId>,
}

/// What an undo did, or would do. Paths are relative to the workspace and sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoOutcome {
    /// Files that have their old content again.
    pub restored: Vec<String>,
    /// Files that are there again.
    pub recreated: Vec<String>,
    /// Files that are gone again.
    pub deleted: Vec<String>,
    /// Files that were left alone, because somebody else has changed them.
    pub conflicts: Vec<UnrestoredFile>,
    /// Files that have changed and are not brought back, forced or not.
    pub left_out: Vec<UnrestoredFile>,
}

/// A file that an undo left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnrestoredFile {
    /// Its path.
    pub path: String,
    /// Why, as the end of a sentence that begins with the path.
    pub why: String,
}
