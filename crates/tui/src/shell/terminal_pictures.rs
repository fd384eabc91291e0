//! The pictures that the terminal was given, and those that stand on the screen now. Kitty keeps what it is given; for
//! the other terminals a picture is drawn over its place when nothing has moved for a moment.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use super::terminal::TerminalScreen;
use crate::picture::{PictureProtocol, PlacedPicture, ShownPicture, draw_at_cursor, forget_kitty, to_kitty};

/// How long a picture's place must stay the same before it is drawn there.
const STILL_DELAY: Duration = Duration::from_millis(150);
/// How many bytes of drawings are held.
const MAX_DRAWING_BYTES: usize = 8 << 20;

/// The pictures.
pub(super) struct TerminalPictures {
    protocol: PictureProtocol,
    cell: (u16, u16),
    /// What draws each picture, the newest last.
    drawings: VecDeque<(u32, Vec<u8>)>,
    /// What kitty was given.
    given_to_kitty: Vec<u32>,
    on_screen: Vec<PlacedPicture>,
    /// What is to be drawn, and when, if nothing changes until then.
    next: Option<(Vec<PlacedPicture>, Instant)>,
}

impl TerminalPictures {
    pub(super) fn new(protocol: PictureProtocol, cell: (u16, u16)) -> TerminalPictures {
        let (drawings, given, on_screen) = (VecDeque::new(), Vec::new(), Vec::new());
        TerminalPictures { protocol, cell, drawings, given_to_kitty: given, on_screen, next: None }
    }

    /// Takes in a picture.
    pub(super) fn take_in(
        &mut self,
        screen: &mut TerminalScreen,
        shown: ShownPicture,
        bytes: &[u8],
    ) -> io::Result<()> {
        if self.protocol == PictureProtocol::Kitty {
            self.given_to_kitty.push(shown.number);
            return screen.write(&to_kitty(shown, bytes));
        }
        if let Some(drawing) = draw_at_cursor(self.protocol, shown, self.cell, bytes) {
            self.drawings.push_back((shown.number, drawing));
        }
        while self.drawings.iter().map(|(_, drawing)| drawing.len()).sum::<usize>() > MAX_DRAWING_BYTES {
            self.drawings.pop_front();
        }
        Ok(())
    }

    /// Draws pictures where they are to stand, if they have stood still. Says whether the screen has to be drawn anew,
    /// because one stands where it should not.
    pub(super) fn draw_pictures(
        &mut self,
        screen: &mut TerminalScreen,
        placed: &[PlacedPicture],
        now: Instant,
    ) -> io::Result<bool> {
        if self.on_screen == placed {
            self.next = None;
            return Ok(false);
        }
        let moved = !self.on_screen.is_empty();
        self.on_screen.clear();
        match &self.next {
            Some((wanted, at)) if wanted == placed && *at <= now && !moved => {
                for PlacedPicture { number, area } in placed {
                    if let Some((_, drawing)) = self.drawings.iter().find(|(known, _)| known == number) {
                        screen.write_at(area.x, area.y, drawing)?;
                    }
                }
                (self.on_screen, self.next) = (placed.to_vec(), None);
            }
            Some((wanted, _)) if wanted == placed && !moved => {}
            Some(_) | None => self.next = (!placed.is_empty()).then(|| (placed.to_vec(), now + STILL_DELAY)),
        }
        Ok(moved)
    }

    /// When something is to be drawn, if nothing changes until then.
    pub(super) fn due(&self) -> Option<Instant> {
        self.next.as_ref().map(|(_, at)| *at)
    }

    /// The screen was cleared.
    pub(super) fn note_screen_cleared(&mut self) {
        (self.on_screen, self.next) = (Vec::new(), None);
    }

    /// The screen was cleared, and the terminal may have forgotten what it was given.
    pub(super) fn forget(&mut self) {
        self.drawings.clear();
        self.note_screen_cleared();
    }

    /// Makes the terminal forget what it was given.
    pub(super) fn remove_all(&mut self, screen: &mut TerminalScreen) -> io::Result<()> {
        for number in std::mem::take(&mut self.given_to_kitty) {
            screen.write(&forget_kitty(number))?;
        }
        Ok(())
    }
}
