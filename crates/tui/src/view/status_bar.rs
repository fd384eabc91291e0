//! The foot of the screen: the question that waits, what is queued, what the turn is at, what is being written, and
//! the line below it all.

use ostler_api_types::InputPart;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use ostler_types::{WORK_MODES, WorkMode};

use super::transcript::{activity, tone_style};
use super::{approval_panel, put_line};
use crate::model::{DaemonLinkState, FocusArea, FollowedSession, TuiModel};
use crate::text::sanitize::sanitize_line;
use crate::text::wrap::{shorten, width};
use crate::theme::StyleRole;

/// Where the parts of the foot stand.
pub(super) struct StatusBarLayout {
    /// The first row of the foot.
    pub(super) top: u16,
    dock: Rect,
    above: Rect,
    composer: Rect,
    footer: Rect,
    /// Lines above what is being written.
    lines: Vec<Line<'static>>,
    /// Whether there is room for a line around what is being written.
    framed: bool,
}

/// How high what is being written may be.
const MAX_COMPOSER_ROWS: usize = 10;
/// How many messages that wait are shown.
const MAX_QUEUED_SHOWN: usize = 3;

/// Divides the foot of an area.
pub(super) fn status_bar_layout(model: &TuiModel, area: Rect) -> StatusBarLayout {
    let framed = area.height >= 16;
    let cells = usize::from(area.width.saturating_sub(3)).max(2);
    let most = if framed { MAX_COMPOSER_ROWS } else { 3 };
    let files = usize::from(!model.composer().files.is_empty());
    let written = model.composer().rows(cells).rows.len().clamp(1, most) + files;
    let written = to_u16(written) + u16::from(framed);
    let lines = queue_lines(model, usize::from(area.width));
    let room = area.height.saturating_sub(2 + written);
    let above_height = to_u16(lines.len()).min(room.saturating_sub(1));
    let dock_height =
        approval_panel::height(model, area.width, area.height).min(room.saturating_sub(above_height + 1));
    let footer = Rect { y: area.bottom() - 1, height: 1, ..area };
    let composer = Rect { y: footer.y - written, height: written, ..area };
    let above = Rect { y: composer.y - above_height, height: above_height, ..area };
    let dock = Rect { y: above.y - dock_height, height: dock_height, ..area };
    StatusBarLayout { top: dock.y, dock, above, composer, footer, lines, framed }
}

/// Draws the foot, and says where the cursor is.
pub(super) fn draw(model: &TuiModel, rows: &StatusBarLayout, buffer: &mut Buffer) -> Option<Position> {
    let in_dock = approval_panel::draw(model, rows.dock, buffer);
    for (row, line) in (0u16..).zip(&rows.lines) {
        put_line(buffer, rows.above, row, line);
    }
    let in_composer = composer(model, rows, buffer);
    completion(model, rows, buffer);
    footer(model, rows.footer, buffer);
    in_dock.or(if model.area == FocusArea::Composer { Some(in_composer) } else { None })
}

/// What stands above what is being written: messages that wait, the plan, what the turn is at.
fn queue_lines(model: &TuiModel, cells: usize) -> Vec<Line<'static>> {
    let Some(session) = model.focused() else { return Vec::new() };
    let theme = &model.theme;
    let mut lines = Vec::new();
    let dim = theme.style(StyleRole::Dim);
    let waiting = session.view.queue().iter().map(|queued| {
        let mark = match queued.delivery {
            ostler_types::Delivery::Steer => "↪ steering",
            ostler_types::Delivery::Queue => "⧗ queued",
            ostler_types::Delivery::Interrupt => "⧗ interrupting",
        };
        (mark, queued.message.text())
    });
    let sending = session.outbox.iter().map(|outgoing| {
        let mark = if outgoing.held { "↑ waiting for the connection" } else { "↑ sending" };
        let texts = outgoing.message.parts.iter().filter_map(InputPart::as_text);
        (mark, texts.collect::<Vec<_>>().join(" "))
    });
    let all: Vec<(&str, String)> = waiting.chain(sending).collect();
    for (mark, text) in all.iter().take(MAX_QUEUED_SHOWN) {
        let line = shorten(&format!(" {mark}: {}", sanitize_line(text, 300)), cells);
        lines.push(Line::styled(line, dim));
    }
    if all.len() > MAX_QUEUED_SHOWN {
        lines.push(Line::styled(format!(" … {} more queued (/queue)", all.len() - MAX_QUEUED_SHOWN), dim));
    }
    lines.extend(plan(session, cells, dim));
    if session.queue_edit.is_some() {
        let text = " ✎ enter saves it · esc leaves it";
        lines.push(Line::styled(shorten(text, cells), theme.style(StyleRole::Warn)));
    }
    if session.running.is_some() {
        lines.push(turn_line(model, session, cells));
    }
    lines
}

