//! Pictures inside the page, so that it needs nothing beside it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Escaped;

/// Bytes of one picture, and of all pictures of a page. What is more is named instead.
const MAX_PICTURE: u64 = 10 << 20;
const MAX_PICTURES: u64 = 64 << 20;
/// Bytes that are encoded at a time; a multiple of three, so that the pieces can be put together.
const BLOCK: usize = 3 << 13;
/// Types that show a picture and can do nothing else.
const TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Takes pictures out of a session's folder.
pub(in crate::export) struct Pictures {
    folder: PathBuf,
    room: u64,
}

impl Pictures {
    pub(in crate::export) fn new(folder: &Path) -> Pictures {
        Pictures { folder: folder.to_owned(), room: MAX_PICTURES }
    }

    /// Writes a picture, or its name where it cannot be shown.
    pub(in crate::export) fn write(
        &mut self,
        reference: &str,
        media_type: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let name = Escaped(reference);
        let Some((mut file, length)) = self.open(reference, media_type) else {
            return writeln!(out, "<p class=\"file-name\">{name}</p>");
        };
        self.room -= length;
        write!(out, "<img alt=\"{name}\" src=\"data:{media_type};base64,")?;
        // No more than there was when it was looked at, should somebody write to it.
        let mut file = (&mut file).take(length);
        let mut block = Vec::with_capacity(BLOCK);
        while (&mut file).take(BLOCK as u64).read_to_end(&mut block)? > 0 {
            out.write_all(STANDARD.encode(&block).as_bytes())?;
            block.clear();
        }
        writeln!(out, "\">")
    }

    fn open(&self, reference: &str, media_type: &str) -> Option<(File, u64)> {
        let path = Path::new(reference);
        let inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !inside || !TYPES.contains(&media_type) {
            return None;
        }
        // No link on the way, wherever it may lead.
        let mut whole = self.folder.clone();
        for part in path.components() {
            whole.push(part);
            if fs::symlink_metadata(&whole).ok()?.is_symlink() {
                return None;
            }
        }
        let file = File::open(&whole).ok()?;
        let there = file.metadata().ok()?;
        let fits = there.is_file() && there.len() <= MAX_PICTURE.min(self.room);
        fits.then_some((file, there.len()))
    }
}
