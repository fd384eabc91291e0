//! The question that waits, docked above what is being written: what is to be done, and the answers.

use ostler_types::{ChangeKind, FileChange, PendingApproval, ToolKind};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use serde_json::Value;

use super::status_bar::to_u16;
use super::{put_line, review};
use crate::model::{
    ApprovalAnswer, FocusArea, FollowedSession, TuiModel, approval_answers, is_merge, is_small_screen,
};
use crate::text::sanitize::{sanitize, sanitize_line};
use crate::text::wrap::{shorten, width, wrap};
use crate::text::{diff, highlight};
use crate::theme::{StyleRole, Theme};

/// How many rows the question takes; none when there is none.
pub(super) fn height(model: &TuiModel, cells: u16, rows: u16) -> u16 {
    let Some((session, question)) = pending_question(model) else { return 0 };
    let most = if is_small_screen(rows) { rows.saturating_sub(5) } else { rows / 2 }.max(4);
    let answers = if is_small_screen(rows) { 2 } else { to_u16(approval_answers(question).len()) };
    let words = u16::from(session.approval_panel.reason.is_some())
        + u16::from(session.approval_panel.error.is_some());
    let body = to_u16(match review::reviewed_files(session, question) {
        Some(files) => review::height(files, session.approval_panel.file, usize::from(cells), &model.theme),
        None => body(session, question, usize::from(cells), &model.theme).len(),
    });
    (1 + answers + words + body).min(most.max(answers + words + 2)).min(rows.saturating_sub(4))
}

/// Draws the question; says where the cursor is while words are written.
pub(super) fn draw(model: &TuiModel, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let (session, question) = pending_question(model).filter(|_| area.height > 0)?;
    let theme = &model.theme;
    let cells = usize::from(area.width);
    let dock = &session.approval_panel;
    let active = model.area == FocusArea::Approval;
    put_line(buffer, area, 0, &head(session, question, active, cells, theme));
    let answers = approval_answers(question);
    let words = usize::from(dock.reason.is_some()) + usize::from(dock.error.is_some());
    let small = is_small_screen(model.size.1);
    let rows_of_answers = if small { 2 } else { answers.len() };
    let room = usize::from(area.height).saturating_sub(1 + rows_of_answers + words);
    let body = match review::reviewed_files(session, question) {
        Some(files) => review::lines(files, dock, cells, room, theme),
        None => {
            let body = body(session, question, cells, theme);
            let from = usize::from(dock.scroll).min(body.len().saturating_sub(room));
            body.into_iter().skip(from).take(room).collect()
        }
    };
    for (row, line) in (1u16..).zip(&body) {
        put_line(buffer, area, row, line);
    }
    let mut row = to_u16(1 + body.len());
    let listed = if small { &[] } else { answers.as_slice() };
    if small {
        for line in in_two_rows(&answers, dock.selected, active, cells, theme) {
            put_line(buffer, area, row, &line);
            row += 1;
        }
    }
    for (number, answer) in listed.iter().enumerate() {
        let chosen = number == dock.selected && active;
        let style = if chosen { theme.style(StyleRole::Selected) } else { theme.style(StyleRole::Text) };
        let label = shorten(&answer.label, cells.saturating_sub(7));
        let line = Line::from(vec![
            Span::raw("  "),
            Span::styled(format!("[{}] ", answer.key), theme.style(StyleRole::Accent)),
            Span::styled(label, style),
        ]);
        put_line(buffer, area, row, &line);
        row += 1;
    }
    if let Some(error) = &dock.error {
        let text = shorten(&format!("  ✗ {error}"), cells);
        put_line(buffer, area, row, &Line::styled(text, theme.style(StyleRole::Bad)));
        row += 1;
    }
    let (_, reason) = dock.reason.as_ref()?;
    let laid = reason.rows(cells.saturating_sub(11));
    let line: String = laid.rows[laid.row].pieces.iter().map(|(text, _)| text.as_str()).collect();
    put_line(buffer, area, row, &Line::from(format!("  reason: {line}")));
    Some(Position {
        x: area.x + 10 + to_u16(laid.column),
        y: area.y + row.min(area.height.saturating_sub(1)),
    })
}

/// The answers where there is little room: their keys in a row, and the one that is chosen in full.
fn in_two_rows(
    answers: &[ApprovalAnswer],
    selected: usize,
    active: bool,
    cells: usize,
    theme: &Theme,
) -> [Line<'static>; 2] {
    let mut keys = Vec::new();
    for (number, answer) in answers.iter().enumerate() {
        let chosen = number == selected && active;
        keys.push(Span::styled(format!("[{}]", answer.key), theme.style(StyleRole::Accent)));
        let style = theme.style(if chosen { StyleRole::Selected } else { StyleRole::Text });
        keys.push(Span::styled(shorten(&answer.short, 10), style));
        keys.push(Span::raw(" "));
    }
    let label = answers.get(selected).map_or("", |answer| answer.label.as_str());
    [Line::from(keys), Line::styled(shorten(&format!("  ▸ {label}"), cells), theme.style(StyleRole::Dim))]
}

