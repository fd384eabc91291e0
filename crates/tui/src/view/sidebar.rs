//! The list of sessions beside the transcript, and the line above it.

use ostler_types::SessionStatus;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::{ClickTarget, put_line};
use crate::model::{DaemonLinkState, SessionListEntry, TuiModel};
use crate::text::wrap::{shorten, width};
use crate::theme::StyleRole;

/// A mark for how a session stands: it asks, works, has something new, failed, or is closed.
pub(crate) fn status_mark(listed: &SessionListEntry) -> &'static str {
    match listed.session().status {
        _ if listed.needs_approval() => "?",
        _ if listed.is_running() => "●",
        _ if listed.unread => "•",
        SessionStatus::Failed => "✗",
        SessionStatus::Completed => "■",
        SessionStatus::WaitingApproval | SessionStatus::Active | SessionStatus::Canceled => " ",
    }
}

/// Draws the list.
pub(super) fn draw(model: &mut TuiModel, area: Rect, buffer: &mut Buffer) {
    let theme = model.theme;
    let border = theme.style(StyleRole::Border);
    for row in 0..area.height {
        buffer.set_span(area.right() - 1, area.y + row, &Span::styled("│", border), 1);
    }
    let inner = Rect { width: area.width - 2, ..area };
    let cells = usize::from(inner.width);
    put_line(buffer, inner, 0, &Line::styled(" sessions", theme.style(StyleRole::Heading)));
    let new = if model.focus.is_none() { StyleRole::Selected } else { StyleRole::Dim };
    put_line(buffer, inner, 1, &Line::styled(" + new (ctrl+n)", theme.style(new)));
    let mut hits = Vec::new();
    let rows = inner.height.saturating_sub(3);
    for (row, listed) in (2u16..2 + rows).zip(&model.list) {
        let id = listed.session().id;
        let mark = status_mark(listed);
        let role = match mark {
            "?" => StyleRole::Warn,
            "●" | "•" => StyleRole::Accent,
            "✗" => StyleRole::Bad,
            _ => StyleRole::Dim,
        };
        let draft = if model.draft(Some(id)).is_some() && model.focus != Some(id) { "✎" } else { "" };
        let name = shorten(&model.title_of(listed.session()), cells.saturating_sub(3 + width(draft)));
        let mut style =
            theme.style(if model.focus == Some(id) { StyleRole::Selected } else { StyleRole::Text });
        if listed.unread {
            style = style.add_modifier(Modifier::BOLD);
        }
        let line = Line::from(vec![
            Span::styled(format!("{mark} "), theme.style(role)),
            Span::styled(name, style),
            Span::styled(draft, theme.style(StyleRole::Warn)),
        ]);
        put_line(buffer, inner, row, &line);
        hits.push((Rect { y: inner.y + row, height: 1, ..inner }, ClickTarget::Session(id)));
    }
    if model.list.len() > usize::from(rows) {
        let text = format!(" … {} more (ctrl+o)", model.list.len() - usize::from(rows));
        put_line(buffer, inner, inner.height - 1, &Line::styled(text, theme.style(StyleRole::Dim)));
    }
    model.click_targets.extend(hits);
}

/// Draws the line above the transcript: what is looked at, and what wants attention elsewhere.
pub(super) fn draw_header(model: &TuiModel, area: Rect, buffer: &mut Buffer) {
    let theme = &model.theme;
    let cells = usize::from(area.width);
    let name = match model.focused() {
        Some(session) => model.title_of(session.view.session()),
        None if model.focus.is_some() => "…".to_owned(),
        None => "new session".to_owned(),
    };
    let elsewhere = |listed: &&SessionListEntry| Some(listed.session().id) != model.focus;
    let waiting = model.list.iter().filter(elsewhere).filter(|listed| listed.needs_approval()).count();
    let unread = model.list.iter().filter(|listed| listed.unread && listed.waiting() == 0).count();
    // A turn that waits for an approval is not at work.
    let is_working = |listed: &&SessionListEntry| listed.is_running() && !listed.needs_approval();
    let running = model.list.iter().filter(elsewhere).filter(is_working).count();
    let mut right: Vec<(String, StyleRole)> = Vec::new();
    if waiting > 0 {
        let verb = if waiting == 1 { "needs" } else { "need" };
        right.push((format!("? {waiting} {verb} approval "), StyleRole::Warn));
    }
    if running > 0 {
        right.push((format!("● {running} running "), StyleRole::Accent));
    }
    if unread > 0 {
        right.push((format!("• {unread} new "), StyleRole::Accent));
    }
    match &model.link {
        DaemonLinkState::Live => {}
        DaemonLinkState::Connecting => right.push(("connecting… ".to_owned(), StyleRole::Dim)),
        DaemonLinkState::Lost { .. } => right.push(("not connected ".to_owned(), StyleRole::Bad)),
    }
    let taken: usize = right.iter().map(|(text, _)| width(text)).sum();
    let name = shorten(&format!(" {name}"), cells.saturating_sub(taken + 1));
    let padding = " ".repeat(cells.saturating_sub(taken + width(&name)));
    let mut spans = vec![
        Span::styled(name, theme.style(StyleRole::Text).add_modifier(Modifier::BOLD)),
        Span::raw(padding),
    ];
    spans.extend(right.into_iter().map(|(text, role)| Span::styled(text, theme.style(role))));
    put_line(buffer, area, 0, &Line::from(spans));
}
