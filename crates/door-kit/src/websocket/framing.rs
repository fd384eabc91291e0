//! WebSocket frames (RFC 6455), as a server reads and writes them. What is in a message is the business of
//! others.
//!
//! Written here and not taken from a library for two reasons. A server's frames are not masked, so one frame
//! can be made once and be handed to any number of sockets. And a message that is too large is passed over
//! instead of ending the connection, as the contract of every door wants it.
//!
//! Held to a foreign suite: the cases of the Autobahn testsuite for a server without extensions, which
//! `tests/gateway/autobahn.sh` runs over the example `echo`. What it found is kept in the tests of the gateway.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use serde::Serialize;

/// The most that a frame's head takes when a server writes it.
const MAX_HEAD_BYTES: usize = 10;
/// Bytes that most frames have.
const USUAL: usize = 256;
/// The most that a control frame may carry.
const MAX_CONTROL_BYTES: usize = 125;
/// Of a message that is too large, this many times the limit is passed over; more is an attack.
const MAX_SKIPPED_MULTIPLE: u64 = 64;
/// Frames of one message, with the control frames between them. Frames may be empty, so bytes alone would not bound a
/// message; the number allows for large messages in pieces of a few bytes each.
const MAX_FRAMES: u32 = 128 * 1024;

const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// What a client sent.
#[derive(Debug, PartialEq, Eq)]
pub enum WebSocketIncoming {
    /// A whole message.
    Complete(WebSocketMessage),
    /// A message that was too large, and is gone.
    TooLarge,
    /// It wants to know whether we are there.
    Ping(Bytes),
    /// It is there.
    Pong,
    /// It wants to end.
    Close,
}

/// A whole message.
#[derive(Debug, PartialEq, Eq)]
pub enum WebSocketMessage {
    /// Checked to be UTF-8.
    Text(String),
    /// Any bytes.
    Binary(Vec<u8>),
}

impl WebSocketMessage {
    /// The content. Doors take JSON in messages of either kind.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            WebSocketMessage::Text(text) => text.as_bytes(),
            WebSocketMessage::Binary(bytes) => bytes,
        }
    }
}

/// Why a connection cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebSocketViolation {
    /// The code to close with.
    pub code: u16,
    /// What was wrong.
    pub reason: &'static str,
}

/// Takes bytes in pieces of any size and gives out messages. Holds at most one message of the allowed size.
#[derive(Debug)]
pub struct WebSocketDecoder {
    limit: usize,
    /// Read, not looked at yet.
    bytes: BytesMut,
    frame: Option<PartialFrame>,
    /// The message that has begun, and of which more frames are to come.
    partial: Option<PartialMessage>,
    /// Its content, as far as it came.
    message: Vec<u8>,
    control: Vec<u8>,
}

/// What is known of a message before it is whole.
#[derive(Debug)]
struct PartialMessage {
    is_text: bool,
    /// Bytes of its frames so far, those that were announced included.
    announced: u64,
    /// Frames so far.
    frames: u32,
    /// Whether the message is too large, so that nothing of it is kept.
    is_skipped: bool,
}

/// A frame whose content is still to come, in part.
#[derive(Debug)]
struct PartialFrame {
    opcode: u8,
    last: bool,
    remaining: u64,
    mask: [u8; 4],
    mask_offset: usize,
}

impl WebSocketDecoder {
    /// Takes messages of at most `limit` bytes.
    pub fn new(limit: usize) -> WebSocketDecoder {
        WebSocketDecoder {
            limit,
            bytes: BytesMut::new(),
            frame: None,
            partial: None,
            message: Vec::new(),
            control: Vec::new(),
        }
    }

