//! Each kind of entry as lines.

use ostler_types::{CommandResult, FileChange};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::layout_cache::EntrySurroundings;
use super::transcript::tone_style;
use crate::text::diff;
use crate::text::sanitize::{sanitize, sanitize_line};
use crate::text::wrap::{shorten, width, wrap};
use crate::theme::{StyleRole, Theme};
use crate::transcript::{
    EntryKind, ModelText, Tone, TranscriptCall, TranscriptCallStatus, TranscriptEntry, is_picture,
};

/// How many lines of an output are shown, and of one that somebody unfolded.
const FOLDED_OUTPUT_LINES: usize = 12;
const UNFOLDED_OUTPUT_LINES: usize = 400;
/// How many lines of a diff are shown at first.
const DIFF_LINES: usize = 40;

/// Lays an entry out.
pub(super) fn entry_lines(
    entry: &TranscriptEntry,
    folded: bool,
    cells: usize,
    theme: &Theme,
    around: &EntrySurroundings,
) -> Vec<Line<'static>> {
    let limit = if entry.folded == Some(false) { UNFOLDED_OUTPUT_LINES } else { FOLDED_OUTPUT_LINES };
    match &entry.kind {
        EntryKind::User { text, files, .. } => user(text, files, cells, theme, around),
        EntryKind::SystemMessage { text, .. } => system_message(text, folded, cells, theme),
        EntryKind::Answer(spoken) => crate::text::markdown::render(&spoken.text, cells, theme),
        EntryKind::Thinking(spoken) => thinking(spoken, folded, cells, theme),
        EntryKind::ToolCall(call) => self::call(call, folded, limit, cells, theme, around),
        EntryKind::Check { commands, results, .. } => {
            check(commands, results.as_deref(), folded, limit, cells, theme)
        }
        EntryKind::Review { files, more, .. } => review(files, *more, folded, limit, cells, theme),
        EntryKind::Note { tone, text } => plain(text, tone_style(*tone, theme), cells),
        EntryKind::End { tone, text, hint } => {
            let mut lines = plain(text, tone_style(*tone, theme), cells);
            lines.extend(hint.iter().flat_map(|hint| plain(hint, theme.style(StyleRole::Dim), cells)));
            lines
        }
    }
}

/// Text without marks, line by line, with a bar or nothing before it.
fn barred(
    text: &str,
    bar: &'static str,
    bar_role: StyleRole,
    style: Style,
    cells: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let bar = [Span::styled(bar, theme.style(bar_role))];
    let mut lines = Vec::new();
    for line in sanitize(text).trim_end().split('\n') {
        lines.extend(wrap(&[(line.to_owned(), style)], cells, &bar, &bar));
    }
    lines
}

fn plain(text: &str, style: Style, cells: usize) -> Vec<Line<'static>> {
    let indent = [Span::raw("  ")];
    sanitize(text).lines().flat_map(|line| wrap(&[(line.to_owned(), style)], cells, &[], &indent)).collect()
}

fn user(
    text: &str,
    files: &[String],
    cells: usize,
    theme: &Theme,
    around: &EntrySurroundings,
) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if !text.trim().is_empty() {
        // A page of pasted text is not what the reader looks for in a transcript.
        let count = text.lines().count();
        let shown = if count > 60 {
            let head: Vec<&str> = text.lines().take(20).collect();
            format!("{}\n… {} more lines", head.join("\n"), count - 20)
        } else {
            text.to_owned()
        };
        lines = barred(&shown, "▌ ", StyleRole::User, theme.style(StyleRole::User), cells, theme);
    }
    for file in files {
        lines.extend(picture(file, cells, around).unwrap_or_else(|| {
            let link = link(file, around);
            barred(&link, "▌ ", StyleRole::User, theme.style(StyleRole::Link), cells, theme)
        }));
    }
    lines
}

/// A picture, if the terminal has it and it fits.
fn picture(file: &str, cells: usize, around: &EntrySurroundings) -> Option<Vec<Line<'static>>> {
    let shown = around.shown.get(file).filter(|shown| usize::from(shown.columns) + 2 <= cells)?;
    Some(crate::picture::picture_lines(*shown))
}

