//! What a turn changed, in the question whether to keep it: the files, and below them the diff of the one that is looked
//! at, with the hunk that is chosen at its top.

use ostler_types::{FileChange, PendingApproval};
use ratatui::style::Modifier;
use ratatui::text::Line;

use crate::model::{ApprovalPanel, FileReviewState, FollowedSession};
use crate::text::diff;
use crate::text::sanitize::sanitize_line;
use crate::text::wrap::shorten;
use crate::theme::{StyleRole, Theme};

/// How many files are listed at a time.
const MAX_LISTED_FILES: usize = 5;

/// The files that a question is about, if it is about some.
pub(super) fn reviewed_files<'a>(
    session: &'a FollowedSession,
    question: &PendingApproval,
) -> Option<&'a [FileChange]> {
    let asked = |(id, _): &&(_, Vec<FileChange>)| *id == question.tool_call_id;
    let files = session.reviews.iter().find(asked).filter(|_| question.is_review());
    files.map(|(_, files)| files.as_slice()).filter(|files| !files.is_empty())
}

/// How many rows all of it would take.
pub(super) fn height(files: &[FileChange], at: usize, cells: usize, theme: &Theme) -> usize {
    let file = &files[at.min(files.len() - 1)];
    let shown =
        file.diff.as_deref().map_or(0, |text| diff::lines(text, &file.path, cells, usize::MAX, theme).len());
    files.len().min(MAX_LISTED_FILES) + shown
}

/// As much of it as there is room for.
pub(super) fn lines(
    files: &[FileChange],
    dock: &ApprovalPanel,
    cells: usize,
    room: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let at = dock.file.min(files.len() - 1);
    // What is looked at matters more than what else there is.
    let listed = files.len().min(MAX_LISTED_FILES).min((room / 3).max(1));
    let first = (at + 1).saturating_sub(listed).min(files.len() - listed);
    let rows = files.iter().enumerate().skip(first).take(listed);
    let mut lines: Vec<Line<'static>> =
        rows.map(|(number, file)| row(file, number == at, dock, cells, theme)).collect();
    let (shown, chosen) = diff_lines(&files[at], dock, cells, theme);
    let left = room.saturating_sub(lines.len());
    let from = (chosen + usize::from(dock.scroll)).min(shown.len().saturating_sub(left));
    lines.extend(shown.into_iter().skip(from).take(left));
    lines
}

fn row(file: &FileChange, chosen: bool, dock: &ApprovalPanel, cells: usize, theme: &Theme) -> Line<'static> {
    let back = match dock.rejected.file_state(&file.path) {
        FileReviewState::Kept => " ",
        FileReviewState::PartlyReverted => "◐",
        FileReviewState::Reverted => "↺",
    };
    let mark = if chosen && dock.hunk.is_none() { "▸" } else { " " };
    let text = format!(" {mark}{back} {} +{} −{}", sanitize_line(&file.path, 200), file.added, file.removed);
    Line::styled(shorten(&text, cells), theme.style(if chosen { StyleRole::Accent } else { StyleRole::Text }))
}

/// The diff of a file, and the line of it at which the chosen hunk begins.
fn diff_lines(
    file: &FileChange,
    dock: &ApprovalPanel,
    cells: usize,
    theme: &Theme,
) -> (Vec<Line<'static>>, usize) {
    let (mut lines, mut chosen) = (Vec::new(), 0);
    let text = file.diff.as_deref().unwrap_or_default();
    for (number, hunk) in diff::hunks(text).iter().filter(|hunk| hunk.head.is_some()).enumerate() {
        let is_chosen = dock.hunk == Some(number);
        if is_chosen {
            chosen = lines.len();
        }
        let back = dock.rejected.rejects_hunk(&file.path, number);
        let mut drawn = diff::hunk_lines(hunk, &file.path, cells.saturating_sub(3), theme);
        if let Some(head) = drawn.first_mut() {
            let mark = if is_chosen { "▸" } else { " " };
            let word = if back { "↺" } else { " " };
            let style = theme.style(if is_chosen { StyleRole::Accent } else { StyleRole::Dim });
            *head = Line::styled(shorten(&format!("{mark}{word} {head}"), cells), style);
        }
        if back {
            for line in drawn.iter_mut().skip(1) {
                *line = std::mem::take(line)
                    .style(theme.style(StyleRole::Dim).add_modifier(Modifier::CROSSED_OUT));
            }
        }
        lines.extend(drawn);
    }
    if text.is_empty() {
        let why = if file.binary { "binary file" } else { "no text to show" };
        lines.push(Line::styled(format!("   {why}"), theme.style(StyleRole::Dim)));
    }
    (lines, chosen)
}
