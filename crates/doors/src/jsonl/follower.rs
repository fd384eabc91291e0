//! One session as a client of this door sees it: a task that follows it, translates, and says it. When the
//! client does not read, the task waits, the subscription's bounded queue overflows, and what was missed is
//! read from the log: no gap, nothing twice, and nothing held beyond the bounds.

use ostler_door_kit::line_connection::{Outbox, OutboxClosed};
use ostler_engine::{Engine, EngineError, Subscription};
use ostler_types::{SessionId, SessionView};
use tokio::sync::{mpsc, watch};

use super::frames::CloseReason;
use super::notices::JsonlNotice;
use super::translate::JsonlTranslator;

/// Bytes of lines that are handed over at a time.
const BATCH: usize = 64 * 1024;

/// A session that is being followed.
pub(super) struct JsonlFollower {
    pub(super) engine: Engine,
    pub(super) outbox: Outbox,
    /// What the client is to be asked or told beside the events.
    pub(super) notes: mpsc::Sender<(SessionId, JsonlNotice)>,
    /// Up to which record the session is to be followed, once it is to end.
    pub(super) until: watch::Receiver<Option<u64>>,
}

/// Why following ended, when the client did not end it.
enum FollowEnd {
    /// As far as was asked for, or nobody reads.
    Stopped,
    /// No more will come.
    Gone(CloseReason),
}

impl JsonlFollower {
    /// Follows a session from how it stands.
    pub(super) async fn run(mut self, view: SessionView) {
        let id = view.session.id;
        let end = match self.follow(view).await {
            Ok(end) => end,
            Err(OutboxClosed) => FollowEnd::Stopped,
        };
        if let FollowEnd::Gone(reason) = end {
            _ = self.notes.send((id, JsonlNotice::Gone(reason))).await;
        }
    }

    async fn follow(&mut self, view: SessionView) -> Result<FollowEnd, OutboxClosed> {
        let (id, mut seen) = (view.session.id, view.last_seq);
        let (mut translator, mut out) = (JsonlTranslator::new(&view), Vec::new());
        translator.begin(view.running_turn_id, &mut out);
        drop(view);
        loop {
            let mut subscription = match self.engine.subscribe(id, seen).await {
                Ok(subscription) => subscription,
                Err(EngineError::NotFound) => return Ok(FollowEnd::Gone(CloseReason::NotFound)),
                Err(EngineError::ShuttingDown) => return Ok(FollowEnd::Stopped),
                Err(error) => return Ok(end_of_broken_session(id, &error)),
            };
            match self.relay(id, &mut subscription, &mut translator, &mut out).await? {
                // Its actor has gone; it may have been removed, or have broken down and come back.
                None if *self.engine.stopping().borrow() => return Ok(FollowEnd::Stopped),
                None => seen = subscription.seen(),
                Some(end) => return Ok(end),
            }
        }
    }

    /// Passes on what comes, until the subscription ends.
    async fn relay(
        &mut self,
        id: SessionId,
        subscription: &mut Subscription,
        translator: &mut JsonlTranslator,
        out: &mut Vec<u8>,
    ) -> Result<Option<FollowEnd>, OutboxClosed> {
        let mut notes = Vec::new();
        loop {
            loop {
                match subscription.ready().await {
                    Ok(Some(item)) => translator.translate_item(&item, out, &mut notes),
                    Ok(None) => break,
                    Err(EngineError::NotFound) => return Ok(Some(FollowEnd::Gone(CloseReason::NotFound))),
                    Err(error) => return Ok(Some(end_of_broken_session(id, &error))),
                }
                if out.len() >= BATCH {
                    break;
                }
            }
            translator.flush(out);
            if !out.is_empty() {
                self.outbox.send(std::mem::take(out).into()).await?;
            }
            for note in notes.drain(..) {
                _ = self.notes.send((id, note)).await;
            }
            if self.until.borrow().is_some_and(|until| subscription.seen() >= until) {
                return Ok(Some(FollowEnd::Stopped));
            }
            let item = tokio::select! {
                item = subscription.next() => item,
                () = wait_until_flush_due(translator) => continue,
                changed = self.until.changed() => match changed {
                    Ok(()) => continue,
                    Err(_) => return Ok(Some(FollowEnd::Stopped)),
                },
            };
            match item {
                Ok(Some(item)) => translator.translate_item(&item, out, &mut notes),
                Ok(None) => return Ok(None),
                Err(EngineError::NotFound) => return Ok(Some(FollowEnd::Gone(CloseReason::NotFound))),
                Err(error) => return Ok(Some(end_of_broken_session(id, &error))),
            }
        }
    }
}

/// Returns when text that waits is to be shown; never, when none does.
async fn wait_until_flush_due(translator: &JsonlTranslator) {
    match translator.flush_due_at() {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

fn end_of_broken_session(id: SessionId, error: &EngineError) -> FollowEnd {
    tracing::warn!(%id, %error, "a session cannot be followed any more");
    FollowEnd::Gone(CloseReason::Error)
}
