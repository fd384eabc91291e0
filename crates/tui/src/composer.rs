//! What a person is writing: text with a cursor, long pastes as chips, files that go with it, and what was sent
//! before. It knows keys only through what they ask for, and draws nothing.

mod edit;
mod layout;

pub use layout::{ComposerLayout, ComposerRow};

/// A paste with more lines than this, or more characters than [`CHIP_CHARS`], becomes a chip.
const CHIP_LINES: usize = 8;
/// See [`CHIP_LINES`].
const CHIP_CHARS: usize = 800;
/// How much can be written.
const MAX_BYTES: usize = 900_000;
/// Chips stand in the text as characters of a private area, which nobody can type.
const FIRST_CHIP: u32 = 0xf_0000;
/// How many pastes can be chips at a time.
const MAX_CHIPS: u32 = 1000;

/// The text that is being written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Composer {
    text: String,
    /// In bytes, always between two graphemes.
    cursor: usize,
    chips: Vec<String>,
    /// Files that go with the message: what they are called here, and where the daemon keeps them.
    pub files: Vec<AttachedFile>,
    /// Where in the history it stands, and what was written before it went there.
    recall: Option<(usize, String)>,
}

/// A file that goes with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachedFile {
    /// What it is called.
    pub name: String,
    /// Where the daemon keeps it.
    pub reference: String,
    /// What it is.
    pub mime_type: String,
}

impl Composer {
    /// A composer that holds this text.
    pub fn with(text: &str) -> Composer {
        let mut composer = Composer::default();
        composer.insert(text);
        composer
    }

    /// The text as it is written, with chips as single characters.
    pub fn raw(&self) -> &str {
        &self.text
    }

    /// Where the cursor stands in the raw text.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.files.is_empty()
    }

    /// Whether there is no text.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The text as it is sent, with every chip spelled out.
    pub fn expanded(&self) -> String {
        let mut out = String::with_capacity(self.text.len());
        for c in self.text.chars() {
            match self.chip(c) {
                Some(chip) => out.push_str(chip),
                None => out.push(c),
            }
        }
        out
    }

    /// Takes the text out, as it is sent.
    pub fn take(&mut self) -> String {
        let text = self.expanded();
        *self = Composer::default();
        text
    }

    /// Takes in what was pasted: short text as it is, long text as a chip.
    pub fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let long = text.lines().count() > CHIP_LINES || text.chars().count() > CHIP_CHARS;
        if !long {
            self.insert(&text);
            return;
        }
        let number = self.chips.len() as u32;
        let held: usize = self.chips.iter().map(String::len).sum();
        let chip = char::from_u32(FIRST_CHIP + number).filter(|_| number < MAX_CHIPS);
        if let Some(chip) = chip
            && held + text.len() + self.text.len() <= MAX_BYTES
        {
            self.chips.push(text);
            self.insert(chip.encode_utf8(&mut [0; 4]));
        }
    }

    /// Spells every chip out, so that it can be edited.
    pub fn expand_chips(&mut self) {
        let before = Composer { text: self.text[..self.cursor].to_owned(), ..self.clone() }.expanded().len();
        self.text = self.expanded();
        self.cursor = before;
        self.chips.clear();
    }

    /// Whether there are chips.
    pub fn has_chips(&self) -> bool {
        self.text.chars().any(|c| self.chip(c).is_some())
    }

    /// How a character is shown: a chip by what it stands for.
    pub fn label(&self, c: char) -> Option<String> {
        let chip = self.chip(c)?;
        let lines = chip.lines().count();
        Some(match lines {
            0 | 1 => format!("[pasted {} characters]", chip.chars().count()),
            lines => format!("[pasted {lines} lines]"),
        })
    }

    /// Goes back or forth in what was sent before; `newest` is the last of `history`.
    pub fn recall(&mut self, history: &[String], older: bool) {
        let (at, stash) = match self.recall.take() {
            Some((at, stash)) => (at, stash),
            None => (history.len(), self.expanded()),
        };
        let next = if older { at.checked_sub(1) } else { Some(at + 1) };
        let Some(next) = next else {
            self.recall = Some((at, stash));
            return;
        };
        match history.get(next) {
            Some(text) => {
                *self = Composer { files: std::mem::take(&mut self.files), ..Composer::with(text) };
                self.recall = Some((next, stash));
            }
            None => *self = Composer { files: std::mem::take(&mut self.files), ..Composer::with(&stash) },
        }
    }

    /// Whether it shows something that was sent before.
    pub fn is_recalling(&self) -> bool {
        self.recall.is_some()
    }

    fn chip(&self, c: char) -> Option<&String> {
        let number = u32::from(c).checked_sub(FIRST_CHIP)?;
        self.chips.get(usize::try_from(number).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::Composer;

    #[test]
    fn a_long_paste_is_a_chip_that_can_be_spelled_out() {
        let pasted = "line\r\n".repeat(5000);
        let mut composer = Composer::with("before ");
        composer.paste(&pasted);
        composer.insert(" after");
        let chip = composer.raw().chars().find_map(|c| composer.label(c));
        assert_eq!(chip.as_deref(), Some("[pasted 5000 lines]"));
        let whole = format!("before {} after", "line\n".repeat(5000));
        assert_eq!(composer.expanded(), whole);
        composer.expand_chips();
        assert_eq!(composer.raw(), whole);
        assert_eq!(composer.cursor(), whole.len());
        assert!(!composer.has_chips());
    }

    #[test]
    fn a_short_paste_is_text() {
        let mut composer = Composer::default();
        composer.paste("two\rlines");
        assert_eq!(composer.raw(), "two\nlines");
    }

    #[test]
    fn history_goes_back_and_forth_and_keeps_what_was_being_written() {
        let history = ["one".to_owned(), "two".to_owned()];
        let mut composer = Composer::with("draft");
        composer.recall(&history, true);
        assert_eq!(composer.raw(), "two");
        composer.recall(&history, true);
        composer.recall(&history, true);
        assert_eq!(composer.raw(), "one");
        composer.recall(&history, false);
        composer.recall(&history, false);
        assert_eq!(composer.raw(), "draft");
        assert!(!composer.is_recalling());
    }
}
