//! Editing: inserting, deleting and moving, always by whole graphemes.

use unicode_segmentation::UnicodeSegmentation;

use super::{Composer, MAX_BYTES};

impl Composer {
    /// Inserts text at the cursor. Control characters other than line ends do not get in.
    pub fn insert(&mut self, text: &str) {
        let text: String = text
            .chars()
            .map(|c| if c == '\t' { ' ' } else { c })
            .filter(|c| *c == '\n' || !c.is_control())
            .collect();
        if self.text.len() + text.len() > MAX_BYTES {
            return;
        }
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
        // What was inserted may have joined what stands after it.
        while !self.is_boundary(self.cursor) {
            self.cursor += 1;
        }
        self.recall = None;
    }

    /// Replaces the text from `from` up to the cursor.
    pub fn replace_before(&mut self, from: usize, text: &str) {
        if from <= self.cursor && self.text.is_char_boundary(from) {
            self.text.replace_range(from..self.cursor, "");
            self.cursor = from;
            self.insert(text);
        }
    }

    /// Deletes the grapheme before the cursor.
    pub fn backspace(&mut self) {
        self.delete_to(self.previous_boundary(self.cursor));
    }

    /// Deletes the grapheme after the cursor.
    pub fn delete(&mut self) {
        self.delete_to(self.next_boundary(self.cursor));
    }

    /// Deletes the word before the cursor.
    pub fn delete_word(&mut self) {
        self.delete_to(self.word_before());
    }

    /// Deletes up to the beginning of the line, or the line end before it.
    pub fn delete_line_before(&mut self) {
        let start = self.line_start();
        self.delete_to(if start == self.cursor { self.previous_boundary(self.cursor) } else { start });
    }

    /// Deletes up to the end of the line, or the line end itself.
    pub fn delete_line_after(&mut self) {
        let end = self.line_end();
        self.delete_to(if end == self.cursor { self.next_boundary(self.cursor) } else { end });
    }

    /// One grapheme back.
    pub fn left(&mut self) {
        self.cursor = self.previous_boundary(self.cursor);
    }

    /// One grapheme on.
    pub fn right(&mut self) {
        self.cursor = self.next_boundary(self.cursor);
    }

    /// One word back.
    pub fn word_left(&mut self) {
        self.cursor = self.word_before();
    }

    /// One word on.
    pub fn word_right(&mut self) {
        let rest = &self.text[self.cursor..];
        let mut words = rest.split_word_bound_indices().skip_while(|(_, word)| word.trim().is_empty());
        self.cursor = words.next().map_or(self.text.len(), |(at, word)| self.cursor + at + word.len());
    }

    /// To the beginning of the line.
    pub fn home(&mut self) {
        self.cursor = self.line_start();
    }

    /// To the end of the line.
    pub fn end(&mut self) {
        self.cursor = self.line_end();
    }

    /// To a place in the raw text, or the nearest before it.
    pub fn go_to(&mut self, mut at: usize) {
        at = at.min(self.text.len());
        while !self.is_boundary(at) {
            at -= 1;
        }
        self.cursor = at;
    }

    fn delete_to(&mut self, other: usize) {
        let (from, to) = (self.cursor.min(other), self.cursor.max(other));
        self.text.replace_range(from..to, "");
        self.cursor = from;
        self.recall = None;
    }

    fn previous_boundary(&self, at: usize) -> usize {
        self.text[..at].grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }

    fn next_boundary(&self, at: usize) -> usize {
        self.text[at..].graphemes(true).next().map_or(at, |grapheme| at + grapheme.len())
    }

    fn word_before(&self) -> usize {
        let mut words = self.text[..self.cursor].split_word_bound_indices().rev();
        words.find(|(_, word)| !word.trim().is_empty()).map_or(0, |(at, _)| at)
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    fn is_boundary(&self, at: usize) -> bool {
        at == self.text.len() || self.text.grapheme_indices(true).any(|(start, _)| start == at)
    }
}

#[cfg(test)]
mod tests {
    use super::Composer;

    #[test]
    fn graphemes_are_deleted_whole() {
        let mut composer = Composer::with("a👩\u{200d}👩\u{200d}👧日é");
        for expected in ["a👩\u{200d}👩\u{200d}👧日", "a👩\u{200d}👩\u{200d}👧", "a", ""] {
            composer.backspace();
            assert_eq!(composer.raw(), expected);
        }
        composer.backspace();
        composer.delete();
        assert!(composer.is_empty());
    }

    #[test]
    fn words_and_lines_are_deleted_and_walked() {
        let mut composer = Composer::with("one two\nthree four");
        composer.delete_word();
        assert_eq!(composer.raw(), "one two\nthree ");
        composer.delete_line_before();
        assert_eq!(composer.raw(), "one two\n");
        composer.delete_line_before();
        assert_eq!(composer.raw(), "one two");
        composer.word_left();
        composer.insert("x");
        assert_eq!(composer.raw(), "one xtwo");
        composer.home();
        composer.delete_line_after();
        assert!(composer.is_empty());
    }

    #[test]
    fn control_characters_do_not_get_in() {
        let mut composer = Composer::with("a\u{1b}[31m\u{7}b\tc\n");
        assert_eq!(composer.raw(), "a[31mb c\n");
        composer.go_to(usize::MAX);
        composer.left();
        assert_eq!(composer.cursor(), "a[31mb c".len());
    }
}
