//! Server-sent events, decoded as the bytes come.
//!
//! Follows the HTML standard's grammar, looks at each byte once, and holds at most one event. What
//! the data means is left to the provider; ids and retry times are of no use for a stream that is
//! read once.
//!
//! Our own, because the libraries put no limit on the size of an event and differ from the standard where servers do
//! odd things: `eventsource-stream` panics on a byte order mark, `sse-stream` ends the stream at an unknown field.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// The largest event that is read; a server that sends more is faulty or hostile.
pub(crate) const MAX_EVENT: usize = 8 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event, borrowed from the decoder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SseEvent<'a> {
    /// The event's name; empty where the server gave none.
    pub(crate) name: Cow<'a, str>,
    /// The data lines, joined by newlines.
    pub(crate) data: Cow<'a, str>,
}

/// An event grew over [`MAX_EVENT`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SseTooLarge;

/// Takes chunks, gives events.
#[derive(Debug)]
pub(crate) struct SseDecoder {
    /// A line that an earlier chunk began and did not end.
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last chunk ended in CR, so an LF at the head of the next one belongs to it.
    after_cr: bool,
    at_start: bool,
}

impl SseDecoder {
    pub(crate) fn new() -> SseDecoder {
        let (line, name, data) = (Vec::new(), Vec::new(), Vec::new());
        SseDecoder { line, name, data, has_data: false, after_cr: false, at_start: true }
    }