/// Where a file lies, as it can be opened.
fn link(file: &str, around: &EntrySurroundings) -> String {
    let word = if is_picture(file) { "image" } else { "file" };
    let place = if around.log_dir.is_empty() { String::new() } else { format!("{}/", around.log_dir) };
    format!("[{word}: {place}{file}]")
}

fn system_message(text: &str, folded: bool, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let count = text.lines().count();
    let head = format!("▸ context: {}", sanitize_line(text.lines().next().unwrap_or(""), 80));
    let head = if count > 1 {
        format!("{} ({count} lines)", shorten(&head, cells.saturating_sub(14)))
    } else {
        head
    };
    let mut lines = vec![Line::styled(shorten(&head, cells), theme.style(StyleRole::Dim))];
    if !folded {
        lines.extend(limited(text, UNFOLDED_OUTPUT_LINES, StyleRole::Dim, cells, theme));
    }
    lines
}

fn thinking(spoken: &ModelText, folded: bool, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let style = theme.style(StyleRole::Dim).add_modifier(Modifier::ITALIC);
    let word = if spoken.done { "thought" } else { "thinking" };
    if folded {
        let text = sanitize(&spoken.text);
        let line = if spoken.done { text.lines().next() } else { text.lines().next_back() };
        let head = format!("▸ {word}: {}", sanitize_line(line.unwrap_or(""), 200));
        return vec![Line::styled(shorten(&head, cells), style)];
    }
    let mut lines = vec![Line::styled(format!("▾ {word}"), style)];
    lines.extend(barred(&spoken.text, "│ ", StyleRole::Border, style, cells, theme));
    lines
}

fn call(
    call: &TranscriptCall,
    folded: bool,
    limit: usize,
    cells: usize,
    theme: &Theme,
    around: &EntrySurroundings,
) -> Vec<Line<'static>> {
    let mut lines = vec![call_head(call, folded, cells, theme)];
    if folded {
        return lines;
    }
    let subject = sanitize(&call.subject());
    if subject.contains('\n') || width(&subject) + width(&call.name) + 6 > cells {
        lines.extend(limited(&subject, limit, StyleRole::Code, cells, theme));
    }
    for (path, text) in &call.diffs {
        let (added, removed) = diff::changed_line_counts(text);
        let head = format!("  {} +{added} −{removed}", sanitize_line(path, 200));
        lines.push(Line::styled(shorten(&head, cells), theme.style(StyleRole::Link)));
        lines.extend(diff::lines(text, path, cells, limit.max(DIFF_LINES), theme));
    }
    let said = match &call.result {
        Some(result) if call.diffs.is_empty() => Some(result.as_str()),
        Some(_) => None,
        None if !call.output.is_empty() => Some(call.output.as_str()),
        None => None,
    };
    if let Some(said) = said {
        let role = if call.status == TranscriptCallStatus::Failed { StyleRole::Bad } else { StyleRole::Dim };
        lines.extend(tail(said, limit, role, cells, theme));
    }
    for file in &call.pictures {
        lines.extend(picture(file, cells, around).unwrap_or_else(|| {
            barred(&link(file, around), "  ", StyleRole::Border, theme.style(StyleRole::Link), cells, theme)
        }));
    }
    if let Some(child) = call.child {
        lines.push(Line::styled(format!("  {child} (c opens it)"), theme.style(StyleRole::Dim)));
    }
    lines
}

