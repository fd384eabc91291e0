//! What a file is, told from its bytes. A name or a client's word would let one kind of file pass for
//! another; a name only says which kind of text a text is.

/// How many bytes are looked at. The same for every question about a file, so that all answers agree.
pub(super) const HEAD: usize = 64 << 10;

const UNKNOWN: &str = "application/octet-stream";

/// The first bytes of kinds that are known by them alone.
const MAGIC: [(&[u8], &str); 24] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"%PDF-", "application/pdf"),
    (b"OggS\0", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"MThd\0", "audio/midi"),
    (b"ID3\x02", "audio/mpeg"),
    (b"ID3\x03", "audio/mpeg"),
    (b"ID3\x04", "audio/mpeg"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"(\xb5/\xfd", "application/zstd"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"\x7fELF", "application/x-executable"),
    (b"\0asm", "application/wasm"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
];

/// The type of a file with this name that begins with these bytes.
pub(super) fn media_type(bytes: &[u8], name: &str) -> &'static str {
    let cut = bytes.len() >= HEAD;
    let head = &bytes[..bytes.len().min(HEAD)];
    let by_magic = MAGIC.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, kind)| *kind);
    by_magic
        .or_else(|| container(head))
        .or_else(|| mpeg_audio(head))
        .or_else(|| is_bitmap(head).then_some("image/bmp"))
        .or_else(|| is_text(head, cut).then(|| text_type(name)))
        .unwrap_or(UNKNOWN)
}

/// Kinds that say at an offset what they hold.
fn container(head: &[u8]) -> Option<&'static str> {
    let brand = head.get(8..12)?;
    if head.starts_with(b"RIFF") {
        return match brand {
            b"WEBP" => Some("image/webp"),
            b"WAVE" => Some("audio/wav"),
            b"AVI " => Some("video/x-msvideo"),
            _ => None,
        };
    }
    if head.get(4..8)? != b"ftyp" {
        return None;
    }
    Some(match brand {
        b"avif" | b"avis" => "image/avif",
        b"heic" | b"heix" | b"heim" | b"heis" | b"mif1" | b"msf1" => "image/heic",
        b"M4A " | b"M4B " => "audio/mp4",
        b"qt  " => "video/quicktime",
        _ => "video/mp4",
    })
}

/// A frame of sound without anything before it: MP3, or AAC where the layer is 0.
fn mpeg_audio(head: &[u8]) -> Option<&'static str> {
    let [first, second, third, ..] = head else { return None };
    let (synced, version, layer) =
        (*first == 0xff && second & 0xe0 == 0xe0, second >> 3 & 3, second >> 1 & 3);
    let (bitrate, rate) = (third >> 4, third >> 2 & 3);
    match layer {
        _ if !synced || version == 1 => None,
        0 => (second & 0xf0 == 0xf0).then_some("audio/aac"),
        // An encoder writes neither of these.
        _ => (bitrate != 0 && bitrate != 15 && rate != 3).then_some("audio/mpeg"),
    }
}

/// Two letters are too few to tell a bitmap from a text, so the size of its second header has to fit.
fn is_bitmap(head: &[u8]) -> bool {
    let sizes = [12u32, 40, 52, 56, 64, 108, 124];
    let size = head.get(14..18).and_then(|size| size.try_into().ok()).map(u32::from_le_bytes);
    head.starts_with(b"BM") && size.is_some_and(|size| sizes.contains(&size))
}

/// Valid UTF-8 without characters that no text has. A character that the end of the head cuts in two
/// does not count against it.
fn is_text(head: &[u8], cut: bool) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if cut && error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    // Terminals write escapes, and old printers form feeds.
    let allowed = |byte: u8| byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r' | b'\x0c' | b'\x1b');
    text.bytes().all(allowed)
}

fn text_type(name: &str) -> &'static str {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    match extension.as_deref() {
        Some("json") => "application/json",
        Some("md" | "markdown") => "text/markdown",
        Some("csv") => "text/csv",
        Some(_) | None => "text/plain",
    }
}

#[cfg(test)]
mod tests {
    use super::{HEAD, media_type};

    #[test]
    fn bytes_tell_what_a_file_is_and_names_do_not() {
        let bitmap = [b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".as_slice(), &[0; 40]].concat();
        let cases: [(&[u8], &str, &str); 22] = [
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "x.txt", "image/png"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", "x", "image/jpeg"),
            (b"GIF89a;alert(1)", "x.js", "image/gif"),
            (b"RIFF\x24\0\0\0WEBPVP8 ", "x", "image/webp"),
            (b"RIFF\x24\0\0\0WAVEfmt ", "x", "audio/wav"),
            (&bitmap, "x", "image/bmp"),
            (b"BMW is a maker of cars.", "x", "text/plain"),
            (b"%PDF-1.7\n%\xe2\xe3", "x.png", "application/pdf"),
            (b"ID3\x04\0\0\0\0", "x", "audio/mpeg"),
            (b"\xff\xfb\x90\x64\0", "x", "audio/mpeg"),
            (b"\xff\xf1\x50\x80", "x", "audio/aac"),
            (b"OggS\0\x02", "x", "audio/ogg"),
            (b"PK\x03\x04\x14\0", "x.docx", "application/zip"),
            (b"\0\0\0\x20ftypM4A \0", "x", "audio/mp4"),
            (b"<html><script>alert(1)</script>", "x.png", "text/plain"),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "x.svg", "text/plain"),
            (b"{\"a\":1}", "x.JSON", "application/json"),
            (b"# T\xc3\xaftle\n", "notes.md", "text/markdown"),
            (b"a,b\n1,2\n", "t.csv", "text/csv"),
            (b"text with \0 inside", "x.txt", "application/octet-stream"),
            (b"caf\xe9", "x.txt", "application/octet-stream"),
            (b"", "x.png", "text/plain"),
        ];
        for (bytes, name, kind) in cases {
            assert_eq!(media_type(bytes, name), kind, "{name} {}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_character_on_the_edge_of_what_is_looked_at_is_no_damage() {
        let mut long = vec![b'a'; HEAD - 1];
        long.extend("ü and more".as_bytes());
        assert_eq!(media_type(&long, "x"), "text/plain");
        assert_eq!(media_type(&long[..HEAD], "x"), "text/plain");
        assert_eq!(media_type(b"a\xc3", "x"), "application/octet-stream", "a whole file must be whole");
    }
}
