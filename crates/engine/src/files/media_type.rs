//! The media type of an attachment: told by its first bytes where they tell it, else text of the kind that its name
//! says, else unknown.

/// How many bytes are looked at. The same for every question about a file, so that all answers agree.
pub(super) const SNIFFED_BYTES: usize = 64 << 10;

const UNKNOWN: &str = "application/octet-stream";

/// The type of a file with this name that begins with these bytes.
pub(super) fn media_type(bytes: &[u8], name: &str) -> &'static str {
    let cut = bytes.len() >= SNIFFED_BYTES;
    let head = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    ostler_workspace_fs::media_type(head)
        .or_else(|| is_text(head, cut).then(|| text_type(name)))
        .unwrap_or(UNKNOWN)
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
    use super::{SNIFFED_BYTES, media_type};

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
        let mut long = vec![b'a'; SNIFFED_BYTES - 1];
        long.extend("ü and more".as_bytes());
        assert_eq!(media_type(&long, "x"), "text/plain");
        assert_eq!(media_type(&long[..SNIFFED_BYTES], "x"), "text/plain");
        assert_eq!(media_type(b"a\xc3", "x"), "application/octet-stream", "a whole file must be whole");
    }
}