    /// Takes messages of at most so many bytes from the next one on.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Takes what was read.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next thing that is whole; none when more bytes are needed.
    #[expect(clippy::should_implement_trait, reason = "it can fail, and none means that bytes are missing")]
    pub fn next(&mut self) -> Result<Option<WebSocketIncoming>, WebSocketViolation> {
        loop {
            if self.frame.is_none() {
                let Some(frame) = self.read_head()? else {
                    self.shrink_buffers();
                    return Ok(None);
                };
                self.begin_frame(&frame)?;
                self.frame = Some(frame);
            }
            let Some(frame) = &mut self.frame else { continue };
            let ready = self.bytes.len().min(usize::try_from(frame.remaining).unwrap_or(usize::MAX));
            let content = self.bytes.split_to(ready);
            let is_control = frame.opcode >= CLOSE;
            let into = if is_control { &mut self.control } else { &mut self.message };
            if is_control || self.partial.as_ref().is_some_and(|begun| !begun.is_skipped) {
                let unmask = |(index, byte): (usize, &u8)| byte ^ frame.mask[(frame.mask_offset + index) % 4];
                into.extend(content.iter().enumerate().map(unmask));
            }
            frame.mask_offset = (frame.mask_offset + ready) % 4;
            frame.remaining -= ready as u64;
            if frame.remaining > 0 {
                self.shrink_buffers();
                return Ok(None);
            }
            let (opcode, last) = (frame.opcode, frame.last);
            self.frame = None;
            if let Some(incoming) = self.end_frame(opcode, last)? {
                return Ok(Some(incoming));
            }
        }
    }

    /// Reads the head of a frame, if all of it is there.
    fn read_head(&mut self) -> Result<Option<PartialFrame>, WebSocketViolation> {
        let [first, second, ..] = self.bytes[..] else { return Ok(None) };
        if first & 0x70 != 0 {
            return Err(protocol_violation("a frame uses an extension that was not agreed on"));
        }
        if second & 0x80 == 0 {
            return Err(protocol_violation("a client must mask its frames"));
        }
        let (extra, short) = match second & 0x7f {
            126 => (2, 0),
            127 => (8, 0),
            short => (0, u64::from(short)),
        };
        if self.bytes.len() < 2 + extra + 4 {
            return Ok(None);
        }
        let digits = &self.bytes[2..2 + extra];
        let long = digits.iter().fold(0_u64, |length, byte| (length << 8) | u64::from(*byte));
        let remaining = if extra == 0 { short } else { long };
        if remaining >> 63 != 0 {
            return Err(protocol_violation("a frame's length has its highest bit set"));
        }
        let mut mask = [0; 4];
        mask.copy_from_slice(&self.bytes[2 + extra..2 + extra + 4]);
        _ = self.bytes.split_to(2 + extra + 4);
        Ok(Some(PartialFrame {
            opcode: first & 0x0f,
            last: first & 0x80 != 0,
            remaining,
            mask,
            mask_offset: 0,
        }))
    }

    /// Checks that a frame may come now, and whether there is room for it.
    fn begin_frame(&mut self, frame: &PartialFrame) -> Result<(), WebSocketViolation> {
        match frame.opcode {
            CONTINUATION if self.partial.is_none() => {
                return Err(protocol_violation("a message continues that never began"));
            }
            TEXT | BINARY if self.partial.is_some() => {
                return Err(protocol_violation("a message begins before the last one ended"));
            }
            CONTINUATION | TEXT | BINARY => {
                let is_text = frame.opcode == TEXT;
                let first = PartialMessage { is_text, announced: 0, frames: 0, is_skipped: false };
                let begun = self.partial.get_or_insert(first);
                begun.announced = begun.announced.saturating_add(frame.remaining);
                if begun.announced > self.limit as u64 * MAX_SKIPPED_MULTIPLE {
                    return Err(far_too_large());
                }
                if begun.announced > self.limit as u64 {
                    begun.is_skipped = true;
                    self.message = Vec::new();
                }
            }
            CLOSE | PING | PONG => {
                if !frame.last || frame.remaining > MAX_CONTROL_BYTES as u64 {
                    return Err(protocol_violation("a control frame is too long or in pieces"));
                }
                self.control.clear();
            }
            _ => return Err(protocol_violation("a frame is of an unknown kind")),
        }
        if let Some(begun) = &mut self.partial {
            begun.frames += 1;
            if begun.frames > MAX_FRAMES {
                return Err(far_too_large());
            }
        }
        Ok(())
    }

