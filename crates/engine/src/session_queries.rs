//! What clients may ask of a session beside its state: what the model is shown of it, what became of a message
//! that they have sent.

use std::sync::Arc;

use ostler_types::{Message, MessageId, Session, SessionId, State, TurnId};

use crate::actor::ActorInput;
use crate::engine::Engine;
use crate::error::EngineError;

/// A message that was sent under an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubmittedMessage {
    /// The message.
    pub message_id: MessageId,
    /// The turn that answers it, unless none was asked for.
    pub turn_id: Option<TurnId>,
    /// Whether it waits for its turn.
    pub is_queued: bool,
    /// Whether its turn runs or waits now.
    pub is_running: bool,
}

impl SubmittedMessage {
    /// What the state says of the newest message with this key.
    pub(crate) fn from_state(state: &State, key: &str) -> Option<SubmittedMessage> {
        let (_, message_id, turn_id) = state.keys.iter().rev().find(|(known, ..)| known == key)?;
        let is_queued = state.queue.iter().any(|queued| queued.message.id == *message_id);
        let running = state.turn.as_ref().map(|turn| turn.id);
        Some(SubmittedMessage {
            message_id: *message_id,
            turn_id: *turn_id,
            is_queued,
            is_running: !is_queued && running.is_some() && running == *turn_id,
        })
    }
}

impl Engine {
    /// The conversation as the model is shown it, in order.
    pub async fn model_context(&self, id: SessionId) -> Result<Vec<Arc<Message>>, EngineError> {
        self.ask(id, |reply| ActorInput::Context { reply }).await?
    }

    /// What became of the message that was sent under a key, if it is among the newest.
    pub async fn submitted_message(
        &self,
        id: SessionId,
        key: &str,
    ) -> Result<Option<SubmittedMessage>, EngineError> {
        self.ask(id, |reply| ActorInput::Submitted { key: key.to_owned(), reply }).await
    }

    /// The session that an agent knows by an id of its own, the newest of them.
    pub async fn by_agent_session(&self, agent: &str, id: &str) -> Result<Option<SessionId>, EngineError> {
        self.wait_until_recovered().await?;
        Ok(self.shared.index.by_agent_session(agent, id).await?)
    }

    /// The open sessions that have a name, in the order of their names: those after `after`, at most `limit`.
    pub async fn named_sessions(&self, after: &str, limit: usize) -> Result<Vec<Session>, EngineError> {
        self.wait_until_recovered().await?;
        Ok(self.shared.index.named_sessions(after, limit).await?)
    }
}
