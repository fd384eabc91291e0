//! A unified diff as coloured lines, with the numbers of the lines it speaks of.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::clean::clean;
use super::highlight::{Carried, highlight, language};
use super::wrap::{shorten, wrap};
use crate::theme::{Role, Theme};

/// Draws the hunks of a diff, at most so many lines; says how many were left out.
pub fn lines(diff: &str, path: &str, cells: usize, limit: usize, theme: &Theme) -> Vec<Line<'static>> {
    let diff = clean(diff);
    let body: Vec<&str> = diff.lines().filter(|line| !is_head(line)).collect();
    let mut numbers = Numbers::default();
    let mut out: Vec<Line<'static>> = Vec::new();
    for line in body.iter().take(limit) {
        out.extend(one(line, path, cells, &mut numbers, theme));
    }
    if body.len() > limit {
        let text = format!("  … {} more lines", body.len() - limit);
        out.push(Line::styled(text, theme.style(Role::Dim)));
    }
    out
}

/// How many lines a diff adds and removes.
pub fn counts(diff: &str) -> (usize, usize) {
    let body = || diff.lines().filter(|line| !is_head(line));
    (body().filter(|line| line.starts_with('+')).count(), body().filter(|line| line.starts_with('-')).count())
}

#[derive(Default)]
struct Numbers {
    old: u32,
    new: u32,
}

fn is_head(line: &str) -> bool {
    line.starts_with("--- ") || line.starts_with("+++ ") || line.starts_with("diff ")
}

fn one(line: &str, path: &str, cells: usize, numbers: &mut Numbers, theme: &Theme) -> Vec<Line<'static>> {
    if let Some(ranges) = line.strip_prefix("@@ ") {
        (numbers.old, numbers.new) = starts(ranges);
        return vec![Line::styled(shorten(line, cells), theme.style(Role::Dim))];
    }
    if line.starts_with('\\') {
        return vec![Line::styled(shorten(&format!("       {line}"), cells), theme.style(Role::Dim))];
    }
    let (mark, text) = line.split_at(line.chars().next().map_or(0, char::len_utf8));
    let (role, number) = match mark {
        "+" => (Role::Added, numbers.new),
        "-" => (Role::Removed, numbers.old),
        _ => (Role::Dim, numbers.new),
    };
    match mark {
        "+" => numbers.new += 1,
        "-" => numbers.old += 1,
        _ => {
            numbers.old += 1;
            numbers.new += 1;
        }
    }
    let first = [Span::styled(format!("{number:>4} {mark} "), theme.style(role))];
    let rest = [Span::styled("       ", theme.style(role))];
    let spans: Vec<(String, Style)> = match role {
        Role::Dim => highlight(text, language(path), &mut Carried::default(), theme),
        role => vec![(text.to_owned(), theme.style(role))],
    };
    wrap(&spans, cells, &first, &rest)
}

/// The first lines that a hunk speaks of, from its `-3,7 +3,9 @@`.
fn starts(ranges: &str) -> (u32, u32) {
    let mut parts = ranges.split_whitespace();
    let mut start = || {
        let range = parts.next()?.trim_start_matches(['-', '+']);
        range.split(',').next()?.parse().ok()
    };
    (start().unwrap_or(1), start().unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::{counts, lines};
    use crate::theme::{Depth, Theme};

    const DIFF: &str = "--- a/x.rs\n+++ b/x.rs\n@@ -3,2 +3,3 @@\n keep\n-old\n+new\n+more\n";

    #[test]
    fn lines_have_the_numbers_of_the_file_that_they_are_in() {
        let drawn: Vec<String> = lines(DIFF, "x.rs", 40, 10, &Theme::new("night", Depth::None))
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(drawn, ["@@ -3,2 +3,3 @@", "   3   keep", "   4 - old", "   4 + new", "   5 + more"]);
        assert_eq!(counts(DIFF), (2, 1));
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let drawn = lines(DIFF, "x.rs", 40, 2, &Theme::new("night", Depth::None));
        assert_eq!(drawn.last().unwrap().to_string(), "  … 3 more lines");
    }
}