    /// What a frame comes to, now that it is whole.
    fn end_frame(&mut self, opcode: u8, last: bool) -> Result<Option<WebSocketIncoming>, WebSocketViolation> {
        let incoming = match opcode {
            CLOSE => {
                check_close(&self.control)?;
                WebSocketIncoming::Close
            }
            PING => WebSocketIncoming::Ping(std::mem::take(&mut self.control).into()),
            PONG => WebSocketIncoming::Pong,
            _ if !last => return Ok(None),
            _ => {
                let message = std::mem::take(&mut self.message);
                match self.partial.take() {
                    Some(PartialMessage { is_skipped: true, .. }) => WebSocketIncoming::TooLarge,
                    Some(PartialMessage { is_text: true, .. }) => match String::from_utf8(message) {
                        Ok(text) => WebSocketIncoming::Complete(WebSocketMessage::Text(text)),
                        Err(_) => return Err(not_utf8()),
                    },
                    Some(PartialMessage { is_text: false, .. }) | None => {
                        WebSocketIncoming::Complete(WebSocketMessage::Binary(message))
                    }
                }
            }
        };
        Ok(Some(incoming))
    }

    /// Gives memory back while nothing is there to be read.
    fn shrink_buffers(&mut self) {
        if self.bytes.is_empty() {
            self.bytes = BytesMut::new();
        }
    }
}

/// Checks what a close frame says: nothing, or a code and a reason.
fn check_close(content: &[u8]) -> Result<(), WebSocketViolation> {
    let [high, low, reason @ ..] = content else {
        return if content.is_empty() {
            Ok(())
        } else {
            Err(protocol_violation("a close frame has half a code"))
        };
    };
    let code = u16::from_be_bytes([*high, *low]);
    // The standard's own and those that were registered since, then those of libraries and applications. The others
    // are reserved, or stand for what is never sent.
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(protocol_violation("a close frame has a code that may not be sent"));
    }
    str::from_utf8(reason).map(|_| ()).map_err(|_| not_utf8())
}

fn protocol_violation(reason: &'static str) -> WebSocketViolation {
    WebSocketViolation { code: 1002, reason }
}

fn not_utf8() -> WebSocketViolation {
    WebSocketViolation { code: 1007, reason: "a text is not UTF-8" }
}

fn far_too_large() -> WebSocketViolation {
    WebSocketViolation { code: 1009, reason: "the message is far too large" }
}

/// A value as one text frame, ready to be sent to any number of sockets.
pub fn text<T: Serialize>(value: &T) -> Bytes {
    let mut bytes = Vec::with_capacity(USUAL);
    bytes.resize(MAX_HEAD_BYTES, 0);
    serde_json::to_writer(&mut bytes, value).expect("our frames are plain data");
    let length = bytes.len() - MAX_HEAD_BYTES;
    let mut head = [0; MAX_HEAD_BYTES];
    let mut room = &mut head[..];
    put_head(&mut room, TEXT, length);
    let start = room.len();
    bytes[start..MAX_HEAD_BYTES].copy_from_slice(&head[..MAX_HEAD_BYTES - start]);
    let mut frame = Bytes::from(bytes);
    frame.advance(start);
    frame
}

/// Asks whether a client is there.
pub fn ping() -> Bytes {
    Bytes::from_static(&[0x80 | PING, 0])
}

/// Answers a ping.
pub fn pong(content: &[u8]) -> Bytes {
    frame(PONG, content)
}

/// Ends a connection.
pub fn close(code: u16, reason: &str) -> Bytes {
    let mut content = code.to_be_bytes().to_vec();
    content.extend_from_slice(&reason.as_bytes()[..reason.len().min(MAX_CONTROL_BYTES - 2)]);
    frame(CLOSE, &content)
}

/// A whole message, as one frame.
pub fn message(message: &WebSocketMessage) -> Bytes {
    match message {
        WebSocketMessage::Text(text) => frame(TEXT, text.as_bytes()),
        WebSocketMessage::Binary(bytes) => frame(BINARY, bytes),
    }
}

fn frame(opcode: u8, content: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(2 + content.len());
    put_head(&mut frame, opcode, content.len());
    frame.extend_from_slice(content);
    frame.freeze()
}

