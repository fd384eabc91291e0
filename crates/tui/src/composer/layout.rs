//! How the text stands in lines of so many cells, and moving by these lines.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::Composer;

/// A line on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComposerRow {
    /// Where it begins in the raw text.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// What is seen, and whether it is a chip.
    pub pieces: Vec<(String, bool)>,
}

/// All lines, and where the cursor is among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComposerLayout {
    /// The lines; at least one.
    pub rows: Vec<ComposerRow>,
    /// The line that the cursor is in.
    pub row: usize,
    /// The cell that it is in.
    pub column: usize,
}

impl Composer {
    /// Lays the text out.
    pub fn rows(&self, cells: usize) -> ComposerLayout {
        let cells = cells.max(2);
        let mut rows = vec![ComposerRow { start: 0, end: 0, pieces: Vec::new() }];
        let (mut taken, mut cursor) = (0, (0, 0));
        for (at, grapheme) in self.raw().grapheme_indices(true) {
            let label = grapheme.chars().next().and_then(|c| self.label(c));
            let (shown, chip) = label.map_or((grapheme.to_owned(), false), |label| (label, true));
            let needs = shown.width();
            if grapheme != "\n" && taken + needs > cells && taken > 0 {
                rows.push(ComposerRow { start: at, end: at, pieces: Vec::new() });
                taken = 0;
            }
            if at == self.cursor() {
                cursor = (rows.len() - 1, taken);
            }
            if grapheme == "\n" {
                rows.push(ComposerRow { start: at + 1, end: at + 1, pieces: Vec::new() });
                taken = 0;
                continue;
            }
            taken += needs;
            if let Some(row) = rows.last_mut() {
                row.end = at + grapheme.len();
                match row.pieces.last_mut() {
                    Some((text, same)) if *same == chip => text.push_str(&shown),
                    _ => row.pieces.push((shown, chip)),
                }
            }
        }
        if self.cursor() == self.raw().len() {
            cursor = (rows.len() - 1, taken);
        }
        ComposerLayout { rows, row: cursor.0, column: cursor.1 }
    }

    /// One line up; says whether there was one.
    pub fn up(&mut self, cells: usize) -> bool {
        let rows = self.rows(cells);
        let Some(above) = rows.row.checked_sub(1) else { return false };
        self.go_to_cell(&rows.rows[above], rows.column);
        true
    }

    /// One line down; says whether there was one.
    pub fn down(&mut self, cells: usize) -> bool {
        let rows = self.rows(cells);
        let Some(below) = rows.rows.get(rows.row + 1) else { return false };
        self.go_to_cell(below, rows.column);
        true
    }

    fn go_to_cell(&mut self, row: &ComposerRow, column: usize) {
        let mut taken = 0;
        for (at, grapheme) in self.raw()[row.start..row.end].grapheme_indices(true) {
            let label = grapheme.chars().next().and_then(|c| self.label(c));
            taken += label.as_deref().unwrap_or(grapheme).width();
            if taken > column {
                let at = row.start + at;
                self.go_to(at);
                return;
            }
        }
        self.go_to(row.end);
    }
}

#[cfg(test)]
mod tests {
    use super::Composer;

    #[test]
    fn lines_break_at_their_ends_and_where_they_are_full() {
        let rows = Composer::with("abcdef\nx").rows(4);
        let texts: Vec<String> =
            rows.rows.iter().map(|row| row.pieces.iter().map(|(text, _)| text.as_str()).collect()).collect();
        assert_eq!(texts, ["abcd", "ef", "x"]);
        assert_eq!((rows.row, rows.column), (2, 1));
        let empty = Composer::default().rows(4);
        assert_eq!((empty.rows.len(), empty.row, empty.column), (1, 0, 0));
    }

    #[test]
    fn the_cursor_keeps_its_cell_over_wide_characters() {
        let mut composer = Composer::with("日本\nabcd");
        assert!(composer.up(10));
        assert_eq!(composer.cursor(), "日本".len());
        assert!(!composer.up(10));
        composer.home();
        composer.right();
        assert!(composer.down(10));
        assert_eq!(&composer.raw()[composer.cursor()..], "cd");
    }
}
