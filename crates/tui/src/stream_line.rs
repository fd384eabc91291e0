//! One line of an event stream, read: a record, a delta, or something that only newer daemons know.

use ostler_types::{Delta, DeltaKind, MessageId, Record, SessionId, ToolCallId};
use serde::Deserialize;

/// What a line of a stream says.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamLine {
    /// Something that has happened.
    Record(Box<Record>),
    /// Text as it streams.
    Delta {
        /// The session.
        session_id: SessionId,
        /// The text and where it goes.
        delta: Delta,
    },
    /// A record of an unknown kind. It has a place all the same.
    Unknown {
        /// Its place.
        seq: u64,
    },
}

impl StreamLine {
    /// Reads a line; none when it is of no interest, such as a heartbeat.
    pub fn read(seq: Option<u64>, name: &str, raw: &str) -> Option<StreamLine> {
        match (seq, name) {
            (Some(seq), _) => Some(match serde_json::from_str::<Record>(raw) {
                Ok(record) => StreamLine::Record(Box::new(record)),
                Err(_) => StreamLine::Unknown { seq },
            }),
            (None, "model_output_delta") => {
                message_delta(raw, |message_id, part| DeltaKind::Text { message_id, part })
            }
            (None, "reasoning_delta") => {
                message_delta(raw, |message_id, part| DeltaKind::Reasoning { message_id, part })
            }
            (None, "tool_output_delta") => {
                let StreamEnvelope::<CallDeltaData> { session_id, data } = serde_json::from_str(raw).ok()?;
                let CallDeltaData { tool_call_id, stream, offset, text } = data;
                let kind = DeltaKind::ToolOutput { tool_call_id, stream };
                Some(StreamLine::Delta { session_id, delta: Delta { kind, offset, text } })
            }
            (None, _) => None,
        }
    }
}

fn message_delta(raw: &str, kind: impl Fn(MessageId, u32) -> DeltaKind) -> Option<StreamLine> {
    let StreamEnvelope::<MessageDeltaData> { session_id, data } = serde_json::from_str(raw).ok()?;
    let MessageDeltaData { message_id, part, offset, text } = data;
    Some(StreamLine::Delta { session_id, delta: Delta { kind: kind(message_id, part), offset, text } })
}

#[derive(Deserialize)]
struct StreamEnvelope<T> {
    session_id: SessionId,
    data: T,
}

#[derive(Deserialize)]
struct MessageDeltaData {
    message_id: MessageId,
    part: u32,
    offset: u64,
    text: String,
}

#[derive(Deserialize)]
struct CallDeltaData {
    tool_call_id: ToolCallId,
    stream: String,
    offset: u64,
    text: String,
}
