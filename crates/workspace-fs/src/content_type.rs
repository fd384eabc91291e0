//! What a file is, told by its first bytes: a name or a client's word would let one kind of file pass for another.
//! Texts have no first bytes of their own. Whether something is text is left to the callers, who differ in what they
//! can show.
//!
//! It is not the crate `infer`, which takes every text that begins with `BM` for a bitmap, and has other names for
//! types that are recorded in sessions.

/// The first bytes of kinds that are known by them alone.
const MAGIC: [(&[u8], &str); 25] = [
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
    (b"\xca\xfe\xba\xbe", "application/java-vm"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
];

/// The media type of a file that begins like this, where its first bytes tell it.
pub fn media_type(head: &[u8]) -> Option<&'static str> {
    let by_magic = MAGIC.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, kind)| *kind);
    by_magic
        .or_else(|| container(head))
        .or_else(|| mpeg_audio(head))
        .or_else(|| is_bzip2(head).then_some("application/x-bzip2"))
        .or_else(|| is_bitmap(head).then_some("image/bmp"))
}

/// Whether models can look at an image of this media type.
pub fn is_visible_image(media_type: &str) -> bool {
    matches!(media_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp")
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
    // A text in UTF-16 begins with these, and an encoder of sound does not: layer I, with a checksum.
    if head.starts_with(b"\xff\xfe") {
        return None;
    }
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

/// A text may begin with the same letters, but not with the first block's mark after them.
fn is_bzip2(head: &[u8]) -> bool {
    head.starts_with(b"BZh") && head.get(4..10) == Some(b"1AY&SY")
}

#[cfg(test)]
mod tests {
    use super::{is_visible_image, media_type};

    #[test]
    fn first_bytes_tell_what_a_file_is() {
        let bitmap = [b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".as_slice(), &[0; 40]].concat();
        let cases: [(&[u8], Option<&str>); 18] = [
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", Some("image/png")),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", Some("image/jpeg")),
            (b"RIFF\x24\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\x24\0\0\0WAVEfmt ", Some("audio/wav")),
            (&bitmap, Some("image/bmp")),
            (b"BMW is a maker of cars.", None),
            (b"%PDF-1.7\n%\xe2\xe3", Some("application/pdf")),
            (b"ID3\x04\0\0\0\0", Some("audio/mpeg")),
            (b"ID3 tags are fun", None),
            (b"\xff\xfb\x90\x64\0", Some("audio/mpeg")),
            (b"\xff\xf1\x50\x80", Some("audio/aac")),
            (b"PK\x03\x04\x14\0", Some("application/zip")),
            (b"BZh91AY&SY\x01", Some("application/x-bzip2")),
            (b"BZh is a name.", None),
            (b"\0\0\0\x20ftypM4A \0", Some("audio/mp4")),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", None),
            (b"\xff\xfeh\0e\0", None),
            (b"", None),
        ];
        for (bytes, kind) in cases {
            assert_eq!(media_type(bytes), kind, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn only_images_that_models_can_see_are_visible() {
        let is_visible = |head: &[u8]| media_type(head).is_some_and(is_visible_image);
        for head in [&b"\x89PNG\r\n\x1a\n\0\0"[..], b"\xff\xd8\xff\xe0", b"GIF89a", b"RIFF\0\0\0\0WEBP"] {
            assert!(is_visible(head), "{head:?}");
        }
        for head in [&b""[..], b"RIFF\0\0\0\0WAVE", b"<svg", b"%PDF-1.7", b"\x89PN", b"II*\0"] {
            assert!(!is_visible(head), "{head:?}");
        }
    }
}
