//! The question that waits, docked above what is being written: what is to be done, and the answers.

use ostler_types::{PATCH_REVIEW, PendingApproval, ToolKind};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use serde_json::Value;

use super::foot::to_u16;
use super::put;
use crate::model::{Area, Model, OpenSession, choices};
use crate::text::clean::{clean, in_one_line};
use crate::text::wrap::{shorten, width, wrap};
use crate::text::{diff, highlight};
use crate::theme::{Role, Theme};

/// How many rows the question takes; none when there is none.
pub(super) fn height(model: &Model, cells: u16, rows: u16) -> u16 {
    let Some((session, question)) = asked(model) else { return 0 };
    let most = (rows / 2).max(4);
    let answers = to_u16(choices(question).len());
    let words = u16::from(session.dock.reason.is_some()) + u16::from(session.dock.error.is_some());
    let body = to_u16(body(session, question, usize::from(cells), &model.theme).len());
    (1 + answers + words + body).min(most.max(answers + words + 2)).min(rows.saturating_sub(4))
}

/// Draws the question; says where the cursor is while words are written.
pub(super) fn draw(model: &Model, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let (session, question) = asked(model).filter(|_| area.height > 0)?;
    let theme = &model.theme;
    let cells = usize::from(area.width);
    let dock = &session.dock;
    let active = model.area == Area::Dock;
    put(buffer, area, 0, &head(session, question, active, cells, theme));
    let answers = choices(question);
    let words = usize::from(dock.reason.is_some()) + usize::from(dock.error.is_some());
    let room = usize::from(area.height).saturating_sub(1 + answers.len() + words);
    let body = body(session, question, cells, theme);
    let from = usize::from(dock.scroll).min(body.len().saturating_sub(room));
    for (row, line) in (1u16..).zip(body.iter().skip(from).take(room)) {
        put(buffer, area, row, line);
    }
    let mut row = to_u16(1 + body.len().min(room));
    for (number, answer) in answers.iter().enumerate() {
        let chosen = number == dock.selected && active;
        let style = if chosen { theme.style(Role::Selected) } else { theme.style(Role::Text) };
        let label = shorten(&answer.label, cells.saturating_sub(7));
        let line = Line::from(vec![
            Span::raw("  "),
            Span::styled(format!("[{}] ", answer.key), theme.style(Role::Accent)),
            Span::styled(label, style),
        ]);
        put(buffer, area, row, &line);
        row += 1;
    }
    if let Some(error) = &dock.error {
        let text = shorten(&format!("  ✗ {error}"), cells);
        put(buffer, area, row, &Line::styled(text, theme.style(Role::Bad)));
        row += 1;
    }
    let (_, reason) = dock.reason.as_ref()?;
    let laid = reason.rows(cells.saturating_sub(10));
    let line: String = laid.rows[laid.row].pieces.iter().map(|(text, _)| text.as_str()).collect();
    put(buffer, area, row, &Line::from(format!("  words: {line}")));
    Some(Position { x: area.x + 9 + to_u16(laid.column), y: area.y + row.min(area.height.saturating_sub(1)) })
}

fn asked(model: &Model) -> Option<(&OpenSession, &PendingApproval)> {
    let session = model.focused()?;
    Some((session, session.dock.question(&session.approvals)?))
}

