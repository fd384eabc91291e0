//! Encodings of text: which one a file has, by its byte-order mark, and the way there and back. What is done with bytes
//! that are no text in it is left to the callers.

use std::io::Read;

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF16_LITTLE_MARK: &[u8] = b"\xff\xfe";
const UTF16_BIG_MARK: &[u8] = b"\xfe\xff";

/// The encodings that are known to be text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextEncoding {
    /// UTF-8 without a mark, or what its bytes turn out to be.
    Utf8,
    /// UTF-8 after a byte-order mark.
    Utf8Marked,
    /// UTF-16 after a byte-order mark, the low byte first.
    Utf16Little,
    /// UTF-16 after a byte-order mark, the high byte first.
    Utf16Big,
}

impl TextEncoding {
    /// The encoding of a text that begins like this.
    pub fn detect(head: &[u8]) -> TextEncoding {
        let all = [TextEncoding::Utf8Marked, TextEncoding::Utf16Little, TextEncoding::Utf16Big];
        all.into_iter().find(|encoding| head.starts_with(encoding.mark())).unwrap_or(TextEncoding::Utf8)
    }

    /// A whole text without its mark; none where the bytes are no text in this encoding.
    pub fn decode(self, bytes: &[u8]) -> Option<String> {
        let bytes = bytes.strip_prefix(self.mark())?;
        match self {
            TextEncoding::Utf8 | TextEncoding::Utf8Marked => String::from_utf8(bytes.to_vec()).ok(),
            TextEncoding::Utf16Little => decode_utf16(bytes, u16::from_le_bytes),
            TextEncoding::Utf16Big => decode_utf16(bytes, u16::from_be_bytes),
        }
    }

    /// A text in this encoding, after its mark.
    pub fn encode(self, text: &str) -> Vec<u8> {
        let mut bytes = self.mark().to_vec();
        match self {
            TextEncoding::Utf8 | TextEncoding::Utf8Marked => bytes.extend(text.as_bytes()),
            TextEncoding::Utf16Little => bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
            TextEncoding::Utf16Big => bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
        }
        bytes
    }

    fn mark(self) -> &'static [u8] {
        match self {
            TextEncoding::Utf8 => b"",
            TextEncoding::Utf8Marked => UTF8_MARK,
            TextEncoding::Utf16Little => UTF16_LITTLE_MARK,
            TextEncoding::Utf16Big => UTF16_BIG_MARK,
        }
    }
}

fn decode_utf16(bytes: &[u8], unit: impl Fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect::<Result<String, _>>().ok()
}

/// How much is decoded at once, in bytes.
const DECODE_BYTES: usize = 16 * 1024;

/// Reads UTF-16 as UTF-8. What is no character becomes U+FFFD; the byte-order mark is passed on as any other character.
pub struct Utf16Reader<R> {
    inner: R,
    is_big_endian: bool,
    /// Units that are read and not decoded: at most the first half of a pair.
    pending: Vec<u16>,
    /// Text that is decoded and not given out.
    decoded: Vec<u8>,
    given: usize,
}

impl<R: Read> Utf16Reader<R> {
    /// Reads units of this order.
    pub fn new(inner: R, is_big_endian: bool) -> Utf16Reader<R> {
        Utf16Reader { inner, is_big_endian, pending: Vec::new(), decoded: Vec::new(), given: 0 }
    }

    /// Decodes the next piece. Nothing is decoded at the end.
    fn refill(&mut self) -> std::io::Result<()> {
        let mut bytes = Vec::with_capacity(DECODE_BYTES);
        (&mut self.inner).take(DECODE_BYTES as u64).read_to_end(&mut bytes)?;
        let is_end = bytes.len() < DECODE_BYTES;
        let mut units = std::mem::take(&mut self.pending);
        units.extend(bytes.chunks(2).map(|unit| match *unit {
            [one, other] if self.is_big_endian => u16::from_be_bytes([one, other]),
            [one, other] => u16::from_le_bytes([one, other]),
            // A file that ends within a unit.
            _ => 0xfffd,
        }));
        if !is_end && units.last().is_some_and(|last| (0xd800..0xdc00).contains(last)) {
            self.pending.extend(units.pop());
        }
        let text: String = char::decode_utf16(units).map(|unit| unit.unwrap_or('\u{fffd}')).collect();
        (self.decoded, self.given) = (text.into_bytes(), 0);
        Ok(())
    }
}

impl<R: Read> Read for Utf16Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.given == self.decoded.len() {
            self.refill()?;
        }
        let left = &self.decoded[self.given..];
        let count = left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::{DECODE_BYTES, Utf16Reader};

    fn decode(bytes: &[u8], is_big_endian: bool) -> String {
        let mut text = String::new();
        Utf16Reader::new(bytes, is_big_endian).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn both_orders_and_long_texts_are_decoded() {
        // One unit before them puts a pair across the border of a step.
        let text = format!("a{}z漢", "🦀".repeat(DECODE_BYTES));
        let units: Vec<u16> = text.encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        assert!(decode(&little, false) == text && decode(&big, true) == text);
    }

    #[test]
    fn broken_units_are_replaced() {
        assert_eq!(decode(b"a\0\x00\xd8b\0c", false), "a\u{fffd}b\u{fffd}");
        assert_eq!(decode(b"", false), "");
    }
}
