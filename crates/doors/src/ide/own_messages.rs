//! What a socket's own client has said, so that it is not told of it: it shows what it sends by itself.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use ostler_types::{MessageId, TurnId};

use super::frames::IdeRequestId;

/// Messages that are remembered. One that is forgotten is told of, which does no harm.
const LIMIT: usize = 1024;

/// What a client has said and not seen the end of. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct IdeOwnMessages(Arc<Mutex<VecDeque<OwnMessage>>>);

/// A message of the client.
#[derive(Debug, Clone)]
pub(super) struct OwnMessage {
    pub(super) message_id: MessageId,
    pub(super) turn_id: TurnId,
    pub(super) request_id: Option<IdeRequestId>,
}

impl IdeOwnMessages {
    /// Remembers a message that is about to be sent.
    pub(super) fn add(&self, said: OwnMessage) {
        let mut known = self.lock();
        if known.len() >= LIMIT {
            known.pop_front();
        }
        known.push_back(said);
    }

    /// Whether the client has sent this message.
    pub(super) fn contains(&self, message_id: MessageId) -> bool {
        self.lock().iter().any(|said| said.message_id == message_id)
    }

    /// Forgets the message that a turn answers, now that it is over, and says which request it was.
    pub(super) fn remove_by_turn(&self, turn_id: TurnId) -> Option<IdeRequestId> {
        let mut known = self.lock();
        let at = known.iter().position(|said| said.turn_id == turn_id)?;
        known.remove(at)?.request_id
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<OwnMessage>> {
        self.0.lock().expect("no code panics while it holds what was said")
    }
}
