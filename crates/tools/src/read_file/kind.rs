//! What a file is to a model, by how it begins: text, an image that it can see, or something else and what to do about
//! it. Which media type it has is for `workspace-fs` to say.

use ostler_workspace_fs::{TextEncoding, is_visible_image, media_type};

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Text(TextEncoding),
    /// An image that models can see, by its MIME type.
    Image(&'static str),
    /// Something else, and what to do about it.
    Other(&'static str, &'static str),
}

const ARCHIVE: &str = "List or extract it with the shell.";
const CONVERT: &str = "Convert it with the shell, if a converter is installed.";
const NO_ADVICE: &str = "Inspect it with the shell, for example with `file` or `xxd`.";

const OTHER_KINDS: &[(&str, &str, &str)] = &[
    ("application/pdf", "a PDF document", "Convert it with the shell, for example with `pdftotext`."),
    ("application/zip", "a ZIP archive (or a document made of one)", ARCHIVE),
    ("application/gzip", "gzip-compressed data", ARCHIVE),
    ("application/zstd", "zstd-compressed data", ARCHIVE),
    ("application/x-bzip2", "bzip2-compressed data", ARCHIVE),
    ("application/x-xz", "xz-compressed data", ARCHIVE),
    ("application/x-7z-compressed", "a 7z archive", ARCHIVE),
    ("image/tiff", "a TIFF image", CONVERT),
    ("audio/ogg", "Ogg sound or video", CONVERT),
    ("audio/mpeg", "MP3 sound", CONVERT),
    ("audio/flac", "FLAC sound", CONVERT),
    ("application/x-executable", "an ELF executable or library", NO_ADVICE),
    ("application/wasm", "a WebAssembly module", NO_ADVICE),
    ("application/java-vm", "a Java class or a Mach-O file", NO_ADVICE),
    ("application/vnd.sqlite3", "an SQLite database", "Query it with the shell, for example with `sqlite3`."),
];

impl FileKind {
    /// What a file is that begins like this.
    pub(super) fn from_sample(sample: &[u8]) -> FileKind {
        let media_type = media_type(sample);
        if let Some(image) = media_type.filter(|media_type| is_visible_image(media_type)) {
            return FileKind::Image(image);
        }
        // Four bytes that begin like UTF-16 may be UTF-32, which is not read.
        if sample.starts_with(b"\xff\xfe\0\0") {
            return FileKind::Other("UTF-32 text", CONVERT);
        }
        match TextEncoding::detect(sample) {
            encoding @ (TextEncoding::Utf16Little | TextEncoding::Utf16Big) => {
                return FileKind::Text(encoding);
            }
            TextEncoding::Utf8Marked => return FileKind::binary_or(sample, TextEncoding::Utf8Marked),
            TextEncoding::Utf8 => {}
        }
        match OTHER_KINDS.iter().find(|(kind, _, _)| Some(*kind) == media_type) {
            // A text may begin with the letters of a mark; then it has no byte that no text has.
            Some((kind, what, advice))
                if !begins_like_text(sample) || *kind == "application/pdf" || has_zero(sample) =>
            {
                FileKind::Other(what, advice)
            }
            Some(_) | None => FileKind::binary_or(sample, TextEncoding::Utf8),
        }
    }

    fn binary_or(sample: &[u8], encoding: TextEncoding) -> FileKind {
        if has_zero(sample) { FileKind::Other("binary data", NO_ADVICE) } else { FileKind::Text(encoding) }
    }
}

/// Whether the bytes by which most kinds are told could begin a text in UTF-8.
fn begins_like_text(sample: &[u8]) -> bool {
    let start = &sample[..sample.len().min(4)];
    std::str::from_utf8(start).map_or_else(|error| error.error_len().is_none(), |_| true)
}

fn has_zero(sample: &[u8]) -> bool {
    memchr::memchr(0, sample).is_some()
}

#[cfg(test)]
mod tests {
    use ostler_workspace_fs::TextEncoding;

    use super::FileKind;

    #[test]
    fn files_are_told_by_how_they_begin() {
        for (sample, kind) in [
            (&b""[..], FileKind::Text(TextEncoding::Utf8)),
            (b"ID3 tags are fun", FileKind::Text(TextEncoding::Utf8)),
            (b"\xef\xbb\xbfx", FileKind::Text(TextEncoding::Utf8Marked)),
            (b"\xff\xfex\0", FileKind::Text(TextEncoding::Utf16Little)),
            (b"\xfe\xff\0x", FileKind::Text(TextEncoding::Utf16Big)),
            (b"GIF89a..", FileKind::Image("image/gif")),
            (b"RIFF....WEBPVP8 ", FileKind::Image("image/webp")),
        ] {
            assert_eq!(FileKind::from_sample(sample), kind, "{sample:?}");
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
                matches!(FileKind::from_sample(sample), FileKind::Other(what, _) if what.contains(word)),
                "{sample:?}"
            );
        }
    }
}
