//! A text file in memory, so that it can be written back as it was found: its encoding, its byte
//! order mark, and the ending of each of its lines.

use ostler_workspace_fs::TextEncoding;

/// The text of a file, and how it was encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextDocument {
    encoding: TextEncoding,
    text: String,
}

/// A line without its ending, and the ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DocumentLine<'a> {
    pub(crate) text: &'a str,
    pub(crate) ending: &'a str,
}

impl TextDocument {
    /// Reads bytes as text; none where they are not.
    pub(crate) fn decode(bytes: &[u8]) -> Option<TextDocument> {
        let encoding = TextEncoding::detect(bytes);
        let text = encoding.decode(bytes)?;
        (!text.contains('\0')).then_some(TextDocument { encoding, text })
    }

    /// Other text in the encoding of this document.
    pub(crate) fn encode(&self, text: &str) -> Vec<u8> {
        self.encoding.encode(text)
    }

    /// The same document with another text.
    pub(crate) fn with_text(self, text: String) -> TextDocument {
        TextDocument { text, ..self }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// The lines. Only the last one can lack an ending.
    pub(crate) fn lines(&self) -> Vec<DocumentLine<'_>> {
        let split = |line: &'_ str| -> usize {
            match line.strip_suffix('\n') {
                Some(text) => text.strip_suffix('\r').unwrap_or(text).len(),
                None => line.len(),
            }
        };
        self.text
            .split_inclusive('\n')
            .map(|line| {
                let (text, ending) = line.split_at(split(line));
                DocumentLine { text, ending }
            })
            .collect()
    }

    /// The ending that most lines have, for lines that are new.
    pub(crate) fn usual_ending(&self) -> &'static str {
        let all = self.text.matches('\n').count();
        let long = self.text.matches("\r\n").count();
        if 2 * long > all { "\r\n" } else { "\n" }
    }
}

#[cfg(test)]
mod tests {
    use super::TextDocument;

    #[test]
    fn text_comes_back_as_it_was() {
        let table: [&[u8]; 6] = [
            b"",
            "a\r\nb\u{e9}\nc".as_bytes(),
            b"\xef\xbb\xbfa\n",
            b"\xff\xfea\0\r\0\n\0\x3d\xd8\x00\xde",
            b"\xfe\xff\0a\0\n",
            b"\xff\xfe",
        ];
        for bytes in table {
            let document = TextDocument::decode(bytes).unwrap();
            assert_eq!(document.encode(document.text()), bytes);
            let joined: String = document.lines().iter().flat_map(|line| [line.text, line.ending]).collect();
            assert_eq!(joined, document.text());
        }
    }

    #[test]
    fn what_is_no_text_is_refused() {
        let table: [&[u8]; 5] =
            [b"a\0b", b"\xff", b"\xff\xfea", b"\xff\xfe\x00\xd8a\0", b"\xff\xfe\0\0a\0\0\0"];
        for bytes in table {
            assert_eq!(TextDocument::decode(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn new_lines_end_like_most() {
        for (text, ending) in [("", "\n"), ("a\r\n", "\r\n"), ("a\r\nb\n", "\n"), ("a\r\nb\r\nc\nd", "\r\n")]
        {
            assert_eq!(TextDocument::decode(text.as_bytes()).unwrap().usual_ending(), ending, "{text:?}");
        }
    }
}
