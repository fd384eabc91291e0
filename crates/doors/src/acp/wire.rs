//! Whole lines for an editor, appended to a buffer. How a line looks is the `acp` crate's.

use agent_client_protocol::v1::schema::{Error, RequestId, SessionNotification, SessionUpdate};
use ostler_types::SessionId;
use serde::Serialize;

/// The protocol's types are plain data, so writing them cannot fail.
const PLAIN: &str = "the protocol's types can be written as JSON";

/// Tells what happens in a session.
pub(super) fn update(session_id: SessionId, update: SessionUpdate, out: &mut Vec<u8>) {
    notification("session/update", &SessionNotification::new(session_id.to_string(), update), out);
}

/// Tells something.
pub(super) fn notification(method: &str, params: &impl Serialize, out: &mut Vec<u8>) {
    line(&ostler_acp::notification_line(method, params).expect(PLAIN), out);
}

/// Asks something, under this number.
pub(super) fn request(id: i64, method: &str, params: &impl Serialize, out: &mut Vec<u8>) {
    line(&ostler_acp::request_line(id, method, params).expect(PLAIN), out);
}

/// Answers a request.
pub(super) fn result(id: &RequestId, result: &impl Serialize, out: &mut Vec<u8>) {
    line(&ostler_acp::result_line(id, result).expect(PLAIN), out);
}

/// Refuses a request.
pub(super) fn error(id: &RequestId, error: &Error, out: &mut Vec<u8>) {
    line(&ostler_acp::error_line(id, error), out);
}

fn line(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
}
