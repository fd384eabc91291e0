//! Which pictures of which sessions are known, and how large they are. Their bytes are not held here.

use std::collections::HashMap;

use ostler_types::SessionId;

use crate::picture::{PictureProtocol, PlacedPicture, ShownPicture, fit_to_cells};

/// How many pictures are known at a time.
const MAX_PICTURES: usize = 64;

/// The pictures that are known.
#[derive(Debug, Default)]
pub struct PictureRegistry {
    /// How the terminal takes them.
    pub protocol: PictureProtocol,
    /// How many pixels a cell has.
    pub cell: (u16, u16),
    /// Where they stand on the screen, as it was last drawn.
    pub placed: Vec<PlacedPicture>,
    /// Counts the changes, so that what was laid out can be kept.
    pub version: u64,
    known: Vec<KnownPicture>,
    /// Those on the screen that are not known yet.
    wanted: Vec<(SessionId, String)>,
    next: u32,
}

#[derive(Debug)]
struct KnownPicture {
    session: SessionId,
    reference: String,
    number: u32,
    /// Its columns and rows, once it is here; nothing when it cannot be shown.
    size: Option<(u16, u16)>,
}

impl PictureRegistry {
    /// None as yet. Numbers begin at a place that other programs are unlikely to use.
    pub fn new(protocol: PictureProtocol, cell: (u16, u16), seed: u64) -> PictureRegistry {
        let first = u32::try_from(seed >> 8 & 0xffff).unwrap_or(1);
        PictureRegistry { protocol, cell, next: (first << 8 | 1) & 0xff_ffff, ..PictureRegistry::default() }
    }

    /// Those of a session that can be shown.
    pub fn of_session(&self, session: SessionId) -> HashMap<String, ShownPicture> {
        let of_session = self.known.iter().filter(|known| known.session == session);
        of_session.filter_map(|known| Some((known.reference.clone(), known.shown()?))).collect()
    }

    /// The picture of this number, if it can be shown.
    pub fn shown(&self, number: u32) -> Option<ShownPicture> {
        self.known.iter().find(|known| known.number == number)?.shown()
    }

    /// Says that a picture is on the screen.
    pub fn note_on_screen(&mut self, session: SessionId, reference: &str) {
        let known = |known: &KnownPicture| known.session == session && known.reference == reference;
        if self.protocol != PictureProtocol::None
            && !self.known.iter().any(known)
            && self.wanted.len() < MAX_PICTURES
        {
            self.wanted.push((session, reference.to_owned()));
        }
    }

    /// Gives a number to each picture that is to be asked for.
    pub fn take_wanted(&mut self) -> Vec<(SessionId, String, u32)> {
        let mut asked = Vec::new();
        for (session, reference) in std::mem::take(&mut self.wanted) {
            if self.known.iter().any(|known| known.session == session && known.reference == reference) {
                continue;
            }
            let number = self.next;
            self.next = (self.next + 1) & 0xff_ffff;
            if self.known.len() >= MAX_PICTURES {
                self.known.remove(0);
            }
            self.known.push(KnownPicture { session, reference: reference.clone(), number, size: None });
            asked.push((session, reference, number));
        }
        asked
    }

    /// A picture is here, or is not to be had; says how it is shown, if it can be on a screen of so many columns.
    pub fn note_arrived(&mut self, number: u32, bytes: &[u8], columns: u16) -> Option<ShownPicture> {
        let (protocol, cell) = (self.protocol, self.cell);
        let known = self.known.iter_mut().find(|known| known.number == number)?;
        let size = imagesize::blob_size(bytes).ok().filter(|_| protocol.accepts(bytes))?;
        known.size = Some(fit_to_cells((size.width, size.height), cell, columns.saturating_sub(6)));
        self.version += 1;
        known.shown()
    }

    /// Forgets all of them, such as when the terminal has.
    pub fn forget(&mut self) {
        self.known.clear();
        self.placed.clear();
        self.version += 1;
    }
}

impl KnownPicture {
    fn shown(&self) -> Option<ShownPicture> {
        let (columns, rows) = self.size?;
        Some(ShownPicture { number: self.number, columns, rows })
    }
}
