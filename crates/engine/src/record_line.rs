//! A record as a subscriber is given it: the line on disk, and the door's encoding of it where several can share one.

use std::any::Any;
use std::ops::Deref;
use std::sync::Arc;

use ostler_eventlog::LogLine;

use crate::encoding_slot::EncodingSlot;

/// A record on its way to a subscriber. Cheap to clone; it is used like its [`LogLine`].
#[derive(Debug, Clone)]
pub struct RecordLine {
    line: LogLine,
    /// None for a record that one subscriber has read from the log.
    slot: Option<Arc<EncodingSlot>>,
}

impl RecordLine {
    /// A record that is published to all subscribers.
    pub(crate) fn published(line: LogLine) -> RecordLine {
        RecordLine { line, slot: Some(Arc::default()) }
    }

    /// A record that one subscriber has read.
    pub(crate) fn read(line: LogLine) -> RecordLine {
        RecordLine { line, slot: None }
    }

    /// A door's encoding of this record; see [`DeltaLine::encoding`](crate::DeltaLine::encoding). One that was read from
    /// the log has an encoding of its own each time.
    pub fn encoding<T: Any + Default + Send + Sync>(&self) -> Arc<T> {
        self.slot.as_ref().map(|slot| slot.get()).unwrap_or_default()
    }
}

impl Deref for RecordLine {
    type Target = LogLine;

    fn deref(&self) -> &LogLine {
        &self.line
    }
}
