//! The transcript on the screen: which of its lines are seen, and following its end or standing still.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{ClickTarget, MAX_TRANSCRIPT_WIDTH, put_line};
use crate::model::{FocusArea, FollowedSession, ScrollPosition, TuiModel};
use crate::theme::{StyleRole, Theme};
use crate::transcript::{EntryKind, TranscriptEntry};

/// Draws the transcript of the session that is looked at.
pub(super) fn draw(model: &mut TuiModel, area: Rect, buffer: &mut Buffer) {
    let (theme, find) = (model.theme, model.find.to_lowercase());
    let chosen = if let FocusArea::Transcript(key) = model.area { Some(key) } else { None };
    let Some(session) = model.focus.and_then(|id| model.open.iter_mut().find(|session| session.id == id))
    else {
        return;
    };
    let cells = area.width.saturating_sub(3).min(MAX_TRANSCRIPT_WIDTH);
    session.layout.prepare(usize::from(cells), theme);
    session.layout.update_surroundings(&model.pictures, session.id, &session.log_dir);
    let lines = visible_lines(session, usize::from(area.height));
    if session.transcript.entries().is_empty() {
        let text = if session.following { "" } else { "…" };
        put_line(buffer, area, 0, &Line::styled(text, theme.style(StyleRole::Dim)));
    }
    let mut last = None;
    for key in lines.iter().filter_map(|(key, _)| *key) {
        if last.replace(key) != Some(key)
            && let Some(entry) = session.transcript.get(key)
        {
            entry.pictures().into_iter().for_each(|file| model.pictures.note_on_screen(session.id, file));
        }
    }
    for (row, (key, mut line)) in (0u16..).zip(lines) {
        if !find.is_empty() {
            line = highlight_matches(&line, &find, theme.style(StyleRole::Found));
        }
        let bar = if key.is_some() && key == chosen { "▎" } else { " " };
        buffer.set_span(area.x, area.y + row, &Span::styled(bar, theme.style(StyleRole::Accent)), 1);
        let inner = Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..area };
        put_line(buffer, inner, row, &line);
        if let Some(key) = key {
            model.click_targets.push((Rect { y: area.y + row, height: 1, ..area }, ClickTarget::Entry(key)));
        }
    }
    let session = model.focused();
    if session.is_some_and(|session| session.scroll_position != ScrollPosition::Tail) {
        let text = " ↓ more below · esc: to the end ";
        let width = u16::try_from(crate::text::wrap::width(text)).unwrap_or(area.width).min(area.width);
        let row = area.y + area.height.saturating_sub(1);
        let style = theme.style(StyleRole::Selected);
        buffer.set_span(area.x + (area.width - width) / 2, row, &Span::styled(text, style), width);
    }
}

/// The lines that are seen, each with its entry. Applies what is still to be scrolled.
fn visible_lines(session: &mut FollowedSession, height: usize) -> Vec<(Option<u64>, Line<'static>)> {
    let count = session.transcript.entries().len();
    if count == 0 || height == 0 {
        (session.scroll, session.wants_older) = (0, count == 0 && session.transcript.has_older());
        return Vec::new();
    }
    let scroll = std::mem::take(&mut session.scroll);
    let (mut at, tail) = match session.scroll_position {
        ScrollPosition::At { key, line } => match session.transcript.position(key) {
            Some(index) => ((index, line), false),
            None => (tail_top(session, height), true),
        },
        ScrollPosition::Tail => (tail_top(session, height), true),
    };
    if scroll > 0 {
        at = scroll_up(session, at, scroll.unsigned_abs());
    } else if scroll < 0 {
        at = scroll_down(session, at, scroll.unsigned_abs());
    }
    let end = tail_top(session, height);
    let follows = (tail && scroll <= 0) || at >= end;
    if follows {
        at = end;
        session.scroll_position = ScrollPosition::Tail;
    } else {
        session.scroll_position =
            ScrollPosition::At { key: session.transcript.entries()[at.0].key, line: at.1 };
    }
    session.wants_older |= at == (0, 0);
    let mut lines = Vec::with_capacity(height);
    let (mut index, mut skip) = at;
    while index < count && lines.len() < height {
        let key = session.transcript.entries()[index].key;
        let block = entry_block(session, index);
        lines.extend(block.into_iter().skip(skip).take(height - lines.len()).map(|line| (Some(key), line)));
        (index, skip) = (index + 1, 0);
    }
    lines
}

/// The lines of an entry, with the empty one that sets it apart from the one before.
fn entry_block(session: &mut FollowedSession, index: usize) -> Vec<Line<'static>> {
    let entries = session.transcript.entries();
    let gap = index > 0 && needs_gap(&entries[index - 1], &entries[index]);
    let mut lines = if gap { vec![Line::default()] } else { Vec::new() };
    lines.extend_from_slice(session.layout.lines(&entries[index]));
    lines
}

