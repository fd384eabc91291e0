//! Removing sessions: with those that they have started, and with all their files.

use ostler_eventlog::LogError;
use ostler_types::{Command, SessionId};

use crate::actor::ActorInput;
use crate::children::worktree;
use crate::engine::Engine;
use crate::error::EngineError;

impl Engine {
    /// Removes a session, those that it has started, and all their files.
    pub async fn purge(&self, id: SessionId) -> Result<(), EngineError> {
        self.refuse_if_stopping()?;
        let children = self.shared.log.sessions_under(id).await?;
        if !children.is_empty() {
            // Once it is closed it starts no more. That it cannot be recorded is no reason to keep it.
            _ = self.submit(id, Command::Close { by: "purge".to_owned() }).await;
        }
        for child in children {
            match Box::pin(self.purge(child)).await {
                Ok(()) | Err(EngineError::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        self.purge_one(id).await?;
        worktree::discard(self, id).await;
        Ok(())
    }

    /// Removes the log of a session that no actor has.
    pub(crate) async fn remove_log(&self, id: SessionId) -> Result<(), LogError> {
        let epoch = self.shared.log.claim(id).await?.epoch;
        self.shared.log.remove(id, epoch).await
    }

    async fn purge_one(&self, id: SessionId) -> Result<(), EngineError> {
        match self.ask(id, |reply| ActorInput::Purge { reply }).await {
            Ok(purged) => purged,
            // What cannot be read can still be removed.
            Err(EngineError::Log(LogError::Damaged { .. })) => {
                self.remove_log(id).await?;
                Ok(self.shared.index.remove(id).await?)
            }
            Err(error) => Err(error),
        }
    }
}
