//! What lies over everything, in a frame in the middle of the screen.

use ostler_types::{Delivery, MessageId, Queued};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::put_line;
use super::status_bar::to_u16;
use crate::model::{Overlay, Picker, PickerKind, TuiModel};
use crate::text::sanitize::sanitize_line;
use crate::text::wrap::{shorten, width};
use crate::theme::{StyleRole, Theme};

/// Draws what lies over everything, and says where the cursor is then; none when nothing does.
pub(super) fn draw(model: &TuiModel, area: Rect, buffer: &mut Buffer) -> Option<Option<Position>> {
    let theme = &model.theme;
    match model.overlay.as_ref()? {
        Overlay::Picker(picker) => Some(Some(draw_picker(picker, area, buffer, theme))),
        Overlay::Page { title, lines, scroll } => {
            let hint = "↑↓ scroll · any other key closes";
            let inner = frame(title, hint, to_u16(lines.len()), area, buffer, theme);
            let shown = lines.iter().skip(*scroll);
            for (row, line) in (0u16..inner.height).zip(shown) {
                put_line(buffer, inner, row, &Line::from(shorten(line, usize::from(inner.width))));
            }
            Some(None)
        }
        Overlay::Undo { lines, scroll, .. } => {
            let hint = "y: undo · f: force · n: cancel";
            let inner = frame("Undo the last change?", hint, to_u16(lines.len()), area, buffer, theme);
            for (row, line) in (0u16..inner.height).zip(lines.iter().skip(*scroll)) {
                put_line(buffer, inner, row, &Line::from(shorten(line, usize::from(inner.width))));
            }
            Some(None)
        }
        Overlay::Queue { chosen } => {
            draw_queue(model, *chosen, area, buffer, theme);
            Some(None)
        }
        Overlay::Find => {
            let row = Rect { y: area.bottom() - 1, height: 1, ..area };
            clear(row, buffer);
            let text = format!(" find: {}", model.find);
            let hint = format!("   {}enter or up: previous · down: next · esc: close", match_count(model));
            let line = Line::from(vec![
                Span::styled(text.clone(), theme.style(StyleRole::Accent)),
                Span::styled(hint, theme.style(StyleRole::Dim)),
            ]);
            put_line(buffer, row, 0, &line);
            Some(Some(Position { x: (row.x + to_u16(width(&text))).min(row.right() - 1), y: row.y }))
        }
    }
}

/// How many matches there are, and which one is shown; nothing before something is typed.
fn match_count(model: &TuiModel) -> String {
    let Some(session) = model.focused().filter(|_| !model.find.is_empty()) else { return String::new() };
    // What is older is only searched once it is loaded.
    let more = if session.transcript.has_older() { "+" } else { "" };
    match session.find_matches(&model.find, model.found) {
        (0, _) => format!("no matches{} · ", if more.is_empty() { "" } else { " yet" }),
        (count, Some(at)) => format!("{at} of {count}{more} · "),
        (count, None) => format!("{count}{more} · "),
    }
}

/// What waits in the session that is looked at.
fn draw_queue(model: &TuiModel, chosen: MessageId, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let queue: Vec<&Queued> = model.focused().into_iter().flat_map(|session| session.view.queue()).collect();
    let hint = "e edit · J K move · s steer · d drop";
    let inner = frame("queued messages", hint, to_u16(queue.len().max(2)), area, buffer, theme);
    let (cells, room) = (usize::from(inner.width), usize::from(inner.height).max(1));
    let at = queue.iter().position(|queued| queued.message.id == chosen).unwrap_or(0);
    if queue.is_empty() {
        put_line(buffer, inner, 0, &Line::styled("the queue is empty", theme.style(StyleRole::Dim)));
    }
    let first = (at + 1).saturating_sub(room);
    for (row, (number, queued)) in (0u16..).zip(queue.iter().enumerate().skip(first).take(room)) {
        let mark = match queued.delivery {
            Delivery::Queue => format!("{:>2}. ", number + 1),
            Delivery::Steer => " ↪  ".to_owned(),
            Delivery::Interrupt => " ⧗  ".to_owned(),
        };
        let style = theme.style(if number == at { StyleRole::Selected } else { StyleRole::Text });
        let text = shorten(&sanitize_line(&queued.message.text(), 400), cells.saturating_sub(4));
        let line =
            Line::from(vec![Span::styled(mark, theme.style(StyleRole::Dim)), Span::styled(text, style)]);
        put_line(buffer, inner, row, &line);
    }
}

