//! The names of attachments. A client's word is made into a plain name of one file; what it says about
//! folders is dropped.

/// Bytes in the name that an attachment gets.
const MAX_NAME: usize = 100;
/// Bytes in the longest ending that is kept when a name is shortened.
const MAX_EXTENSION: usize = 16;
/// What a file is called that brings no usable name.
const DEFAULT_NAME: &str = "file";

/// A name that means the same file everywhere and nothing else: no folder, nothing hidden, nothing that
/// cannot be seen.
pub(super) fn safe_name(given: &str) -> String {
    let last = given.rsplit(['/', '\\']).next().unwrap_or_default();
    let visible: String = last.chars().filter(|c| !c.is_control() && !is_invisible(*c)).collect();
    let name = visible.trim_start_matches(|c: char| c == '.' || c.is_whitespace());
    let name = name.trim_end_matches(|c: char| c == '.' || c.is_whitespace());
    shortened_name(if name.is_empty() { DEFAULT_NAME } else { name }, "")
}

/// The name of the `number`th file of one name: `a.png`, `a-2.png` …
pub(super) fn numbered(name: &str, number: usize) -> String {
    if number == 1 { name.to_owned() } else { shortened_name(name, &format!("-{number}")) }
}

/// Whether it can be the name of a file beside a log at all.
pub(super) fn is_plain(name: &str) -> bool {
    let plain = |c: char| !c.is_control() && c != '/' && c != '\\';
    !name.is_empty() && name.len() <= 200 && !name.starts_with('.') && name.chars().all(plain)
}

/// What two names share that some disks take for the same.
pub(super) fn collision_key(name: &str) -> String {
    name.to_lowercase()
}

/// The name with something added before its ending, shortened to fit.
fn shortened_name(name: &str, added: &str) -> String {
    let (stem, extension) = match name.rfind('.') {
        Some(dot) if dot > 0 && name.len() - dot <= MAX_EXTENSION => name.split_at(dot),
        Some(_) | None => (name, ""),
    };
    let room = MAX_NAME - added.len() - extension.len();
    let stem = &stem[..stem.floor_char_boundary(room.min(stem.len()))];
    format!("{stem}{added}{extension}")
}

/// Characters that change how a name is read without being seen: directions, joiners, marks of order.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::{MAX_NAME, is_plain, numbered, safe_name};

    #[test]
    fn a_name_is_made_plain() {
        for (given, name) in [
            ("a.png", "a.png"),
            ("../../etc/passwd", "passwd"),
            ("/abs/olute.txt", "olute.txt"),
            ("C:\\Users\\me\\photo.jpg", "photo.jpg"),
            ("..", "file"),
            ("", "file"),
            ("/", "file"),
            ("a/", "file"),
            ("...hidden", "hidden"),
            (".bashrc", "bashrc"),
            ("a\0b\r\nc.txt", "abc.txt"),
            ("photo\u{202e}gnp.exe", "photognp.exe"),
            ("  spaced  .txt ", "spaced  .txt"),
            ("ünïcödé 文件.pdf", "ünïcödé 文件.pdf"),
            ("trailing.", "trailing"),
            ("a b\u{85}c", "a bc"),
        ] {
            assert_eq!(safe_name(given), name, "{given:?}");
        }
    }

    #[test]
    fn every_name_that_is_made_can_be_asked_for_and_fits() {
        let long = "ü".repeat(300);
        for given in [
            "..",
            "\0",
            "a/b",
            &long,
            &format!("{long}.png"),
            &format!("a.{long}"),
            "\u{202e}",
            ".\u{200b}.",
            "\u{200b}.x",
        ] {
            for number in [1, 2, 401] {
                let name = numbered(&safe_name(given), number);
                assert!(is_plain(&name) && name.len() <= MAX_NAME, "{given:?} became {name:?}");
            }
        }
        assert_eq!(numbered("a.tar.gz", 2), "a.tar-2.gz");
        assert_eq!(numbered("plain", 3), "plain-3");
        assert!(safe_name(&format!("{long}.png")).ends_with(".png"), "the ending is kept");
    }

    #[test]
    fn what_is_no_name_is_told() {
        for name in ["", ".", "..", ".hidden", "a/b", "/a", "a\\b", "a\0", "a\n", &"x".repeat(201)] {
            assert!(!is_plain(name), "{name:?}");
        }
    }
}
