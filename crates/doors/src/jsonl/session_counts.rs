//! Counting what has been said in a session. Only what was recorded since the last count is read.

use ostler_engine::{Engine, EngineError, SubscriptionItem};
use ostler_types::{Event, EventName, MessageEvent, Role, SessionId};

/// What has been counted of a session's log.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SessionCounts {
    /// Up to which record.
    seq: u64,
    pub(super) messages: u64,
    pub(super) turns: u64,
}

impl SessionCounts {
    /// Counts what has been recorded since.
    pub(super) async fn count(&mut self, engine: &Engine, id: SessionId) -> Result<(), EngineError> {
        let mut subscription = engine.subscribe(id, self.seq).await?;
        while let Some(item) = subscription.ready().await? {
            let SubscriptionItem::Record(line) = item else { continue };
            self.seq = line.seq;
            // By the name first: what does not count here is not read.
            let Some(name) = line.name() else { continue };
            if matches!(name, EventName::ModelOutputCompleted | EventName::ToolCallCompleted) {
                self.messages += 1;
            } else if name == EventName::TurnStarted {
                self.turns += 1;
            } else if name == EventName::ContextCompacted {
                // A compaction in no turn is a reset: the conversation begins anew.
                if line.record().is_ok_and(|record| record.turn_id.is_none()) {
                    (self.messages, self.turns) = (0, 0);
                }
            } else if name == EventName::MessageAdded {
                // What only frames the conversation is nobody's word.
                let event = line.record().map(|record| record.event);
                let said = matches!(&event, Ok(Event::Message(MessageEvent::Added { message, .. })) if message.role == Role::User);
                self.messages += u64::from(said);
            }
        }
        Ok(())
    }
}
