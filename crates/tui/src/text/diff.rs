//! A unified diff as coloured lines, with the numbers of the lines it speaks of, whole or hunk by hunk.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::highlight::{HighlightState, highlight, language};
use super::sanitize::sanitize;
use super::wrap::{shorten, wrap};
use crate::theme::{StyleRole, Theme};

/// Lines of a diff that stand together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiffHunk {
    /// The file that it is the first one of, where the diff says so.
    pub file: Option<String>,
    /// The line that says where it stands; none when there is no such line.
    pub head: Option<String>,
    /// Its lines, each with the mark before it.
    pub lines: Vec<String>,
}

/// The hunks of a diff, in their order.
pub fn hunks(diff: &str) -> Vec<DiffHunk> {
    let mut hunks: Vec<DiffHunk> = Vec::new();
    let mut file = None;
    // How many lines of either side are still to come: within a hunk, what looks like a head is none.
    let mut left = (0usize, 0usize);
    for line in sanitize(diff).lines() {
        let inside = left != (0, 0);
        if inside && !line.starts_with('\\') {
            match line.chars().next() {
                Some('+') => left.1 = left.1.saturating_sub(1),
                Some('-') => left.0 = left.0.saturating_sub(1),
                Some(_) | None => left = (left.0.saturating_sub(1), left.1.saturating_sub(1)),
            }
        } else if line.starts_with("@@") {
            left = hunk_sizes(line);
            hunks.push(DiffHunk { file: file.take(), head: Some(line.to_owned()), lines: Vec::new() });
            continue;
        } else if let Some(named) = head(line) {
            file = named.or(file);
            continue;
        }
        if hunks.is_empty() || file.is_some() {
            hunks.push(DiffHunk { file: file.take(), ..DiffHunk::default() });
        }
        if let Some(hunk) = hunks.last_mut() {
            hunk.lines.push(line.to_owned());
        }
    }
    hunks
}

/// One text in the place of another, as a diff of which nothing else is known.
pub fn replacement_hunk(old: &str, new: &str) -> DiffHunk {
    let (old, new) = (sanitize(old), sanitize(new));
    let removed = old.lines().map(|line| format!("-{line}"));
    DiffHunk {
        lines: removed.chain(new.lines().map(|line| format!("+{line}"))).collect(),
        ..DiffHunk::default()
    }
}

/// Draws the hunks of a diff, at most so many lines; says how many were left out. Without a path, those in the diff are
/// shown.
pub fn lines(diff: &str, path: &str, cells: usize, limit: usize, theme: &Theme) -> Vec<Line<'static>> {
    let hunks = hunks(diff);
    let count: usize = hunks.iter().map(|hunk| hunk.lines.len() + usize::from(hunk.head.is_some())).sum();
    let mut room = limit;
    let mut out: Vec<Line<'static>> = Vec::new();
    for hunk in &hunks {
        if let (Some(file), true, true) = (&hunk.file, path.is_empty(), room > 0) {
            out.push(Line::styled(shorten(&format!("  {file}"), cells), theme.style(StyleRole::Link)));
        }
        let of = if path.is_empty() { hunk.file.as_deref().unwrap_or("") } else { path };
        out.extend(limited_hunk_lines(hunk, of, cells, &mut room, theme));
    }
    if count > limit {
        let text = format!("  … {} more lines", count - limit);
        out.push(Line::styled(text, theme.style(StyleRole::Dim)));
    }
    out
}

/// Draws one hunk.
pub fn hunk_lines(hunk: &DiffHunk, path: &str, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut room = usize::MAX;
    limited_hunk_lines(hunk, path, cells, &mut room, theme)
}

/// How many lines a diff adds and removes.
pub fn changed_line_counts(diff: &str) -> (usize, usize) {
    let hunks = hunks(diff);
    let marked = |mark: char| {
        let lines = hunks.iter().flat_map(|hunk| &hunk.lines);
        lines.filter(|line| line.starts_with(mark)).count()
    };
    (marked('+'), marked('-'))
}

#[derive(Default)]
struct DiffLineNumbers {
    old: u32,
    new: u32,
}

/// What a line between hunks says of the file: its name, or nothing. None when it is no such line.
fn head(line: &str) -> Option<Option<String>> {
    let silent = [
        "--- ",
        "diff ",
        "index ",
        "new file",
        "deleted file",
        "similarity ",
        "rename ",
        "*** Begin",
        "*** End",
    ];
    if silent.iter().any(|mark| line.starts_with(mark)) {
        return Some(None);
    }
    if let Some(name) = line.strip_prefix("+++ ") {
        let name = name.strip_prefix("b/").unwrap_or(name);
        return Some(Some(name.to_owned()));
    }
    line.strip_prefix("*** ").map(|rest| Some(rest.to_owned()))
}

