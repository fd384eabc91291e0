//! A delta as it goes to those who look on. On the wire it is the envelope of a record, without seq and chain: encoded when
//! the first of them wants it so, and once, however many do. A door with words of its own encodes the text itself, and keeps that
//! beside the delta.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use jiff::Timestamp;
use ostler_types::{Delta, DeltaKind, MessageId, SessionId, TurnId};
use serde::Serialize;

use crate::encoding_slot::EncodingSlot;

/// What the envelope takes, about.
const ENVELOPE_BYTES: usize = 256;

/// A delta that is shown. Cheap to clone.
#[derive(Debug, Clone)]
pub struct DeltaLine(Arc<SharedDelta>);

#[derive(Debug)]
struct SharedDelta {
    session_id: SessionId,
    turn_id: TurnId,
    ts: Timestamp,
    delta: Delta,
    bytes: OnceLock<Bytes>,
    slot: EncodingSlot,
}

impl DeltaLine {
    pub(crate) fn new(session_id: SessionId, turn_id: TurnId, ts: Timestamp, delta: Delta) -> DeltaLine {
        let (bytes, slot) = (OnceLock::new(), EncodingSlot::default());
        DeltaLine(Arc::new(SharedDelta { session_id, turn_id, ts, delta, bytes, slot }))
    }

    /// The event's name.
    pub fn name(&self) -> &'static str {
        self.0.delta.name()
    }

    /// The turn that it is a part of.
    pub fn turn_id(&self) -> TurnId {
        self.0.turn_id
    }

    /// When it was shown.
    pub fn ts(&self) -> Timestamp {
        self.0.ts
    }

    /// The text, and where it goes.
    pub fn delta(&self) -> &Delta {
        &self.0.delta
    }

    /// One JSON object.
    pub fn bytes(&self) -> &Bytes {
        self.0.bytes.get_or_init(|| self.0.encode())
    }

    /// A door's own encoding of this delta: `T::default()` for the first caller, and the same value for every later caller
    /// that names the same type, so that what the first one puts into it is made once for all connections. There is one
    /// slot: a second type is not shared.
    pub fn encoding<T: Any + Default + Send + Sync>(&self) -> Arc<T> {
        self.0.slot.get()
    }

    /// How many bytes it takes while it waits, about.
    pub(crate) fn size(&self) -> usize {
        ENVELOPE_BYTES + self.0.delta.text.len()
    }
}

impl SharedDelta {
    fn encode(&self) -> Bytes {
        let Delta { kind, offset, text } = &self.delta;
        let data = match kind {
            DeltaKind::Text { message_id, part } | DeltaKind::Reasoning { message_id, part } => {
                DeltaEnvelopeData {
                    message_id: Some(*message_id),
                    part: Some(*part),
                    offset: *offset,
                    text,
                    ..DeltaEnvelopeData::none()
                }
            }
            DeltaKind::ToolOutput { tool_call_id, stream } => {
                let (tool_call_id, stream) = (Some(tool_call_id.0.as_str()), Some(stream.as_str()));
                DeltaEnvelopeData { tool_call_id, stream, offset: *offset, text, ..DeltaEnvelopeData::none() }
            }
        };
        let SharedDelta { ts, session_id, turn_id, .. } = *self;
        let envelope = DeltaEnvelope { ts, session_id, turn_id, name: self.delta.name(), data };
        let mut bytes = Vec::with_capacity(ENVELOPE_BYTES + text.len());
        serde_json::to_writer(&mut bytes, &envelope).expect("a delta is plain strings and numbers");
        bytes.into()
    }
}

#[derive(Serialize)]
struct DeltaEnvelope<'a> {
    ts: Timestamp,
    session_id: SessionId,
    turn_id: TurnId,
    #[serde(rename = "type")]
    name: &'static str,
    data: DeltaEnvelopeData<'a>,
}

#[derive(Serialize)]
struct DeltaEnvelopeData<'a> {
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

impl DeltaEnvelopeData<'_> {
    fn none() -> Self {
        DeltaEnvelopeData {
            message_id: None,
            part: None,
            tool_call_id: None,
            stream: None,
            offset: 0,
            text: "",
        }
    }
}
