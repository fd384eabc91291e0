//! How a delta looks on the wire: the envelope of a record, without seq and chain. Encoded once,
//! however many look on.

use bytes::Bytes;
use jiff::Timestamp;
use ostler_types::{Delta, DeltaKind, MessageId, SessionId, ToolCallId, TurnId};
use serde::Serialize;

/// A delta as clients see it.
#[derive(Debug, Clone)]
pub struct DeltaLine {
    /// The event's name.
    pub name: &'static str,
    /// One JSON object.
    pub bytes: Bytes,
    /// Which message or call it is a part of.
    pub(crate) of: Subject,
}

/// What text streams into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A message.
    Message(MessageId),
    /// A call's output.
    Call(ToolCallId),
}

impl Subject {
    fn of(kind: &DeltaKind) -> Subject {
        match kind {
            DeltaKind::Text { message_id, .. } | DeltaKind::Reasoning { message_id, .. } => {
                Subject::Message(*message_id)
            }
            DeltaKind::ToolOutput { tool_call_id, .. } => Subject::Call(tool_call_id.clone()),
        }
    }
}

impl DeltaLine {
    pub(crate) fn new(session_id: SessionId, turn_id: TurnId, ts: Timestamp, delta: &Delta) -> DeltaLine {
        let (Delta { kind, offset, text }, name) = (delta, delta.name());
        let data = match kind {
            DeltaKind::Text { message_id, part } | DeltaKind::Reasoning { message_id, part } => DeltaData {
                message_id: Some(*message_id),
                part: Some(*part),
                offset: *offset,
                text,
                ..DeltaData::none()
            },
            DeltaKind::ToolOutput { tool_call_id, stream } => {
                let (tool_call_id, stream) = (Some(tool_call_id.0.as_str()), Some(stream.as_str()));
                DeltaData { tool_call_id, stream, offset: *offset, text, ..DeltaData::none() }
            }
        };
        let envelope = DeltaEnvelope { ts, session_id, turn_id, name, data };
        let bytes = serde_json::to_vec(&envelope).expect("a delta is plain strings and numbers");
        DeltaLine { name, bytes: bytes.into(), of: Subject::of(kind) }
    }
}

#[derive(Serialize)]
struct DeltaEnvelope<'a> {
    ts: Timestamp,
    session_id: SessionId,
    turn_id: TurnId,
    #[serde(rename = "type")]
    name: &'static str,
    data: DeltaData<'a>,
}

#[derive(Serialize)]
struct DeltaData<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<MessageId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<&'a str>,
    offset: u64,
    text: &'a str,
}

impl DeltaData<'_> {
    fn none() -> Self {
        DeltaData { message_id: None, part: None, tool_call_id: None, stream: None, offset: 0, text: "" }
    }
}
