//! What becomes of a child's worktree: merged into the parent's workspace, or dropped.

use std::borrow::Cow;

use ostler_agent::{ReportError, WorktreeEnd};
use ostler_runner::{ChangedPath, WorktreeError, Worktrees};
use ostler_types::{Refusal, SessionId, is_printable};

use super::outcome;
use crate::engine::Engine;
use crate::error::EngineError;

/// How many files are named in what is said of a merge.
const MAX_NAMED_FILES: usize = 50;

/// Merges or drops the worktree of a child that has ended, and says what was done.
pub(super) async fn end_worktree(
    engine: &Engine,
    parent: SessionId,
    child: SessionId,
    end: WorktreeEnd,
) -> Result<String, ReportError> {
    let worktrees = worktree_of(engine, parent, child).await.map_err(ReportError::Refused)?;
    let name = child.to_string();
    let said = match end {
        WorktreeEnd::Merge => {
            let merged = worktrees.merge(name.clone()).await.map_err(not_merged)?;
            merge_summary(&merged)
        }
        WorktreeEnd::Drop => "The worktree was dropped, with all that was changed in it.".to_owned(),
    };
    match worktrees.remove(name).await {
        Ok(()) => Ok(said),
        Err(error) => {
            tracing::warn!(%child, %error, "a worktree is left behind; the next start removes it with its session");
            Ok(format!("{said} Its directory could not be removed: {error}"))
        }
    }
}

/// What a merge of the worktree of a child that has ended would change, for people.
pub(super) async fn preview_merge(
    engine: &Engine,
    parent: SessionId,
    child: SessionId,
) -> Result<String, ReportError> {
    let worktrees = worktree_of(engine, parent, child).await.map_err(ReportError::Refused)?;
    let changed = worktrees.changes_to_merge(child.to_string()).await.map_err(not_merged)?;
    Ok(if changed.is_empty() { "no file".to_owned() } else { changed_file_list(&changed) })
}

/// How many files a child has changed in its worktree, as far as git can tell.
pub(super) async fn changed_files(engine: &Engine, id: SessionId) -> Option<u64> {
    let worktrees = engine.shared.runner.worktrees()?;
    let changes = worktrees.changes(id.to_string()).await;
    let changes = changes.inspect_err(|error| tracing::debug!(%id, %error, "a worktree cannot be compared"));
    u64::try_from(changes.ok()?.len()).ok()
}

/// Removes the worktree of a session that never came to be, or is removed itself.
pub(crate) async fn discard(engine: &Engine, id: SessionId) {
    if let Some(worktrees) = engine.shared.runner.worktrees()
        && let Err(error) = worktrees.remove(id.to_string()).await
    {
        tracing::warn!(%id, %error, "the worktree of a removed session is left behind");
    }
}

/// The worktrees, if this child has one that can be ended now.
async fn worktree_of(
    engine: &Engine,
    parent: SessionId,
    child: SessionId,
) -> Result<&dyn Worktrees, Refusal> {
    let view = match engine.view(child).await {
        Ok(view) if view.session.parent_session_id == Some(parent) => view,
        Ok(_) | Err(EngineError::NotFound) => {
            let message = format!("this session has not started a session {child}");
            return Err(Refusal::not_found("child_not_found", message));
        }
        Err(error) => return Err(Refusal::conflict("child_unreadable", error.to_string())),
    };
    if !outcome::has_ended(&view) {
        return Err(Refusal::conflict("child_running", format!("session {child} is still at work"))
            .hint("wait for it to end, or stop it"));
    }
    let worktrees = engine.shared.runner.worktrees().filter(|_| view.session.worktree.is_some());
    worktrees.ok_or_else(|| {
        Refusal::conflict("no_worktree", format!("session {child} has no worktree of its own"))
    })
}

fn merge_summary(changed: &[ChangedPath]) -> String {
    if changed.is_empty() {
        return "There was nothing to merge.".to_owned();
    }
    let files = if changed.len() == 1 { "1 file".to_owned() } else { format!("{} files", changed.len()) };
    format!("Merged {files} into the workspace: {}.", changed_file_list(changed))
}

/// A path as it can stand in a list: a name may hold commas, line ends and characters that nobody sees.
fn quoted(path: &str) -> Cow<'_, str> {
    let is_plain = |c: char| is_printable(c) && !matches!(c, ',' | '"' | '\'' | '`' | '\\');
    if path.chars().all(is_plain) && path.trim() == path { path.into() } else { format!("{path:?}").into() }
}

fn changed_file_list(changed: &[ChangedPath]) -> String {
    let named: Vec<String> = changed
        .iter()
        .take(MAX_NAMED_FILES)
        .map(|one| format!("{} {}", one.what, quoted(&one.path)))
        .collect();
    let more = match changed.len().saturating_sub(MAX_NAMED_FILES) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("{}{more}", named.join(", "))
}

fn not_merged(error: WorktreeError) -> ReportError {
    let refusal = match error {
        WorktreeError::Conflict(why) => {
            Refusal::conflict("merge_conflict", format!("nothing was merged: {why}")).hint(
                "the worktree is still there; change the files on one side so that they agree, or drop it",
            )
        }
        WorktreeError::Protected(why) => {
            Refusal::conflict("merge_protected", format!("nothing was merged: {why}"))
                .hint("take those changes back in the worktree, or show them to the user, who can make them")
        }
        WorktreeError::Changed(why) => {
            Refusal::conflict("merge_changed", format!("nothing was merged: {why}"))
                .hint("ask for the merge again; the changes are then shown as they are")
        }
        WorktreeError::Failed(why) => Refusal::conflict("not_merged", format!("nothing was merged: {why}")),
    };
    ReportError::Refused(refusal)
}