fn head(
    session: &OpenSession,
    question: &PendingApproval,
    active: bool,
    cells: usize,
    theme: &Theme,
) -> Line<'static> {
    let kind = match question.kind {
        ToolKind::Read => "reads",
        ToolKind::Write => "writes",
        ToolKind::Exec => "runs a program",
        ToolKind::Network => "reaches out",
    };
    let who = if question.session_id == session.id {
        String::new()
    } else {
        " (asked by a session it started)".to_owned()
    };
    let more = match session.approvals.len() {
        0 | 1 => String::new(),
        count => format!(" · {} more wait", count - 1),
    };
    let text = if session.dock.is_sent() {
        " … answering".to_owned()
    } else if question.tool == PATCH_REVIEW {
        format!(" ? keep what this turn changed?{more} · ←→ files · space puts one back")
    } else {
        format!(" ? may {} go ahead? it {kind}{who}{more}", in_one_line(&question.tool, 60))
    };
    let hint = if active { "" } else { " · tab answers" };
    let style = theme.style(Role::Warn).add_modifier(Modifier::BOLD);
    let rule = "─".repeat(cells.saturating_sub(width(&text) + width(hint) + 1));
    Line::from(vec![
        Span::styled(shorten(&text, cells), style),
        Span::styled(hint, theme.style(Role::Dim)),
        Span::styled(format!(" {rule}"), theme.style(Role::Border)),
    ])
}

/// What is asked about: the command, the text that is to be written, the diff, or the whole input.
fn body(
    session: &OpenSession,
    question: &PendingApproval,
    cells: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    if question.tool == PATCH_REVIEW {
        return review(session, question, cells, theme);
    }
    let field = |name: &str| question.input.get(name).and_then(Value::as_str);
    let mut lines = Vec::new();
    let code = |text: &str, language: &str, lines: &mut Vec<Line<'static>>| {
        let mut carried = highlight::Carried::default();
        let indent = [Span::raw("  ")];
        for line in clean(text).lines() {
            let spans = highlight::highlight(line, highlight::language(language), &mut carried, theme);
            lines.extend(wrap(&spans, cells, &indent, &indent));
        }
    };
    match (field("command"), field("path").or(field("file_path")), field("patch")) {
        (Some(command), _, _) => code(&format!("$ {command}"), "sh", &mut lines),
        (None, _, Some(patch)) => lines.extend(diff::lines(patch, "", cells, usize::MAX, theme)),
        (None, Some(path), None) => {
            lines.push(Line::styled(format!("  {}", in_one_line(path, 200)), theme.style(Role::Link)));
            match (field("content"), field("old").or(field("old_text")), field("new").or(field("new_text"))) {
                (Some(content), _, _) => code(content, path, &mut lines),
                (None, Some(old), Some(new)) => {
                    let minus = old.lines().map(|line| format!("-{line}\n"));
                    let both: String = minus.chain(new.lines().map(|line| format!("+{line}\n"))).collect();
                    lines.extend(diff::lines(&both, path, cells, usize::MAX, theme));
                }
                _ => code(&pretty(&question.input), "json", &mut lines),
            }
        }
        (None, None, None) => {
            lines.push(Line::styled(
                format!("  {}", in_one_line(&question.summary, 400)),
                theme.style(Role::Text),
            ));
            code(&pretty(&question.input), "json", &mut lines);
        }
    }
    lines
}

/// The files of a review; of the one that is looked at also the diff.
fn review(
    session: &OpenSession,
    question: &PendingApproval,
    cells: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let files = session.reviews.iter().find(|(id, _)| *id == question.tool_call_id).map(|(_, files)| files);
    let Some(files) = files else {
        return vec![Line::styled(
            format!("  {}", in_one_line(&question.summary, 400)),
            theme.style(Role::Text),
        )];
    };
    let at = session.dock.file.min(files.len().saturating_sub(1));
    let mut lines = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let back = if session.dock.rejected.contains(&file.path) { "↺" } else { " " };
        let mark = if number == at { "▸" } else { " " };
        let text =
            format!(" {mark}{back} {} +{} −{}", in_one_line(&file.path, 200), file.added, file.removed);
        let role = if number == at { Role::Accent } else { Role::Text };
        lines.push(Line::styled(shorten(&text, cells), theme.style(role)));
    }
    if let Some(text) = files.get(at).and_then(|file| file.diff.as_ref()) {
        lines.extend(diff::lines(text, &files[at].path, cells, usize::MAX, theme));
    }
    lines
}

fn pretty(input: &Value) -> String {
    serde_json::to_string_pretty(input).unwrap_or_default()
}