fn height_of(session: &mut FollowedSession, index: usize) -> usize {
    let entries = session.transcript.entries();
    let gap = index > 0 && needs_gap(&entries[index - 1], &entries[index]);
    usize::from(gap) + session.layout.lines(&entries[index]).len()
}

/// Whether an empty line stands between two entries. What belongs together stands together.
fn needs_gap(before: &TranscriptEntry, after: &TranscriptEntry) -> bool {
    let small = |entry: &TranscriptEntry| {
        matches!(
            entry.kind,
            EntryKind::ToolCall(_)
                | EntryKind::Note { .. }
                | EntryKind::Check { .. }
                | EntryKind::SystemMessage { .. }
        )
    };
    let open = |entry: &TranscriptEntry| {
        matches!(entry.kind, EntryKind::ToolCall(_) | EntryKind::Check { .. }) && !entry.is_folded()
    };
    if matches!(after.kind, EntryKind::End { .. }) {
        return !small(before);
    }
    !(small(before) && small(after)) || open(before) || open(after)
}

/// The first line on the screen when its last one is the end.
fn tail_top(session: &mut FollowedSession, height: usize) -> (usize, usize) {
    let mut left = height;
    for index in (0..session.transcript.entries().len()).rev() {
        let lines = height_of(session, index);
        if lines >= left {
            return (index, lines - left);
        }
        left -= lines;
    }
    (0, 0)
}

fn scroll_up(
    session: &mut FollowedSession,
    (mut index, mut line): (usize, usize),
    mut by: usize,
) -> (usize, usize) {
    while by > line {
        by -= line;
        if index == 0 {
            return (0, 0);
        }
        index -= 1;
        line = height_of(session, index);
    }
    (index, line - by)
}

fn scroll_down(
    session: &mut FollowedSession,
    (mut index, mut line): (usize, usize),
    mut by: usize,
) -> (usize, usize) {
    let count = session.transcript.entries().len();
    loop {
        let left = height_of(session, index).saturating_sub(line);
        if by < left {
            return (index, line + by);
        }
        by -= left;
        if index + 1 >= count {
            return (index, line + left);
        }
        (index, line) = (index + 1, 0);
    }
}

/// The line with every place that is searched for made to stand out.
fn highlight_matches(line: &Line<'static>, find: &str, style: Style) -> Line<'static> {
    let mut spans = Vec::new();
    for span in &line.spans {
        let lower = span.content.to_lowercase();
        // Letters that change their length with their case would shift what follows; then nothing is marked.
        if lower.len() != span.content.len() || !lower.contains(find) {
            spans.push(span.clone());
            continue;
        }
        let mut rest = 0;
        for (at, found) in lower.match_indices(find) {
            spans.push(Span::styled(span.content[rest..at].to_owned(), span.style));
            spans.push(Span::styled(span.content[at..at + found.len()].to_owned(), style));
            rest = at + found.len();
        }
        spans.push(Span::styled(span.content[rest..].to_owned(), span.style));
    }
    Line::from(spans)
}

/// What the turn is at, in a few words: the call that runs, or what the model does.
pub(super) fn activity(session: &FollowedSession) -> String {
    let open = session.transcript.entries().iter().rev().take(50).find_map(|entry| match &entry.kind {
        EntryKind::ToolCall(call) if !call.status.is_over() => {
            let subject = crate::text::sanitize::sanitize_line(&call.subject(), 60);
            Some(format!("{} {subject}", call.name).trim().to_owned())
        }
        EntryKind::Check { results: None, commands, .. } => {
            Some(format!("verifying: {}", crate::text::sanitize::sanitize_line(&commands.join("; "), 60)))
        }
        EntryKind::Answer(spoken) if !spoken.done => Some("writing".to_owned()),
        EntryKind::Thinking(spoken) if !spoken.done => Some("thinking".to_owned()),
        EntryKind::User { .. }
        | EntryKind::SystemMessage { .. }
        | EntryKind::Answer(_)
        | EntryKind::Thinking(_)
        | EntryKind::ToolCall(_)
        | EntryKind::Check { .. }
        | EntryKind::Review { .. }
        | EntryKind::Note { .. }
        | EntryKind::End { .. } => None,
    });
    open.unwrap_or_else(|| "working".to_owned())
}

/// The colour of a tone.
pub(super) fn tone_style(tone: crate::transcript::Tone, theme: &Theme) -> Style {
    use crate::transcript::Tone;
    theme.style(match tone {
        Tone::Plain => StyleRole::Dim,
        Tone::Good => StyleRole::Good,
        Tone::Warn => StyleRole::Warn,
        Tone::Bad => StyleRole::Bad,
    })
}
