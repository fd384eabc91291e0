//! Patch review: the turn's whole change as one question. Rejected changes are reverted, as far
//! as it is still what they were shown, and what they say goes to the model.
//!
//! A change that cannot be shown is asked about all the same, and what changes while the answer is awaited
//! is shown in a further review, a few times. A turn that fails or is stopped is not reviewed.

use ostler_agent::FailedTurn;
use ostler_runner::CheckpointId;
use ostler_types::{FileChange, Message, PatchReviewMode, Reviewed, TurnPatch};

use crate::{TurnAcceptance, prompts};

/// How much of the diffs one review may hold; a record must stay small.
const MAX_DIFF_BYTES: usize = 256 * 1024;
/// How many files one review may show, and how long they may be altogether as they are recorded.
const MAX_FILES: usize = 500;
const MAX_BYTES: usize = 1024 * 1024;
/// How often what has changed during a review is reviewed in care.
const MAX_REPEATED_REVIEWS: usize = 3;
/// How many files the model is told of, one by one.
const MAX_LISTED_FILES: usize = 100;

/// What a turn remembers of its reviews.
#[derive(Default)]
pub(crate) struct ReviewState {
    /// The workspace as it was when it was last reviewed.
    last_reviewed: Option<CheckpointId>,
    /// How many calls had begun when a change that could not be shown was last asked about.
    calls_at_unshown_review: Option<u64>,
    /// The answer to a review of which the agent has not heard yet, because it was restarted.
    answered: Option<Reviewed>,
    /// Whether a review waited when the agent was restarted.
    was_waiting: bool,
    /// Whether something changed during each of the reviews.
    pub(crate) is_unsettled: bool,
}

impl ReviewState {
    /// Those of a turn that begins, or is picked up.
    pub(crate) fn from_open_turn(turn: &ostler_types::OpenTurn) -> ReviewState {
        let waits = turn.review.is_some();
        ReviewState { answered: turn.reviewed.clone(), was_waiting: waits, ..ReviewState::default() }
    }

    /// Whether a turn that is picked up stood in a review.
    pub(crate) fn was_open(&self) -> bool {
        self.answered.is_some() || self.was_waiting
    }
}

/// Reviews the turn's change, if the policy asks for it and there is one. Returns what the agent has been told
/// when it is to go on.
pub(crate) async fn review(
    care: &mut TurnAcceptance<'_>,
    can_go_on: bool,
) -> Result<Option<Message>, FailedTurn> {
    let waits = match care.context.session.policy.patch_review.mode {
        PatchReviewMode::Off if !care.reviews.was_open() => return Ok(None),
        PatchReviewMode::Off | PatchReviewMode::Request => true,
        PatchReviewMode::Auto => false,
    };
    for _ in 0..=MAX_REPEATED_REVIEWS {
        let Some(reviewed) = ask_for_review(care, waits).await? else { return Ok(None) };
        let is_late = changed_since(care, &reviewed).await;
        let RevertReport { lines, is_whole } = revert_rejected(care, &reviewed).await;
        care.changed |= !lines.is_empty();
        // What is left now is what was accepted: it is asked about again only when it changes.
        if is_whole && !is_late && !lines.is_empty() {
            let left = care.checkpoints.capture_now().await.and_then(Result::ok);
            care.reviews.last_reviewed = left.map(|left| left.id).or(care.reviews.last_reviewed.take());
        }
        if let Some(text) = feedback(&reviewed, &lines) {
            let told = care.record_message_to_agent(text).await?;
            if can_go_on {
                return Ok(Some(told));
            }
        }
        if !is_late {
            return Ok(None);
        }
    }
    care.reviews.is_unsettled = true;
    Ok(None)
}

/// Asks, and returns what a person said. None when there is nothing to review, or nobody is waited for.
async fn ask_for_review(care: &mut TurnAcceptance<'_>, waits: bool) -> Result<Option<Reviewed>, FailedTurn> {
    if let Some(answered) = care.reviews.answered.take() {
        care.reviews.last_reviewed = answered.checkpoint_id.clone().map(CheckpointId);
        return Ok(Some(answered));
    }
    // A review that waits already is the one that is answered, whatever is shown now.
    let waited = std::mem::take(&mut care.reviews.was_waiting);
    let Some(patch) = unreviewed_patch(care).await.or_else(|| waited.then(TurnPatch::default)) else {
        return Ok(None);
    };
    let shown = patch.checkpoint_id.clone();
    let answer = care.context.request_review(patch, waits).await?;
    let shown = answer.as_ref().map_or(shown, |reviewed| reviewed.checkpoint_id.clone());
    care.reviews.last_reviewed = shown.map(CheckpointId);
    Ok(answer)
}

/// What the turn changed, if that has not been reviewed yet.
async fn unreviewed_patch(care: &mut TurnAcceptance<'_>) -> Option<TurnPatch> {
    let why = match care.checkpoints.capture_now().await {
        None => care.checkpoints.unknown_change_reason()?,
        Some(Err(why)) => why,
        Some(Ok(now)) if care.reviews.last_reviewed.as_ref() == Some(&now.id) => return None,
        Some(Ok(now)) => match care.checkpoints.changes(now.id.clone()).await {
            Ok(files) if files.is_empty() => return None,
            Ok(files) => return Some(bounded_patch(files, &now.id)),
            Err(why) => why,
        },
    };
    let count = Some(care.checkpoints.change_count());
    if care.reviews.calls_at_unshown_review == count {
        return None;
    }
    care.reviews.calls_at_unshown_review = count;
    Some(TurnPatch { note: Some(why), ..TurnPatch::default() })
}