fn pending_question(model: &TuiModel) -> Option<(&FollowedSession, &PendingApproval)> {
    let session = model.focused()?;
    Some((session, session.approval_panel.question(&session.view)?))
}

fn head(
    session: &FollowedSession,
    question: &PendingApproval,
    active: bool,
    cells: usize,
    theme: &Theme,
) -> Line<'static> {
    let kind = match question.kind {
        ToolKind::Read => "reads files",
        ToolKind::Write => "modifies files",
        ToolKind::Exec => "runs a program",
        ToolKind::Network => "uses the network",
    };
    let who =
        if question.session_id == session.id { String::new() } else { " (asked by a subagent)".to_owned() };
    let more = match session.approvals().count() {
        0 | 1 => String::new(),
        count => format!(" · {} more pending", count - 1),
    };
    let text = if session.approval_panel.is_answer_pending() {
        " sending the answer…".to_owned()
    } else if question.is_review() {
        format!(" ? Keep this turn's changes?{more} · ←→ files · j k hunks · space: revert")
    } else {
        format!(" ? Allow {}? It {kind}{who}{more}", sanitize_line(&question.tool, 60))
    };
    let hint = if active { "" } else { " · tab: answer" };
    let style = theme.style(StyleRole::Warn).add_modifier(Modifier::BOLD);
    let rule = "─".repeat(cells.saturating_sub(width(&text) + width(hint) + 1));
    Line::from(vec![
        Span::styled(shorten(&text, cells), style),
        Span::styled(hint, theme.style(StyleRole::Dim)),
        Span::styled(format!(" {rule}"), theme.style(StyleRole::Border)),
    ])
}

/// What is asked about: what would change of files as they are, or else what the call itself says.
fn body(
    session: &FollowedSession,
    question: &PendingApproval,
    cells: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let compared = session.approval_panel.compared.as_deref().unwrap_or_default();
    // The input of a merge says nothing of its files, so those that cannot be shown are named at least.
    if compared.is_empty() || (compared.iter().any(|file| file.diff.is_none()) && !is_merge(question)) {
        return call_lines(question, cells, theme);
    }
    compared.iter().flat_map(|file| file_lines(file, cells, theme)).collect()
}

fn file_lines(file: &FileChange, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let path = sanitize_line(&file.path, 200);
    let what = match file.kind {
        ChangeKind::Added => " (new)".to_owned(),
        ChangeKind::Modified if file.added + file.removed == 0 => " (as it is)".to_owned(),
        ChangeKind::Modified | ChangeKind::ModeChanged | ChangeKind::TypeChanged => String::new(),
        ChangeKind::Deleted => " (deleted)".to_owned(),
        ChangeKind::Renamed => format!(" (was {})", sanitize_line(file.from.as_deref().unwrap_or("?"), 200)),
    };
    let counts = match &file.diff {
        Some(_) => format!(" +{} −{}", file.added, file.removed),
        None => " (binary or too large to show)".to_owned(),
    };
    let mut lines = vec![Line::from(vec![
        Span::styled(shorten(&format!("  {path}"), cells.saturating_sub(20)), theme.style(StyleRole::Link)),
        Span::styled(format!("{what}{counts}"), theme.style(StyleRole::Dim)),
    ])];
    lines.extend(diff::lines(file.diff.as_deref().unwrap_or(""), &path, cells, usize::MAX, theme));
    lines
}

/// The command, the text that is to be written, the diff, or the whole input.
fn call_lines(question: &PendingApproval, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let field = |name: &str| question.input.get(name).and_then(Value::as_str);
    let mut lines = Vec::new();
    let code = |text: &str, language: &str, lines: &mut Vec<Line<'static>>| {
        let mut carried = highlight::HighlightState::default();
        let indent = [Span::raw("  ")];
        for line in sanitize(text).lines() {
            let spans = highlight::highlight(line, highlight::language(language), &mut carried, theme);
            lines.extend(wrap(&spans, cells, &indent, &indent));
        }
    };
    match (field("command"), field("path").or(field("file_path")), field("patch")) {
        (Some(command), _, _) => code(&format!("$ {command}"), "sh", &mut lines),
        (None, _, Some(patch)) => lines.extend(diff::lines(patch, "", cells, usize::MAX, theme)),
        (None, Some(path), None) => {
            lines.push(Line::styled(format!("  {}", sanitize_line(path, 200)), theme.style(StyleRole::Link)));
            match (field("content"), field("old").or(field("old_text")), field("new").or(field("new_text"))) {
                (Some(content), _, _) => code(content, path, &mut lines),
                (None, Some(old), Some(new)) => {
                    lines.extend(diff::hunk_lines(&diff::replacement_hunk(old, new), path, cells, theme));
                }
                _ => code(&pretty(&question.input), "json", &mut lines),
            }
        }
        (None, None, None) => {
            lines.push(Line::styled(
                format!("  {}", sanitize_line(&question.summary, 400)),
                theme.style(StyleRole::Text),
            ));
            code(&pretty(&question.input), "json", &mut lines);
        }
    }
    lines
}

fn pretty(input: &Value) -> String {
    serde_json::to_string_pretty(input).unwrap_or_default()
}