fn put_head(frame: &mut impl BufMut, opcode: u8, length: usize) {
    frame.put_u8(0x80 | opcode);
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short @ 0..=125), _) => frame.put_u8(short),
        (_, Ok(medium)) => {
            frame.put_u8(126);
            frame.put_u16(medium);
        }
        (_, Err(_)) => {
            frame.put_u8(127);
            frame.put_u64(length as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{WebSocketDecoder, WebSocketIncoming, WebSocketMessage, text};

    fn masked(first: u8, content: &[u8]) -> Vec<u8> {
        let mask = [7, 77, 177, 255];
        let mut frame = vec![first];
        match content.len() {
            short @ 0..=125 => frame.push(0x80 | u8::try_from(short).unwrap()),
            long => {
                frame.push(0x80 | 126);
                frame.extend(u16::try_from(long).unwrap().to_be_bytes());
            }
        }
        frame.extend(mask);
        frame.extend(content.iter().enumerate().map(|(index, byte)| byte ^ mask[index % 4]));
        frame
    }

    fn decode(limit: usize, pieces: &[&[u8]]) -> Result<Vec<WebSocketIncoming>, u16> {
        let mut decoder = WebSocketDecoder::new(limit);
        let mut seen = Vec::new();
        for piece in pieces {
            decoder.feed(piece);
            while let Some(incoming) = decoder.next().map_err(|violation| violation.code)? {
                seen.push(incoming);
            }
        }
        Ok(seen)
    }

    #[test]
    fn messages_are_found_wherever_the_bytes_are_cut() {
        let mut bytes = masked(0x01, "hä".as_bytes());
        bytes.extend(masked(0x89, b"are you there"));
        bytes.extend(masked(0x80, b"llo"));
        bytes.extend(masked(0x82, &[b'x'; 300]));
        bytes.extend(masked(0x8a, b""));
        bytes.extend(masked(0x88, b""));
        let expected = vec![
            WebSocketIncoming::Ping(Bytes::from_static(b"are you there")),
            WebSocketIncoming::Complete(WebSocketMessage::Text("hällo".to_owned())),
            WebSocketIncoming::Complete(WebSocketMessage::Binary(vec![b'x'; 300])),
            WebSocketIncoming::Pong,
            WebSocketIncoming::Close,
        ];
        for cut in 0..bytes.len() {
            assert_eq!(decode(1000, &[&bytes[..cut], &bytes[cut..]]).as_ref(), Ok(&expected), "cut at {cut}");
        }
    }

    #[test]
    fn a_message_that_is_too_large_is_passed_over_whole() {
        let mut bytes = masked(0x01, &[b'a'; 8]);
        bytes.extend(masked(0x00, &[b'b'; 8]));
        bytes.extend(masked(0x80, &[b'c'; 8]));
        bytes.extend(masked(0x81, b"small"));
        let expected = vec![
            WebSocketIncoming::TooLarge,
            WebSocketIncoming::Complete(WebSocketMessage::Text("small".to_owned())),
        ];
        assert_eq!(decode(10, &[&bytes]), Ok(expected));
        assert_eq!(
            decode(24, &[&bytes]).unwrap()[0],
            WebSocketIncoming::Complete(WebSocketMessage::Text("aaaaaaaabbbbbbbbcccccccc".to_owned()))
        );
    }

    #[test]
    fn what_breaks_the_protocol_ends_the_connection() {
        let long_ping = masked(0x89, &[b'x'; 126]);
        let huge = [&[0x81, 0xff][..], &(1_u64 << 40).to_be_bytes(), &[0; 4]].concat();
        let impossible = [&[0x81, 0xff][..], &u64::MAX.to_be_bytes(), &[0; 4]].concat();
        let twice = [masked(0x01, b"a"), masked(0x81, b"b")].concat();
        for (bytes, code) in [
            (&[0x81, 0x01, b'x'][..], 1002),
            (&masked(0xc1, b"x")[..], 1002),
            (&masked(0x83, b"x")[..], 1002),
            (&masked(0x09, b"x")[..], 1002),
            (&masked(0x80, b"x")[..], 1002),
            (&long_ping[..], 1002),
            (&twice[..], 1002),
            (&impossible[..], 1002),
            (&huge[..], 1009),
        ] {
            assert_eq!(decode(1000, &[bytes]), Err(code), "{bytes:?}");
        }
    }

    #[test]
    fn a_frame_says_its_length_in_the_shortest_way() {
        for (length, head) in [
            (125, vec![0x81, 125]),
            (126, vec![0x81, 126, 0, 126]),
            (65_535, vec![0x81, 126, 255, 255]),
            (65_536, vec![0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] {
            let value = "x".repeat(length - 2);
            let frame = text(&value);
            assert_eq!(frame[..head.len()], head);
            assert_eq!(frame.len(), head.len() + length);
            assert_eq!(frame[head.len()..], *format!("\"{value}\"").as_bytes());
        }
    }
}