fn plan(session: &FollowedSession, cells: usize, style: Style) -> Option<Line<'static>> {
    let plan = &session.view.agent_state().filter(|agent| !agent.plan.is_empty())?.plan;
    let done = plan.iter().filter(|entry| entry.status == "completed").count();
    let now = plan.iter().find(|entry| entry.status == "in_progress").or_else(|| plan.get(done));
    let now = now.map(|entry| sanitize_line(&entry.content, 200)).unwrap_or_default();
    Some(Line::styled(shorten(&format!(" ☰ {done}/{}: {now}", plan.len()), cells), style))
}

/// What the running turn does, and for how long by the clock of the daemon.
fn turn_line(model: &TuiModel, session: &FollowedSession, cells: usize) -> Line<'static> {
    const FRAMES: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇", "⠋", "⠙"];
    let theme = &model.theme;
    if model.link != DaemonLinkState::Live {
        return Line::styled(" … disconnected; the turn may still be running", theme.style(StyleRole::Dim));
    }
    let question = session.approval_panel.question(&session.view);
    let started_at = session.view.turns().back().map(|turn| turn.started_at);
    let since = question.map(|question| question.requested_at).or(started_at);
    let (mark, text, role) = if question.is_some() {
        ("?", "needs your approval (tab)".to_owned(), StyleRole::Warn)
    } else {
        let frame = usize::try_from(model.now / 120).unwrap_or(0) % FRAMES.len();
        (FRAMES[frame], activity(session), StyleRole::Accent)
    };
    let seconds = since.map_or(0, |since| model.unix_seconds.saturating_sub(since.as_second()).max(0));
    let after = format!(" · {} · esc esc: stop", crate::formatting::elapsed(seconds.unsigned_abs()));
    let room = cells.saturating_sub(width(&after) + 4);
    Line::from(vec![
        Span::styled(format!(" {mark} "), theme.style(role)),
        Span::styled(shorten(&text, room), theme.style(StyleRole::Text)),
        Span::styled(after, theme.style(StyleRole::Dim)),
    ])
}

fn composer(model: &TuiModel, rows: &StatusBarLayout, buffer: &mut Buffer) -> Position {
    let theme = &model.theme;
    let mut area = rows.composer;
    let active = model.area == FocusArea::Composer;
    let border = theme.style(if active { StyleRole::Accent } else { StyleRole::Border });
    if rows.framed {
        let rule = "─".repeat(usize::from(area.width));
        put_line(buffer, area, 0, &Line::styled(rule, border));
        area = Rect { y: area.y + 1, height: area.height - 1, ..area };
    }
    let written = model.composer();
    if !written.files.is_empty() {
        let names: Vec<&str> = written.files.iter().map(|file| file.name.as_str()).collect();
        let line = shorten(&format!(" 📎 {}", names.join(", ")), usize::from(area.width));
        put_line(buffer, area, 0, &Line::styled(line, theme.style(StyleRole::Link)));
        area = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    }
    let laid = written.rows(usize::from(area.width.saturating_sub(3)));
    let first = (laid.row + 1).saturating_sub(usize::from(area.height));
    if written.raw().is_empty() {
        let hint = shorten(&format!("› {}", hint(model)), usize::from(area.width));
        put_line(buffer, area, 0, &Line::styled(hint, theme.style(StyleRole::Dim)));
    }
    for (row, line) in (0u16..area.height).zip(laid.rows.iter().skip(first)) {
        let number = first + usize::from(row);
        let prompt = Span::styled(if number == 0 { "› " } else { "  " }, border);
        let mut spans = vec![prompt];
        spans.extend(line.pieces.iter().map(|(text, chip)| {
            let role = if *chip { StyleRole::Accent } else { StyleRole::Text };
            Span::styled(text.clone(), theme.style(role))
        }));
        if !(written.raw().is_empty() && number == 0) {
            put_line(buffer, area, row, &Line::from(spans));
        }
    }
    let row = to_u16(laid.row.saturating_sub(first)).min(area.height.saturating_sub(1));
    Position { x: (area.x + 2 + to_u16(laid.column)).min(area.right().saturating_sub(1)), y: area.y + row }
}

/// What can be written, when nothing is.
fn hint(model: &TuiModel) -> &'static str {
    match model.focused() {
        Some(session) if session.running.is_some() => "enter: queue · ctrl+t: steer · ctrl+x: interrupt",
        Some(_) => "Send a message · / commands · @ files · ! shell",
        None => "Describe a task · / commands · ! shell",
    }
}

