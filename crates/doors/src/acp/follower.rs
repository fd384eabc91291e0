//! One session as an editor sees it: a task that follows it, translates, and says it. When the editor does not
//! read, the task waits, the subscription's bounded queue overflows, and what was missed is read from the log:
//! no gap, nothing twice, and nothing held beyond the bounds.

use ostler_door_kit::line_connection::{Outbox, OutboxClosed};
use ostler_engine::{Engine, EngineError, Subscription};
use ostler_types::SessionId;
use tokio::sync::mpsc;

use super::notices::EditorNotice;
use super::translate::EditorTranslator;

/// Bytes of lines that are handed over at a time.
const BATCH: usize = 64 * 1024;

/// A session that is being followed.
pub(super) struct EditorFollower {
    pub(super) engine: Engine,
    pub(super) outbox: Outbox,
    pub(super) notice_sender: mpsc::Sender<(SessionId, EditorNotice)>,
    pub(super) id: SessionId,
    /// The newest record that is not to be told.
    pub(super) after: u64,
    /// The newest record of the past.
    pub(super) history: u64,
}

impl EditorFollower {
    /// Follows the session until nobody reads, the daemon stops, or the session is gone.
    pub(super) async fn run(self, mut translator: EditorTranslator) {
        if let Ok(true) = self.follow(&mut translator).await {
            _ = self.notice_sender.send((self.id, EditorNotice::Gone)).await;
        }
    }

    /// Returns whether the session is gone.
    async fn follow(&self, translator: &mut EditorTranslator) -> Result<bool, OutboxClosed> {
        let (mut seen, mut told) = (self.after, false);
        loop {
            let mut subscription = match self.engine.subscribe(self.id, seen).await {
                Ok(subscription) => subscription,
                Err(EngineError::ShuttingDown) => return Ok(false),
                Err(error) => return Ok(self.is_session_gone(&error)),
            };
            if let Err(error) = self.relay(&mut subscription, translator, &mut told).await? {
                return Ok(self.is_session_gone(&error));
            }
            // Its actor has gone; it may have been removed, or have broken down and come back.
            if *self.engine.stopping().borrow() {
                return Ok(false);
            }
            seen = subscription.seen();
        }
    }

    /// Passes on what comes, until the subscription ends.
    async fn relay(
        &self,
        subscription: &mut Subscription,
        translator: &mut EditorTranslator,
        replayed: &mut bool,
    ) -> Result<Result<(), EngineError>, OutboxClosed> {
        let (mut out, mut notes) = (Vec::new(), Vec::new());
        loop {
            loop {
                match subscription.ready().await {
                    Ok(Some(item)) => translator.translate_item(&item, &mut out, &mut notes),
                    Ok(None) => break,
                    Err(error) => return Ok(Err(error)),
                }
                if out.len() >= BATCH {
                    break;
                }
            }
            translator.flush(&mut out);
            if !out.is_empty() {
                self.outbox.send(std::mem::take(&mut out).into()).await?;
            }
            if !*replayed && subscription.seen() >= self.history {
                *replayed = true;
                notes.push(EditorNotice::Replayed);
            }
            for note in notes.drain(..) {
                _ = self.notice_sender.send((self.id, note)).await;
            }
            let item = tokio::select! {
                item = subscription.next() => item,
                () = wait_until_flush_due(translator) => continue,
            };
            match item {
                Ok(Some(item)) => translator.translate_item(&item, &mut out, &mut notes),
                Ok(None) => return Ok(Ok(())),
                Err(error) => return Ok(Err(error)),
            }
        }
    }

    fn is_session_gone(&self, error: &EngineError) -> bool {
        if !matches!(error, EngineError::NotFound) {
            tracing::warn!(id = %self.id, %error, "a session cannot be followed any more");
        }
        true
    }
}

/// Returns when output that waits is to be told; never, when none does.
async fn wait_until_flush_due(translator: &EditorTranslator) {
    match translator.flush_due_at() {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
