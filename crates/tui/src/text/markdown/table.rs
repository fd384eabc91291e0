//! A table: its columns in parallel where they fit, and else one cell below the other.

use ratatui::text::{Line, Span};

use super::super::wrap::{shorten, width};
use crate::theme::{StyleRole, Theme};

/// Rows of cells; the first one is the head.
#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    row: Vec<String>,
}

impl Table {
    pub(super) fn cell(&mut self, text: String) {
        self.row.push(text);
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    pub(super) fn lines(&self, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(widest).collect();
        if widths.iter().sum::<usize>() + columns.saturating_sub(1) * 3 > cells {
            return self.stacked(cells, theme);
        }
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            lines.push(row_line(row, &widths, number == 0, theme));
            if number == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line::styled(rule.join("─┼─"), theme.style(StyleRole::Border)));
            }
        }
        lines
    }

    /// Each cell on a line of its own, after the name of its column.
    fn stacked(&self, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
        let Some((head, rows)) = self.rows.split_first() else { return Vec::new() };
        let mut lines = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            if number > 0 {
                lines.push(Line::default());
            }
            for (column, cell) in row.iter().enumerate() {
                let name = head.get(column).map_or("", String::as_str);
                let name = format!("{}: ", shorten(name, cells / 3));
                let text = shorten(cell, cells.saturating_sub(width(&name)));
                lines
                    .push(Line::from(vec![Span::styled(name, theme.style(StyleRole::Dim)), Span::raw(text)]));
            }
        }
        lines
    }
}

fn row_line(row: &[String], widths: &[usize], head: bool, theme: &Theme) -> Line<'static> {
    let style = theme.style(if head { StyleRole::Heading } else { StyleRole::Text });
    let mut spans = Vec::new();
    for (column, cells) in widths.iter().enumerate() {
        if column > 0 {
            spans.push(Span::styled(" │ ", theme.style(StyleRole::Border)));
        }
        let cell = row.get(column).map_or("", String::as_str);
        let padding = " ".repeat(cells.saturating_sub(width(cell)));
        spans.push(Span::styled(format!("{cell}{padding}"), style));
    }
    Line::from(spans)
}
