//! Server-sent events out of bytes that come in pieces, as far as the mock and the daemon send them:
//! one `event:` line at most, one `data:` line, LF at the end of each.

use anyhow::{Context, Result};

/// Bytes that are not yet whole events.
#[derive(Debug, Default)]
pub struct SseBuffer {
    /// Where received bytes are to be added.
    pub bytes: Vec<u8>,
    read: usize,
}

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub struct SseMessage<'a> {
    /// What follows `event:`, else the type in the data of a daemon's event; empty when there is neither.
    pub name: &'a str,
    /// What follows `data:`.
    pub data: &'a str,
}

impl SseBuffer {
    /// The next whole event, if there is one.
    pub fn take(&mut self) -> Result<Option<SseMessage<'_>>> {
        let waiting = &self.bytes[self.read..];
        let Some(length) = waiting.windows(2).position(|pair| pair == b"\n\n") else {
            self.bytes.drain(..self.read);
            self.read = 0;
            return Ok(None);
        };
        let start = self.read;
        self.read += length + 2;
        let text = str::from_utf8(&self.bytes[start..start + length]).context("an event is not UTF-8")?;
        let mut event = SseMessage { name: "", data: "" };
        for line in text.split('\n') {
            match line.split_once(": ") {
                Some(("event", name)) => event.name = name,
                Some(("data", data)) => event.data = data,
                Some(_) | None => {}
            }
        }
        if event.name.is_empty() {
            event.name = name_in_data(event.data);
        }
        Ok(Some(event))
    }
}

/// The type of a daemon's event, which is a member of the outermost object before any other object; of events of a model
/// provider there is none.
fn name_in_data(data: &str) -> &str {
    let outermost = |before: &str| before.matches(['{', '[']).count() == 1;
    let split = data.split_once("\"type\":\"").filter(|(before, _)| outermost(before));
    split.and_then(|(_, rest)| rest.split_once('"')).map_or("", |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::{SseBuffer, SseMessage};

    #[test]
    fn events_are_found_wherever_the_bytes_are_cut() {
        let whole = b"id: 1\nevent: a\ndata: {\"x\": 1}\n\ndata: [DONE]\n\n";
        for cut in 0..whole.len() {
            let mut events = SseBuffer::default();
            let mut seen = Vec::new();
            for piece in [&whole[..cut], &whole[cut..]] {
                events.bytes.extend_from_slice(piece);
                while let Some(SseMessage { name, data }) = events.take().unwrap() {
                    seen.push((name.to_owned(), data.to_owned()));
                }
            }
            let expected = [("a", "{\"x\": 1}"), ("", "[DONE]")].map(|(n, d)| (n.to_owned(), d.to_owned()));
            assert_eq!(seen, expected, "cut at {cut}");
        }
    }
}