    /// Takes the next chunk, and hands on the events that end in it.
    pub(crate) fn push(
        &mut self,
        chunk: &[u8],
        mut sink: impl FnMut(SseEvent<'_>),
    ) -> Result<(), SseTooLarge> {
        let mut rest = chunk;
        if self.after_cr && !rest.is_empty() {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            self.after_cr = false;
        }
        while let Some(end) = memchr2(b'\r', b'\n', rest) {
            let (line, tail) = (&rest[..end], &rest[end + 1..]);
            let carriage_return = rest[end] == b'\r';
            self.after_cr = carriage_return && tail.is_empty();
            rest = if carriage_return { tail.strip_prefix(b"\n").unwrap_or(tail) } else { tail };
            self.take_line(line, &mut sink)?;
        }
        self.room_for(rest)?;
        self.line.extend_from_slice(rest);
        Ok(())
    }

    /// Ends the stream. An event whose lines are whole counts even if the blank line after it is
    /// missing, as some servers close without it.
    pub(crate) fn finish(&mut self, mut sink: impl FnMut(SseEvent<'_>)) {
        if self.line.is_empty() {
            self.dispatch(&mut sink);
        }
    }

    fn take_line(&mut self, end: &[u8], sink: &mut impl FnMut(SseEvent<'_>)) -> Result<(), SseTooLarge> {
        self.room_for(end)?;
        if self.line.is_empty() {
            self.interpret(end, sink);
        } else {
            let mut line = std::mem::take(&mut self.line);
            line.extend_from_slice(end);
            self.interpret(&line, sink);
            line.clear();
            self.line = line;
        }
        Ok(())
    }

    fn interpret(&mut self, line: &[u8], sink: &mut impl FnMut(SseEvent<'_>)) {
        let line = if std::mem::take(&mut self.at_start) {
            line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)
        } else {
            line
        };
        if line.is_empty() {
            return self.dispatch(sink);
        }
        let (field, value) = match memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        if field == b"data" {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(value);
            self.has_data = true;
        } else if field == b"event" {
            self.name.clear();
            self.name.extend_from_slice(value);
        }
    }

    fn dispatch(&mut self, sink: &mut impl FnMut(SseEvent<'_>)) {
        if self.has_data {
            let (name, data) = (String::from_utf8_lossy(&self.name), String::from_utf8_lossy(&self.data));
            sink(SseEvent { name, data });
        }
        self.name.clear();
        self.data.clear();
        self.has_data = false;
    }

    fn room_for(&self, more: &[u8]) -> Result<(), SseTooLarge> {
        let size = self.line.len() + self.name.len() + self.data.len() + more.len();
        if size > MAX_EVENT { Err(SseTooLarge) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_EVENT, SseDecoder, SseTooLarge};

    /// What it is, the bytes, and the events' names and data.
    type Case<'a> = (&'a str, &'a [u8], &'a [(&'a str, &'a str)]);

    fn decode(bytes: &[u8], size: usize) -> Vec<(String, String)> {
        let (mut decoder, mut events) = (SseDecoder::new(), Vec::new());
        for chunk in bytes.chunks(size) {
            let sink =
                |event: super::SseEvent<'_>| events.push((event.name.into_owned(), event.data.into_owned()));
            decoder.push(chunk, sink).unwrap();
            decoder.push(b"", |_| panic!("an empty chunk ends nothing")).unwrap();
        }
        decoder.finish(|event| events.push((event.name.into_owned(), event.data.into_owned())));
        events
    }

    #[test]
    fn every_case_decodes_the_same_at_every_chunk_size() {
        let cases: &[Case<'_>] = &[
            ("line feeds", b"data: a\n\ndata: b\n\n", &[("", "a"), ("", "b")]),
            ("carriage returns and line feeds", b"data: a\r\n\r\ndata: b\r\n\r\n", &[("", "a"), ("", "b")]),
            ("carriage returns", b"data: a\r\rdata: b\r\r", &[("", "a"), ("", "b")]),
            ("mixed line ends", b"data: a\r\ndata: b\rdata: c\n\r\n", &[("", "a\nb\nc")]),
            ("a blank line after CRLF", b"data: a\r\n\ndata: b\n\r", &[("", "a"), ("", "b")]),
            ("byte order mark", b"\xef\xbb\xbfdata: a\n\n", &[("", "a")]),
            ("byte order mark later", b"data: a\n\n\xef\xbb\xbfdata: b\n\n", &[("", "a")]),
            ("comments", b": hello\n\n:\ndata: a\n: PROCESSING\n\n", &[("", "a")]),
            ("several data lines", b"data: a\ndata\ndata: b\n\n", &[("", "a\n\nb")]),
            ("empty data", b"data:\n\n", &[("", "")]),
            ("one space goes", b"data:  a\n\ndata:b\n\n", &[("", " a"), ("", "b")]),
            ("a name", b"event: x\nevent: error\ndata: a\n\ndata: b\n\n", &[("error", "a"), ("", "b")]),
            ("no data", b"event: ping\nid: 1\n\ndata: a\n\n", &[("", "a")]),
            (
                "unknown fields",
                b"retry: 5\nid: 7\nfoo: bar\nbaz\nDATA: x\n data: y\ndata: a\n\n",
                &[("", "a")],
            ),
            ("colons in data", b"data: {\"a\": \":\"}\n\n", &[("", "{\"a\": \":\"}")]),
            ("invalid text", b"data: a\xff\xc3\n\n", &[("", "a\u{fffd}\u{fffd}")]),
            ("text of several bytes", "data: ä€😀\n\n".as_bytes(), &[("", "ä€😀")]),
            ("no blank line at the end", b"data: a\n\ndata: [DONE]\n", &[("", "a"), ("", "[DONE]")]),
            ("a line that was cut", b"data: a\n\ndata: {\"tru", &[("", "a")]),
            ("nothing", b"", &[]),
        ];
        for (case, bytes, expected) in cases {
            for size in 1..=bytes.len().max(1) {
                let events = decode(bytes, size);
                let events: Vec<_> =
                    events.iter().map(|(name, data)| (name.as_str(), data.as_str())).collect();
                assert_eq!(&events, expected, "{case}, in chunks of {size}");
            }
        }
    }

    #[test]
    fn an_event_that_grows_without_end_is_an_error() {
        let line = [b"data: ".as_slice(), &[b'x'; 1024 * 1024], b"\n"].concat();
        let one_line = vec![b'x'; MAX_EVENT + 1];
        for (case, chunk) in [("many lines", line.as_slice()), ("one line", &one_line[..MAX_EVENT / 4])] {
            let mut decoder = SseDecoder::new();
            let first_error = (0..16).position(|_| decoder.push(chunk, |_| ()) == Err(SseTooLarge));
            assert!(first_error.is_some_and(|pushes| pushes >= 4), "{case}: {first_error:?}");
        }
        assert_eq!(SseDecoder::new().push(&one_line, |_| ()), Err(SseTooLarge));
        let fits = [b"data: ".as_slice(), &one_line[..MAX_EVENT - 6], b"\n\n"].concat();
        let mut length = 0;
        SseDecoder::new().push(&fits, |event| length = event.data.len()).unwrap();
        assert_eq!(length, MAX_EVENT - 6);
    }
}
