//! What a file is, by how it begins. Its name says nothing: it may be wrong.

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Text(Encoding),
    /// An image that models can see, by its MIME type.
    Image(&'static str),
    /// Something else, and what to do about it.
    Other(&'static str, &'static str),
}

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// UTF-8, or what its bytes turn out to be.
    Bytes,
    /// UTF-8 after a byte-order mark.
    Utf8Mark,
    /// UTF-16 after a byte-order mark.
    Utf16 { is_big_endian: bool },
}

const IMAGES: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
];

const ARCHIVE: &str = "List or unpack it with the shell.";
const CONVERT: &str = "Convert it with the shell, if a program for it is there.";
const NO_ADVICE: &str = "Look at it with the shell, as with `file` or `xxd`.";

const OTHERS: &[(&[u8], &str, &str)] = &[
    (b"%PDF-", "a PDF document", "Convert it with the shell, as with `pdftotext`."),
    (b"PK\x03\x04", "a ZIP archive (or a document made of one)", ARCHIVE),
    (b"\x1f\x8b", "gzip-compressed data", ARCHIVE),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed data", ARCHIVE),
    (b"BZh", "bzip2-compressed data", ARCHIVE),
    (b"\xfd7zXZ\0", "xz-compressed data", ARCHIVE),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", ARCHIVE),
    (b"II*\0", "a TIFF image", CONVERT),
    (b"MM\0*", "a TIFF image", CONVERT),
    (b"OggS", "Ogg sound or video", CONVERT),
    (b"ID3", "MP3 sound", CONVERT),
    (b"fLaC", "FLAC sound", CONVERT),
    (b"\x7fELF", "an ELF executable or library", NO_ADVICE),
    (b"\0asm", "a WebAssembly module", NO_ADVICE),
    (b"\xca\xfe\xba\xbe", "a Java class or a Mach-O file", NO_ADVICE),
    (b"SQLite format 3\0", "an SQLite database", "Query it with the shell, as with `sqlite3`."),
];

impl FileKind {
    /// What a file is that begins like this.
    pub(super) fn of(sample: &[u8]) -> FileKind {
        if let Some((_, mime_type)) = IMAGES.iter().find(|(start, _)| sample.starts_with(start)) {
            return FileKind::Image(mime_type);
        }
        if sample.starts_with(b"RIFF") && sample.get(8..12) == Some(b"WEBP") {
            return FileKind::Image("image/webp");
        }
        match sample {
            [0xef, 0xbb, 0xbf, ..] => return FileKind::binary_or(sample, Encoding::Utf8Mark),
            // Four bytes that begin like UTF-16 may be UTF-32, which is not read.
            [0xff, 0xfe, 0, 0, ..] => return FileKind::Other("UTF-32 text", CONVERT),
            [0xff, 0xfe, ..] => return FileKind::Text(Encoding::Utf16 { is_big_endian: false }),
            [0xfe, 0xff, ..] => return FileKind::Text(Encoding::Utf16 { is_big_endian: true }),
            _ => {}
        }
        // A text may begin with `ID3`; only data that also has a byte that is no text is taken for more.
        match OTHERS.iter().find(|(start, _, _)| sample.starts_with(start)) {
            Some((start, what, advice)) if !start.is_ascii() || *start == b"%PDF-" || has_zero(sample) => {
                FileKind::Other(what, advice)
            }
            Some(_) | None => FileKind::binary_or(sample, Encoding::Bytes),
        }
    }

    fn binary_or(sample: &[u8], encoding: Encoding) -> FileKind {
        if has_zero(sample) { FileKind::Other("binary data", NO_ADVICE) } else { FileKind::Text(encoding) }
    }
}

fn has_zero(sample: &[u8]) -> bool {
    memchr::memchr(0, sample).is_some()
}

#[cfg(test)]
mod tests {
    use super::{Encoding, FileKind};

    #[test]
    fn files_are_told_by_how_they_begin() {
        let utf16 = |is_big_endian| FileKind::Text(Encoding::Utf16 { is_big_endian });
        for (sample, kind) in [
            (&b""[..], FileKind::Text(Encoding::Bytes)),
            (b"ID3 tags are fun", FileKind::Text(Encoding::Bytes)),
            (b"\xef\xbb\xbfx", FileKind::Text(Encoding::Utf8Mark)),
            (b"\xff\xfex\0", utf16(false)),
            (b"\xfe\xff\0x", utf16(true)),
            (b"GIF89a..", FileKind::Image("image/gif")),
            (b"RIFF....WEBPVP8 ", FileKind::Image("image/webp")),
        ] {
            assert_eq!(FileKind::of(sample), kind, "{sample:?}");
        }
        for (sample, word) in [
            (&b"%PDF-1.7"[..], "PDF"),
            (b"a\0b", "binary data"),
            (b"ID3\x04\0\0", "MP3"),
            (b"PK\x03\x04\x14\0", "ZIP"),
            (b"\xff\xfe\0\0a\0\0\0", "UTF-32"),
            (b"RIFF....WAVE\0", "binary data"),
        ] {
            assert!(
                matches!(FileKind::of(sample), FileKind::Other(what, _) if what.contains(word)),
                "{sample:?}"
            );
        }
    }
}