/// What could complete the word, above what is being written.
fn completion(model: &TuiModel, rows: &StatusBarLayout, buffer: &mut Buffer) {
    let Some(completion) = model.completion.as_ref().filter(|completion| !completion.items.is_empty()) else {
        return;
    };
    let theme = &model.theme;
    let most = usize::from(rows.composer.y.saturating_sub(2)).min(8);
    let first = completion.selected.saturating_sub(most.saturating_sub(1));
    let shown: Vec<_> = completion.items.iter().enumerate().skip(first).take(most).collect();
    let height = to_u16(shown.len());
    let widest = shown.iter().map(|(_, (item, about))| width(item) + width(about) + 4).max().unwrap_or(0);
    let area = Rect {
        x: rows.composer.x + 1,
        y: rows.composer.y - height,
        width: to_u16(widest).min(rows.composer.width.saturating_sub(2)),
        height,
    };
    for (row, (number, (item, about))) in (0u16..).zip(shown) {
        let chosen = number == completion.selected;
        let style = if chosen { theme.style(StyleRole::Selected) } else { theme.style(StyleRole::Text) };
        let blank = " ".repeat(usize::from(area.width));
        put_line(buffer, area, row, &Line::styled(blank, style));
        let about_style = if chosen { style } else { theme.style(StyleRole::Dim) };
        let line = Line::from(vec![
            Span::styled(format!(" {item} "), style),
            Span::styled(about.clone(), about_style),
        ]);
        put_line(buffer, area, row, &line);
    }
}

/// The last line: what there is to say, or where one is, with whom, and what it cost.
fn footer(model: &TuiModel, area: Rect, buffer: &mut Buffer) {
    let theme = &model.theme;
    let cells = usize::from(area.width);
    if let DaemonLinkState::Lost { why, starting } = &model.link {
        let text = if *starting {
            " starting the daemon…".to_owned()
        } else {
            format!(" Daemon disconnected; reconnecting… (ctrl+r starts one): {why}")
        };
        put_line(buffer, area, 0, &Line::styled(shorten(&text, cells), theme.style(StyleRole::Warn)));
        return;
    }
    if let Some(notice) = &model.notice {
        let text = shorten(&format!(" {}", notice.text), cells);
        put_line(buffer, area, 0, &Line::styled(text, tone_style(notice.tone, theme)));
        return;
    }
    let (left, gauge, right) = status_texts(model);
    let (left_cells, right) = (cells.saturating_sub(width(&gauge.0) + width(&right) + 2), right);
    let left = shorten(&format!(" {left}"), left_cells);
    let padding = " ".repeat(cells.saturating_sub(width(&left) + width(&gauge.0) + width(&right) + 1));
    let dim = theme.style(StyleRole::Dim);
    let line = Line::from(vec![
        Span::styled(left, dim),
        Span::styled(padding, dim),
        Span::styled(gauge.0, theme.style(gauge.1)),
        Span::styled(right, dim),
    ]);
    put_line(buffer, area, 0, &line);
}

/// Where one is and with whom; how full the window is; what it cost.
fn status_texts(model: &TuiModel) -> (String, (String, StyleRole), String) {
    let Some(session) = model.focused() else {
        let place = crate::formatting::short_path(&model.workspace, model.home.as_deref());
        let chosen = model.next.model.iter().chain(&model.next.agent).map(|name| format!(" · {name}"));
        return (
            format!("{place}{}", chosen.collect::<String>()),
            (String::new(), StyleRole::Dim),
            "F1 keys".to_owned(),
        );
    };
    let described = session.view.session();
    let place = crate::formatting::short_path(&described.workspace_path, model.home.as_deref());
    let agent = if described.agent == "native" {
        String::new()
    } else {
        format!(" · {}", sanitize_line(&described.agent, 40))
    };
    let trust = if session.trusted { "" } else { " · untrusted" };
    let mode = match WorkMode::from_policy(&described.policy) {
        Some(mode) if *mode == WORK_MODES[0] => String::new(),
        Some(mode) => format!(" · {}", mode.name.to_lowercase()),
        None => " · custom approvals".to_owned(),
    };
    let left = format!("{place}{agent} · {}{trust}{mode}", sanitize_line(&described.model, 60));
    let gauge = match session.context_percent() {
        Some(percent) => {
            let role = match percent {
                0..60 => StyleRole::Dim,
                60..80 => StyleRole::Warn,
                _ => StyleRole::Bad,
            };
            (format!("{} {percent}%", bar(percent)), role)
        }
        None => (String::new(), StyleRole::Dim),
    };
    let spent = described.usage.input_tokens + described.usage.output_tokens;
    let right = match described.usage.cost_usd {
        Some(cost) if cost.nanos() > 0 => format!(" · {}", crate::formatting::money(cost)),
        _ if spent > 0 => format!(" · {}", crate::formatting::tokens(spent)),
        _ => String::new(),
    };
    let right = format!("{right} · F1 keys");
    let right = if gauge.0.is_empty() { right.trim_start_matches(" · ").to_owned() } else { right };
    (left, gauge, right)
}

fn bar(percent: u64) -> String {
    let full = usize::try_from(percent.min(100) / 20).unwrap_or(5);
    format!("{}{}", "▰".repeat(full), "▱".repeat(5 - full))
}

pub(super) fn to_u16(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}
