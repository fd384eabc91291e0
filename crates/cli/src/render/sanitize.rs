//! Takes out of a text whatever a terminal would act on, or would hide from the reader.

/// The text with line ends and tabs as its only control characters, and nothing in it that cannot be seen.
pub fn sanitize(text: &str) -> String {
    ostler_types::printable(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::sanitize;

    #[test]
    fn nothing_that_drives_a_terminal_gets_through() {
        assert_eq!(sanitize("a\u{1b}[31mred\u{1b}[0m\tb\r\n"), "ared\tb\n");
        assert_eq!(sanitize("\u{1b}]0;title\u{7}x\u{9b}2Jy\u{7f}\u{8}"), "xy");
        assert_eq!(sanitize("rm \u{202e}txt.exe\u{2066}\u{e0041}"), "rm txt.exe");
        assert_eq!(sanitize("\u{1b}["), "");
        assert_eq!(sanitize("é 👩\u{200d}💻 ok"), "é 👩\u{200d}💻 ok");
        for c in (0..=0x9f).filter_map(char::from_u32).filter(|c| c.is_control() && !"\n\t".contains(*c)) {
            assert!(!sanitize(&format!("{c}x{c}")).contains(c), "{c:?}");
        }
    }
}
