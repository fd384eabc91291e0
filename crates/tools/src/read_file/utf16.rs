//! Reads UTF-16 as UTF-8. What is no character becomes U+FFFD; the byte-order mark is passed on as any
//! other character.

use std::io::Read;

/// How much is decoded at once, in bytes.
const STEP: usize = 16 * 1024;

/// A reader of UTF-16 that gives UTF-8.
pub(super) struct Utf16Reader<R> {
    inner: R,
    is_big_endian: bool,
    /// Units that are read and not decoded: at most the first half of a pair.
    pending: Vec<u16>,
    /// Text that is decoded and not given out.
    decoded: Vec<u8>,
    given: usize,
}

impl<R: Read> Utf16Reader<R> {
    pub(super) fn new(inner: R, is_big_endian: bool) -> Utf16Reader<R> {
        Utf16Reader { inner, is_big_endian, pending: Vec::new(), decoded: Vec::new(), given: 0 }
    }

    /// Decodes the next piece. Nothing is decoded at the end.
    fn refill(&mut self) -> std::io::Result<()> {
        let mut bytes = Vec::with_capacity(STEP);
        (&mut self.inner).take(STEP as u64).read_to_end(&mut bytes)?;
        let is_end = bytes.len() < STEP;
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

    use super::{STEP, Utf16Reader};

    fn decode(bytes: &[u8], is_big_endian: bool) -> String {
        let mut text = String::new();
        Utf16Reader::new(bytes, is_big_endian).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn both_orders_and_long_texts_are_decoded() {
        // One unit before them puts a pair across the border of a step.
        let text = format!("a{}z漢", "🦀".repeat(STEP));
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