fn draw_picker(picker: &Picker, area: Rect, buffer: &mut Buffer, theme: &Theme) -> Position {
    let title = match picker.kind {
        PickerKind::Session => "sessions",
        PickerKind::Found => "search results",
        PickerKind::Model => "models",
        PickerKind::Agent => "agents",
        PickerKind::Mode => "approval mode",
        PickerKind::Theme => "themes",
        PickerKind::Command => "commands",
    };
    let matches = picker.matches();
    let wanted = to_u16(picker.items.len().max(3) + 1);
    let inner = frame(title, "enter: select · esc: close", wanted, area, buffer, theme);
    let cells = usize::from(inner.width);
    let query = shorten(&format!("› {}", picker.query), cells);
    put_line(buffer, inner, 0, &Line::styled(query.clone(), theme.style(StyleRole::Accent)));
    let room = usize::from(inner.height.saturating_sub(1)).max(1);
    let selected = picker.selected.min(matches.len().saturating_sub(1));
    let first = (selected + 1).saturating_sub(room);
    if matches.is_empty() {
        let text = if picker.loading { "…" } else { "no matches" };
        put_line(buffer, inner, 1, &Line::styled(text, theme.style(StyleRole::Dim)));
    }
    for (row, (number, choice)) in (1u16..).zip(matches.iter().enumerate().skip(first).take(room)) {
        let style = theme.style(if number == selected { StyleRole::Selected } else { StyleRole::Text });
        let label =
            shorten(&choice.label, (cells * 3 / 5).max(cells.saturating_sub(width(&choice.detail) + 2)));
        let left = cells.saturating_sub(width(&label) + 2);
        let detail = shorten(&choice.detail, left);
        let line = Line::from(vec![
            Span::styled(label, style),
            Span::styled(format!("  {detail}"), theme.style(StyleRole::Dim)),
        ]);
        put_line(buffer, inner, row, &line);
    }
    Position { x: (inner.x + to_u16(width(&query))).min(inner.right().saturating_sub(1)), y: inner.y }
}

/// Draws a frame with room for so many rows, and gives what is inside.
fn frame(title: &str, hint: &str, rows: u16, area: Rect, buffer: &mut Buffer, theme: &Theme) -> Rect {
    let outer_width = area.width.saturating_sub(2).min(84);
    let outer_height = (rows + 2).min(area.height.saturating_sub(2)).max(3).min(area.height);
    let outer = Rect {
        x: area.x + (area.width - outer_width) / 2,
        y: area.y + (area.height - outer_height) / 3,
        width: outer_width,
        height: outer_height,
    };
    clear(outer, buffer);
    let style = theme.style(StyleRole::Border);
    let cells = usize::from(outer_width.saturating_sub(2));
    let edge = |left: &str, text: &str, right: &str| {
        let text = shorten(text, cells.saturating_sub(2));
        format!("{left}─{text}{}{right}", "─".repeat(cells.saturating_sub(width(&text) + 1)))
    };
    put_line(buffer, outer, 0, &Line::styled(edge("╭", &format!(" {title} "), "╮"), style));
    put_line(buffer, outer, outer_height - 1, &Line::styled(edge("╰", &format!(" {hint} "), "╯"), style));
    for row in 1..outer_height - 1 {
        buffer.set_span(outer.x, outer.y + row, &Span::styled("│", style), 1);
        buffer.set_span(outer.right() - 1, outer.y + row, &Span::styled("│", style), 1);
    }
    Rect { x: outer.x + 2, y: outer.y + 1, width: outer_width.saturating_sub(4), height: outer_height - 2 }
}

fn clear(area: Rect, buffer: &mut Buffer) {
    for row in area.top()..area.bottom() {
        for column in area.left()..area.right() {
            buffer[(column, row)].reset();
        }
    }
}
