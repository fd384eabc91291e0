//! What the gateway makes of the bytes of a socket, without a socket and without carrying anything out. For fuzzing:
//! whatever comes, there is one answer to it, and how it was cut does not matter.

use ostler_door_kit::websocket::WebSocketIncoming;
use ostler_door_kit::websocket::framing::WebSocketDecoder;

use super::params::parse_request;

/// What came of some bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DryRunOutcome {
    /// A request that would be carried out.
    Request,
    /// A message that is answered by an error, with its code and its text.
    Refused(i32, String),
    /// A message that is too large, and was passed over.
    TooLarge,
    /// A ping, a pong or a close.
    Control,
    /// The connection ends with this code.
    Broken(u16),
}

/// What a socket would be told that sends these bytes after its token, in these pieces, when messages may have so
/// many bytes.
pub fn dry_run<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, limit: usize) -> Vec<DryRunOutcome> {
    let (mut decoder, mut heard) = (WebSocketDecoder::new(limit), Vec::new());
    for piece in pieces {
        decoder.feed(piece);
        loop {
            match decoder.next() {
                Ok(Some(WebSocketIncoming::Complete(message))) => {
                    heard.push(match parse_request(message.as_bytes()) {
                        Ok(_) => DryRunOutcome::Request,
                        Err((_, error)) => DryRunOutcome::Refused(error.code, error.message),
                    })
                }
                Ok(Some(WebSocketIncoming::TooLarge)) => heard.push(DryRunOutcome::TooLarge),
                Ok(Some(WebSocketIncoming::Ping(_) | WebSocketIncoming::Pong | WebSocketIncoming::Close)) => {
                    heard.push(DryRunOutcome::Control)
                }
                Ok(None) => break,
                Err(violation) => {
                    heard.push(DryRunOutcome::Broken(violation.code));
                    return heard;
                }
            }
        }
    }
    heard
}