/// Whether the workspace is another than the one that was shown.
async fn changed_since(care: &TurnAcceptance<'_>, reviewed: &Reviewed) -> bool {
    let Some(shown) = &reviewed.checkpoint_id else { return false };
    match care.checkpoints.capture_now().await {
        Some(Ok(now)) => now.id.0 != *shown,
        Some(Err(_)) => true,
        None => false,
    }
}

/// What was done about a rejection, a line each.
#[derive(Default)]
struct RevertReport {
    lines: Vec<String>,
    /// Whether all that was rejected is as it was.
    is_whole: bool,
}

/// Reverts the rejected changes: all of them, some files, or some hunks.
async fn revert_rejected(care: &TurnAcceptance<'_>, reviewed: &Reviewed) -> RevertReport {
    let rejected = reviewed.answer.reject.clone();
    if reviewed.accepted && rejected.is_empty() {
        return RevertReport::default();
    }
    care.checkpoints.hold().await;
    let failed = |why: &str| RevertReport { lines: vec![prompts::nothing_reverted(why)], is_whole: false };
    let is_all = rejected.is_empty();
    let restored = match reviewed.checkpoint_id.clone() {
        Some(shown) => care.checkpoints.revert_rejected(CheckpointId(shown), rejected).await,
        None if care.checkpoints.can_compare() => return failed("the changes are unknown"),
        None => None,
    };
    match restored {
        Some(Ok(files)) => RevertReport::from_outcomes(&files, is_all),
        Some(Err(error)) => failed(&error.to_string()),
        None => failed("there is no checkpoint of the workspace"),
    }
}

impl RevertReport {
    /// A line for each; of many files that nobody named, the first.
    fn from_outcomes(files: &[ostler_runner::RevertOutcome], is_all: bool) -> RevertReport {
        let line = |file: &ostler_runner::RevertOutcome| match &file.failure {
            Some(why) => prompts::not_reverted(&file.what, why),
            None => prompts::reverted(&file.what),
        };
        let mut lines: Vec<String> = files.iter().map(line).collect();
        if is_all && lines.len() > MAX_LISTED_FILES {
            let more = lines.len() - MAX_LISTED_FILES;
            lines.truncate(MAX_LISTED_FILES);
            lines.push(format!("and {more} more"));
        }
        RevertReport { lines, is_whole: files.iter().all(|file| file.failure.is_none()) }
    }
}

/// What the model hears of a review, if there is something to hear.
fn feedback(reviewed: &Reviewed, put_back: &[String]) -> Option<String> {
    let mut lines = Vec::new();
    if !reviewed.accepted {
        lines.push(prompts::CHANGES_REJECTED.to_owned());
    } else if !put_back.is_empty() || !reviewed.answer.comments.is_empty() {
        lines.push(prompts::CHANGES_PARTLY_ACCEPTED.to_owned());
    }
    lines.extend(reviewed.reason.clone());
    lines.extend(put_back.iter().map(|line| format!("- {line}")));
    for comment in &reviewed.answer.comments {
        let place = match (&comment.path, comment.line) {
            (Some(path), Some(line)) => format!("{path}:{line}: "),
            (Some(path), None) => format!("{path}: "),
            (None, _) => String::new(),
        };
        lines.push(format!("- {place}{}", comment.text));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// As much of the change as a record has room for: of many files the largest changes, with as many of
/// their diffs as there is room for.
fn bounded_patch(mut files: Vec<FileChange>, shown: &CheckpointId) -> TurnPatch {
    let count = files.len();
    if count > MAX_FILES {
        files.sort_by_key(|file| std::cmp::Reverse(file.added + file.removed));
        files.truncate(MAX_FILES);
        files.sort_by(|a, b| a.path.cmp(&b.path));
    }
    let (mut diffs, mut room) = (MAX_DIFF_BYTES, MAX_BYTES);
    let mut listed = Vec::new();
    for mut file in files {
        let length = file.diff.as_ref().map_or(0, String::len);
        if length > diffs || recorded_bytes(&file) > room {
            file.diff = None;
        } else {
            diffs -= length;
        }
        let bytes = recorded_bytes(&file);
        if bytes <= room {
            room -= bytes;
            listed.push(file);
        }
    }
    let more = (count - listed.len()) as u64;
    TurnPatch { files: listed, more, checkpoint_id: Some(shown.to_string()), note: None }
}

fn recorded_bytes(file: &FileChange) -> usize {
    serde_json::to_vec(file).map_or(usize::MAX, |bytes| bytes.len())
}

#[cfg(test)]
mod tests {
    use ostler_types::{ChangeKind, FileChange};

    use super::{CheckpointId, MAX_BYTES, MAX_FILES, bounded_patch};

    fn file(number: u64, path: &str, diff: &str) -> FileChange {
        FileChange {
            path: format!("{path}{number:06}"),
            kind: ChangeKind::Added,
            from: None,
            added: number,
            removed: 0,
            binary: false,
            diff: Some(diff.to_owned()),
        }
    }

    #[test]
    fn however_many_files_changed_a_review_stays_small_and_counts_the_rest() {
        let id = &CheckpointId("0".repeat(64));
        let shown = bounded_patch((0..120_000).map(|number| file(number, "f", "+x\n")).collect(), id);
        assert_eq!((shown.files.len(), shown.more), (MAX_FILES, 120_000 - MAX_FILES as u64));
        assert_eq!(shown.files[0].added, 119_500, "the largest changes are shown");
        // Each of these takes six bytes for one when it is recorded.
        let long = "\u{1}".repeat(4_000);
        let shown = bounded_patch((0..400).map(|number| file(number, &long, &long)).collect(), id);
        assert_eq!(shown.files.len() as u64 + shown.more, 400);
        let recorded = serde_json::to_vec(&shown.files).unwrap().len();
        assert!(shown.more > 0 && recorded < MAX_BYTES + 1_000, "{recorded}");
    }
}
