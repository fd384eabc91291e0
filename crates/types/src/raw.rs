//! What goes over the wire to a provider and back, for those who want to see it. Not part of the log:
//! nothing is ever rebuilt from it.

use serde_json::Value;

/// One thing that was sent or received, with every secret taken out.
#[derive(Debug, Clone, PartialEq)]
pub enum RawLine {
    /// A request.
    Request {
        /// Where it was sent.
        endpoint: String,
        /// Its body.
        payload: Value,
    },
    /// The head of a response, and its body unless that came as a stream.
    Response {
        /// The status.
        status: u16,
        /// The body, or what there was of it.
        body: String,
    },
    /// One event of a streamed response.
    StreamChunk {
        /// The event's name; empty where the protocol uses none.
        event: String,
        /// Its data.
        chunk: String,
    },
}
