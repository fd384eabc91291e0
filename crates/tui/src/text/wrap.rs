//! Breaks styled text into lines that fit, by what is seen: a wide character takes two cells, and what belongs
//! together (an emoji of several, a letter with its accent) is never torn apart.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// How many cells a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The beginning of a text that fits into so many cells.
pub fn cut(text: &str, cells: usize) -> &str {
    let mut taken = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        taken += grapheme.width();
        if taken > cells {
            return &text[..at];
        }
    }
    text
}

/// The beginning of a text that fits, with a mark where something is left out.
pub fn shorten(text: &str, cells: usize) -> String {
    if text.width() <= cells {
        return text.to_owned();
    }
    format!("{}…", cut(text, cells.saturating_sub(1)))
}

/// Breaks one line between words, and within a word only if it does not fit on a line of its own. `first` stands
/// before the first line and `rest` before the others.
pub fn wrap(
    spans: &[(String, Style)],
    cells: usize,
    first: &[Span<'static>],
    rest: &[Span<'static>],
) -> Vec<Line<'static>> {
    let mut wrapping = LineWrapper::new(cells, first, rest);
    for (text, style) in spans {
        for word in text.split_word_bounds() {
            wrapping.word(word, *style);
        }
    }
    wrapping.finish()
}

struct LineWrapper<'a> {
    cells: usize,
    rest: &'a [Span<'static>],
    lines: Vec<Line<'static>>,
    line: Vec<Span<'static>>,
    /// Cells of the present line that are taken, its beginning included.
    taken: usize,
    /// Whether the present line has nothing but its beginning.
    empty: bool,
}

impl<'a> LineWrapper<'a> {
    fn new(cells: usize, first: &[Span<'static>], rest: &'a [Span<'static>]) -> LineWrapper<'a> {
        let taken = first.iter().map(Span::width).sum();
        LineWrapper { cells: cells.max(1), rest, lines: Vec::new(), line: first.to_vec(), taken, empty: true }
    }

    fn word(&mut self, word: &str, style: Style) {
        let needs = word.width();
        if self.taken + needs <= self.cells {
            // A line that was broken does not begin with the space it was broken at.
            if !(self.empty && !self.lines.is_empty() && word.trim().is_empty()) {
                self.push(word, style);
            }
            return;
        }
        if word.trim().is_empty() {
            self.next_line();
            return;
        }
        if !self.empty {
            self.next_line();
        }
        for grapheme in word.graphemes(true) {
            if self.taken + grapheme.width() > self.cells && !self.empty {
                self.next_line();
            }
            self.push(grapheme, style);
        }
    }

    fn push(&mut self, text: &str, style: Style) {
        self.taken += text.width();
        self.empty = false;
        match self.line.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(text),
            _ => self.line.push(Span::styled(text.to_owned(), style)),
        }
    }

    fn next_line(&mut self) {
        let line = std::mem::replace(&mut self.line, self.rest.to_vec());
        self.lines.push(Line::from(line));
        self.taken = self.rest.iter().map(Span::width).sum();
        self.empty = true;
    }

    fn finish(mut self) -> Vec<Line<'static>> {
        if !self.empty || self.lines.is_empty() {
            self.lines.push(Line::from(self.line));
        }
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::{cut, shorten, wrap};
    use ratatui::style::Style;
    use ratatui::text::Span;

    fn lines(text: &str, cells: usize) -> Vec<String> {
        let rest = [Span::raw("  ")];
        wrap(&[(text.to_owned(), Style::default())], cells, &[], &rest)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn lines_break_between_words_and_long_words_anywhere() {
        assert_eq!(lines("one two three", 8), ["one two ", "  three"]);
        assert_eq!(lines("abcdefghij", 4), ["abcd", "  ef", "  gh", "  ij"]);
        assert_eq!(lines("", 4), [""]);
        assert_eq!(lines("a", 0), ["a"], "even without room there is an end");
    }

    #[test]
    fn wide_characters_take_two_cells_and_stay_whole() {
        assert_eq!(lines("日本語です", 4), ["日本", "  語", "  で", "  す"]);
        assert_eq!(cut("a日b", 2), "a");
        assert_eq!(shorten("日本語", 5), "日本…");
        let family = "👩\u{200d}👩\u{200d}👧";
        assert_eq!(lines(&format!("{family}{family}"), 2).concat().matches('\u{200d}').count(), 4);
    }
}
