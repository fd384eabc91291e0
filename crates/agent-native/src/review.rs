//! Patch review: the turn's whole change as one question. What a person does not want is put back, and
//! what they say goes to the model.

use std::path::PathBuf;
use std::sync::Arc;

use ostler_agent::Failed;
use ostler_checkpoint::RestoreOptions;
use ostler_types::{
    FileChange, Message, PATCH_REVIEW, Part, PatchReviewMode, RejectedFile, Report, Reviewed, Role,
};

use crate::turn::Turn;

/// How much of the diffs one review may hold; a record must stay small.
const MAX_DIFF_BYTES: usize = 256 * 1024;

/// Whether a turn that is picked up stood in a review.
pub(crate) fn was_open(turn: &ostler_types::OpenTurn) -> bool {
    turn.reviewed.is_some() || turn.calls.iter().any(|open| open.call.name == PATCH_REVIEW)
}

/// Reviews the turn's change, if the policy asks for it and there is one. True if the model has been
/// told something and is to go on.
pub(crate) async fn review(turn: &mut Turn<'_>, steps_left: bool) -> Result<bool, Failed> {
    let waits = match turn.context.session.policy.patch_review.mode {
        PatchReviewMode::Off => return Ok(false),
        PatchReviewMode::Request => true,
        PatchReviewMode::Auto => false,
    };
    let Some(now) = turn.checkpoints.now().await else { return Ok(false) };
    let files = turn.checkpoints.changes(&now).await;
    if files.is_empty() || turn.reviewed.as_ref() == Some(&now.id) {
        return Ok(false);
    }
    let answer = turn.context.review(bounded(files.clone()), waits).await?;
    turn.reviewed = Some(now.id);
    let Some(reviewed) = answer else { return Ok(false) };
    let put_back = put_back(turn, &reviewed, &files).await;
    turn.changed |= !put_back.is_empty();
    let Some(text) = feedback(&reviewed, &put_back).filter(|_| steps_left) else { return Ok(false) };
    let (id, created_at) = (turn.context.message_id(), turn.context.clock.now());
    let message = Message { id, role: Role::User, parts: vec![Part::text(text)], created_at };
    turn.context.report(Report::ReviewSettled { feedback: message.clone() }).await?;
    turn.conversation.push(Arc::new(message));
    Ok(true)
}

/// Puts back what was rejected: all of it, some files, or some hunks. Returns what was done, a line each.
async fn put_back(turn: &Turn<'_>, reviewed: &Reviewed, files: &[FileChange]) -> Vec<String> {
    let mut rejected = reviewed.answer.reject.clone();
    if !reviewed.accepted && rejected.is_empty() {
        rejected.extend(files.iter().map(|file| RejectedFile { path: file.path.clone(), hunks: None }));
    }
    let moved = |path: &str| files.iter().find(|file| file.path == path).and_then(|file| file.from.clone());
    let mut done = Vec::new();
    for RejectedFile { path, hunks } in rejected {
        let mut only = vec![PathBuf::from(&path)];
        only.extend(moved(&path).map(PathBuf::from));
        let what = match &hunks {
            Some(hunks) => format!("{path} (hunks {hunks:?})"),
            None => path.clone(),
        };
        let restored = turn.checkpoints.blocking(move |store, workspace, before| match &hunks {
            Some(hunks) => store.restore_hunks(workspace, &only[0], before, None, hunks),
            None => {
                let options = RestoreOptions { only: Some(only), force: true, ..RestoreOptions::default() };
                store.restore(workspace, before, None, &options)
            }
        });
        done.push(match restored.await {
            Some(Ok(restored)) if restored.conflicts.is_empty() => format!("put back: {what}"),
            Some(Ok(restored)) => format!("could not be put back: {what}: {}", restored.conflicts[0].why),
            Some(Err(error)) => format!("could not be put back: {what}: {error}"),
            None => format!("could not be put back: {what}"),
        });
    }
    done
}

/// What the model hears of a review, if there is something to hear.
fn feedback(reviewed: &Reviewed, put_back: &[String]) -> Option<String> {
    let mut lines = Vec::new();
    if !reviewed.accepted {
        lines.push("The user reviewed the change of this turn and did not accept it.".to_owned());
    } else if !put_back.is_empty() || !reviewed.answer.comments.is_empty() {
        lines.push("The user reviewed the change of this turn and accepted it in part.".to_owned());
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

/// The changes with as many of their diffs as there is room for.
fn bounded(mut files: Vec<FileChange>) -> Vec<FileChange> {
    let mut room = MAX_DIFF_BYTES;
    for file in &mut files {
        let length = file.diff.as_ref().map_or(0, String::len);
        if length > room {
            file.diff = None;
        } else {
            room -= length;
        }
    }
    files
}
