//! One session as one socket follows it: what happens, in batches. A socket asks for the next batch when it has
//! written the one before, so that a slow client holds nothing but the subscription's bounded queue, and reads on
//! from the log when that overflows.

use std::time::Duration;

use bytes::Bytes;
use ostler_engine::{Engine, EngineError, Subscription};
use ostler_types::SessionId;

use super::translate::IdeTranslator;

/// Bytes that are handed over at a time.
pub(super) const BATCH: usize = 64 * 1024;
/// How long to wait before a session is looked for again that broke down.
const PAUSE: Duration = Duration::from_millis(250);
/// How often it is looked for, without having seen anything in between.
const MAX_RESUBSCRIBES: u32 = 20;

/// A session that is followed.
pub(super) struct IdeFollower {
    engine: Engine,
    pub(super) session: SessionId,
    /// Tells this one from earlier ones of the same session.
    pub(super) number: u64,
    subscription: Subscription,
    translator: IdeTranslator,
    resubscribes: u32,
}

impl IdeFollower {
    /// Follows a session after a record.
    pub(super) async fn new(
        engine: Engine,
        (session, number): (SessionId, u64),
        after: u64,
        translator: IdeTranslator,
    ) -> Result<IdeFollower, EngineError> {
        let subscription = engine.subscribe(session, after).await?;
        Ok(IdeFollower { engine, session, number, subscription, translator, resubscribes: 0 })
    }

    /// The next frames; none when no more will come.
    pub(super) async fn next_frames(mut self: Box<Self>) -> Option<(Box<IdeFollower>, Vec<Bytes>)> {
        let (mut frames, mut bytes) = (Vec::new(), 0);
        loop {
            let item = if frames.is_empty() {
                self.subscription.next().await
            } else {
                match self.subscription.ready().await {
                    Ok(Some(item)) if bytes < BATCH => Ok(Some(item)),
                    Ok(Some(item)) => {
                        self.translator.translate_item(&item, &mut frames);
                        return Some((self, frames));
                    }
                    Ok(None) => return Some((self, frames)),
                    Err(error) => Err(error),
                }
            };
            match item {
                Ok(Some(item)) => {
                    let before = frames.len();
                    self.translator.translate_item(&item, &mut frames);
                    bytes += frames[before..].iter().map(Bytes::len).sum::<usize>();
                    self.resubscribes = 0;
                }
                Ok(None) => self.resubscribe().await?,
                Err(error) => {
                    tracing::debug!(session = %self.session, %error, "a session is followed no longer");
                    return None;
                }
            }
        }
    }

    /// Its actor ended, which happens when the disk failed under it; the next one goes on.
    async fn resubscribe(&mut self) -> Option<()> {
        self.resubscribes += 1;
        if self.resubscribes > MAX_RESUBSCRIBES || *self.engine.stopping().borrow() {
            return None;
        }
        tokio::time::sleep(PAUSE).await;
        self.subscription = self.engine.subscribe(self.session, self.subscription.seen()).await.ok()?;
        Some(())
    }
}
