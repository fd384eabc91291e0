//! Pictures inside the page, so that it needs nothing beside it.

use std::io::{self, Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::EscapedHtml;
use crate::export::session_files::{OpenSessionFile, SessionFiles};

/// Bytes of one picture, and of all pictures of a page. What is more is named instead.
const MAX_PICTURE: u64 = 10 << 20;
const MAX_PICTURES: u64 = 64 << 20;
/// Bytes that are encoded at a time; a multiple of three, so that the pieces can be put together.
const BLOCK: usize = 3 << 13;
/// Types that show a picture and can do nothing else.
const TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Takes pictures from the files of a session.
pub(in crate::export) struct PictureEmbedder<'a> {
    files: &'a dyn SessionFiles,
    room: u64,
}

impl<'a> PictureEmbedder<'a> {
    pub(in crate::export) fn new(files: &'a dyn SessionFiles) -> PictureEmbedder<'a> {
        PictureEmbedder { files, room: MAX_PICTURES }
    }

    /// Writes a picture, or its name where it cannot be shown.
    pub(in crate::export) fn write(
        &mut self,
        reference: &str,
        media_type: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let name = EscapedHtml(reference);
        let Some(OpenSessionFile { size, content }) = self.open(reference, media_type) else {
            return writeln!(out, "<p class=\"file-name\">{name}</p>");
        };
        self.room -= size;
        write!(out, "<img alt=\"{name}\" src=\"data:{media_type};base64,")?;
        // No more than there was when it was looked at, should somebody write to it.
        let mut file = content.take(size);
        let mut block = Vec::with_capacity(BLOCK);
        while (&mut file).take(BLOCK as u64).read_to_end(&mut block)? > 0 {
            out.write_all(STANDARD.encode(&block).as_bytes())?;
            block.clear();
        }
        writeln!(out, "\">")
    }

    /// A picture that can be shown and for which there is room.
    fn open(&self, reference: &str, media_type: &str) -> Option<OpenSessionFile<'a>> {
        if !TYPES.contains(&media_type) {
            return None;
        }
        let file = self.files.open(reference).ok().flatten()?;
        (file.size <= MAX_PICTURE.min(self.room)).then_some(file)
    }
}