fn limited_hunk_lines(
    hunk: &DiffHunk,
    path: &str,
    cells: usize,
    room: &mut usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let mut numbers = DiffLineNumbers::default();
    let mut out = Vec::new();
    for line in hunk.head.iter().chain(&hunk.lines) {
        let Some(left) = room.checked_sub(1) else { break };
        *room = left;
        out.extend(diff_line(line, path, cells, &mut numbers, theme));
    }
    out
}

fn diff_line(
    line: &str,
    path: &str,
    cells: usize,
    numbers: &mut DiffLineNumbers,
    theme: &Theme,
) -> Vec<Line<'static>> {
    if let Some(ranges) = line.strip_prefix("@@") {
        (numbers.old, numbers.new) = hunk_starts(ranges);
        return vec![Line::styled(shorten(line, cells), theme.style(StyleRole::Dim))];
    }
    if line.starts_with('\\') {
        return vec![Line::styled(shorten(&format!("       {line}"), cells), theme.style(StyleRole::Dim))];
    }
    let (mark, text) = line.split_at(line.chars().next().map_or(0, char::len_utf8));
    let (role, number) = match mark {
        "+" => (StyleRole::Added, numbers.new),
        "-" => (StyleRole::Removed, numbers.old),
        _ => (StyleRole::Dim, numbers.new),
    };
    match mark {
        "+" => numbers.new += 1,
        "-" => numbers.old += 1,
        _ => {
            numbers.old += 1;
            numbers.new += 1;
        }
    }
    // A diff that does not say where it stands has no numbers to show.
    let shown =
        if numbers.old.max(numbers.new) == 0 || number == 0 { String::new() } else { number.to_string() };
    let first = [Span::styled(format!("{shown:>4} {mark} "), theme.style(role))];
    let rest = [Span::styled("       ", theme.style(role))];
    let spans: Vec<(String, Style)> = if role == StyleRole::Dim {
        highlight(text, language(path), &mut HighlightState::default(), theme)
    } else {
        vec![(text.to_owned(), theme.style(role))]
    };
    wrap(&spans, cells, &first, &rest)
}

/// The first lines that a hunk speaks of, from its ` -3,7 +3,9 @@`.
fn hunk_starts(ranges: &str) -> (u32, u32) {
    let mut parts = ranges.split_whitespace();
    let mut start = || {
        let range = parts.next()?.trim_start_matches(['-', '+']);
        range.split(',').next()?.parse().ok()
    };
    (start().unwrap_or(1), start().unwrap_or(1))
}

/// How many lines of either side a hunk has; none when its head does not say so.
fn hunk_sizes(head: &str) -> (usize, usize) {
    let of = |mark: char| {
        let range = head.split_whitespace().find_map(|word| word.strip_prefix(mark))?;
        match range.split_once(',') {
            Some((_, count)) => count.parse().ok(),
            None => range.parse::<usize>().ok().map(|_| 1),
        }
    };
    of('-').zip(of('+')).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{changed_line_counts, hunks, lines};
    use crate::theme::{ColorDepth, Theme};

    const DIFF: &str = "--- a/x.rs\n+++ b/x.rs\n@@ -3,2 +3,3 @@\n keep\n-old\n+new\n+more\n";

    fn drawn(diff: &str, path: &str, limit: usize) -> Vec<String> {
        let theme = Theme::new("night", ColorDepth::None);
        lines(diff, path, 40, limit, &theme).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lines_have_the_numbers_of_the_file_that_they_are_in() {
        let expected = ["@@ -3,2 +3,3 @@", "   3   keep", "   4 - old", "   4 + new", "   5 + more"];
        assert_eq!(drawn(DIFF, "x.rs", 10), expected);
        assert_eq!(changed_line_counts(DIFF), (2, 1));
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        assert_eq!(drawn(DIFF, "x.rs", 2).last().unwrap(), "  … 3 more lines");
    }

    #[test]
    fn a_removed_comment_is_no_head() {
        let diff =
            "--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,1 @@\n--- all of it\n select 1\n@@ -9 +8 @@\n-a\n+++ b\n";
        assert_eq!(changed_line_counts(diff), (1, 2));
        let hunks = hunks(diff);
        assert_eq!(hunks[0].lines, ["--- all of it", " select 1"]);
        assert_eq!(hunks[1].lines, ["-a", "+++ b"]);
    }

    #[test]
    fn the_files_of_a_patch_are_named_where_nobody_else_does() {
        let two = format!("{DIFF}diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-1\n+2\n");
        assert_eq!(drawn(&two, "", 20).iter().filter(|line| !line.contains(['@', '+', '-'])).count(), 3);
        assert_eq!(drawn(&two, "", 20)[6], "  y");
        let plain = drawn("*** Begin Patch\n*** Update File: a.rs\n@@\n-x\n+y\n*** End Patch", "", 20);
        assert_eq!(plain, ["  Update File: a.rs", "@@", "   1 - x", "   1 + y"]);
    }
}