fn call_head(call: &TranscriptCall, folded: bool, cells: usize, theme: &Theme) -> Line<'static> {
    let (mark, role) = match call.status {
        TranscriptCallStatus::Proposed | TranscriptCallStatus::Granted => ("○", StyleRole::Dim),
        TranscriptCallStatus::Waiting => ("?", StyleRole::Warn),
        TranscriptCallStatus::Running => ("●", StyleRole::Accent),
        TranscriptCallStatus::Done => ("✓", StyleRole::Good),
        TranscriptCallStatus::Failed => ("✗", StyleRole::Bad),
    };
    let mut after = String::new();
    if let Some(code) = call.exit_code.filter(|code| *code != 0) {
        after.push_str(&format!(" · exit {code}"));
    }
    if let Some(duration) = call.duration_ms.filter(|duration| *duration >= 1000) {
        after.push_str(&format!(" · {}", crate::formatting::duration(duration)));
    }
    let count = call.result.as_ref().map_or(0, |result| result.lines().count());
    if folded && count > 1 {
        after.push_str(&format!(" · {count} lines"));
    }
    let name = sanitize_line(&call.name, 60);
    let room = cells.saturating_sub(width(&name) + width(&after) + 4);
    let subject = shorten(&sanitize_line(&call.subject(), 400), room);
    Line::from(vec![
        Span::styled(format!("{mark} "), theme.style(role)),
        Span::styled(format!("{name} "), theme.style(StyleRole::Text).add_modifier(Modifier::BOLD)),
        Span::styled(subject, theme.style(StyleRole::Code)),
        Span::styled(after, theme.style(StyleRole::Dim)),
    ])
}

fn check(
    commands: &[String],
    results: Option<&[CommandResult]>,
    folded: bool,
    limit: usize,
    cells: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let held = results.map(|results| results.iter().all(|result| result.exit_code == Some(0)));
    let (mark, role) = match held {
        None => ("●", StyleRole::Accent),
        Some(true) => ("✓", StyleRole::Good),
        Some(false) => ("✗", StyleRole::Bad),
    };
    let head = shorten(&sanitize_line(&commands.join("; "), 400), cells.saturating_sub(10));
    let mut lines = vec![Line::from(vec![
        Span::styled(format!("{mark} "), theme.style(role)),
        Span::styled("verify ", theme.style(StyleRole::Text).add_modifier(Modifier::BOLD)),
        Span::styled(head, theme.style(StyleRole::Code)),
    ])];
    if !folded {
        for result in results.unwrap_or_default() {
            let role = if result.exit_code == Some(0) { StyleRole::Dim } else { StyleRole::Bad };
            lines.extend(tail(&result.output, limit, role, cells, theme));
        }
    }
    lines
}

/// The files of a change; their diffs, if they are not folded.
pub(super) fn review(
    files: &[FileChange],
    more: u64,
    folded: bool,
    limit: usize,
    cells: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let (added, removed) =
        files.iter().fold((0, 0), |(added, removed), file| (added + file.added, removed + file.removed));
    let count = crate::formatting::counted(files.len() as u64 + more, "file");
    let head = format!("Δ {count} changed, +{added} −{removed}");
    let mut lines = vec![Line::styled(head, tone_style(Tone::Plain, theme))];
    for file in files.iter().take(if folded { 0 } else { UNFOLDED_OUTPUT_LINES }) {
        let name = format!("  {} +{} −{}", sanitize_line(&file.path, 200), file.added, file.removed);
        lines.push(Line::styled(shorten(&name, cells), theme.style(StyleRole::Link)));
        if let (UNFOLDED_OUTPUT_LINES, Some(text)) = (limit, &file.diff) {
            lines.extend(diff::lines(text, &file.path, cells, UNFOLDED_OUTPUT_LINES, theme));
        }
    }
    lines
}

/// The beginning of a text, and how much more there is.
fn limited(text: &str, limit: usize, role: StyleRole, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let text = sanitize(text);
    let count = text.lines().count();
    let head: Vec<&str> = text.lines().take(limit).collect();
    let mut lines = barred(&head.join("\n"), "  ", StyleRole::Border, theme.style(role), cells, theme);
    if count > limit {
        lines.push(Line::styled(format!("  … {} more lines", count - limit), theme.style(StyleRole::Dim)));
    }
    lines
}

/// The end of a text, and how much stands before it: what a program says last matters most.
fn tail(text: &str, limit: usize, role: StyleRole, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let text = sanitize(text);
    let all: Vec<&str> = text.trim_end().lines().collect();
    let left_out = all.len().saturating_sub(limit);
    let mut lines = Vec::new();
    if left_out > 0 {
        let text = format!("  … {left_out} earlier lines");
        lines.push(Line::styled(text, theme.style(StyleRole::Dim)));
    }
    if !all.is_empty() {
        let end = all[left_out..].join("\n");
        lines.extend(barred(&end, "│ ", StyleRole::Border, theme.style(role), cells, theme));
    }
    lines
}
