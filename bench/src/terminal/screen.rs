//! What is on a screen, from what a program draws: the cursor, cleared lines, letters. As much of a terminal as the
//! client makes use of; colours are passed over.

/// Rows of letters.
#[derive(Debug, Clone)]
pub struct VirtualScreen {
    cells: Vec<Vec<char>>,
    row: usize,
    column: usize,
    /// The beginning of something that has not come whole.
    ahead: Vec<u8>,
}

impl VirtualScreen {
    /// An empty screen.
    pub fn new(columns: usize, rows: usize) -> VirtualScreen {
        VirtualScreen { cells: vec![vec![' '; columns]; rows], row: 0, column: 0, ahead: Vec::new() }
    }

    /// Whether a text stands on one of its rows.
    pub fn shows(&self, text: &str) -> bool {
        self.rows().any(|row| row.contains(text))
    }

    /// The rows, without the spaces at their ends.
    pub fn rows(&self) -> impl Iterator<Item = String> + '_ {
        self.cells.iter().map(|row| row.iter().collect::<String>().trim_end().to_owned())
    }

    /// Everything, as one text.
    pub fn text(&self) -> String {
        self.rows().collect::<Vec<_>>().join("\n")
    }

    /// Takes in what a program draws.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut all = std::mem::take(&mut self.ahead);
        all.extend_from_slice(bytes);
        let mut rest = all.as_slice();
        while let Some(taken) = self.one(rest) {
            rest = &rest[taken..];
        }
        self.ahead = rest.to_vec();
    }

    /// Takes in one letter or one sequence, and says how long it was; none when it is not whole, or there is none.
    fn one(&mut self, bytes: &[u8]) -> Option<usize> {
        match *bytes.first()? {
            0x1b => self.sequence(bytes),
            b'\r' => {
                self.column = 0;
                Some(1)
            }
            b'\n' => {
                self.row = (self.row + 1).min(self.cells.len().saturating_sub(1));
                Some(1)
            }
            0..0x20 | 0x7f => Some(1),
            first => {
                let length = match first {
                    0xf0.. => 4,
                    0xe0.. => 3,
                    0xc0.. => 2,
                    _ => 1,
                };
                let letter =
                    std::str::from_utf8(bytes.get(..length)?).ok().and_then(|text| text.chars().next());
                self.put(letter.unwrap_or('\u{fffd}'));
                Some(length)
            }
        }
    }

    fn sequence(&mut self, bytes: &[u8]) -> Option<usize> {
        match *bytes.get(1)? {
            b'[' => {
                let end = 2 + bytes[2..].iter().position(|byte| (0x40..0x7f).contains(byte))?;
                self.control(bytes[end], &bytes[2..end]);
                Some(end + 1)
            }
            // A title, a picture, the clipboard: nothing of it is a letter on the screen.
            b']' | b'P' | b'_' => {
                let ends = |at: usize| bytes[at] == 7 || (bytes[at] == b'\\' && bytes[at - 1] == 0x1b);
                (3..bytes.len()).find(|at| ends(*at)).map(|at| at + 1)
            }
            _ => Some(2),
        }
    }

    fn control(&mut self, letter: u8, parameters: &[u8]) {
        let parameters = String::from_utf8_lossy(parameters);
        let number =
            |at: usize| parameters.split(';').nth(at).and_then(|number| number.parse::<usize>().ok());
        match letter {
            b'H' => {
                (self.row, self.column) =
                    (number(0).unwrap_or(1).max(1) - 1, number(1).unwrap_or(1).max(1) - 1);
            }
            b'J' => self.cells.iter_mut().for_each(|row| row.fill(' ')),
            b'K' => {
                if let Some(row) = self.cells.get_mut(self.row) {
                    row.iter_mut().skip(self.column).for_each(|cell| *cell = ' ');
                }
            }
            _ => {}
        }
    }

    fn put(&mut self, letter: char) {
        if let Some(cell) = self.cells.get_mut(self.row).and_then(|row| row.get_mut(self.column)) {
            *cell = letter;
        }
        self.column += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::VirtualScreen;

    #[test]
    fn letters_stand_where_the_cursor_was_however_they_are_cut() {
        let drawn = "\x1b[?1049h\x1b[2J\x1b[2;3H\x1b[38;2;1;2;3mgrün\x1b[0m\x1b[1;1Hab\x1b]0;title\x07c\x1b[2;5H\x1b[K";
        for piece in 1..drawn.len() {
            let mut screen = VirtualScreen::new(10, 2);
            for bytes in drawn.as_bytes().chunks(piece) {
                screen.feed(bytes);
            }
            assert_eq!(screen.text(), "abc\n  gr", "in pieces of {piece}");
        }
    }
}
