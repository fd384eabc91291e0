//! One session as one socket follows it: a subscription, and how much of the streaming text was sent. A subscription whose
//! session broke down is replaced by one that goes on after the last record.

use std::sync::Arc;
use std::time::Duration;

use ostler_door_kit::websocket::OutgoingFrames;
use ostler_engine::{Engine, EngineError, Subscription};
use ostler_types::SessionId;
use tokio::sync::Notify;

use super::text_cursor::TextCursor;
use super::translate::send;

/// Bytes that may wait to be written before a socket takes no more from its subscriptions.
pub(super) const BATCH: usize = 64 * 1024;
/// How long to wait before subscribing again to a session that broke down.
const PAUSE: Duration = Duration::from_millis(250);
/// How often to subscribe again without having been given anything in between.
const ATTEMPTS: u32 = 20;

/// A session that a socket follows. Dropping it ends the subscription.
pub(super) struct GatewayFollower {
    pub(super) session: SessionId,
    /// Whether events wait until a request is answered.
    pub(super) is_held: bool,
    /// The newest record that the client knows of, while there is no subscription.
    after: u64,
    subscription: Option<Subscription>,
    cursor: TextCursor,
    attempts: u32,
}

/// A subscription on its way to a [`Follow`].
pub(super) struct FollowerSubscription {
    pub(super) session: SessionId,
    after: u64,
    subscription: Result<Subscription, EngineError>,
}

impl GatewayFollower {
    /// Follows a session from the record after `after`, once it has a subscription.
    pub(super) fn new(session: SessionId, after: u64) -> GatewayFollower {
        let cursor = TextCursor::default();
        GatewayFollower { session, is_held: false, after, subscription: None, cursor, attempts: 0 }
    }

    /// Subscribes to the session; `changed` is notified when [`Follow::send_ready`] has something to send.
    pub(super) fn subscribe(
        &self,
        engine: Engine,
        changed: Arc<Notify>,
    ) -> impl Future<Output = FollowerSubscription> + Send + use<> {
        let (session, after) = (self.session, self.after);
        let pause = (self.attempts > 0).then_some(PAUSE);
        async move {
            if let Some(pause) = pause {
                tokio::time::sleep(pause).await;
            }
            let subscription = engine.subscribe_notifying(session, after, &changed).await;
            FollowerSubscription { session, after, subscription }
        }
    }

    /// Takes a subscription that has been made. An error says that there is nothing more to follow.
    pub(super) fn set_subscription(&mut self, subscribed: FollowerSubscription) -> Result<(), EngineError> {
        // One from elsewhere was made for an earlier follow of the same session, which has been dropped.
        if self.subscription.is_none() && self.after == subscribed.after {
            self.subscription = Some(subscribed.subscription?);
        }
        Ok(())
    }

    /// Sends what has happened, as far as there is room. An error says that there is nothing more to follow.
    pub(super) async fn send_ready(
        &mut self,
        engine: &Engine,
        out: &mut OutgoingFrames,
    ) -> Result<(), EngineError> {
        let Some(subscription) = self.subscription.as_mut().filter(|_| !self.is_held) else { return Ok(()) };
        while out.len() < BATCH {
            let Some(item) = subscription.ready().await? else { break };
            self.attempts = 0;
            send(engine, self.session, &item, &mut self.cursor, out).await;
        }
        Ok(())
    }

    /// Whether the subscription is over. Then [`Follow::restart`] says how to go on.
    pub(super) fn is_over(&self) -> bool {
        self.subscription.as_ref().is_some_and(Subscription::is_over)
    }

    /// Gives up a subscription that is over. True when the session should be subscribed to again: its actor may have
    /// broken down, and the next one goes on.
    pub(super) fn restart(&mut self, engine: &Engine) -> bool {
        if let Some(subscription) = self.subscription.take() {
            self.after = subscription.seen();
        }
        self.attempts += 1;
        self.attempts <= ATTEMPTS && !*engine.stopping().borrow()
    }
}
