//! Records: events in their place in a session's log.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::event::RecordText;
use crate::{Event, SessionId, TurnId};

/// An event with its place in the log. On disk and on the wire it is one JSON object with the
/// members in this order; the log adds `chain` at the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RecordText")]
pub struct Record {
    /// Its place, from 1, without holes.
    pub seq: u64,
    /// When it was recorded.
    pub ts: Timestamp,
    /// The session.
    pub session_id: SessionId,
    /// The turn that it belongs to, if any.
    pub turn_id: Option<TurnId>,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// An event that is about to get its place.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRecord {
    /// When it is recorded.
    pub ts: Timestamp,
    /// The turn that it belongs to, if any.
    pub turn_id: Option<TurnId>,
    /// What happened.
    pub event: Event,
}
